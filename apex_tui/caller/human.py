"""The caller's policy while a person speaks: none. The script steps aside; nothing is planned, nothing fires, nobody nudges or hangs up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from apex_tui.caller.directed import DirectedPolicy
from apex_tui.caller.scene import Intent, Scene


class HumanPolicy(DirectedPolicy):
    """Takes every note and wants nothing: what the caller wants is known to the person only."""

    @property
    def wants(self) -> dict[str, Any]:
        """Nothing is known of what the person wants."""
        return {}

    def look(self, scene: Scene) -> list[Intent]:
        """A person needs no telling when to speak."""
        return []

    def note_act(self, now_ms: float, key: str, reply: str | None, source: str = "lexical") -> None:
        """The script does not follow."""

    def note_tool(
        self,
        now_ms: float,
        name: str,
        ok: bool,
        mutations: Iterable[str] = (),
        approval_request: str | None = None,
        commit: tuple[str, bool] | None = None,
    ) -> None:
        """The script does not follow."""

    def note_person_spoke(self) -> None:
        """The script does not follow."""

    def note_person_decided(self, what: str, field: str | None = None, value: Any = None) -> None:
        """The script does not follow."""

    def note_reply_closed(self, now_ms: float, reply: str, heard_any: bool, interrupted: bool) -> None:
        """The script does not follow."""

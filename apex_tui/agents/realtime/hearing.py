"""The server's transcript of the caller: in pieces, whole so far, final, or failed; each item is settled once.

Pure; deliberately not in here: which turn an item belongs to.
"""

from __future__ import annotations

from typing import Any

from apex_tui.agents.realtime.door import ident, obj, remember, text
from apex_tui.agents.realtime.errors import error_parts
from apex_tui.agents.seam import AgentEvent, ProviderError, UsageReported, UserTranscript
from apex_tui.agents.usage import counts_of

KIND = "conversation.item.input_audio_transcription"


class Hearing:
    """The transcripts of one session. ``cumulative``: a delta repeats the whole instead of adding to it."""

    def __init__(self, cumulative: bool) -> None:
        self._cumulative = cumulative
        self._heard: dict[str, str] = {}
        self.handlers = {
            f"{KIND}.delta": self._delta,
            f"{KIND}.updated": self._whole,
            f"{KIND}.completed": self._final,
            f"{KIND}.failed": self._failed,
        }

    def _delta(self, message: dict[str, Any]) -> list[AgentEvent]:
        item = ident(message.get("item_id"))
        before = "" if self._cumulative else self._heard.get(item, "")
        return self._so_far(item, text(before + text(message.get("delta"))))

    def _whole(self, message: dict[str, Any]) -> list[AgentEvent]:
        return self._so_far(
            ident(message.get("item_id")), text(message.get("transcript")) or text(message.get("delta"))
        )

    def _so_far(self, item: str, words: str) -> list[AgentEvent]:
        remember(self._heard, item, words)
        return [UserTranscript(item, words, final=False)]

    def _final(self, message: dict[str, Any]) -> list[AgentEvent]:
        item = ident(message.get("item_id"))
        self._heard.pop(item, None)
        events: list[AgentEvent] = [UserTranscript(item, text(message.get("transcript")), final=True)]
        counts = counts_of(message.get("usage"))
        return [*events, UsageReported(counts, "transcript")] if counts else events

    def _failed(self, message: dict[str, Any]) -> list[AgentEvent]:
        item = ident(message.get("item_id"))
        kind, why = error_parts(obj(message.get("error")))
        settled = UserTranscript(item, self._heard.pop(item, ""), final=True)
        return [settled, ProviderError(kind, f"no transcript of the caller: {why}")]

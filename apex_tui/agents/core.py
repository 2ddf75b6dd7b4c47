"""What a protocol core offers to the shell around it: messages in and out, without a socket and without a clock."""

from __future__ import annotations

from typing import Protocol

from apex_tui.agents.seam import AgentEvent, AgentSetup


class Core(Protocol):
    """A protocol without I/O: what is to be sent, and what a message means."""

    refusal: str | None
    """Why the server did not take the session."""
    audio_prefix: str
    """How a message that carries caller audio begins."""

    @property
    def in_rate(self) -> int:
        """What the server takes, in Hz."""

    @property
    def out_rate(self) -> int:
        """What it sends, in Hz; may change between items."""

    @property
    def expecting(self) -> bool:
        """Whether the server owes a message now: a reply is under way or asked for, and nothing is owed to the server."""

    def start(self, setup: AgentSetup) -> None:
        """Configure the session."""

    def take(self) -> list[str]:
        """Everything that is to be sent now, in order."""

    def receive(self, raw: str | bytes) -> list[AgentEvent]:
        """Read one message; never raises on what it says."""

    def audio(self, pcm: bytes) -> None:
        """The caller's next samples at the wire's rate."""

    def tool_result(self, call_id: str, output: str) -> None:
        """The result of a call."""

    def truncate(self, item: str, audio_end_ms: int) -> None:
        """How much of an item was heard."""

"""The seam between the engine and any agent: what goes in, which neutral events come out, what an agent can do.

An agent never says how something was played or heard: that is the engine's own knowledge. Everything here is plain data; families live in
files of their own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from apex_tui.timeline.agent_facts import DetectSource, ReplyStatus, UsagePart


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an agent has. What it lacks makes a number *not applicable*, never a guess."""

    in_rate: int = 24_000
    out_rate: int = 24_000
    server_vad: bool = True
    cancel: bool = True
    truncate: bool = True
    reports_interruption: bool = True
    user_transcript: bool = True
    speech_text: bool = True
    hints: bool = False
    """Takes the declared side channel (rehearsal agents only)."""
    audio_in: bool = True
    """Hears the caller. An agent that does not is given each turn as text, at the turn's last audible sample."""
    audio_out: bool = True
    """Speaks. The words of an agent that does not count as heard when its reply ends; nothing that needs sound applies to it."""
    tells_end: bool = True
    """Says when a reply is complete. Where its end is found by silence, nobody can tell a natural end from a yield."""
    answers_results: bool = True
    """Owes a reply once its calls are answered; else it may leave a result unspoken, and nobody waits for long."""
    max_session_s: float | None = None
    """How long its provider lets a session last, counted from when it stood; None: no limit is known."""


@dataclass(frozen=True, slots=True)
class AgentSetup:
    """What every agent gets, whatever its family: equal input is proven by the digests of these two."""

    instructions: str
    tools: tuple[dict[str, Any], ...] = ()
    """Neutral function tools: ``{"name", "description", "parameters": JSON Schema}``."""


@dataclass(frozen=True, slots=True)
class Hint:
    """The declared side channel of rehearsal agents: which utterance lies where in the caller's audio (samples since frame 0)."""

    turn: int
    plan: str
    act: str
    text: str
    onset: int
    end: int
    pauses: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Ready:
    """The session stands; ``accepted`` is what the server echoed."""

    accepted: dict[str, Any] = field(default_factory=dict)
    model: str | None = None


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    """The agent noticed that the caller began to speak."""

    source: DetectSource
    audio_ms: float | None = None


@dataclass(frozen=True, slots=True)
class SpeechStopped:
    """The agent noticed that the caller stopped."""

    source: DetectSource
    audio_ms: float | None = None


@dataclass(frozen=True, slots=True)
class UserTranscript:
    """The agent's transcript of the caller, whole so far."""

    item: str
    text: str
    final: bool


@dataclass(frozen=True, slots=True)
class ReplyBegun:
    """A reply was begun. ``after_tool``: it follows tool results."""

    reply: str
    after_tool: bool = False


@dataclass(frozen=True, slots=True)
class AgentAudio:
    """Speech of the agent: 16-bit little-endian mono at 24 kHz, whatever the rate of its wire."""

    reply: str
    item: str
    pcm: bytes


@dataclass(frozen=True, slots=True)
class LateAudio:
    """Audio that arrived for a reply that was over or cancelled; it was dropped."""

    reply: str
    ms: float


@dataclass(frozen=True, slots=True)
class AgentText:
    """Words of the agent: a delta, or the whole item when ``final``."""

    reply: str
    item: str
    text: str
    final: bool = False


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A complete tool call, once per ``call_id``. ``arguments`` is None when they could not be read; ``error`` says why."""

    call_id: str
    name: str
    arguments: dict[str, Any] | None
    reply: str | None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCancelled:
    """The agent takes a call back: what has no effect yet must not get one, and no result is awaited."""

    call_id: str
    reason: str = "the agent took the call back"


@dataclass(frozen=True, slots=True)
class StageDone:
    """A part of the agent's work that it reports itself, such as ``stt``, ``llm`` or ``tts``; ``began`` and ``ended`` are loop times (s)."""

    stage: str
    began: float
    ended: float
    reply: str | None = None


@dataclass(frozen=True, slots=True)
class ReplyEnded:
    """The reply is complete, or was abandoned; no audio of it is to be expected."""

    reply: str
    status: ReplyStatus
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ProviderError:
    """The provider reported an error, or sent something unreadable."""

    kind: str
    message: str
    caused_by: str | None = None
    fatal: bool = False


@dataclass(frozen=True, slots=True)
class UsageReported:
    """What the provider counted (names as in ``agents.usage``): for one reply, for a transcript, for the model that works for a voice.

    ``so_far``: the counts are those of the whole session until now, and replace earlier ones.
    """

    counts: dict[str, float]
    part: UsagePart
    reply: str | None = None
    so_far: bool = False


@dataclass(frozen=True, slots=True)
class LimitWarning:
    """The session or its connection will end in ``seconds`` (None: not said), or has just been carried over to a new one."""

    message: str
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Closed:
    """The connection ended. ``code`` None: it broke. ``here``: this side ended it, for what came or did not come."""

    code: int | None
    reason: str
    clean: bool
    here: bool = False

    @property
    def sentence(self) -> str:
        """What became of the connection, without a full stop."""
        if self.code is None:
            return self.reason or "the connection to the agent broke"
        told = f"close code {self.code}{f', {self.reason}' if self.reason else ''}"
        return (
            f"the connection was ended on this side ({told})"
            if self.here
            else f"the agent closed the connection ({told})"
        )


AgentEvent = (
    Ready
    | SpeechStarted
    | SpeechStopped
    | UserTranscript
    | ReplyBegun
    | AgentAudio
    | LateAudio
    | AgentText
    | ToolRequest
    | ToolCancelled
    | StageDone
    | ReplyEnded
    | ProviderError
    | UsageReported
    | LimitWarning
    | Closed
)


@dataclass(frozen=True, slots=True)
class Stamped:
    """A neutral event with the loop time (s) at which its message was read from the socket."""

    at: float
    event: AgentEvent


@dataclass(frozen=True, slots=True)
class Health:
    """How well the caller's audio gets out: what waits to be sent (ms), and what was dropped so far (ms)."""

    queued_ms: float = 0.0
    dropped_ms: float = 0.0


WireDirection = Literal["in", "out"]


class WireTap(Protocol):
    """Gets every raw message as text, before anything is made of it (the store masks and shortens it)."""

    def __call__(self, at: float, direction: WireDirection, message: str) -> None:
        """Note one message."""


class Agent(Protocol):
    """A voice agent. All ``send_*`` methods return at once; a bounded queue lies behind them."""

    name: str
    family: str
    url: str
    rehearsal: bool
    capabilities: Capabilities

    async def open(self, setup: AgentSetup) -> Ready:
        """Connect and wait until the session stands.

        Raises:
            UserError: the agent cannot be reached, or refuses the session; one sentence.
        """

    def events(self) -> AsyncIterator[Stamped]:
        """Everything the agent does from now on; ends after `Closed`."""

    def send_audio(self, pcm: bytes) -> None:
        """The caller's next frame at 24 kHz; a wire of another rate gets it converted."""

    def send_tool_result(self, call_id: str, output: str) -> None:
        """The result of a call, as JSON text."""

    def truncate(self, item: str, audio_end_ms: int) -> None:
        """Tell the agent how much of an item was heard."""

    def send_hint(self, hint: Hint) -> None:
        """The declared side channel; ignored by agents without it."""

    async def close(self) -> None:
        """End the session; never raises."""


@runtime_checkable
class ReportsHealth(Protocol):
    """An agent that has a queue for the caller's audio and can say what waits in it."""

    def health(self) -> Health:
        """How well the caller's audio gets out, now."""

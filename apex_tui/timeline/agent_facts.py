"""Facts about the agent: connection, replies, words, what was heard of them, and who had the floor."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from apex_tui.timeline.base import Fact, Json, Ms

ReplyStatus = Literal["completed", "cancelled", "failed", "incomplete"]
DetectSource = Literal["server_vad", "server_interrupt", "client_energy", "client_cancel"]
UsagePart = Literal["agent", "delegate", "transcript"]
"""Whose work was counted: the agent's own, that of the model which works for it, that of its transcriber."""
StopKind = Literal["yielded", "natural_end", "unattributed", "resumed", "not_stopped", "censored", "invalid"]
"""How an agent took a barge-in. ``invalid``: the raw times contradict each other; it is shown with them and averaged nowhere."""


class AgentConnected(Fact):
    """The session stands. ``accepted`` is what the server says it accepted (bounded); digests of prompt and tool list prove equal input."""

    actor = "agent"
    type: Literal["agent.connected"] = "agent.connected"
    family: str
    url: str
    model: str | None = None
    capabilities: Json = {}
    accepted: Json = {}
    instructions_sha256: str
    tools_sha256: str


class AgentClosed(Fact):
    """The connection ended. ``clean`` is our judgement, not the close code's."""

    actor = "agent"
    type: Literal["agent.closed"] = "agent.closed"
    code: int | None
    reason: str
    clean: bool


class AgentError(Fact):
    """The provider reported an error, or sent something that could not be read; the session goes on unless it says otherwise."""

    actor = "agent"
    type: Literal["agent.error"] = "agent.error"
    kind: str
    message: str
    caused_by: str | None = None


class ReplyStarted(Fact):
    """The agent began to produce a reply (its own response id)."""

    actor = "agent"
    type: Literal["agent.reply_started"] = "agent.reply_started"
    reply: str
    after_tool: bool = False
    """It follows a tool result rather than a caller turn."""


class AudioArrived(Fact):
    """First audio packet of a reply, at the socket (`first_byte`)."""

    actor = "agent"
    type: Literal["agent.audio_arrived"] = "agent.audio_arrived"
    reply: str
    item: str


class AgentSpeechStarted(Fact):
    """First audible agent sample as played (edge detector; back-dated)."""

    actor = "agent"
    type: Literal["agent.speech_started"] = "agent.speech_started"
    reply: str | None
    onset_ms: Ms
    leading_silence_ms: float | None = None
    """For the first sound of a reply: silence played between its first sample and this onset."""


class AgentSpeechEnded(Fact):
    """Last audible agent sample as played, known once 250 ms of silence followed or the audio was flushed."""

    actor = "agent"
    type: Literal["agent.speech_ended"] = "agent.speech_ended"
    reply: str | None
    offset_ms: Ms
    in_pause: bool = False
    """Audio of the same reply went on being played without a gap: silence in it, not its end."""


class AgentPaused(Fact):
    """A silence of 200-250 ms inside an audible stretch: too short to end it, long enough to lie between two sentences."""

    actor = "agent"
    type: Literal["agent.paused"] = "agent.paused"
    reply: str | None
    from_ms: Ms
    to_ms: Ms


class LateDropped(Fact):
    """Audio of a reply that was over or cut off went on arriving and was dropped; ``dropped_ms`` is the sum so far."""

    actor = "agent"
    type: Literal["agent.late_dropped"] = "agent.late_dropped"
    reply: str
    dropped_ms: float


class AgentSaid(Fact):
    """Words that the agent produced (a delta, or the whole when ``final``). Generated is not heard."""

    actor = "agent"
    type: Literal["agent.said"] = "agent.said"
    reply: str
    item: str
    text: str
    final: bool = False
    audio_ms: float | None = None
    """Audio of the reply that had arrived before these words: how far into it they are spoken at the earliest."""


class AgentHeardCaller(Fact):
    """The agent's own transcript of the caller (whole so far)."""

    actor = "agent"
    type: Literal["agent.heard_caller"] = "agent.heard_caller"
    item: str
    text: str
    final: bool


class AgentNoticed(Fact):
    """The agent's own signal that it noticed the caller's speech, or that it ended. ``audio_ms`` is on the agent's input clock."""

    actor = "agent"
    type: Literal["agent.noticed"] = "agent.noticed"
    what: Literal["speech_started", "speech_stopped"]
    source: DetectSource
    audio_ms: float | None = None


class AgentStage(Fact):
    """A part of its work that the agent reports itself (``endpoint``, ``stt``, ``llm``, ``tts`` ...), on the media clock."""

    actor = "agent"
    type: Literal["agent.stage"] = "agent.stage"
    stage: str
    reply: str | None = None
    from_ms: Ms
    to_ms: Ms


class AgentUsage(Fact):
    """What the provider counted for a piece of work: tokens by kind, or seconds. ``so_far``: for the session until now, not on top.

    Names: ``input_tokens``, ``output_tokens``, ``total_tokens``, ``cached_tokens``, ``input_audio_tokens`` ..., ``seconds``.
    """

    actor = "agent"
    type: Literal["agent.usage"] = "agent.usage"
    part: UsagePart
    reply: str | None = None
    counts: dict[str, float]
    so_far: bool = False


class ReplyGenerated(Fact):
    """The agent finished or abandoned a reply. ``generated_ms`` is received audio; it may still be playing."""

    actor = "agent"
    type: Literal["agent.reply_generated"] = "agent.reply_generated"
    reply: str
    status: ReplyStatus
    reason: str = ""
    generated_ms: float


class ReplyFlushed(Fact):
    """Unplayed audio of a reply was dropped because the agent was interrupted."""

    actor = "agent"
    type: Literal["agent.reply_flushed"] = "agent.reply_flushed"
    reply: str
    at_ms: Ms
    dropped_ms: float


class ReplyClosed(Fact):
    """Nothing more of a reply will be heard. ``heard`` is the prefix of ``text`` that fits ``played_ms``."""

    actor = "agent"
    type: Literal["agent.reply_closed"] = "agent.reply_closed"
    reply: str
    how: Literal["played", "flushed", "silent"]
    played_ms: float
    generated_ms: float
    text: str
    heard: str


class AgentTruncated(Fact):
    """We told the provider how much of an item was heard (never 0, never more than received)."""

    actor = "harness"
    type: Literal["agent.truncated"] = "agent.truncated"
    item: str
    audio_end_ms: float


class AgentActed(Fact):
    """The observer's reading of played words, or of a tool call. ``key`` is ``ACT`` or ``ACT:field``."""

    actor = "agent"
    type: Literal["agent.acted"] = "agent.acted"
    key: str
    source: Literal["pattern", "lexical", "tool"]
    reply: str | None = None
    evidence: str = ""
    value: str | None = None
    confidence: float = 1.0


class BargeInOpened(Fact):
    """The caller began to speak inside an open reply. ``in_pause``: the agent was not audible at the onset."""

    actor = "caller"
    type: Literal["barge_in.opened"] = "barge_in.opened"
    barge_in: int
    turn: int
    reply: str
    kind: Literal["overlap", "in_pause"]
    onset_ms: Ms


class BargeInClosed(Fact):
    """How the agent took it (measures.md section 3). Times that do not exist are absent."""

    type: Literal["barge_in.closed"] = "barge_in.closed"
    barge_in: int
    turn: int
    reply: str
    kind: Literal["overlap", "in_pause"]
    onset_ms: Ms
    stop_kind: StopKind
    stop_delay_ms: float | None = None
    detect_ms: float | None = None
    detect_source: DetectSource | None = None
    flush_ms: float | None = None
    played_ms: float | None = None
    generated_ms: float | None = None
    stale_bursts: int = 0
    last_audible_ms: Ms | None = None
    """The raw end of the agent's sound that the delay is taken to."""
    echo_suspect: bool = False
    """What began it sounds like what the loudspeaker was playing."""


class FalseYield(Fact):
    """The agent fell silent at a back-channel."""

    type: Literal["floor.false_yield"] = "floor.false_yield"
    turn: int
    reply: str
    onset_ms: Ms
    silent_ms: float


class CutIn(Fact):
    """The agent became audible inside a caller turn (pauses included), for more than a back-channel."""

    type: Literal["floor.cut_in"] = "floor.cut_in"
    turn: int
    reply: str | None
    onset_ms: Ms
    overlap_ms: float
    kind: Literal["cut_in", "terminal_overlap", "agent_backchannel", "talk_over"]
    """``talk_over``: other overlap of 300 ms or more that the agent began, such as going on inside the turn that interrupted it."""


class Stage(BaseModel):
    """A part of an answer's latency. ``source``: who knows of its end. Part of `ResponseDetailed`, not an event of its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: Literal["endpoint", "work", "begin", "first_byte", "lead", "unexplained"]
    source: Literal["provider", "client", "none"]
    ms: float


class ResponseMeasured(Fact):
    """Latency of the answer to one caller turn, from its last audible sample; signed (measures.md section 4)."""

    type: Literal["response.measured"] = "response.measured"
    turn: int
    reply: str | None
    first_byte_ms: float | None = None
    first_audible_ms: float | None = None
    leading_silence_ms: float | None = None
    after_tool: bool = False


class SilenceMeasured(Fact):
    """At least 3 s without sound while the caller waits; ``silent_wait`` when a tool was running, ``dead_air`` when not."""

    type: Literal["floor.silence"] = "floor.silence"
    kind: Literal["dead_air", "silent_wait"]
    from_ms: Ms
    to_ms: Ms
    tool: str | None = None


class ResponseDetailed(Fact):
    """More on an answer, once its reply is over; times from the caller's last audible sample, signed; absent when unknown.

    ``stages`` add up to the first audible sample; what no signal explains is the stage ``unexplained``.
    """

    type: Literal["response.detailed"] = "response.detailed"
    turn: int
    reply: str
    first_speech_ms: float | None = None
    first_speakable_ms: float | None = None
    first_sentence_ms: float | None = None
    first_sentence_estimated: bool = False
    stages: tuple[Stage, ...] = ()


class StateDisagreed(Fact):
    """What the agent declared and what could be heard do not agree; both are shown, neither is corrected."""

    type: Literal["floor.state_disagreed"] = "floor.state_disagreed"
    declared: str
    audible: str
    at_ms: Ms
    reply: str | None = None

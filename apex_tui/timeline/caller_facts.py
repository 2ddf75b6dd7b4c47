"""Facts about the caller: what is planned, what is said, and why the caller is silent; at the microphone, what a person's keys decide."""

from __future__ import annotations

from typing import Any, Literal

from apex_tui.timeline.base import Fact, Ms

SpeechAct = Literal[
    "OPENING_REQUEST", "ANSWER", "ASK", "CONFIRM", "CORRECT", "APPROVE", "REVOKE", "DENY", "CLARIFY", "ACKNOWLEDGE", "BACKCHANNEL",
    "INTENT_SWITCH", "END", "SPEECH",
]  # fmt: skip
"""``SPEECH``: a person's words at the microphone; what they do to the work is said by key, never guessed."""
FloorAction = Literal[
    "AFTER_FLOOR_RELEASE", "BARGE_IN", "BACKCHANNEL", "OVERLAP_WITHOUT_FLOOR_CLAIM", "URGENT_OVERRIDE", "RESUME",
]  # fmt: skip

Direction = Literal["say", "barge_in", "hold", "release", "microphone", "bank", "finish"]
"""What a director may do."""

SilentBecause = Literal[
    "speaking", "listening", "gap", "patience", "awaits_answer", "tool_running", "barge_armed", "held", "person", "done"
]
"""Why the caller says nothing now: the agent has the floor, the natural gap before a reply, patience with a silent agent, the answer to a
correction or interruption is still due, a tool is running, an interruption waits for its moment, the director holds the caller back, a person
has the call, the conversation is over."""


class CallerPlanned(Fact):
    """The policy chose the next utterance. ``because`` names the reveal rule, event or patience that allowed it."""

    actor = "caller"
    type: Literal["caller.planned"] = "caller.planned"
    turn: int
    plan: str
    act: SpeechAct
    facts: tuple[str, ...] = ()
    floor: FloorAction = "AFTER_FLOOR_RELEASE"
    variant: str
    clip: str
    pcm_sha256: str
    because: str
    recovered: bool = False
    """A nudge or a re-ask answered, not a step of the authored dialogue."""


class CallerTurnStarted(Fact):
    """First audible sample of an utterance, known from the bank. ``ends_ms`` is its last audible sample if it is not cut.

    ``detected``: found at the microphone instead, and told up to 300 ms later; its end is not known yet, and ``ends_ms`` is the onset.
    """

    actor = "caller"
    type: Literal["caller.turn_started"] = "caller.turn_started"
    turn: int
    plan: str
    act: SpeechAct
    text: str
    facts: tuple[str, ...] = ()
    values: dict[str, str | int | float | bool | None] = {}
    """Field -> value that this utterance states (after it, that is what the caller wants)."""
    floor: FloorAction = "AFTER_FLOOR_RELEASE"
    onset_ms: Ms
    ends_ms: Ms
    value_end_ms: Ms
    """End of the word that carries the value; uptake is measured from here."""
    pauses_ms: tuple[tuple[float, float], ...] = ()
    """Authored pauses inside the utterance (media time)."""
    detected: bool = False
    pending: bool = False
    """At the microphone, inside an open reply: whether it is a back-channel is not decided yet (`CallerTurnDecided`)."""
    echo_suspect: bool = False
    """At the microphone: it sounds like what the loudspeaker was playing. Shown, and kept out of every number."""


class CallerSoundBegan(Fact):
    """At the microphone: a sound rose above the room, as its energy tells within a frame or two. Whether it is speech is told within 250 ms:
    the turn that it became names this event as its cause, or `CallerSoundRefused` follows.
    """

    actor = "caller"
    type: Literal["caller.sound_began"] = "caller.sound_began"
    onset_ms: Ms


class CallerSoundRefused(Fact):
    """The sound was no speech: a click, a knock, a fan."""

    actor = "caller"
    type: Literal["caller.sound_refused"] = "caller.sound_refused"
    onset_ms: Ms


class CallerTurnDecided(Fact):
    """What a pending turn was, told by its ``length`` (no back-channel is so long), its ``words`` as the agent heard them, or the person's key."""

    actor = "caller"
    type: Literal["caller.turn_decided"] = "caller.turn_decided"
    turn: int
    kind: Literal["turn", "backchannel"]
    by: Literal["length", "words", "key"]


class CallerTurnEnded(Fact):
    """Last audible sample of an utterance."""

    actor = "caller"
    type: Literal["caller.turn_ended"] = "caller.turn_ended"
    turn: int
    offset_ms: Ms


class CallerWaits(Fact):
    """Why the caller is silent has changed. ``awaits`` is the act waited for, ``until_ms`` when patience ends, ``next_plan`` what comes then."""

    actor = "caller"
    type: Literal["caller.waits"] = "caller.waits"
    why: SilentBecause
    awaits: str | None = None
    until_ms: Ms | None = None
    next_plan: str | None = None


class EventArmed(Fact):
    """A scripted change of mind is due: its trigger was seen; it waits for its moment (played ms of a reply)."""

    actor = "caller"
    type: Literal["event.armed"] = "event.armed"
    event: str
    trigger: str
    at_played_ms: float | None = None
    """The seeded point inside the authored window; None when it needs no agent speech."""


class EventFired(Fact):
    """A follow-through event took effect (world or facts changed). Corrections take effect at the audible onset of their words."""

    actor = "caller"
    type: Literal["event.fired"] = "event.fired"
    event: str
    kind: str
    facts: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()
    """``artifact.field`` paths that no longer hold what the caller wants."""
    delivered: Literal["barge_in", "in_turn", "overlap", "silent"] = "silent"
    note: str = ""
    """Why it was delivered otherwise than authored, for example: the reply was shorter than the window."""


class PersonDecided(Fact):
    """The person at the microphone said by key what their words did. It dates from the words (``words_ms``, the onset of turn ``turn``); without
    words near enough, from the key.
    """

    actor = "operator"
    type: Literal["person.decided"] = "person.decided"
    what: Literal["approve", "deny", "revoke", "corrected", "retake", "listening", "interruption"]
    """``retake``: the person says ``turn`` again; what is recorded of it is not kept for a scenario."""
    action: str | None = None
    request: str | None = None
    field: str | None = None
    """``artifact.field`` of a correction."""
    value: Any = None
    """What the field should hold now, when the person said so."""
    turn: int | None = None
    words_ms: Ms | None = None
    key_ms: Ms


class DirectorActed(Fact):
    """A person directed the recorded caller; this stands where it took effect (``asked_ms``: when it was asked for). From the first one on the
    session is a directed one, and is never counted with others.

    ``say``, ``barge_in``: the utterance ``plan`` is spoken as turn ``turn``; ``hold``, ``release``: the caller says nothing of their own, or
    does again; ``microphone``, ``bank``: who has the caller's lane from here on; ``finish``: the caller says goodbye and hangs up.
    """

    actor = "operator"
    type: Literal["director.acted"] = "director.acted"
    what: Direction
    by: str
    """Who asked: the screen, a run's own directions, or the name that a program gave."""
    asked_ms: Ms
    plan: str | None = None
    turn: int | None = None
    device: str | None = None
    """The microphone that was opened."""


class MicrophonePulse(Fact):
    """Once a second of a microphone session: how well the person can be heard, and how late.

    ``noise_db``: floor of the room (dBFS). ``snr_db``: the last speech above it. ``error_ms``: stated error of the edges, wider in noise.
    ``erle_db``: how much of the echo the canceller took away. ``closed_ms``: how long of this second the half-duplex gate was shut.
    """

    type: Literal["microphone.pulse"] = "microphone.pulse"
    noise_db: float
    snr_db: float | None = None
    error_ms: float
    echo: Literal["none", "gate", "cancel"]
    erle_db: float | None = None
    closed_ms: float = 0.0
    input_latency_ms: float
    output_latency_ms: float
    underruns: int = 0
    overruns: int = 0
    rejected: int = 0
    """Sounds so far that were no speech."""
    silent: bool = False
    """The device brings no sound: it is gone, suspended or muted."""

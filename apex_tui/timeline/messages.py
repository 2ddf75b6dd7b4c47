"""What goes over the pipe between the screen and the engine besides events.

Commands go in on the engine's stdin, notices come out on its stdout; both are JSON lines. Notices are never stored: whatever they say can
be recomputed from the log or the WAV.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from apex_tui.timeline.base import Json, Message
from apex_tui.timeline.caller_facts import Direction
from apex_tui.timeline.errors import UserError
from apex_tui.timeline.events import Event, from_own_line, from_record, to_line

Preset = Literal["neutral", "coaching"]
"""Which instructions the agent is given."""


class Direct(Message):
    """Direct the recorded caller: the session is a directed one from then on. What cannot be done is said in a warning and leaves no trace else.

    ``say``: the utterance ``plan`` now, or as soon as the caller is silent; ``barge_in``: the same into the agent's speech (no ``plan``: the next
    interruption that the workflow has); ``hold``, ``release``: the caller says nothing of their own; ``microphone``, ``bank``: who speaks;
    ``finish``: the caller says goodbye and hangs up. ``at_ms``: not before this media position.
    """

    type: Literal["direct"] = "direct"
    what: Direction
    plan: str | None = Field(default=None, max_length=200)
    at_ms: float | None = Field(default=None, ge=0, le=86_400_000)
    by: str = Field(default="control", min_length=1, max_length=60)


class Run(Message):
    """Run one session. ``workflow`` is an id or a path; ``out`` the parent folder (None: the default place)."""

    type: Literal["run"] = "run"
    workflow: str
    agent: str = "rehearsal"
    seed: int = 1
    profile: Literal["strict", "official"] = "strict"
    virtual: bool = False
    out: str | None = None
    url: str | None = None
    model: str | None = None
    profile_file: str | None = None
    """The user's own dialects of agents; None: the default place."""
    parts: dict[str, str] = {}
    """Addresses of a cascade's parts: ``stt``, ``llm``, ``tts``."""
    instructions: Preset = "neutral"
    """``neutral``: the job and its rules; ``coaching``: advice for the test, as the published benchmark gives it."""
    sound: Literal["auto", "none", "device"] = "auto"
    max_s: float | None = Field(default=None, gt=0)
    budget_s: float | None = Field(default=None, gt=0)
    """A time budget below the workflow's: a session that is not done by then ends as over time, and is judged."""
    tool_latency: dict[str, float] = {}
    """Tool name -> latency in ms, overriding the workflow's."""
    channel: str = Field(default="clean", max_length=200)
    """What lies between the caller and the agent, as ``audio.channel.parse_channel`` reads it."""
    caller: Literal["bank", "microphone"] = "bank"
    """Who calls: the recorded caller that the workflow scripts, or the person at this machine."""
    microphone: str | None = Field(default=None, max_length=300)
    """Name of the microphone, or part of it; None: the remembered one, or the system's."""
    speaker: str | None = Field(default=None, max_length=300)
    headphones: bool | None = None
    """Whether the microphone cannot hear the loudspeaker; None: as remembered."""
    echo: Literal["auto", "cancel", "gate", "none"] = "auto"
    tool_failures: dict[str, int] = {}
    """Tool name -> how many of its first calls fail with an error, as a system that is down would make them."""
    directions: tuple[Direct, ...] = Field(default=(), max_length=1000)
    """What a director does, known in advance: so it can be done in simulated time too."""
    serve_tools: str | None = Field(default=None, max_length=300)
    """``[HOST:]PORT`` at which an agent that owns its tools mounts ours over MCP; None: they are offered over its own connection."""
    wire_tools: bool = False
    """With ``serve_tools``: offer them over the agent's own connection as well."""
    regression: str = Field(default="", max_length=200)
    """Name of the scenario whose caller's decisions are pinned in this session; it is never averaged with others."""
    probe_file: str | None = None
    """What to read in the agent's own backend, as ``engine.probe_file`` reads it."""


class Stop(Message):
    """End the session now; it is kept, labelled and not scored as valid."""

    type: Literal["stop"] = "stop"


class Mark(Message):
    """Mark this moment on the timeline."""

    type: Literal["mark"] = "mark"
    note: str = ""


class Decide(Message):
    """The person at the microphone says by key what their words did.

    ``request`` and ``digest``: what exactly was shown when the key was pressed (approve, deny); ``action``: what is taken back (revoke);
    ``field`` and ``value``: what was corrected (``artifact.field``; None: no value was given). ``retake``: the newest turn is said again and not
    kept. ``listening``, ``interruption``: what the newest undecided turn was. ``shown_ms``: how long it had been on the screen.
    """

    type: Literal["decide"] = "decide"
    what: Literal["approve", "deny", "revoke", "corrected", "retake", "listening", "interruption"]
    request: str | None = Field(default=None, max_length=200)
    digest: str | None = Field(default=None, max_length=200)
    action: str | None = Field(default=None, max_length=200)
    field: str | None = Field(default=None, max_length=400)
    value: str | None = Field(default=None, max_length=2000)
    shown_ms: float = Field(default=0.0, ge=0)


class HangUp(Message):
    """The person at the microphone ends the call: the session is over in order."""

    type: Literal["hang_up"] = "hang_up"


class Refill(Message):
    """Ask for nothing; tells the engine the last ``seq`` seen, so that a screen that fell behind reads on from the file."""

    type: Literal["refill"] = "refill"
    seq: int


class Listen(Message):
    """Replay mode: instead of a run, play the sound of the recording in ``folder`` where `Play` says, until stdin closes."""

    type: Literal["listen"] = "listen"
    folder: str
    sound: Literal["auto", "none", "device"] = "auto"


class Play(Message):
    """Replay mode: play from here on; the newest one counts. Sound is heard at speed 1 only."""

    type: Literal["play"] = "play"
    at_ms: float = Field(ge=0, le=86_400_000)
    speed: float = Field(default=1.0, gt=0, le=64)


class Pause(Message):
    """Replay mode: be silent until the next `Play`."""

    type: Literal["pause"] = "pause"


class Meters(Message):
    """Levels of the last 50 ms in dBFS, and the media clock. Dropped when the reader is slow."""

    type: Literal["meters"] = "meters"
    media_ms: float
    caller_db: float
    agent_db: float
    late_ms: float
    queue_ms: float


class Opened(Message):
    """The session folder stands."""

    type: Literal["opened"] = "opened"
    session: str
    folder: str
    sound: str
    """One sentence: which device plays, or why there is no sound."""
    tools: str | None = None
    """Where the tools are served over MCP, when they are."""


class Scored(Message):
    """The verdict (the content of score.json)."""

    type: Literal["scored"] = "scored"
    folder: str
    score: Json


class Failed(Message):
    """The engine could not run or finish: one sentence, and the exit code."""

    type: Literal["failed"] = "failed"
    message: str
    exit_code: int


AnyCommand = Annotated[
    Run | Stop | Mark | Decide | Direct | HangUp | Refill | Listen | Play | Pause, Field(discriminator="type")
]
AnyNotice = Annotated[Meters | Opened | Scored | Failed, Field(discriminator="type")]


@cache
def _command() -> TypeAdapter[AnyCommand]:
    return TypeAdapter(AnyCommand)


@cache
def _notice() -> TypeAdapter[AnyNotice]:
    return TypeAdapter(AnyNotice)


def command_line(command: AnyCommand) -> str:
    """A command as one JSON line, without the line break."""
    return command.model_dump_json()


def read_command(line: str | bytes) -> AnyCommand:
    """Decode one command.

    Raises:
        UserError: it is not a command.
    """
    try:
        return _command().validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        raise UserError(f"not a command: {'.'.join(map(str, first['loc']))} {first['msg']}") from error


def output_line(item: Event | AnyNotice) -> str:
    """An event or a notice as one line of the engine's stdout."""
    return to_line(item) if isinstance(item, Event) else item.model_dump_json()


def read_output(line: str | bytes) -> Event | AnyNotice:
    """Decode one line of the engine's stdout (events carry ``v``, notices do not).

    Raises:
        UserError: it is neither.
    """
    event = from_own_line(line) if isinstance(line, bytes) else None
    if event is not None:
        return event
    try:
        record: Any = json.loads(line)
        if isinstance(record, dict) and "v" in record:
            return from_record(record)
        return _notice().validate_python(record)
    except (ValueError, ValidationError) as error:
        raise UserError(f"the engine sent something unreadable: {str(error)[:200]}") from error

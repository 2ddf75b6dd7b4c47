"""Checking an agent without a workflow: it is connected, answers one turn and calls one tool; what it accepted and how long it took.

The turns are in writing where an agent takes them so, else (or when asked for) spoken from the speech bank; the rehearsal agent follows the
caller's plan. Silence is sent meanwhile at the pace of a call. Deliberately not in here: making the agent, printing, and judging its voice (a run
of a workflow does that).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from apex_tui.agents.seam import (
    Agent,
    AgentAudio,
    AgentEvent,
    AgentSetup,
    AgentText,
    Closed,
    Hint,
    ProviderError,
    ReplyEnded,
    Stamped,
    ToolRequest,
    UsageReported,
)
from apex_tui.audio.clips import decode
from apex_tui.audio.frames import FRAME_MS, FRAME_SAMPLES, RATE, Pcm, pcm_bytes, silence, to_samples
from apex_tui.audio.tones import tone_speech
from apex_tui.bank.bank import find_bank_root
from apex_tui.timeline.errors import UserError
from apex_tui.workflow.caller_model import Flow, State
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.outcome_model import Gold, Reference, ReferenceTurn, Step
from apex_tui.workflow.work_model import Autonomy

TURN_S = 30.0
"""An answer that takes longer is none."""

TOOL: dict[str, Any] = {
    "name": "note_number",
    "description": "Writes down a number that the caller names.",
    "parameters": {
        "type": "object",
        "properties": {"number": {"type": "integer", "description": "the number"}},
        "required": ["number"],
    },
}
SETUP = AgentSetup(
    "This is a check of the connection. Answer a greeting with one short sentence. When the caller names a number, call the tool "
    "note_number with it, and when its result is there, say in one short sentence that it is noted.",
    (TOOL,),
)
SPOKEN_TOOL: dict[str, Any] = {
    "name": "note_number",
    "description": "Writes down the employee number that the caller gives.",
    "parameters": {
        "type": "object",
        "properties": {"number": {"type": "string", "description": "the number as the caller said it, such as A12"}},
        "required": ["number"],
    },
}
SPOKEN_SETUP = AgentSetup(
    "This is a check of the connection. When the caller asks for leave, ask for the employee number in one short sentence. When the caller gives "
    "an employee number, call the tool note_number with it, and when its result is there, say in one short sentence that it is noted.",
    (SPOKEN_TOOL,),
)
CLIPS = {"check.hello": "open.v1.opus", "check.number": "ans_employee_id.v1.opus"}
"""Turn -> clip of the workflow *leave-request*: "Hi, I'd like to put in for some annual leave.", "Sure, it's E, two zero four seven."."""

HELLO = "Hello. Please answer with one short sentence."
NUMBER = "Please note the number seven with the tool note_number."

WORKFLOW = Workflow(
    id="connection-check",
    title="Check of the connection",
    source="recipe",
    archetype="FORM_FILL",
    autonomy=Autonomy(level="A3_APPROVAL_GATED_COMMIT"),
    flow=Flow(states={"START": State()}),
    gold=Gold(),
    reference=Reference(
        turns=(
            ReferenceTurn(after="check.hello", steps=(Step(say="Hello, I can hear you."),)),
            ReferenceTurn(
                after="check.number",
                steps=(Step(call="note_number", args={"number": 7}), Step(say="It is noted.")),
            ),
        )
    ),
)
"""What the rehearsal agent follows in a check."""


Turns = Literal["written", "spoken"]
"""How the caller's turns reach an agent in a check."""


@runtime_checkable
class TakesText(Protocol):
    """An agent that takes a caller turn in writing."""

    def send_text(self, words: str) -> None:
        """The caller's turn."""


@dataclass(slots=True)
class Report:
    """What a check found. Times in ms; a time that does not exist is absent. ``problems``: one sentence each; none: the agent works."""

    name: str
    family: str
    url: str
    turns: Turns = "written"
    model: str | None = None
    accepted: dict[str, Any] = field(default_factory=dict)
    capabilities: dict[str, Any] = field(default_factory=dict)
    open_ms: float | None = None
    first_words_ms: float | None = None
    first_audio_ms: float | None = None
    reply_ms: float | None = None
    tool_call_ms: float | None = None
    after_tool_ms: float | None = None
    answer: str = ""
    audio_ms: float = 0.0
    tool_arguments: dict[str, Any] | None = None
    usage: dict[str, dict[str, float]] = field(default_factory=dict)
    """What the provider counted, by part."""
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether it was connected, answered and called the tool."""
        return not self.problems


async def check_agent(agent: Agent, turn_s: float = TURN_S, *, spoken: bool = False) -> Report:
    """Connect, exchange one turn and one tool call, and close. ``spoken``: by voice, also where writing would do.

    Raises ``UserError``: the agent cannot be reached or refuses the session, has no ears, or the speech bank is not there.
    """
    written = not spoken and not agent.capabilities.hints and isinstance(agent, TakesText)
    if spoken and not agent.capabilities.audio_in:
        raise UserError(f"The agent {agent.name} has no ears: it takes turns in writing only; leave --spoken out.")
    clips = {} if written or agent.capabilities.hints else _clips()
    report = Report(agent.name, agent.family, agent.url, "written" if written else "spoken")
    loop = asyncio.get_running_loop()
    began = loop.time()
    ready = await agent.open(SPOKEN_SETUP if clips else SETUP)
    report.open_ms = _ms(loop.time() - began)
    report.url, report.model, report.accepted = agent.url, ready.model, dict(ready.accepted)
    names = type(agent.capabilities).__dataclass_fields__
    report.capabilities = {name: getattr(agent.capabilities, name) for name in names}
    line = _Line(agent, clips)
    try:
        await _turns(agent, line, report, turn_s)
    finally:
        await line.close()
        await agent.close()
    report.usage = line.usage()
    return report


async def _turns(agent: Agent, line: _Line, report: Report, turn_s: float) -> None:
    said = await line.say(HELLO, "check.hello")
    if await line.until(turn_s, lambda: line.spoken_out(said)):
        report.first_words_ms = line.since(said, AgentText)
        report.first_audio_ms = line.since(said, AgentAudio)
        report.reply_ms = line.since(said, ReplyEnded)
    report.answer = line.words(said)
    report.audio_ms = round(sum(len(audio.pcm) for audio in line.audio(said)) / 48, 1)
    if not report.answer and not report.audio_ms:
        report.problems.append(line.why(f"it did not answer a turn within {turn_s:g} s"))
        return
    said = await line.say(NUMBER, "check.number")
    if not await line.until(turn_s, lambda: line.since(said, ToolRequest) is not None):
        words = line.words(said)
        instead = f"; it said: {words}" if words else ""
        report.problems.append(line.why(f"it did not call the tool within {turn_s:g} s{instead}"))
        return
    report.tool_call_ms = line.since(said, ToolRequest)
    request = next(event for _, event in line.after(said) if isinstance(event, ToolRequest))
    report.tool_arguments = request.arguments
    if request.name != TOOL["name"] or request.arguments is None:
        report.problems.append(f"its call cannot be read: {request.error or request.name}")
    answered = line.now()
    agent.send_tool_result(request.call_id, '{"ok": true}')
    if await line.until(turn_s, lambda: line.spoken_out(answered)):
        times = [line.since(answered, AgentText), line.since(answered, AgentAudio)]
        report.after_tool_ms = min((time for time in times if time is not None), default=None)
    else:
        report.problems.append(line.why(f"it said nothing on the tool's result within {turn_s:g} s"))


def _clips() -> dict[str, Pcm]:
    root = find_bank_root() / "leave-request"
    return {plan: decode(root / name) for plan, name in CLIPS.items()}


def _failed(stamped: Stamped) -> bool:
    return isinstance(stamped.event, ReplyEnded) and stamped.event.status in ("failed", "incomplete")


def _ms(seconds: float) -> float:
    return round(1000 * seconds, 1)


class _Line:
    """The call: sends the caller's frames in real time and keeps what the agent does."""

    def __init__(self, agent: Agent, clips: Mapping[str, Pcm]) -> None:
        self._agent = agent
        self._clips = clips
        self._loop = asyncio.get_running_loop()
        self._seen: list[Stamped] = []
        self._news = asyncio.Event()
        self._over = False
        self._sound: Pcm = silence(0)
        self._sound_from = 0
        self._frames = 0
        self._tasks = [
            self._loop.create_task(self._read(), name="check reader"),
            self._loop.create_task(self._pace(), name="check pacer"),
        ]

    def now(self) -> float:
        return self._loop.time()

    async def say(self, words: str, plan: str) -> float:
        """Say a turn. Returns the loop time at which it was over."""
        if self._agent.capabilities.hints:
            return await self._utter(words, plan, tone_speech("one two", "caller"))
        if self._clips:
            return await self._utter(words, plan, self._clips[plan])
        assert isinstance(self._agent, TakesText)
        self._agent.send_text(words)
        return self.now()

    async def _utter(self, words: str, plan: str, pcm: Pcm) -> float:
        self._sound = pcm
        onset = (self._frames + 2) * FRAME_SAMPLES
        end = onset + len(self._sound)
        self._agent.send_hint(Hint(len(self._seen), plan, "ANSWER", words, onset, end))
        self._sound_from = onset
        await asyncio.sleep((end - self._frames * FRAME_SAMPLES) / RATE)
        return self.now()

    async def until(self, limit_s: float, seen: Callable[[], bool]) -> bool:
        """Wait until something was seen; not longer than the connection stands and no reply fails."""
        start = len(self._seen)
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                while True:
                    if seen():
                        return True
                    if self._over or self._broken() or any(map(_failed, self._seen[start:])):
                        return False
                    self._news.clear()
                    await self._news.wait()
        return False

    def after(self, moment: float) -> list[tuple[float, AgentEvent]]:
        """What was seen after a moment."""
        return [(stamped.at, stamped.event) for stamped in self._seen if stamped.at >= moment]

    def spoken_out(self, moment: float) -> bool:
        """Whether the agent has spoken since a moment, and then come to the end of a reply: the one with a call may end after its call."""
        spoke = False
        for _, event in self.after(moment):
            spoke = spoke or isinstance(event, AgentText | AgentAudio)
            if spoke and isinstance(event, ReplyEnded) and event.status == "completed":
                return True
        return False

    def since(self, moment: float, kind: type[Any]) -> float | None:
        """Time (ms) from a moment to the first event of a kind after it."""
        return next((_ms(at - moment) for at, event in self.after(moment) if isinstance(event, kind)), None)

    def words(self, moment: float) -> str:
        """The agent's words after a moment, each item once."""
        items: dict[str, str] = {}
        for _, event in self.after(moment):
            if isinstance(event, AgentText):
                items[event.item] = event.text if event.final and event.text else items.get(event.item, "") + event.text
        return " ".join(text.strip() for text in items.values() if text.strip())[:500]

    def audio(self, moment: float) -> list[AgentAudio]:
        """The agent's sound after a moment."""
        return [event for _, event in self.after(moment) if isinstance(event, AgentAudio)]

    def usage(self) -> dict[str, dict[str, float]]:
        """What the provider counted, by part."""
        found: dict[str, dict[str, float]] = {}
        for stamped in self._seen:
            if isinstance(stamped.event, UsageReported):
                part = found.setdefault(stamped.event.part, {})
                for name, count in stamped.event.counts.items():
                    part[name] = count if stamped.event.so_far else part.get(name, 0.0) + count
        return found

    def why(self, otherwise: str) -> str:
        """The provider's own last word about what went wrong, else ours."""
        for stamped in reversed(self._seen):
            if isinstance(stamped.event, ProviderError):
                return stamped.event.message
            if isinstance(stamped.event, ReplyEnded) and _failed(stamped):
                why = f" ({stamped.event.reason})" if stamped.event.reason else ""
                return f"its reply ended as {stamped.event.status}{why}"
            if isinstance(stamped.event, Closed) and not stamped.event.clean:
                return stamped.event.sentence
        last = self._seen[-1].event if self._seen else None
        return last.sentence if isinstance(last, Closed) else otherwise

    def _broken(self) -> bool:
        return any(isinstance(stamped.event, ProviderError) and stamped.event.fatal for stamped in self._seen)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _read(self) -> None:
        async for stamped in self._agent.events():
            self._seen.append(stamped)
            self._news.set()
        self._over = True
        self._news.set()

    async def _pace(self) -> None:
        start = self.now()
        while True:
            await asyncio.sleep(max(0.0, start + (self._frames + 1) * FRAME_MS / 1000 - self.now()))
            self._agent.send_audio(pcm_bytes(self._frame()))
            self._frames += 1

    def _frame(self) -> Pcm:
        begin = self._frames * FRAME_SAMPLES - self._sound_from
        if 0 <= begin < len(self._sound):
            frame = silence(FRAME_SAMPLES)
            part = self._sound[begin : begin + FRAME_SAMPLES]
            frame[: len(part)] = part
            return frame
        return silence(to_samples(FRAME_MS))

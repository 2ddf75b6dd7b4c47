"""A person who calls by a script, in simulated time: waits for the agent to be silent, says the next clip, presses its key."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from apex_tui.audio.frames import FRAME_SAMPLES, Pcm
from apex_tui.audio.tones import tone_speech
from apex_tui.engine.control import Control
from apex_tui.engine.person import Person
from apex_tui.engine.session import Result, run_session
from apex_tui.engine.speech import Speech, tones_of
from apex_tui.timeline.agent_facts import AgentSpeechEnded, AgentSpeechStarted
from apex_tui.timeline.caller_facts import CallerTurnEnded
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import AnyNotice, Decide, Run
from apex_tui.timeline.virtual import run_virtual
from apex_tui.timeline.work_facts import ApprovalRequested, CommitDecided
from apex_tui.workflow.model import Workflow

SYLLABLE = 4800
"""200 ms."""


@dataclass(frozen=True)
class Say:
    """One utterance. ``cut_in``: so many ms into the agent's speech; None: once the agent is silent. ``key``: what is pressed with it."""

    pcm: Pcm
    cut_in: float | None = None
    key: Literal["approve", "corrected", "retake", "none"] = "none"
    field: str = ""
    value: str | None = None


class Voice:
    """A microphone whose lane is spoken into while the session runs, in a room with a little noise."""

    description = "a scripted microphone"
    underruns = overruns = 0
    problem: str | None = None

    def __init__(self, late_ms: float = 30.0) -> None:
        self.latency_ms = late_ms
        self._noise = np.random.default_rng(7)
        self._waiting = np.zeros(0, dtype=np.int16)

    def say(self, pcm: Pcm) -> None:
        """As syllables: a level that does not move is no voice."""
        syllables = np.where(np.arange(len(pcm)) % SYLLABLE < 0.7 * SYLLABLE, 1.0, 0.25)
        self._waiting = np.concatenate([self._waiting, (pcm * syllables).astype(np.int16)])

    @property
    def speaking(self) -> bool:
        return len(self._waiting) > 0

    def frame(self) -> Pcm:
        out = self._noise.integers(-4, 5, FRAME_SAMPLES).astype(np.int16)
        now, self._waiting = self._waiting[:FRAME_SAMPLES], self._waiting[FRAME_SAMPLES:]
        out[: len(now)] += now
        return out

    def close(self) -> None:
        pass


class Caller:
    """Says the script line by line."""

    def __init__(self, script: list[Say], control: Control, voice: Voice) -> None:
        self._script, self._control, self._voice = list(script), control, voice
        self._due: asyncio.TimerHandle | None = None
        self._asked: ApprovalRequested | None = None
        self.events: list[Event] = []

    def __call__(self, item: Event | AnyNotice) -> None:
        if not isinstance(item, Event):
            return
        self.events.append(item)
        match item.fact:
            case AgentSpeechStarted():
                self._later(self._script[0].cut_in if self._script else None)
            case AgentSpeechEnded(in_pause=False):
                self._later(1200.0)
            case CallerTurnEnded() if self._script and self._script[0].key == "retake":
                self._later(300.0)
            case ApprovalRequested() as fact:
                self._asked = fact
            case CommitDecided():
                asyncio.get_running_loop().call_later(6.0, self._control.hang_up)

    def begin(self) -> None:
        self._later(1000.0)

    def _later(self, ms: float | None) -> None:
        if self._due is not None:
            self._due.cancel()
        self._due = None if ms is None else asyncio.get_running_loop().call_later(ms / 1000, self._speak)

    def _speak(self) -> None:
        if not self._script or self._voice.speaking:
            return
        say = self._script.pop(0)
        if say.key == "retake":
            self._control.decide(Decide(what="retake"))
        self._voice.say(say.pcm)
        if say.key in ("approve", "corrected"):
            asyncio.get_running_loop().call_later(0.7, self._press, say)

    def _press(self, say: Say) -> None:
        if say.key == "corrected":
            self._control.decide(Decide(what="corrected", field=say.field, value=say.value))
        elif self._asked is not None:
            asked = self._asked
            self._control.decide(Decide(what="approve", request=asked.request, digest=asked.digest, shown_ms=900))


RECIPE = (Path(__file__).parents[1] / "data" / "day-off.yaml").read_text(encoding="utf-8")
CORRECTION = """\
corrections:
  later:
    changes: {day: 2026-12-15}
    when: ["CONFIRM:day"]
    onset_ms: [600, 1200]
    say: ["No, the fifteenth.", "Make it the fifteenth of December."]
    again: {day: ["December fifteenth.", "The fifteenth of December."]}
approval:
"""
WORDS = (
    "Hello, it is me.",
    "The fourteenth of December.",
    "Sorry, I mean the fifteenth.",
    "Yes, send it in.",
    "Thank you, bye now.",
)
"""What the person says, in order; other words than the recipe's."""


def day_off() -> str:
    """The tiny recipe with a correction, as text."""
    lines = [line for line in RECIPE.splitlines(keepends=True) if "get_colleague" not in line]
    text = (
        "".join(lines)
        .replace("approval:\n", CORRECTION, 1)
        .replace(
            "read_back: The fourteenth of December. ",
            "read_back: Let me read that back for you, so the day off is {day}, and nobody covers.",
        )
    )
    return text.replace("fields: {day: 2026-12-14, status", "fields: {day: 2026-12-15, status")


def voice(words: str) -> Pcm:
    """How the person of these tests sounds."""
    return tone_speech(words, "somebody")


def script() -> list[Say]:
    """The whole call: opening, answer, a correction into the read-back, approval, goodbye."""
    opening, answer, change, yes, bye = map(voice, WORDS)
    return [
        Say(opening),
        Say(answer),
        Say(change, cut_in=900, key="corrected", field="form.day", value="2026-12-15"),
        Say(yes, key="approve"),
        Say(bye),
    ]


@dataclass(frozen=True)
class Called:
    result: Result
    events: list[Event]


def call(out: Path, workflow: Workflow, script: list[Say], **command: object) -> Called:
    """Run the session; the rehearsal agent follows its reference."""
    control, voice = Control(), Voice()
    speech = Speech("microphone", {}, tones_of(workflow, 1).agent, {})
    caller = Caller(script, control, voice)

    async def session() -> Result:
        caller.begin()
        run = Run.model_validate(
            {"workflow": workflow.id, "caller": "microphone", "virtual": True, "out": str(out), "max_s": 240, **command}
        )
        return await run_session(run, caller, control, person=Person(voice), workflow=workflow, speech=speech)

    result = run_virtual(session())
    return Called(result, caller.events)

"""A tiny workflow, lines of sound, and a caller who feeds an agent frame by frame; shared by the tests of the agents."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from apex_tui.agents.seam import Agent, AgentSetup, Hint, Stamped
from apex_tui.audio.frames import FRAME_SAMPLES, RATE, Pcm, pcm_bytes, to_samples
from apex_tui.workflow.caller_model import CallerFact, Flow, State
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.outcome_model import Gold, Reference, ReferenceTurn, Step
from apex_tui.workflow.work_model import ArtifactSchema, ArtifactSpec, Autonomy, FieldSpec, ToolSpec

TOOLS: tuple[dict[str, Any], ...] = (
    {
        "name": "update_form",
        "description": "Writes fields.",
        "parameters": {"type": "object", "properties": {"date": {"type": "string"}}, "required": ["date"]},
    },
    {"name": "submit", "description": "Submits.", "parameters": {"type": "object", "properties": {}}},
)
SETUP = AgentSetup("Help the caller.", TOOLS)


def say(text: str, clip: str) -> Step:
    return Step(say=text, clip=clip)


TURNS = (
    ReferenceTurn(after="opening", steps=(say("Hello, which date do you want?", "agent.hello"),)),
    ReferenceTurn(
        after="date",
        steps=(
            say("One moment.", "agent.moment"),
            Step(call="update_form", args={"date": "2026-12-14"}),
            say("So that is the fourteenth of December for your leave, all day, is it?", "agent.readback"),
            Step(call="submit"),
            say("Done.", "agent.done"),
        ),
    ),
    ReferenceTurn(
        after="correction",
        steps=(
            Step(call="update_form", args={"date": "2026-12-15"}),
            say("The fifteenth then.", "agent.fifteenth"),
        ),
    ),
)
SECONDS = {"agent.hello": 2.0, "agent.moment": 0.5, "agent.readback": 6.0, "agent.done": 0.6, "agent.fifteenth": 1.2}


def tone(seconds: float, hz: float = 220.0) -> Pcm:
    phase = np.arange(round(seconds * RATE)) * (2 * np.pi * hz / RATE)
    wave: Pcm = (8000 * np.sin(phase)).astype(np.int16)
    return wave


LINES = {name: tone(seconds) for name, seconds in SECONDS.items()}


def workflow(*turns: ReferenceTurn) -> Workflow:
    fields = (
        FieldSpec(
            name="date", required=True, critical=True, description="first day of the leave", dependents=("days",)
        ),
        FieldSpec(name="days", type="integer"),
        FieldSpec(name="kind", enum=("annual", "unpaid")),
    )
    shape = ArtifactSchema(artifact_type="LEAVE_FORM", fields=fields)
    return Workflow(
        id="tiny",
        title="Leave request",
        source="recipe",
        archetype="FORM_FILL",
        profession="HR assistant",
        autonomy=Autonomy(level="A3_APPROVAL_GATED_COMMIT", approval_required_for=("SUBMIT_LEAVE",)),
        flow=Flow(states={"START": State()}),
        facts=(CallerFact(id="date", value="SECRET-FACT"),),
        artifacts={"form": ArtifactSpec.model_validate({"schema": shape})},
        tools=(
            ToolSpec(
                name="submit", tool_class="irreversible_commit", handler="commit", commit_action_type="SUBMIT_LEAVE"
            ),
        ),
        world={"secret": "SECRET-WORLD"},
        gold=Gold(),
        reference=Reference(turns=turns or TURNS),
    )


class Caller:
    """Feeds an agent in frames of 20 ms, in the loop's time: frame k is sent at tick k + 1."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.seen: list[Stamped] = []
        self.frames = 0
        self.start = asyncio.get_running_loop().time()
        self.answers: dict[str, Callable[[dict[str, Any] | None], Any]] = {}
        self._lane = np.zeros(60 * RATE, dtype=np.int16)
        self._reader = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        async for stamped in self.agent.events():
            self.seen.append(stamped)

    def ms(self, at: float) -> float:
        return (at - self.start) * 1000

    def speak(self, at_ms: float, seconds: float, plan: str, act: str = "ANSWER", *, hinted: bool = True) -> Hint:
        """Put an utterance into the lane at this media time."""
        pcm = tone(seconds, 330.0)
        onset = to_samples(at_ms)
        self._lane[onset : onset + len(pcm)] = pcm
        hint = Hint(len(self.seen), plan, act, f"words of {plan}", onset, onset + len(pcm))
        if hinted:
            self.agent.send_hint(hint)
        return hint

    async def until(self, at_ms: float) -> None:
        """Send frames until this media time."""
        loop = asyncio.get_running_loop()
        while self.frames * 20 < at_ms:
            await asyncio.sleep(self.start + (self.frames + 1) * 0.02 - loop.time())
            begin = self.frames * FRAME_SAMPLES
            self.agent.send_audio(pcm_bytes(self._lane[begin : begin + FRAME_SAMPLES]))
            self.frames += 1

    def of(self, kind: type[Any]) -> list[Any]:
        return [stamped.event for stamped in self.seen if isinstance(stamped.event, kind)]

    def times(self, kind: type[Any]) -> list[float]:
        return [round(self.ms(stamped.at), 3) for stamped in self.seen if isinstance(stamped.event, kind)]

    async def end(self) -> None:
        await self.agent.close()
        await self._reader


def parsed(messages: list[str]) -> list[dict[str, Any]]:
    return [json.loads(message) for message in messages]

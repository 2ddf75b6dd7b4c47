"""The director's hand on the recorded caller, applied between two frames: words now, an interruption now, hold back and let go, a person at the
microphone and the bank again, the way out.

What is asked takes effect at the first frame at which it can: words wait until the caller is silent, the microphone until it is open and the last
words are over. Each effect is one `DirectorActed` on the timeline; what cannot be done is a warning and changes nothing, so a session that
nobody really touched stays an ordinary one. Deliberately not in here: what the caller makes of it (``caller.directed``), devices.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from apex_tui.agents.seam import Agent, Hint
from apex_tui.audio.sinks import Sink
from apex_tui.caller.directed import DirectedPolicy
from apex_tui.caller.scene import Scene
from apex_tui.engine.caller_side import CallerSide
from apex_tui.engine.person import Person, PersonSide
from apex_tui.engine.wiring import Wiring
from apex_tui.timeline.caller_facts import DirectorActed
from apex_tui.timeline.errors import ApexError
from apex_tui.timeline.messages import Direct
from apex_tui.timeline.session_facts import Outcome, SessionWarning
from apex_tui.workbench.workbench import Workbench
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.utterances import Utterance, unknown

MOST_WAITING = 1000
"""Directions that wait for their moment; a program that sends more is told so."""


class PersonDoor(Protocol):
    """Opens and closes a person's devices without holding up a frame. ``barred``: why nobody can speak here, one clause; None: somebody can."""

    @property
    def barred(self) -> str | None:
        """Why not."""

    async def open(self) -> Person:
        """The person; raises ``ApexError`` with the reason when there can be none."""

    async def close(self, person: Person) -> None:
        """Release the devices."""


@dataclass(slots=True)
class _Asked:
    direct: Direct
    at_ms: float


class Director:
    """Follows what a director asks. ``person``: whoever has the caller's lane at the microphone; None: the bank."""

    def __init__(
        self,
        workflow: Workflow,
        agent: Agent,
        policy: DirectedPolicy,
        bank: CallerSide,
        wiring: Wiring,
        workbench: Workbench,
        sink: Sink,
        door: PersonDoor,
        planned: Sequence[Direct] = (),
    ) -> None:
        self._workflow, self._agent, self._policy, self._bank = workflow, agent, policy, bank
        self._wiring, self._workbench, self._sink, self._door = wiring, workbench, sink, door
        self._asked: list[_Asked] = []
        self._opening: asyncio.Task[Person] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._person: Person | None = None
        self.person: PersonSide | None = None
        for direct in planned:
            self.ask(direct)

    def ask(self, direct: Direct) -> None:
        """Take a direction; it takes effect at a frame, not now."""
        if len(self._asked) >= MOST_WAITING:
            self._refuse(direct, f"{MOST_WAITING} directions wait already")
            return
        now = self._wiring.media_ms()
        self._asked.append(_Asked(direct, max(now, direct.at_ms or 0.0)))

    def screen_gone(self) -> None:
        """Nobody watches any more: the microphone closes at once, and the recorded caller goes on by themselves."""
        self._asked = [asked for asked in self._asked if asked.direct.what != "microphone"]
        if self._opening is not None:
            self._drop_opening()
        if self.person is not None:
            self.ask(Direct(what="bank", by="the screen is gone"))
        if self._policy.held:
            self.ask(Direct(what="release", by="the screen is gone"))

    def frame(self, scene: Scene, next_sample: int) -> tuple[Outcome, str] | None:
        """Let everything take effect that can at this frame; ``next_sample``: the first one that is not sealed. Returns an ending."""
        if not self._asked:
            return None
        waiting, self._asked = self._asked, []
        ending: tuple[Outcome, str] | None = None
        for asked in waiting:
            if asked.at_ms > scene.now_ms or ending is not None:
                self._asked.append(asked)
                continue
            done, ending = self._do(asked, scene, next_sample)
            if not done:
                self._asked.append(asked)
        return ending

    async def close(self) -> None:
        """The session is over: nothing stays open."""
        if self._opening is not None:
            self._drop_opening()
        if self._person is not None:
            person, self._person = self._person, None
            await self._door.close(person)
        await asyncio.gather(*self._closing)

    # --- what is asked -------------------------------------------------------------------------------------------------------------

    def _do(self, asked: _Asked, scene: Scene, next_sample: int) -> tuple[bool, tuple[Outcome, str] | None]:
        """Do it, or say why not. Returns whether it is settled, and an ending."""
        direct = asked.direct
        match direct.what:
            case "say" | "barge_in":
                return self._speak(asked, scene, next_sample), None
            case "hold" | "release":
                self._hold(asked, direct.what == "hold", scene)
            case "microphone":
                return self._to_person(asked, scene, next_sample), None
            case "bank":
                self._to_bank(asked, scene)
            case "finish":
                return self._finish(asked, scene)
        return True, None

    @property
    def _talking(self) -> bool:
        """Whether the recorded caller is saying something, or about to."""
        return self._policy.speaking or self._bank.sounding

    def _speak(self, asked: _Asked, scene: Scene, next_sample: int) -> bool:
        direct = asked.direct
        utterance = self._words(direct, scene)
        if isinstance(utterance, str):
            self._refuse(direct, utterance)
            return True
        if self._talking:
            return False
        say = self._policy.speak(utterance, scene)
        seq = self._note(asked, plan=utterance.plan, turn=say.turn)
        self._bank.carry_out(say, next_sample, seq)
        return True

    def _words(self, direct: Direct, scene: Scene) -> Utterance | str:
        """What is to be said, or why nothing is."""
        if self.person is not None:
            return "a person has the call; give it back to the bank first"
        if self._policy.finishing:
            return "the caller is saying goodbye"
        if direct.what == "barge_in" and not scene.agent_audible and scene.open_reply is None:
            return "the agent says nothing that could be interrupted"
        if direct.plan is None:
            if direct.what == "say":
                return "name the utterance"
            return self._policy.interruption() or "the workflow has no interruption left; name the utterance"
        known = self._policy.utterances
        if direct.plan in known:
            return known[direct.plan]
        return unknown(direct.plan, known)

    def _hold(self, asked: _Asked, held: bool, scene: Scene) -> None:
        if self._policy.finishing:
            self._refuse(asked.direct, "the caller is saying goodbye")
        elif self._policy.held == held:
            self._refuse(asked.direct, "the caller is held back already" if held else "the caller is not held back")
        else:
            self._policy.hold(held, scene.now_ms)
            self._note(asked)

    def _finish(self, asked: _Asked, scene: Scene) -> tuple[bool, tuple[Outcome, str] | None]:
        if self.person is not None:
            self._note(asked)
            return True, ("completed", "the director ended the call")
        if self._policy.finishing:
            self._refuse(asked.direct, "the caller is saying goodbye already")
        elif self._talking:
            return False, None
        else:
            self._policy.finish(scene.now_ms)
            self._note(asked)
        return True, None

    # --- who speaks ----------------------------------------------------------------------------------------------------------------

    def _to_person(self, asked: _Asked, scene: Scene, next_sample: int) -> bool:
        """Open the microphone; once it is open and the recorded caller has said what they were saying, the person has the lane."""
        if self.person is not None or self._policy.finishing or self._door.barred is not None:
            because = "the caller is saying goodbye" if self._policy.finishing else self._door.barred
            self._refuse(asked.direct, because or "a person has the call already")
            return True
        if self._opening is None:
            self._opening = asyncio.create_task(self._door.open(), name="microphone")
            return False
        if not self._opening.done() or self._talking:
            return False
        opening, self._opening = self._opening, None
        error = opening.exception()
        if error is not None:
            why = str(error) if isinstance(error, ApexError) else f"{type(error).__name__}: {error}"
            self._refuse(asked.direct, f"{why}; the bank keeps the call")
            return True
        self._person = opening.result()
        self.person = PersonSide(
            self._workflow, self._person, self._wiring, self._workbench, self._sink, self._policy, self._bank.flags
        )
        self._policy.relieve(True, scene.now_ms)
        if self._agent.capabilities.hints:
            self._agent.send_hint(Hint(0, "person", "SPEECH", "", next_sample, next_sample))
        self._note(asked, device=self._person.microphone.description)
        return True

    def _to_bank(self, asked: _Asked, scene: Scene) -> None:
        """The person's turn ends, the microphone closes, and the recorded caller goes on."""
        if self._opening is not None:
            self._drop_opening()
            self._asked = [other for other in self._asked if other.direct.what != "microphone"]
        if self.person is None or self._person is None:
            self._refuse(asked.direct, "the bank has the call")
            return
        self.person.close()
        closing = asyncio.create_task(self._door.close(self._person), name="microphone closes")
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)
        self._person = self.person = None
        self._policy.relieve(False, scene.now_ms)
        self._note(asked)

    def _drop_opening(self) -> None:
        """A microphone that is being opened is not wanted any more: it is closed as soon as it is open."""
        assert self._opening is not None
        opening, self._opening = self._opening, None

        async def drop() -> None:
            found = (await asyncio.gather(opening, return_exceptions=True))[0]
            if isinstance(found, Person):
                await self._door.close(found)

        closing = asyncio.create_task(drop(), name="microphone not wanted")
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    # --- the timeline --------------------------------------------------------------------------------------------------------------

    def _note(
        self, asked: _Asked, *, plan: str | None = None, turn: int | None = None, device: str | None = None
    ) -> int:
        direct = asked.direct
        fact = DirectorActed(
            what=direct.what, by=direct.by, asked_ms=round(asked.at_ms, 3), plan=plan, turn=turn, device=device
        )
        return self._wiring.emit(fact)

    def _refuse(self, direct: Direct, because: str) -> None:
        self._wiring.emit(
            SessionWarning(code="direction-ignored", message=f"{direct.what.replace('_', '-')}: {because}")
        )

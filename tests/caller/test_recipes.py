"""Our own recipes, driven by their reference solution in words: the caller must lead every seed to the end, in the authored order."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from stage import Stage

from apex_tui.caller.observer import ActObserver
from apex_tui.caller.policy import CallerPolicy
from apex_tui.caller.scene import Say
from apex_tui.workflow.library import find_workflow
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.outcome_model import Step

MS_PER_LETTER = 65.0


@dataclass
class Rehearsal(Stage):
    """A stage whose agent follows the reference: calls of 300 ms, lines at speaking pace, read by the observer as they are heard."""

    workflow: Workflow | None = None
    observer: ActObserver | None = None
    todo: list[Step] = field(default_factory=list)
    text: str = ""
    next_at: float = 0.0
    calling: Step | None = None
    lines: int = 0

    def _frame(self) -> None:
        count = len(self.said)
        super()._frame()
        for say in self.said[count:]:
            self._hear_caller(say)
        if self.reply is not None:
            self._read(final=False)
        elif self.now >= self.next_at and self._turn is None:
            self._next()

    def _hear_caller(self, say: Say) -> None:
        assert self.workflow is not None
        if say.act == "BACKCHANNEL":
            return
        turn = next((t for t in self.workflow.reference.turns if t.after == say.plan), None)
        self.todo = list(turn.steps) if turn is not None else []
        self.next_at = say.onset_ms + self.length_ms + 700

    def _next(self) -> None:
        if self.calling is not None:
            self._finish(self.calling)
            self.calling = None
        if not self.todo:
            self.scene = replace(self.scene, agent_expected=False)
            return
        step = self.todo.pop(0)
        if step.say is not None:
            self.lines += 1
            self.text = step.say
            self.speak(f"line{self.lines}", len(step.say) * MS_PER_LETTER)
        elif step.call is not None:
            self.calling, self.next_at = step, self.now + 300
            self.scene = replace(self.scene, tools_running=(step.call,), agent_expected=True)

    def _finish(self, step: Step) -> None:
        assert self.workflow is not None
        tool = self.workflow.tool(step.call or "")
        assert tool is not None
        action = tool.commit_action_type
        self.scene = replace(self.scene, tools_running=(), agent_expected=bool(self.todo))
        if tool.handler == "request_approval":
            self.policy.note_tool(self.now, tool.name, True, approval_request=action)
        else:
            self.policy.note_tool(self.now, tool.name, True, commit=(action, True) if tool.commits and action else None)

    def _play(self, now: float) -> None:
        reply = self.reply
        if reply is not None and now - reply.start >= reply.length and reply.cut_at is None:
            self._read(final=True)
        super()._play(now)

    def _read(self, *, final: bool) -> None:
        assert self.observer is not None
        assert self.reply is not None
        heard = self.text if final else self.text[: int(self.scene.reply_played_ms / MS_PER_LETTER)]
        for reading in self.observer.read_words(self.reply.name, heard, final, self.policy.wants):
            self.policy.note_act(self.now, reading.key, self.reply.name, reading.source)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("name", "correction"), [("leave-request", "change_dates"), ("payment", "change_amount")])
def test_reference_reaches_the_end(name: str, correction: str, seed: int) -> None:
    workflow = find_workflow(name)
    s = Rehearsal(CallerPolicy(workflow, seed), workflow=workflow, observer=ActObserver(workflow), length_ms=1500)
    while s.ended() is None and s.now < 240_000:
        s.run(1000)
    plans = [say.plan for say in s.said if say.act != "BACKCHANNEL"]
    assert plans == [turn.after for turn in workflow.reference.turns] + ["close"]
    fixed = next(say for say in s.said if say.plan == correction)
    assert fixed.delivered == "barge_in"
    assert [say.act for say in s.said].count("BACKCHANNEL") == 1
    assert not any(say.recovered for say in s.said)
    assert s.policy.refusals == ()
    ended = s.ended()
    assert ended is not None
    assert ended.outcome == "completed"

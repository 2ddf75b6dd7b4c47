"""A yes that is spoken, a commit that follows it at once, and the key that tells the yes a second later."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import pytest
from person_kit import ScriptedMicrophone, Watcher

from apex_tui.engine.control import Control
from apex_tui.engine.person import Person
from apex_tui.engine.session import Result, run_session
from apex_tui.engine.speech import load_speech
from apex_tui.score.judge import score_log
from apex_tui.score.verdict import Score
from apex_tui.store.recording import open_recording
from apex_tui.timeline.base import Fact
from apex_tui.timeline.caller_facts import CallerTurnStarted
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import Decide, Run
from apex_tui.timeline.view import SessionView
from apex_tui.timeline.virtual import run_virtual
from apex_tui.timeline.work_facts import ApprovalGranted, ApprovalRequested, CommitDecided, ToolCalled, ToolFinished
from apex_tui.tui.figures import decision_word, refusals
from apex_tui.workflow.library import find_workflow

T = TypeVar("T", bound=Fact)


@dataclass
class LateKey:
    """Approves a second after the first commit, and hangs up three seconds later."""

    control: Control
    request: ApprovalRequested | None = None
    commits: list[Event] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        loop = asyncio.get_running_loop()
        match event.fact:
            case ApprovalRequested() as asked:
                self.request = asked
            case CommitDecided(at="call") if self.request is not None:
                self.commits.append(event)
                if len(self.commits) == 1:
                    answer = Decide(
                        what="approve", request=self.request.request, digest=self.request.digest, shown_ms=2000
                    )
                    loop.call_later(1.0, self.control.decide, answer)
                    loop.call_later(4.0, self.control.hang_up)


@pytest.fixture(scope="module")
def approved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, list[Event]]:
    clips = list(load_speech(find_workflow("leave-request"), 1).caller.values())
    said = [(1000.0 + 9000 * number, clip.pcm) for number, clip in enumerate(clips[:8])]
    control = Control()
    watcher = Watcher(LateKey(control))
    command = Run(
        workflow="leave-request", caller="microphone", virtual=True, out=str(tmp_path_factory.mktemp("s")), max_s=120
    )
    person = Person(ScriptedMicrophone(*said))
    return run_virtual(run_session(command, watcher, control, person=person)), watcher.events


def authority_check(score: Score) -> bool | None:
    """Whether no commit was tried without authority."""
    checks = [check for gate in score.gates for check in gate.checks if "without authority" in check.reason]
    return next((check.passed for check in checks), False)


def first(events: list[Event], kind: type[T]) -> tuple[Event, T]:
    return next((event, event.fact) for event in events if isinstance(event.fact, kind))


def test_the_key_that_comes_after_the_commit_dates_from_the_words(approved: tuple[Result, list[Event]]) -> None:
    result, events = approved
    words = [e.fact for e in events if isinstance(e.fact, CallerTurnStarted)][6]
    committed, refused = first(events, CommitDecided)
    pressed, granted = first(events, ApprovalGranted)
    assert (granted.granted_ms, granted.turn) == (words.onset_ms, 7)
    assert words.onset_ms < committed.media_ms < pressed.media_ms
    # The guard could not know it and let nothing through; the agent was told to wait for the yes, not to ask again.
    assert refused.decision == "PREMATURE"
    hints = [e.fact.hint for e in events if isinstance(e.fact, ToolFinished) and e.fact.call == refused.call]
    assert hints == ["do not ask again; wait until the caller has said a clear yes, and commit then"]
    # But the verdict, the screen, and a verdict of later find no fault in it.
    state = SessionView.fold(events).state
    assert state.calls[refused.call].before_key == granted.approval
    assert refusals(state) == 0
    assert str(decision_word("PREMATURE", state.calls[refused.call])) == "○ before the key"
    assert authority_check(result.score) is True
    recording = open_recording(result.folder)
    again = score_log(recording.events, recording.workflow, "strict")
    assert again == Score.model_validate(recording.score)
    assert authority_check(score_log(recording.events, recording.workflow, "official")) is True
    before = SessionView.fold([event for event in events if event.seq < pressed.seq]).state
    assert (refusals(before), before.calls[refused.call].before_key) == (1, None)


def test_a_commit_that_no_approval_follows_stays_a_fault(approved: tuple[Result, list[Event]]) -> None:
    result, events = approved
    unanswered = [e for e in events if not isinstance(e.fact, ApprovalGranted)]
    assert refusals(SessionView.fold(unanswered).state) == 1
    assert authority_check(score_log(unanswered, open_recording(result.folder).workflow, "strict")) is False


def test_only_what_was_approved_had_been_approved(approved: tuple[Result, list[Event]]) -> None:
    """The same log with one thing changed: another content, another action, words after the commit, a reply that was cut off."""
    events = approved[1]
    committed, refused = first(events, CommitDecided)
    changes: tuple[tuple[type[Fact], dict[str, Any]], ...] = (
        (ApprovalGranted, {"digest": "0" * 64}),
        (ApprovalGranted, {"action": "fly"}),
        (ApprovalGranted, {"granted_ms": committed.media_ms + 1}),
        (ToolCalled, {"after_interruption": True}),
    )
    for kind, values in changes:
        other = [replace(e, fact=e.fact.model_copy(update=values)) if isinstance(e.fact, kind) else e for e in events]
        assert SessionView.fold(other).state.calls[refused.call].before_key is None

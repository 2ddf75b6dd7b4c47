"""The director's keys on the live screen of a recorded caller: asleep until a person directs, and what each of them sends."""

from __future__ import annotations

import tui_sample as sample
from textual.pilot import Pilot
from tui_fakes import FakeLink, make_app, opened
from tui_pilot import settle, text_of

from apex_tui.timeline import caller_facts as c
from apex_tui.timeline import session_facts as s
from apex_tui.timeline.events import AnyFact
from apex_tui.timeline.messages import AnyCommand, Decide, Direct, Failed, Run
from apex_tui.timeline.view import SessionView
from apex_tui.tui.dialog_director import UtteranceScreen
from apex_tui.tui.dialogs import AskScreen
from apex_tui.tui.keys import DIRECT, DIRECTOR, EVERYWHERE, LIVE, PERSON
from apex_tui.tui.render_chrome import title_replay
from apex_tui.tui.screen_director import DirectorScreen
from apex_tui.workflow.library import find_workflow
from apex_tui.workflow.utterances import utterances

RUN = Run(workflow="leave-request")
SAYABLE = utterances(find_workflow("leave-request"), 1)


def acted(what: c.Direction, **more: str) -> c.DirectorActed:
    return c.DirectorActed(what=what, by="the screen", asked_ms=0, **more)


class Stage:
    """The app with a run on it."""

    def __init__(self, *facts: AnyFact) -> None:
        events = sample.until_stale()
        last = events[-1]
        events += sample.to_events([(last.media_ms + 100, fact) for fact in facts], first=last.seq + 1)
        self.link = FakeLink(opened(events))
        self.app = make_app(RUN, link=self.link)

    @property
    def sent(self) -> list[AnyCommand]:
        return [command for command in self.link.sent if not isinstance(command, Run)]


async def press(pilot: Pilot[int], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await pilot.pause()


async def test_until_a_person_directs_the_keys_are_asleep() -> None:
    stage = Stage()
    async with stage.app.run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        await press(pilot, "s", "v", "u", "m", "F", "a", "g")
        assert stage.sent == []
        assert "DIRECTED" not in text_of(stage.app)
        await press(pilot, "D")
        assert "counts with no others" in text_of(stage.app)
        await press(pilot, "escape", "u")
        assert stage.sent == []
        await press(pilot, "D", "D", "u", "v", "m", "F")
        assert [(d.what, d.by) for d in stage.sent if isinstance(d, Direct)] == [
            (what, "the screen") for what in ("hold", "barge_in", "microphone", "finish")
        ]
        await press(pilot, "D", "v")  # the keys sleep again
        assert len(stage.sent) == 4


async def test_an_utterance_is_found_by_its_words_and_said() -> None:
    stage = Stage()
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        screen = stage.app.screen
        assert isinstance(screen, DirectorScreen)
        screen.panes.drifts.workflow = find_workflow("leave-request")
        await press(pilot, "D", "D", "s")
        dialog = stage.app.screen
        assert isinstance(dialog, UtteranceScreen)
        assert len(dialog.shown) == len(SAYABLE)
        assert "am_michael" in text_of(stage.app)
        assert "AGENT" in text_of(stage.app)  # who speaks, and the floor, stay in sight
        assert "marks" in text_of(stage.app)
        await press(pilot, *"zzz")
        assert "nothing fits" in text_of(stage.app)
        await press(pilot, "enter", *["backspace"] * 3, *"oh wait")
        assert [u.plan for u in dialog.shown] == ["change_dates"]
        assert "interrupts the agent" in text_of(stage.app)
        await press(pilot, "enter")
        assert stage.sent == [Direct(what="say", plan="change_dates", by="the screen")]


async def test_what_the_engine_could_not_do_is_said_in_full() -> None:
    refused = s.SessionWarning(
        code="direction-ignored", message="barge-in: the agent says nothing that could be interrupted"
    )
    stage = Stage(acted("hold"))
    async with stage.app.run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        assert "the caller is held back: u lets go" in text_of(stage.app)
        await press(pilot, "D", "u")  # it was directed before: nothing is asked again
        assert stage.sent == [Direct(what="release", by="the screen")]
        stage.link.items += sample.to_events([(90_000, refused)], first=5000)
        await settle(pilot)
        assert "nothing that could be interrupted" in text_of(stage.app)


async def test_at_the_microphone_the_persons_keys_wake_and_leaving_says_what_happens_to_it() -> None:
    stage = Stage(acted("microphone", device="a microphone"))
    async with stage.app.run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        assert "● YOU" in text_of(stage.app)
        assert "the microphone is open: you have the call · m gives it back" in text_of(stage.app)
        await press(pilot, "o")
        assert stage.sent == []
        await press(pilot, "D", "r", "s")
        assert "m gives it back" in text_of(stage.app)
        await press(pilot, "m")
        assert stage.sent == [
            Decide(what="revoke", action="submit_leave_request"),
            Direct(what="bank", by="the screen"),
        ]
        await press(pilot, "q")
        assert "the microphone closes, the recorded caller goes on" in text_of(stage.app)
        await press(pilot, "q")
    assert stage.link.detached


async def test_nobody_is_recorded_who_has_not_agreed() -> None:
    stage = Stage()
    object.__setattr__(stage.app.sources, "consent", lambda: None)
    async with stage.app.run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        assert "Your voice" not in text_of(stage.app)  # the run itself records no person
        await press(pilot, "D", "D", "m")
        assert "Your voice is sent to the agent" in text_of(stage.app)
        await press(pilot, "escape")
        assert stage.sent == []
        await press(pilot, "m", "y")
        assert stage.sent == [Direct(what="microphone", by="the screen")]


async def test_without_a_microphone_nobody_is_asked_and_the_bank_keeps_the_call() -> None:
    async def none(_command: Run) -> str | None:
        return "no microphone: no input device"

    stage = Stage()
    object.__setattr__(stage.app.sources, "consent", lambda: None)
    object.__setattr__(stage.app.sources, "no_microphone", none)
    async with stage.app.run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        await press(pilot, "D", "D", "m")
        assert "no microphone: no input device; the recorded caller keeps the call" in text_of(stage.app)
        assert stage.sent == []


async def test_a_question_goes_when_the_run_that_it_is_about_ends() -> None:
    stage = Stage()
    object.__setattr__(stage.app.sources, "consent", lambda: None)
    agreed: list[bool] = []
    object.__setattr__(stage.app.sources, "agree", lambda: agreed.append(True))
    async with stage.app.run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        await press(pilot, "D", "D", "m")
        assert isinstance(stage.app.screen, AskScreen)
        stage.link.items.append(Failed(message="the agent is gone", exit_code=3))
        await settle(pilot)
        assert isinstance(stage.app.screen, DirectorScreen)
        assert "the agent is gone" in text_of(stage.app)  # and nothing was said over it
        await press(pilot, "y", "q")
    assert (stage.sent, agreed, stage.link.detached) == ([], [], True)


def test_the_label_stands_on_a_replay_from_its_first_moment() -> None:
    events = sample.until_stale()
    whole = SessionView.fold([*events, *sample.to_events([(99_000, acted("hold"))], first=9000)]).state
    early = SessionView.at(events, 100.0).state
    assert "DIRECTED" in title_replay(early, whole, 100.0, 99_000.0, False, 1.0, 80).plain
    assert "DIRECTED" not in title_replay(early, early, 100.0, 99_000.0, False, 1.0, 80).plain


def test_no_key_of_a_directed_call_has_two_meanings() -> None:
    tables = (DIRECT, DIRECTOR, PERSON, LIVE, EVERYWHERE)
    named = [key for table in tables for entry in table for key in entry.keys.split(",")]
    assert len(named) == len(set(named))

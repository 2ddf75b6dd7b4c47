"""The recorder's screen: consent before anything is heard, the brief, what an utterance is taken for, and saying it again."""

from __future__ import annotations

import dataclasses

import tui_sample as sample
from test_tui_person import PULSE, RUN, press
from tui_fakes import FakeLink, make_app, opened
from tui_pilot import settle, showing, text_of

from apex_tui.timeline import caller_facts as c
from apex_tui.timeline.messages import Decide, Meters, Run
from apex_tui.tui.app import ApexApp
from apex_tui.tui.render_recorder import card_lines
from apex_tui.tui.screen_person import PersonScreen
from apex_tui.workflow.brief import Brief, Change, Tell
from apex_tui.workflow.library import find_workflow
from apex_tui.workflow.takes import Take

LEAVE = find_workflow("leave-request")
CHANGE = Change(
    (("end_date", "2026-12-18", "2026-12-23"),), "when the agent reads back end_date", done=False, due=False
)
CARD = Brief("Get five days off.", (Tell("leave_type", "annual", True), Tell("employee_id", "E2047", False)), (CHANGE,))


def said() -> FakeLink:
    """An engine that has heard one utterance."""
    turn = c.CallerTurnStarted(
        turn=1, plan="person", act="SPEECH", text="", onset_ms=500, ends_ms=500, value_end_ms=500, detected=True
    )
    events = sample.to_events([(500.0, turn), (900.0, c.CallerTurnEnded(turn=1, offset_ms=880)), (1000.0, PULSE)])
    return FakeLink([*opened(events), Meters(media_ms=1000, caller_db=-50.0, agent_db=-90, late_ms=0, queue_ms=0)])


def app_with(link: FakeLink, **sources: object) -> ApexApp:
    app = make_app(RUN, link=link)
    app.sources = dataclasses.replace(app.sources, workflow=lambda _name: LEAVE, **sources)  # type: ignore[arg-type]
    return app


async def test_nobody_is_recorded_who_has_not_agreed_and_the_question_comes_once() -> None:
    link, agreed = FakeLink(opened([])), []

    def agree() -> None:
        agreed.append("now")

    app = app_with(link, consent=lambda: agreed or None, agree=agree)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert "stays on this machine until you erase it" in " ".join(text_of(app).split())
        await press(pilot, "enter", "space", "a")
        assert link.sent == []
        await press(pilot, "y")
        await settle(pilot)
        assert [type(command) for command in link.sent] == [Run]
        assert agreed == ["now"]
        await pilot.app.push_screen(PersonScreen(RUN, FakeLink(opened([]))))
        await settle(pilot)
        assert showing(app, PersonScreen)


async def test_who_does_not_agree_is_not_recorded() -> None:
    link = FakeLink(opened([]))
    app = app_with(link, consent=lambda: None)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await press(pilot, "escape")
        await settle(pilot)
    assert link.sent == []


async def test_without_a_microphone_nothing_is_asked_and_the_reason_is_said() -> None:
    async def none(_command: Run) -> str | None:
        return "no microphone: no input device"

    link = FakeLink(opened([]))
    app = app_with(link, consent=lambda: None, no_microphone=none)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert "no microphone: no input device" in text_of(app)
        assert "Your voice" not in text_of(app)
        await press(pilot, "q")
    assert (link.sent, app.return_code) == ([], 2)


async def test_the_card_the_tag_and_saying_it_again() -> None:
    link = said()
    app = app_with(link)
    async with app.run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        await settle(pilot)
        shown = text_of(app)
        assert "do not say start_date 2026-12-17, end_date 2026-12-23" in shown
        assert "turn 1: opening · k says it again" in shown
        assert "taken for  opening" in shown
        assert "-50 dBFS" in shown
        await press(pilot, "k")
        assert link.sent[1:] == [Decide(what="retake")]
        await press(pilot, "i")
        assert "do not say" not in text_of(app)


def lines(
    card: Brief, last: Take | None = None, level: float | None = None, speaking: bool = False, most: int = 9
) -> str:
    return "\n".join(line.plain for line in card_lines(card, last, level, speaking, 80, most))


def test_the_card_says_what_is_due_first_and_what_may_not_be_said() -> None:
    early = lines(CARD)
    assert "○ employee_id E2047" in early
    assert "✓ 1 told" in early
    assert "do not say end_date 2026-12-23" in early
    due = lines(dataclasses.replace(CARD, changes=(dataclasses.replace(CHANGE, due=True),)))
    assert due.startswith(" change  ▲ now: end_date 2026-12-18 → 2026-12-23")
    assert "do not say" not in due
    done = lines(dataclasses.replace(CARD, changes=(dataclasses.replace(CHANGE, done=True),)))
    assert "every correction was said" in done


def test_the_level_is_judged_while_one_speaks_and_a_small_window_keeps_it() -> None:
    assert "too quiet" in lines(CARD, level=-50, speaking=True)
    assert "too loud" in lines(CARD, level=-1, speaking=True)
    assert "too" not in lines(CARD, level=-50)
    small = lines(CARD, Take(3, 0, 1, "", None), -20, most=3).splitlines()
    assert len(small) == 3
    assert "turn 3: not decided" in small[-1]


def test_hostile_values_stay_text() -> None:
    nasty = Brief("[bold]go[/bold]\x1b[2J", (Tell("a\x1b]0;x\x07", "[red]v", False),), ())
    text = lines(nasty)
    assert "[bold]go[/bold]" in text
    assert "[red]v" in text
    assert "\x1b" not in text
    assert "\x07" not in text


async def test_beside_the_card_the_artifact_keeps_room_and_the_pane_left_out_comes_with_its_number() -> None:
    app = app_with(said())
    async with app.run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        await settle(pilot)
        assert isinstance(app.screen, PersonScreen)
        panes = app.screen.panes
        assert panes.shown_panes() == {1, 2, 3, 4}
        assert panes.panes[2].size.height >= 5
        await press(pilot, "5")
        await settle(pilot)
        assert panes.shown_panes() == {1, 2, 4, 5}
        await press(pilot, "i")
        await settle(pilot)
        assert panes.shown_panes() == {1, 2, 3, 4, 5}

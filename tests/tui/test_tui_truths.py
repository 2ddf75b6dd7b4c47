"""What the screen says of the recorder, of lateness and of the way out stays true when things go wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import tui_sample as sample
from textual.pilot import Pilot
from tui_fakes import FakeLink, make_app, opened
from tui_pilot import drive, live_app, running, settle, text_of

from apex_tui.timeline import agent_facts as a
from apex_tui.timeline.errors import UserError
from apex_tui.timeline.events import AnyFact
from apex_tui.timeline.messages import Failed, Run
from apex_tui.timeline.view import SessionView
from apex_tui.tui.app import ApexApp
from apex_tui.tui.places import engine_log_path, state_folder
from apex_tui.tui.render_chrome import Instrument, title_live
from apex_tui.tui.render_score import score_lines
from apex_tui.tui.render_transcript import block_lines, blocks

STALE = SessionView.fold(sample.until_stale()).state
LONG = "The engine was killed by SIGKILL; the recording up to then is in /home/user/sessions/20260101T000000Z-leave-request-rehearsal-1; its log is /home/user/state/log/engine.log."  # fmt: skip  # noqa: E501


def test_nothing_is_recorded_any_more_when_the_engine_is_gone() -> None:
    assert "● REC" in title_live(STALE, 18_000, Instrument("ok"), 120).plain
    gone = title_live(STALE, 18_000, Instrument("gone"), 120).plain
    assert "REC" not in gone
    assert "■ recording stopped 00:18.000" in gone


async def test_a_long_sentence_is_shown_whole_with_its_way_out() -> None:
    link = FakeLink([*opened(sample.until_stale()), Failed(message=LONG, exit_code=2)], ended=True)

    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        await settle(pilot)
        shown = " ".join(text_of(app).split())
        assert LONG.split("; ")[1] in shown
        assert "engine.log. · q goes back" in shown

    await drive(make_app(Run(workflow="leave-request"), link=link), driver)


async def test_the_seed_that_is_shown_is_the_seed_that_runs() -> None:
    link = FakeLink(opened(sample.until_stale()))

    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        await pilot.press("s", "minus", "5", "enter")
        await settle(pilot)
        assert "seed 5" in text_of(app)  # no seed is negative, here as elsewhere
        await pilot.press("enter")
        await settle(pilot)
        first = link.sent[0]
        assert isinstance(first, Run)
        assert first.seed == 5

    await drive(make_app(link=link), driver)


def test_the_scorecard_gives_the_rule_that_the_pacing_broke() -> None:
    score = sample.score().model_copy(
        update={"timing_degraded": True, "degraded_because": ("a frame was 26 ms late 0.4 s before a scored edge",)}
    )
    shown = "\n".join(line.plain for line in score_lines(score, 120))
    assert "TIMING DEGRADED: a frame was 26 ms late 0.4 s before a scored edge" in shown


def test_a_state_folder_that_cannot_be_made_is_one_sentence(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(file))
    with pytest.raises(UserError, match="XDG_STATE_HOME"):
        state_folder()
    assert engine_log_path() == file / "apex-tui" / "log" / "engine.log", "a run goes on without a log"


async def test_screens_go_on_where_no_state_can_be_kept(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(file))
    app = live_app(running())
    app.sources = replace(app.sources, state_folder=state_folder)
    async with app.run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        for key, told in (("ctrl+s", "the screenshot could not be written"), ("y", "the file could not be written")):
            await pilot.press(key)
            await settle(pilot)
            assert told in text_of(app)


@pytest.mark.parametrize(("how", "told"), [("played", False), ("flushed", True)])
def test_words_that_come_after_their_reply_closed_stand_at_its_sound_and_are_not_called_unheard(
    how: str, told: bool
) -> None:
    whole = "Shall I submit it, or is there anything else?"
    facts: list[tuple[float, AnyFact]] = [
        (1000, a.ReplyStarted(reply="r", after_tool=False)),
        (1200, a.AgentSpeechStarted(reply="r", onset_ms=1190, leading_silence_ms=0)),
        (3000, a.AgentSpeechEnded(reply="r", offset_ms=3000, in_pause=False)),
        (3000, a.ReplyClosed.model_validate({"reply": "r", "how": how, "played_ms": 1800, "generated_ms": 1800, "text": "", "heard": ""})),
        (9000, a.AgentSaid(reply="r", item="i", text="Shall I")),
        (9000, a.AgentSaid(reply="r", item="i", text=whole, final=True)),
    ]  # fmt: skip
    state = SessionView.fold(sample.to_events(facts)).state
    (block,) = blocks(state)
    assert block.at_ms == 1190
    shown = "\n".join(line.plain for line in block_lines(block, 100))
    assert whole in shown
    assert ("cut · the words came later: how many were heard is not known" in shown) is told
    assert state.replies["r"].heard is None


async def test_ctrl_c_ends_nothing_and_says_which_keys_do() -> None:
    app = live_app(running())
    async with app.run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+c")
        await settle(pilot)
        assert "ctrl+c ends nothing here: q quits, ctrl+q leaves the app" in text_of(app)

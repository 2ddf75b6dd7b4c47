"""Why, search, comparisons, presenter mode, results, filters, copying, the remembered layout: driven as a person drives them."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import tui_sample as sample
from rich.text import Text
from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import Input, OptionList
from tui_fakes import FakeLink, make_app, opened
from tui_pilot import (
    NARROW,
    RUN,
    WIDE,
    drive,
    live_app,
    live_screen,
    replay_screen,
    running,
    scored,
    settle,
    showing,
    text_of,
)

from apex_tui.store.listing import Listing
from apex_tui.store.settings import Layout, Settings
from apex_tui.timeline.messages import Run
from apex_tui.tui.again import asked_first
from apex_tui.tui.app import ApexApp, Replay
from apex_tui.tui.dialog_agents import AgentScreen
from apex_tui.tui.dialogs import AskScreen
from apex_tui.tui.render_results import results_lines
from apex_tui.tui.screen_live import LiveScreen
from apex_tui.tui.screen_picker import PickerScreen
from apex_tui.tui.screen_replay import ReplayScreen
from apex_tui.tui.screen_results import ResultsScreen
from apex_tui.tui.screen_score import ScoreScreen
from apex_tui.tui.screen_why import WhyScreen

REPLAYED = Replay(Path("/s/one"))


async def typed(pilot: Pilot[int], key: str, words: str) -> None:
    """Open a prompt with a key, type, enter."""
    await pilot.press(key)
    await pilot.pause()
    await pilot.press(*({" ": "space", ":": "colon", ".": "full_stop"}.get(c, c) for c in words), "enter")
    await settle(pilot)


async def test_replay_searches_filters_goes_and_compares() -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        player = replay_screen(app).player
        await typed(pilot, "slash", "sixteenth")
        assert player.events[player.count - 1].type == "caller.turn_started"
        assert "match 1 of" in text_of(app)
        first = player.count
        await pilot.press("n")
        assert player.count > first
        await pilot.press("N", "N")
        assert player.count > first  # around the beginning to the last match
        await typed(pilot, "t", "approval")
        await pilot.press("home", "full_stop")
        assert player.events[player.count - 1].type == "approval.requested"
        await pilot.press("6")
        await pilot.pause()
        assert "only approval" in text_of(app)
        await typed(pilot, "t", "nonsense")
        assert "no event of kind" in text_of(app)
        for place, ms in (("v3", 17_504), ("0:07", 7000), ("b1", 15_300)):
            await typed(pilot, "g", place)
            assert player.at_ms == ms
        await typed(pilot, "g", "v77")
        assert "There is no v77" in text_of(app)
        await pilot.press("escape", "1", "c", "c")
        await pilot.pause()
        assert "compare v2 -> final v3" in text_of(app)
        await pilot.press("c")
        await pilot.pause()
        assert "compare v2 -> gold" in text_of(app)
        await typed(pilot, "C", "1 2")
        assert "compare v1 -> v2" in text_of(app)

    await drive(make_app(REPLAYED, verdict=sample.score()), driver)


async def test_why_walks_to_the_words_that_were_said_and_jumps_there() -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        await pilot.press("end", "2", "w")
        await settle(pilot)
        assert isinstance(app.screen, WhyScreen)
        assert "why field end_date = 2026-12-16" in text_of(app)
        await pilot.press("tab")
        for _ in range(40):
            node = app.screen.walk.current if app.screen.walk else None
            event = (
                replay_screen_below(app).player.events[node.seq] if node is not None and node.seq is not None else None
            )
            if event is not None and event.type == "caller.turn_started":
                break
            await pilot.press("right", "down")
        assert event is not None
        assert event.type == "caller.turn_started"
        await pilot.press("enter")
        await settle(pilot)
        assert showing(app, ReplayScreen)
        assert replay_screen(app).player.at_ms == event.media_ms

    await drive(make_app(REPLAYED, verdict=sample.score()), driver)


def replay_screen_below(app: ApexApp) -> ReplayScreen:
    return next(s for s in app.screen_stack if isinstance(s, ReplayScreen))


async def test_presenter_mode_shows_the_verdict_and_n_resets() -> None:
    link, judged = running(), scored()

    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        await pilot.press("p")
        await settle(pilot)
        assert "p back to detail  space hold  ? help" in text_of(app)
        link.items, link.ended = judged.items[len(opened(sample.until_stale())) :], True
        await settle(pilot)
        shown = text_of(app)
        for part in (
            "S U C C E S S",
            "✓ yielded",
            "LEAVE FORM  v3",
            "rehearsal (scripted)",
            "n  next run",
        ):
            assert " ".join(part.split()) in " ".join(shown.split())
        assert "seed" not in shown
        before = app.screen
        await pilot.press("n")
        await settle(pilot)
        assert app.screen is not before
        link.items, link.ended = list(opened(sample.until_stale())), False
        await settle(pilot)
        assert "S P E A K I N G" in text_of(app)
        assert "S T A L E" in text_of(app)
        await pilot.press("n")
        await pilot.pause()
        assert "still going on" in text_of(app)
        await pilot.press("p")
        await pilot.pause()
        assert "● REC" in text_of(app)
        assert live_screen(app).panes.transcript.lines

    await drive(live_app(link), driver, NARROW)


async def test_live_why_hide_and_copy(tmp_path: Path) -> None:
    saved: list[Layout] = []
    app = live_app(running(), tmp_path)
    object.__setattr__(app.sources, "save_layout", saved.append)

    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        assert "left 11:42 of 12:00 (time budget)" in text_of(app)
        await pilot.press("5", "h")
        await pilot.pause()
        assert saved[-1] == Layout((5,), 1, False)
        assert not live_screen(app).panes.panes[5].display
        await pilot.press("y")
        assert "Of course. Which days" in (tmp_path / "copied.txt").read_text()
        assert "sent to the terminal's clipboard" in text_of(app)
        await pilot.press("4", "w")
        await settle(pilot)
        assert "T4 update_leave_form done" in text_of(app)
        assert "● REC" in text_of(app)  # the state strip stays in sight
        await pilot.press("enter")
        await pilot.pause()
        await settle(pilot)
        replay = replay_screen(app)  # the moment of the call, in what happened so far
        assert replay.player.at_ms == 17_420
        assert "the run goes on behind this" in text_of(app)
        await pilot.press("q")
        await settle(pilot)
        assert live_screen(app).live
        await pilot.press("n")
        await pilot.pause()
        assert "presenter mode" in text_of(app)

    await drive(app, driver)


async def test_the_layout_of_the_last_time_is_taken_over() -> None:
    app = live_app(running())
    object.__setattr__(app.sources, "load_layout", lambda: Layout((3,), 2, True))

    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        body = live_screen(app).panes
        assert [n for n, p in body.panes.items() if p.display] == [2]
        await pilot.press("z")
        await pilot.pause()
        assert [n for n, p in body.panes.items() if p.display] == [1, 2, 4, 5]

    await drive(app, driver)


async def test_results_filter_and_open_at_the_failing_moment() -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        await pilot.press("R")
        await settle(pilot)
        assert showing(app, ResultsScreen)
        assert "2 sessions · 1 success · 1 failed" in text_of(app)
        await typed(pilot, "slash", "pv openai")
        assert "1 session · 1 failed" in text_of(app)
        assert "PV process validity" in text_of(app)
        await pilot.press("enter")
        await settle(pilot)
        assert replay_screen(app).player.at_ms == 17_800
        assert "failing moment" in text_of(app)
        await pilot.press("q", "s")
        await settle(pilot)
        assert showing(app, ScoreScreen)
        await pilot.press("w")
        await settle(pilot)
        assert replay_screen(app).player.at_ms == 17_800

    await drive(make_app(verdict=sample.score(False)), driver, NARROW)


async def test_moving_in_the_results_draws_the_chosen_row_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a thousand rows take a tenth of a second, which every key would wait for."""
    drawn: list[int] = []

    def counted(rows: Sequence[Listing], chosen: int, width: int) -> list[Text]:
        drawn.append(len(rows))
        return results_lines(rows, chosen, width)

    monkeypatch.setattr("apex_tui.tui.screen_results.results_lines", counted)

    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        await pilot.press("R")
        await settle(pilot)
        drawn.clear()
        lines = [line.plain[:1] for line in app.screen.list_pane.lines]  # type: ignore[attr-defined]
        assert lines == [" ", "▸", " "]
        await pilot.press("down")
        await settle(pilot)
        lines = [line.plain[:1] for line in app.screen.list_pane.lines]  # type: ignore[attr-defined]
        assert lines == [" ", " ", "▸"]
        assert set(drawn) == {1}

    await drive(make_app(), driver)


async def test_the_picker_filters_by_name_agent_and_outcome() -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        assert isinstance(app.screen, PickerScreen)
        for words, found in (("openai failed", "payment"), ("form leave", "leave-request")):
            await typed(pilot, "slash", words)
            assert app.screen.choice.workflow == found
            assert app.screen.list.option_count == 1
        await pilot.press("slash")
        await pilot.pause()
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen.list.option_count == 2

    await drive(make_app(), driver)


async def test_r_runs_the_same_again() -> None:
    link = running()

    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        await pilot.press("r")
        await settle(pilot)
        assert showing(app, LiveScreen)
        assert link.sent[0] == Run(workflow="leave-request", agent="rehearsal", seed=7)

    await drive(make_app(REPLAYED, link=link), driver, NARROW)


async def test_an_address_in_a_recording_is_asked_about_before_keys_go_there() -> None:
    """A recording is somebody's file: it may name any address beside any agent."""
    link = running()

    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        whole = replay_screen(app).player.whole
        assert whole.started is not None
        hidden = "https://" + "api.openai.com." * 10
        given = {
            "url": "wss://api.openai.com@elsewhere.example/v1",
            "parts": {"stt": f"{hidden}ears.example", "llm": f"{hidden}mind.example:8"},
        }
        whole.started = whole.started.model_copy(update={"rehearsal": False, "agent": "openai", "parameters": given})
        await pilot.press("r")
        await settle(pilot)
        assert isinstance(app.screen, AskScreen)
        asked = " ".join(" ".join(line.plain for line in app.screen.lines.lines).split())
        assert "with the keys of openai sent along? It names elsewhere.example, …" in asked
        assert ".ears.example, …" in asked, "the end of a long one tells whose it is"
        assert ".mind.example:8." in asked
        await pilot.press("escape")
        await settle(pilot)
        assert showing(app, ReplayScreen)
        assert link.sent == []
        await pilot.press("r", "y")
        await settle(pilot)
        assert showing(app, LiveScreen)
        (command,) = link.sent
        assert isinstance(command, Run)
        assert command.url == "wss://api.openai.com@elsewhere.example/v1"

    await drive(make_app(REPLAYED, link=link), driver, NARROW)


def test_this_machine_is_asked_about_by_nobody() -> None:
    for url in (None, "ws://127.0.0.1:8765/v1", "ws://[::1]:1/x", "ws://localhost/x"):
        assert asked_first(Run(workflow="w", agent="realtime", url=url)) is None
    for url in ("ws://localhost.example/x", "ws://127.0.0.1@example.org/x", "wss://[bad", "wss://10.0.0.1/x"):
        assert "with the keys of realtime sent along" in str(asked_first(Run(workflow="w", agent="realtime", url=url)))


async def test_settings_choose_theme_keys_rate_and_the_pickers_beginning() -> None:
    settings = Settings()
    settings.values.update(theme="light", fps=5, agent="openai", seed=9)
    settings.keymap["agent"] = "f7"

    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        assert app.theme == "apex-light"
        assert isinstance(app.screen, PickerScreen)
        assert (app.screen.choice.agent.name, app.screen.choice.seed) == ("openai", 9)
        await pilot.press("f7")
        await settle(pilot)
        assert showing(app, AgentScreen)
        await pilot.press("escape")
        await settle(pilot)
        assert "f7 agent" in text_of(app)
        await pilot.press("a")
        await pilot.press("question_mark")
        await settle(pilot)
        told = text_of(app)
        assert "f7" in told

    await drive(make_app(settings=settings), driver, WIDE)


async def test_narrow_titles_warn_when_time_runs_out() -> None:
    link = FakeLink(opened(sample.until_stale()))
    app = make_app(RUN.model_copy(update={"max_s": 40.0}), link=link)

    async def driver(app: ApexApp, _pilot: Pilot[int]) -> None:
        assert "22 s left" in text_of(app)

    await drive(app, driver, NARROW)


@pytest.mark.parametrize("words", ["", "x" * 300])
async def test_prompts_take_nothing_and_too_much(words: str) -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        await pilot.press("slash")
        await pilot.pause()
        replay_screen(app).prompt.entry.value = words
        await pilot.press("enter")
        await settle(pilot)
        assert replay_screen(app).player.at_ms == 0
        await pilot.press("space", "space", "n")
        await pilot.pause()
        assert showing(app, ReplayScreen)

    await drive(make_app(REPLAYED), driver, NARROW)


@pytest.mark.parametrize("key", ["x", "question_mark", "w", "q"])
async def test_a_dialog_lets_the_run_be_seen_in_the_terminals_own_colours(key: str) -> None:
    async def over(app: ApexApp, pilot: Pilot[int]) -> None:
        app.theme = "ansi-dark"
        await pilot.press(key)
        await settle(pilot)
        assert not isinstance(app.screen, LiveScreen)
        assert "● REC" in text_of(app)

    await drive(live_app(running()), over)


@pytest.mark.parametrize(("closing", "told"), [("enter", 'match 1 of 3 for "sure"'), ("escape", "not scored yet")])
async def test_what_is_typed_in_one_go_with_the_key_that_asks_is_words_and_no_commands(closing: str, told: str) -> None:
    """A slow line brings keys in bursts: r on this screen starts a run."""

    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        for key in ("slash", "s", "u", "r", "e", closing):
            app.post_message(Key(key, key if len(key) == 1 else None))
        await settle(pilot)
        await settle(pilot)
        assert showing(app, ReplayScreen)
        assert told in text_of(app)
        assert not replay_screen(app).prompt.has_class("-on")

    await drive(make_app(REPLAYED), driver)


@pytest.mark.parametrize(
    ("typed", "seed", "url"), [("s", 1, ""), ("s71", 71, ""), ("uws://a.example/sr", 1, "ws://a.example/sr")]
)
async def test_what_is_typed_in_one_go_with_s_or_u_and_enter_is_the_fields_and_runs_nothing(
    typed: str, seed: int, url: str
) -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        for key in typed:
            app.post_message(Key(key, key))
        app.post_message(Key("enter", None))
        await settle(pilot)
        await settle(pilot)
        assert showing(app, PickerScreen)
        screen = app.screen
        assert isinstance(screen, PickerScreen)
        assert (screen.choice.seed, screen.choice.url, screen.words) == (seed, url, "")
        assert screen.focused is screen.list

    await drive(make_app(), driver)


async def test_what_is_typed_in_one_go_with_a_finds_the_agent() -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        for key in ("a", "g", "e", "m", "i", "n", "i", "enter"):
            app.post_message(Key(key, key if len(key) == 1 else None))
        await settle(pilot)
        await settle(pilot)
        assert isinstance(app.screen, PickerScreen)
        assert app.screen.choice.agent.name == "gemini"

    await drive(make_app(), driver)


async def test_a_prompt_that_was_clicked_away_from_takes_no_keys() -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        await pilot.press("slash", "s")
        app.screen.query_one(OptionList).focus()
        await pilot.press("s")
        assert app.focused is not None
        assert app.focused.id == "seed"
        assert app.screen.query_one("#prompt-entry", Input).value == "s"

    await drive(make_app(), driver)


async def test_the_chosen_line_can_be_read_in_a_light_terminals_own_colours() -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        app.theme = "ansi-light"
        for name in ("workflows", "agents"):
            await settle(pilot)
            options = app.screen.query_one(OptionList)
            written = options.get_component_rich_style("option-list--option-highlighted")
            assert written.color is not None
            assert written.bgcolor is not None
            assert (written.color.number, written.bgcolor.number) == (15, 4), name
            await pilot.press("a")

    await drive(make_app(), driver)

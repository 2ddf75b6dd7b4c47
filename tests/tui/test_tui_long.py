"""Long sessions: every entry can be reached, a recording is shown before it is read whole, and what is drawn each frame stays bounded."""

from pathlib import Path
from typing import Any

import tui_sample as sample
from textual.pilot import Pilot
from tui_fakes import FakeLink, make_app, opened

from apex_tui.timeline import agent_facts as a
from apex_tui.timeline import caller_facts as c
from apex_tui.timeline import work_facts as w
from apex_tui.timeline.events import AnyFact, Event, to_line
from apex_tui.timeline.log import LogReader
from apex_tui.timeline.messages import Run
from apex_tui.timeline.view import SessionView
from apex_tui.tui.figures import answers
from apex_tui.tui.player import Player
from apex_tui.tui.render_chrome import Instrument, status_line
from apex_tui.tui.render_transcript import blocks, blocks_after
from apex_tui.tui.screen_live import LiveScreen
from apex_tui.tui.screen_replay import ReplayScreen
from apex_tui.tui.widgets.panes import MOST_CALLS, WINDOW, TranscriptPane

TURNS = 150


def long_session(turns: int = TURNS) -> list[Event]:
    """A start, then as many turns, each with a reply, a call, and every third a version."""
    facts: list[tuple[float, AnyFact]] = [(e.media_ms, e.fact) for e in sample.session()[:3]]
    for n in range(turns):
        ms = 1000.0 * (n + 1)
        facts += [
            (ms, c.CallerTurnStarted(turn=n, plan="p", act="ANSWER", text=f"turn {n}", onset_ms=ms, ends_ms=ms + 300,
                                     value_end_ms=ms + 300)),
            (ms + 300, c.CallerTurnEnded(turn=n, offset_ms=ms + 300)),
            (ms + 350, a.AgentSpeechStarted(reply=f"r{n}", onset_ms=ms + 350)),
            (ms + 350, a.AgentSaid(reply=f"r{n}", item="i", text=f"reply {n}", final=True)),
            (ms + 360, a.ResponseMeasured(turn=n, reply=f"r{n}", first_byte_ms=1, first_audible_ms=50 + n, after_tool=n % 2 == 0)),
            (ms + 700, a.AgentSpeechEnded(reply=f"r{n}", offset_ms=ms + 700)),
            (ms + 800, w.ToolCalled(call=f"c{n}", name="look_up", arguments={}, reply=f"r{n}")),
        ]  # fmt: skip
    return sample.to_events(facts)


LONG = long_session()
STATE = SessionView.fold(LONG).state
ALL = [b.seq for b in blocks(STATE)]


def test_windows_lie_side_by_side_and_miss_nothing() -> None:
    assert len(ALL) == 3 * TURNS
    assert [b.seq for b in blocks(STATE, 50)] == ALL[-50:]
    found: list[int] = []
    edge = -1.0
    while coming := blocks_after(STATE, edge, 40):
        found += [b.seq for b in coming]
        edge = coming[-1].at_ms
    assert found == ALL
    middle = blocks(STATE, 60, 75_000.0)
    assert [b.seq for b in middle] == [s for s in ALL if LONG[s].media_ms <= 75_000.0][-60:]


def test_what_is_kept_between_frames_follows_the_session() -> None:
    view = SessionView()
    for event in LONG:
        view.apply(event)
        found = answers(view.state)
        assert len(found.plain) + len(found.after_tool) == len(view.state.responses)
    assert [c.label for c in view.state.calls.values()] == [f"T{n}" for n in range(1, len(view.state.calls) + 1)]
    assert found.median == 50 + sorted(range(1, TURNS, 2))[TURNS // 4]
    assert answers(SessionView.fold(LONG[:20]).state).plain != found.plain


async def settle(pilot: Pilot[int]) -> None:
    for _ in range(3):
        await pilot.pause(0.02)


def shown(pane: TranscriptPane) -> str:
    return "\n".join(line.plain for line in pane.lines)


async def test_the_transcript_and_the_tools_can_be_scrolled_to_their_beginning() -> None:
    app = make_app(Run(workflow="x"), link=FakeLink(opened(LONG)))
    async with app.run_test(size=(120, 40)) as pilot:
        for _ in range(8):
            await pilot.pause(0.06)
        screen: Any = app.screen
        assert isinstance(screen, LiveScreen)
        assert screen.feed.state.events == len(LONG)
        pane, tools = screen.panes.transcript, screen.panes.tools
        assert f"turn {TURNS - 1}" in shown(pane)
        assert "turn 20" not in shown(pane)
        lowest = pane.max_scroll_y
        for _ in range(40):  # over the upper edge of each window
            pane.scroll_to(y=0, animate=False)
            await settle(pilot)
            if "turn 0" in shown(pane):
                break
        assert "turn 0" in shown(pane)
        assert len(pane.lines) <= lowest + 80, "the window does not grow"
        for _ in range(40):
            pane.scroll_to(y=pane.max_scroll_y, animate=False)
            await settle(pilot)
            if f"reply {TURNS - 1}" in shown(pane):
                break
        assert f"reply {TURNS - 1}" in shown(pane)
        await pilot.press("1", "home")
        await settle(pilot)
        assert "turn 0" in shown(pane)
        assert pane.scroll_offset.y == 0
        await pilot.press("f")
        await settle(pilot)
        assert pane.following
        assert f"turn {TURNS - 1}" in shown(pane)
        assert pane.until_ms is None
        assert f"T{TURNS - MOST_CALLS} " not in "\n".join(line.plain for line in tools.lines)
        for _ in range(8):
            tools.scroll_to(y=tools.max_scroll_y, animate=False)
            await settle(pilot)
        assert "T1 " in "\n".join(line.plain for line in tools.lines)
        tools.scroll_to(y=0, animate=False)
        await settle(pilot)
        assert tools.most == MOST_CALLS


async def test_a_long_recording_is_shown_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text("".join(to_line(e) + "\n" for e in LONG) + '{"v":1,"cut', encoding="utf-8")
    reader = LogReader(path)
    reader.read(100)
    app = make_app()
    async with app.run_test(size=(120, 36)) as pilot:
        screen = ReplayScreen(reader.events, None, None, None, 5_000.0, Player(reader.events), reader)
        assert screen.player.end_ms < 20_000
        app.push_screen(screen)
        while screen._rest is not None:
            await pilot.pause(0.02)
        assert screen.player.events == LONG
        assert screen.player.whole == STATE
        assert screen.player.at_ms == 5_000.0, "the cursor stays"
        assert "readable up to line" in "\n".join(line.plain for line in screen.banner.lines)
        assert len(screen.panes.transcript.lines) > WINDOW // 10
        await pilot.press("end")
        assert screen.player.state == STATE


def test_gates_so_far_say_what_is_certain_and_no_more() -> None:
    events = sample.session()
    before = status_line(SessionView.fold(events[:10]).state, 0, Instrument(), None, 200).plain
    assert "gates so far TS — PV — AC — AV —" in before
    whole = SessionView.fold(events).state
    assert "PV — AC 1 committed AV —" in status_line(whole, 0, Instrument(), None, 200).plain
    refused = w.CommitDecided(call="c9", action="submit", target="t", decision="PREMATURE", at="call")
    stale = w.ArtifactStale(artifact="leave_form", version=3, fields={"working_days": "end_date changed"}, since_ms=1)
    cut = a.CutIn(turn=1, reply="r1", kind="cut_in", onset_ms=1, overlap_ms=900)
    more = sample.to_events([(e.media_ms, e.fact) for e in events[:-1]] + [(30_000, f) for f in (refused, stale, cut)])
    line = status_line(SessionView.fold(more).state, 0, Instrument(), None, 200).plain
    assert "PV ▲ 1 commit refused AC 1 committed AV ▲ 1 stale · floor 1/1 yielded, 1 cut in" in line


async def test_what_someone_reads_stays_where_it_is_while_the_run_goes_on() -> None:
    """New entries push old ones out of the window; the words that are being read do not move with them, nor are they pushed out."""
    link = FakeLink(opened(LONG[:300]))
    app = make_app(Run(workflow="leave-request"), link=link)
    async with app.run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        await pilot.pause(0.1)
        assert isinstance(app.screen, LiveScreen)
        pane = app.screen.panes.transcript
        pane.scroll_relative(y=-4, animate=False, immediate=True)
        await settle(pilot)
        assert not pane.following
        top = pane.scroll_offset.y
        read = [line.plain for line in pane.lines[top : top + 5]]
        for first in range(300, 700, 20):
            link.items = list(opened(LONG[first : first + 20])[1:])
            await pilot.pause(0.08)
            top = pane.scroll_offset.y
            assert [line.plain for line in pane.lines[top : top + 5]] == read
        assert "newer entries" in pane.lines[-1].plain
        await pilot.press("f")
        await settle(pilot)
        assert pane.lines[-1].plain.split()[1] != read[-1].split()[1]
        assert "newer entries" not in pane.lines[-1].plain

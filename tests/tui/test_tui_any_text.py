"""Whatever an agent, a tool or a recording says, at any width: every line of every pane is text that fits, and nothing that a terminal obeys."""

import unicodedata
from collections.abc import Iterable

import tui_sample as sample
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.text import Text
from tui_hostile import HOSTILE

from apex_tui.timeline import agent_facts as a
from apex_tui.timeline import caller_facts as c
from apex_tui.timeline import session_facts as s
from apex_tui.timeline import work_facts as w
from apex_tui.timeline.events import AnyFact, Event
from apex_tui.timeline.view import SessionView
from apex_tui.tui.render_band import band, band_compact
from apex_tui.tui.render_chrome import Instrument, seek_marks, status_line, tabs, title_live, title_replay
from apex_tui.tui.render_floor import barge_lines, event_line
from apex_tui.tui.render_lanes import lanes
from apex_tui.tui.render_present import present_lines
from apex_tui.tui.render_transcript import block_lines, blocks, blocks_after, later_blocks
from apex_tui.tui.render_work import authority_lines, tool_lines
from apex_tui.tui.why import Graph, targets

TEXTS = st.one_of(
    st.sampled_from([text[:400] for text in HOSTILE]),
    st.text("[]/\\\x1b\x07\u202e\u200d日本👩é \n\t\rab{}", max_size=60),
    st.text(max_size=80),
)
NUMBERS = st.floats(0, 80_000)


def session(texts: list[str], ms: list[float]) -> list[Event]:
    """A session whose every text is one of ``texts``, and whose times within its facts come in no order."""
    t = [texts[n % len(texts)] for n in range(12)]
    m = [ms[n % len(ms)] for n in range(12)]
    facts: list[AnyFact] = [
        s.SessionStarted(
            session=t[0], workflow=t[1], workflow_version="1", workflow_digest="0", title=t[2], agent=t[3], rehearsal=False,
            seed=1, profile="strict", caller="bank", clock_basis="playout", virtual=False),
        a.AgentConnected(family=t[1], url=t[2], capabilities={"tools_at": t[3], "max_session_s": m[0]}, instructions_sha256="0",
                         tools_sha256="0"),
        c.CallerTurnStarted(turn=1, plan=t[0], act="CORRECT", text=t[2], values={t[3]: t[4]}, facts=(t[5],), onset_ms=m[0],
                            ends_ms=m[1], value_end_ms=m[2]),
        c.CallerWaits(why="gap", next_plan=t[7]),
        a.AgentSpeechStarted(reply=t[8], onset_ms=m[3]),
        a.AgentSaid(reply=t[8], item=t[9], text=t[10]),
        a.BargeInOpened(barge_in=1, turn=1, reply=t[8], kind="overlap", onset_ms=m[4]),
        a.ReplyClosed(reply=t[8], how="flushed", played_ms=m[5], generated_ms=m[6], text=t[10], heard=t[10][: len(t[10]) // 2]),
        a.AgentHeardCaller(item=t[9], text=t[11], final=True),
        a.AgentActed(key=t[0], source="pattern", reply=t[8], evidence=t[1]),
        w.ToolCalled(call="c1", name=t[2], arguments={t[3]: [t[4], {t[5]: None}]}),
        w.ArtifactVersion(artifact=t[6], version=1, digest="0", author="agent", call="c1", lifecycle="DRAFT", fields={t[7]: t[8]},
                          stale={t[7]: t[9]}, changes=(w.FieldChange(field=t[7], old=t[10], new=t[8], kind="changed"),)),
        w.ToolFinished(call="c1", name=t[2], ok=False, error=t[3], latency_ms=m[7]),
        w.ApprovalRequested(request="q", action=t[4], target=t[5], artifact=t[6], version=1, digest="0"),
        w.ApprovalGranted(approval="a", request="q", action=t[4], target=t[5], artifact=t[6], version=1, digest="0", granted_ms=m[8],
                          flags=(t[7],)),
        w.ApprovalStale(approval="a", covers=1, now=2, differs=(t[7],)),
        w.CommitDecided(call="c1", action=t[8], target=t[9], decision="STALE_APPROVAL", at="completion", why=t[10]),
        c.EventFired(event=t[0], kind=t[1]),
        s.OperatorMarked(note=t[2]),
        s.SessionWarning(code=t[3], message=t[4]),
    ]  # fmt: skip
    return sample.to_events([(1000.0 * n, fact) for n, fact in enumerate(facts)])


def fits(lines: Iterable[Text], width: int, where: str) -> None:
    for line in lines:
        assert line.cell_len <= width, (where, width, line.plain)
        odd = [char for char in line.plain if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
        assert not odd, (where, odd, line.plain)


@settings(max_examples=30, deadline=None)
@given(
    texts=st.lists(TEXTS, min_size=1, max_size=12),
    ms=st.lists(NUMBERS, min_size=1, max_size=12),
    width=st.integers(40, 200),
)
def test_every_pane_holds_any_text_at_any_width(texts: list[str], ms: list[float], width: int) -> None:
    events = session(texts, ms)
    state = SessionView.fold(events).state
    found = blocks(state, 50)
    later = later_blocks(blocks_after(state, ms[0], 10), found[:2])
    fits((line for block in (*found, *later) for line in block_lines(block, width)), width, "transcript")
    fits(sample.artifact_lines(state, width), width, "artifact")
    fits(sample.artifact_lines(state, width, diff=True), width, "artifact, changes only")
    fits(authority_lines(state, width), width, "authority")
    fits(tool_lines(state, 20_000, width), width, "tools")
    fits(barge_lines(state, width), width, "barge-ins")
    fits((event_line(event) for event in events), 1_000, "events")
    fits(lanes(state, 20_000, width, True), width, "lanes")
    fits([seek_marks(state, 20_000, width)], width, "seek bar")
    fits([status_line(state, 20_000, Instrument(), None, width)], width, "status")
    fits([title_live(state, 20_000, Instrument(), width)], width, "title")
    fits([title_replay(state, state, 20_000, 20_000, True, 1.0, width, 0.5)], width, "title of a replay")
    if width >= 60:
        fits([tabs(state, 1, 20, width)], width, "tabs")
        fits(band_compact(state, 20_000, width, None), width, "band")
        fits(present_lines(state, 20_000, None, width, 24), width, "presenter")
    if width >= 100:
        fits(band(state, 20_000, width, None), width, "band")
    for pane in range(1, 7):
        chosen = targets(state, pane, events, len(events))
        fits((Text(target.label) for target in chosen), 1_000, f"why, pane {pane}")
    assert Graph(events) is not None

"""Why: the graph of causes, the walk through it, the drift chain, and what can be asked about in each pane."""

import tui_sample as sample
from hypothesis import given, settings
from hypothesis import strategies as st

from apex_tui.score.verdict_work import Drift
from apex_tui.timeline.view import SessionView
from apex_tui.tui.render_why import raw_lines, target_lines, tree_lines
from apex_tui.tui.why import Graph, Target, Tree, targets

EVENTS = sample.session()
WHOLE = SessionView.fold(EVENTS).state
GRAPH = Graph(EVENTS)
DRIFT = Drift(
    field="leave_form.end_date", said="2026-12-16", heard="2026-12-16", claimed="2026-12-18", in_artifact="2026-12-18",
    approved="2026-12-18", committed=None, first_disagreement="claimed", klass="misplanned",
    reason="the caller said 2026-12-16 for end_date at 15.3 s, and the agent said 2026-12-18",
    evidence={"said": (36,), "claimed": (55,), "artifact": (49,)},
)  # fmt: skip


def end_date() -> Target:
    return next(t for t in targets(WHOLE, 2, EVENTS, len(EVENTS)) if t.path == "leave_form.end_date")


def test_a_field_leads_back_to_the_call_the_reply_and_the_words_of_the_caller() -> None:
    target = end_date()
    assert len(target.seqs) == 2  # written by v1 and v3
    version = target.seqs[-1]
    call = GRAPH.causes(version)
    reply = GRAPH.causes(call[0])
    turn = GRAPH.causes(reply[0])
    assert [GRAPH.event(n[0]).type for n in (call, reply, turn)] == [  # type: ignore[union-attr]
        "tool.called", "agent.reply_started", "caller.turn_started",
    ]  # fmt: skip
    assert version in GRAPH.effects(call[0])


def test_the_tree_opens_two_levels_and_the_arrows_walk_it() -> None:
    tree = Tree(GRAPH, end_date())
    types = [
        e.type for n in tree.nodes if n.seq is not None and (e := GRAPH.event(n.seq)) is not None and n.way == "cause"
    ]
    assert types[:2] == ["tool.called", "agent.reply_started"]
    assert tree.current is not None
    assert tree.current.seq == end_date().seqs[-1]
    before = len(tree.nodes)
    tree.fold()
    assert len(tree.nodes) < before
    tree.unfold()
    assert len(tree.nodes) == before
    tree.unfold()
    assert tree.current.way == "raw"


def test_the_chain_marks_the_first_disagreement_and_shows_what_is_missing() -> None:
    tree = Tree(GRAPH, end_date(), DRIFT)
    shown = [line.plain for line in tree_lines(tree, 120)]
    marked = [line for line in shown if "first disagreement" in line]
    assert len(marked) == 1
    assert "claimed    2026-12-18" in marked[0]
    assert "▸" in marked[0]  # the cursor stands where the trouble began
    assert any("committed  —" in line for line in shown)
    tree.cursor = 0  # the tree has to cut the sentence; below it stands whole
    assert raw_lines(tree, 200)[0].plain == DRIFT.reason
    assert any("misplanned" in line or "the agent said 2026-12-18" in line for line in shown)


def test_the_raw_line_of_the_event_at_the_cursor_is_shown_whole() -> None:
    tree = Tree(GRAPH, end_date())
    raw = "".join(line.plain for line in raw_lines(tree, 60))
    assert '"type":"artifact.version"' in raw
    assert '"causes":[' in raw
    tree.cursor = 0
    assert "Put the cursor on an event" in raw_lines(tree, 80)[0].plain


def test_every_pane_has_things_to_ask_about() -> None:
    kinds = {pane: {t.kind for t in targets(WHOLE, pane, EVENTS, len(EVENTS))} for pane in range(1, 7)}
    assert kinds == {
        1: {"turn", "reply"}, 2: {"field"}, 3: {"approval"}, 4: {"call"}, 5: {"barge-in"}, 6: {"event"},
    }  # fmt: skip
    assert "nothing to ask about" in target_lines([], 0, 80, True)[0].plain
    assert all(
        GRAPH.event(s) is not None for p in range(1, 7) for t in targets(WHOLE, p, EVENTS, len(EVENTS)) for s in t.seqs
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["up", "down", "unfold", "fold"]), max_size=60), st.integers(0, 60))
def test_any_walk_stays_in_the_tree_and_ends(walk: list[str], seq: int) -> None:
    tree = Tree(GRAPH, Target("event", "x", (seq,)), DRIFT)
    for step in walk:
        if step in ("up", "down"):
            tree.move(1 if step == "down" else -1)
        else:
            getattr(tree, step)()
        assert 0 <= tree.cursor < len(tree.nodes) < 5000
        assert len({n.place for n in tree.nodes}) == len(tree.nodes)

"""Pane 1: what was said and done, in the order in which speech began.

A reply that was cut shows what was heard, the place of the cut, and the rest struck out. Acts, tool calls, versions and authority stand
between the words that led to them. `blocks` reads the state; `block_lines` wraps one block, so a widget can keep what did not change.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import partial
from operator import itemgetter
from typing import NamedTuple, TypeVar

from rich.text import Text

from apex_tui.timeline.state import Approval, Call, Mark, Reply, Request, State, Turn, Version
from apex_tui.tui.figures import barge_of, decision_word, unheard
from apex_tui.tui.lines import Part, hanging, row, teach
from apex_tui.tui.plain import arguments, compact, plain
from apex_tui.tui.words import CALL_WORDS, at, millis

_Row = TypeVar("_Row")
_SILENT_START_MS = 10_000.0
"""How long before its first sound a reply may have begun."""
LEAD = 17
"""Cells of ``02:05.92 caller  ``."""


@dataclass(frozen=True, slots=True)
class Block:
    """One entry: its time, who speaks (empty for work), and one or more paragraphs of pieces. Hashable: equal blocks draw equal lines."""

    at_ms: float
    seq: int
    who: str
    paragraphs: tuple[tuple[Part, ...], ...]
    later: bool = False


def blocks(
    state: State, most: int | None = None, until_ms: float | None = None, tags: Mapping[int, str] | None = None
) -> list[Block]:
    """Entries of the transcript, in the order in which they began: all that began up to ``until_ms``, or the last ``most`` of those.

    ``tags``: turn -> what a person's utterance is taken for.
    """
    rows = _rows(state, Window(most, until_ms), tags or {})
    return [row.made() for row in (rows if most is None else rows[-most:])]


def blocks_after(state: State, after_ms: float, most: int) -> list[Block]:
    """The first ``most`` entries that began after ``after_ms``."""
    rows = [row for row in _rows(state, Window(most, after_ms, ahead=True), {}) if row.at_ms > after_ms]
    return [row.made() for row in rows[:most]]


class _Entry(NamedTuple):
    """One entry before its words are put together: most of them are outside the window."""

    at_ms: float
    seq: int
    who: str
    words: Callable[[], tuple[tuple[Part, ...], ...]]

    def made(self) -> Block:
        """The entry with its words."""
        return Block(self.at_ms, self.seq, self.who, self.words())


def _rows(state: State, window: Window, tags: Mapping[int, str]) -> list[_Entry]:
    rows = [
        *_turns(state, window, tags),
        *_replies(state, window),
        *_calls(state, window),
        *_versions(state, window),
        *_authority(state, window),
        *_marks(state, window),
    ]
    rows.sort(key=itemgetter(0, 1))
    return rows


@dataclass(frozen=True, slots=True)
class Window:
    """Which rows of a long session are drawn: the last ``most`` up to ``edge_ms``, or ``ahead`` of it the first ``most``. None: no bound."""

    most: int | None = None
    edge_ms: float | None = None
    ahead: bool = False

    def cut(self, rows: Sequence[_Row], key: Callable[[_Row], float]) -> Sequence[_Row]:
        """The rows of it; they are in order of time, as near as a session is."""
        if self.ahead and self.edge_ms is not None:  # a reply may have begun before it is heard
            edge = bisect_right(rows, self.edge_ms - _SILENT_START_MS, key=key)
            return rows[edge : None if self.most is None else edge + 2 * self.most]
        edge = len(rows) if self.edge_ms is None else bisect_right(rows, self.edge_ms, key=key)
        return rows[0 if self.most is None else max(0, edge - self.most) : edge]


def later_blocks(coming: list[Block], now: list[Block]) -> list[Block]:
    """What replay still has in store, to be dimmed below the cursor line: ``coming`` without what is shown already."""
    shown = {block.seq for block in now}
    return [replace(b, later=True) for b in coming if b.seq not in shown]


def block_lines(block: Block, width: int) -> list[Text]:
    """A block in lines of ``width`` cells."""
    lines: list[Text] = []
    for number, paragraph in enumerate(block.paragraphs):
        if number == 0:
            lead = row((at(block.at_ms), "quiet"), " ", (f"{block.who:<8}", block.who or "quiet"))
        else:
            lead = row(" " * (LEAD - 8), ("└ ", "quiet"), " " * 6)
        lines += hanging(lead, row(*paragraph), width)
    if block.later:
        return [Text(line.plain, "quiet", no_wrap=True, end="") for line in lines]
    return lines


def empty_lines(width: int) -> list[Text]:
    """What the pane says before the first word."""
    return teach(
        width,
        "Nothing was said yet.",
        "The caller's words appear when they begin to sound, the agent's as it sends them; "
        "what was written but never heard is struck out.",
    )


def _turns(state: State, window: Window, tags: Mapping[int, str]) -> list[_Entry]:
    rows: list[_Entry] = []
    shown = window.cut(state.turns, lambda t: t.onset_ms)
    stated = _stated_before(state, shown)
    for turn in shown:
        before = {name: stated[name] for name in turn.values if name in stated}
        words = partial(_turn, state, turn, before, tags.get(turn.number))
        rows.append(_Entry(turn.onset_ms, turn.seq, "caller", words))
        stated.update(turn.values)
    return rows


def _stated_before(state: State, shown: Sequence[Turn]) -> dict[str, object]:
    """The last value of each field that these turns state, before the first of them."""
    missing = {name for turn in shown for name in turn.values}
    stated: dict[str, object] = {}
    place = bisect_left(state.turns, shown[0].seq, key=lambda t: t.seq) if shown else 0
    while missing and place:
        place -= 1
        values = state.turns[place].values
        stated.update({name: values[name] for name in missing & values.keys()})
        missing -= values.keys()
    return stated


def _turn(state: State, turn: Turn, before: dict[str, object], tag: str | None) -> tuple[tuple[Part, ...], ...]:
    speaking = turn.offset_ms is None and state.caller_speaking and turn is state.turns[-1]
    words = plain(turn.words) + (" …" if speaking else "" if turn.words else "(spoken; the agent told no words)")
    paragraphs: list[tuple[Part, ...]] = [(words,), tuple(_act(turn, before))]
    if tag is not None:
        paragraphs.append((("taken for  ", "quiet"), (plain(tag, 80), "strong")))
    if turn.heard_by_agent and not turn.detected and _differs(turn.heard_by_agent, turn.text):
        paragraphs.append((("agent heard  ", "warn"), *heard_parts(turn.text, turn.heard_by_agent)))
    return tuple(paragraphs)


def _act(turn: Turn, stated: dict[str, object]) -> list[Part]:
    parts: list[Part] = [("act ", "quiet"), (turn.act, "strong")]
    for name, value in turn.values.items():
        old = f"{compact(stated[name], 40)} -> " if name in stated and stated[name] != value else ""
        parts.append(f"  {plain(name, 60)} {old}{compact(value, 60)}")
    if not turn.values and turn.facts:
        parts.append("  " + ", ".join(plain(f, 60) for f in turn.facts))
    if turn.floor not in ("AFTER_FLOOR_RELEASE",):
        parts.append((f"  {turn.floor.lower().replace('_', ' ')}", "quiet"))
    return parts


def _differs(heard: str, said: str) -> bool:
    return _bare(heard) != _bare(said)


_MOST_WORDS = 400
"""Words of a transcript that are compared one by one; a longer one is shown as it is."""


def heard_parts(said: str, heard: str) -> list[Part]:
    """The agent's transcript against the caller's true words: ``[other words]`` stand for what was heard instead, ``(-lost)`` for what
    is missing from it.
    """
    true, found = plain(said).split(), plain(heard).split()
    if len(true) + len(found) > _MOST_WORDS:
        return [plain(heard)]
    matcher = SequenceMatcher(None, [_bare(w) for w in true], [_bare(w) for w in found], autojunk=False)
    parts: list[Part] = []
    for what, i, j, k, n in matcher.get_opcodes():
        if what == "equal":
            parts.append(" ".join(found[k:n]) + " ")
            continue
        if n > k:
            parts.append((f"[{' '.join(found[k:n])}]", "bad"))
            parts.append(" ")
        lost = " ".join(true[i:j])
        if lost:
            parts.append((f"(-{lost})", "struck"))
            parts.append(" ")
    return parts


def _bare(word: str) -> str:
    return "".join(c for c in word.casefold() if c.isalnum())


def _replies(state: State, window: Window) -> list[_Entry]:
    read: dict[str, list[str]] = {}
    for act in state.acts:
        if act.reply is not None and act.source != "tool":
            read.setdefault(act.reply, []).append(act.key)
    rows: list[_Entry] = []
    for reply_id in window.cut(state.reply_order, lambda name: state.replies[name].started_ms):
        reply = state.replies[reply_id]
        if not reply.text and not reply.speech:
            continue
        began = reply.speech[0][0] if reply.speech else reply.started_ms
        rows.append(_Entry(began, reply.seq, "agent", partial(_reply, state, reply, read.get(reply_id, ()))))
    return rows


def _reply(state: State, reply: Reply, read: Sequence[str]) -> tuple[tuple[Part, ...], ...]:
    paragraphs = [tuple(_words(reply)), *_cut(state, reply)]
    if read:
        paragraphs.append((("read as  ", "quiet"), (", ".join(plain(key, 60) for key in read), "quiet")))
    return tuple(paragraphs)


def _words(reply: Reply) -> list[Part]:
    lost = unheard(reply)
    if lost.strip():
        return [plain(reply.heard or ""), (" ╳ ", "bad"), (plain(lost).strip(), "struck")]
    if not reply.text:
        return [("(speaks; no words sent)", "quiet")]
    return [plain(reply.text) + ("" if reply.closed or reply.status else " …")]


def _cut(state: State, reply: Reply) -> list[tuple[Part, ...]]:
    lost = unheard(reply)
    wordless = reply.closed == "flushed" and reply.heard is None
    if not lost.strip() and not wordless:
        return []
    barge = barge_of(state, reply)
    where = f"cut at B{barge.number}" if barge is not None else "cut"
    if wordless:
        return [((f"╳ {where}", "bad"), (" · the words came later: how many were heard is not known", "quiet"))]
    heard, total = len((reply.heard or "").split()), len(reply.text.split())
    return [((f"╳ {where}", "bad"), (f" · {heard} of {total} words heard", "quiet"))]


def _calls(state: State, window: Window) -> list[_Entry]:
    shown = window.cut(list(state.calls.values()), lambda c: c.called_ms)
    return [_Entry(c.called_ms, c.seq, "", partial(_call, c)) for c in shown]


def _call(call: Call) -> tuple[tuple[Part, ...], ...]:
    return (tuple(call_parts(call)),)


def call_parts(call: Call) -> list[Part]:
    """One tool call: ``T2 update_leave(end=05-14) ✓ 84 ms``."""
    word = CALL_WORDS[call.state]
    parts: list[Part] = [
        (f"{call.label} ", "strong"),
        (f"{plain(call.name, 60)}({arguments(call.arguments)}) ", "agent"),
        (word.glyph if call.state == "done" else str(word), word.role),
    ]
    if call.latency_ms is not None:
        parts.append((f" {millis(call.latency_ms)}", "quiet"))
    if call.decision is not None:
        decided = decision_word(call.decision, call)
        parts.append((f" {decided}", decided.role))
    if call.after_interruption:
        parts.append((" after the interruption", "warn"))
    if call.error:
        parts.append((f" {plain(call.error, 200)}", "bad"))
    return parts


def _versions(state: State, window: Window) -> list[_Entry]:
    return [
        _Entry(version.at_ms, version.seq, "", partial(_version, artifact.id, version))
        for artifact in state.artifacts.values()
        for version in window.cut(artifact.versions, lambda v: v.at_ms)
    ]


def _version(artifact: str, version: Version) -> tuple[tuple[Part, ...], ...]:
    changed = [plain(c.field, 60) for c in version.changes if c.kind != "same"]
    what = f"  {', '.join(changed)}" if changed else f"  {version.lifecycle.lower().replace('_', ' ')}"
    return ((("◆ ", "strong"), f"{plain(artifact, 60)} v{version.number}", (what, "quiet")),)


def _authority(state: State, window: Window) -> list[_Entry]:
    asked = window.cut(list(state.requests.values()), lambda r: r.at_ms)
    given = window.cut(list(state.approvals.values()), lambda a: a.granted_ms)
    return [
        *(_Entry(r.at_ms, r.seq, "", partial(_asked, r)) for r in asked),
        *(_Entry(a.granted_ms, a.seq, "", partial(_given, a)) for a in given),
    ]


def _asked(request: Request) -> tuple[tuple[Part, ...], ...]:
    covers = f" on v{request.version}" if request.version is not None else ""
    return ((("A? ", "strong"), f"asks approval: {plain(request.action, 60)}{covers}"),)


def _given(approval: Approval) -> tuple[tuple[Part, ...], ...]:
    covers = f" covers v{approval.version}" if approval.version is not None else ""
    flags = f"  {', '.join(plain(f, 40) for f in approval.flags)}" if approval.flags else ""
    return ((("A✓ ", "good"), f"approval of {plain(approval.action, 60)}{covers}", (flags, "warn")),)


def _marks(state: State, window: Window) -> list[_Entry]:
    noted = [m for m in state.marks if m.glyph == "M"]
    return [_Entry(m.at_ms, m.seq, "", partial(_mark, m)) for m in window.cut(noted, lambda m: m.at_ms)]


def _mark(mark: Mark) -> tuple[tuple[Part, ...], ...]:
    return ((("● ", "mark"), f"operator's mark {plain(mark.label, 200)}".rstrip()),)

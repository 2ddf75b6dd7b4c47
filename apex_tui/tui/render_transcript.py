"""Pane 1: what was said and done, in the order in which speech began.

A reply that was cut shows what was heard, the place of the cut, and the rest struck out. Acts, tool calls, versions and authority stand
between the words that led to them. `blocks` reads the state; `block_lines` wraps one block, so a widget can keep what did not change.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import islice
from typing import TypeVar

from rich.text import Text

from apex_tui.timeline.state import Artifact, Call, Reply, State, Turn
from apex_tui.tui.figures import barge_of, call_names, unheard
from apex_tui.tui.lines import Part, hanging, row, teach
from apex_tui.tui.plain import arguments, compact, plain
from apex_tui.tui.words import CALL_WORDS, DECISION_WORDS, at, millis

_Row = TypeVar("_Row")
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


def blocks(state: State, most: int | None = None) -> list[Block]:
    """Entries of the transcript, in the order in which they began: all, or the last ``most``."""
    rows = [
        *_turns(state, most),
        *_replies(state, most),
        *_calls(state, most),
        *_versions(state, most),
        *_authority(state),
        *_marks(state),
    ]
    rows.sort(key=lambda b: (b.at_ms, b.seq))
    return rows if most is None else rows[-most:]


def _last(rows: Sequence[_Row], most: int | None) -> Sequence[_Row]:
    return rows if most is None else rows[-most:]


def later_blocks(whole: list[Block], now: list[Block], now_ms: float, most: int = 40) -> list[Block]:
    """What replay still has in store after ``now_ms``, to be dimmed below the cursor line; ``whole`` in order of time."""
    first = bisect_right(whole, now_ms, key=lambda b: b.at_ms)
    shown = {block.seq for block in now}
    coming = (b for b in whole[first:] if b.seq not in shown)
    return [replace(b, later=True) for b in islice(coming, most)]


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


def _turns(state: State, most: int | None) -> list[Block]:
    rows: list[Block] = []
    stated: dict[str, object] = {}
    first = 0 if most is None else max(0, len(state.turns) - most)
    for number, turn in enumerate(state.turns):
        if number < first:
            stated.update(turn.values)
            continue
        speaking = turn.offset_ms is None and state.caller_speaking and number == len(state.turns) - 1
        words: list[Part] = [plain(turn.text) + (" …" if speaking else "")]
        paragraphs: list[tuple[Part, ...]] = [tuple(words), tuple(_act(turn, stated))]
        if turn.heard_by_agent and _differs(turn.heard_by_agent, turn.text):
            paragraphs.append((("agent heard  ", "warn"), *heard_parts(turn.text, turn.heard_by_agent)))
        stated.update(turn.values)
        rows.append(Block(turn.onset_ms, turn.seq, "caller", tuple(paragraphs)))
    return rows


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


def _replies(state: State, most: int | None) -> list[Block]:
    read: dict[str, list[str]] = {}
    for act in state.acts:
        if act.reply is not None and act.source != "tool":
            read.setdefault(act.reply, []).append(plain(act.key, 60))
    rows: list[Block] = []
    for reply_id in _last(state.reply_order, most):
        reply = state.replies[reply_id]
        if not reply.text and not reply.speech:
            continue
        paragraphs = [tuple(_words(reply)), *_cut(state, reply)]
        if reply_id in read:
            paragraphs.append((("read as  ", "quiet"), (", ".join(read[reply_id]), "quiet")))
        began = reply.speech[0][0] if reply.speech else reply.started_ms
        rows.append(Block(began, reply.seq, "agent", tuple(paragraphs)))
    return rows


def _words(reply: Reply) -> list[Part]:
    lost = unheard(reply)
    if lost.strip():
        return [plain(reply.heard or ""), (" ╳ ", "bad"), (plain(lost).strip(), "struck")]
    if not reply.text:
        return [("(speaks; no words sent)", "quiet")]
    return [plain(reply.text) + ("" if reply.closed or reply.status else " …")]


def _cut(state: State, reply: Reply) -> list[tuple[Part, ...]]:
    lost = unheard(reply)
    if not lost.strip():
        return []
    barge = barge_of(state, reply)
    where = f"cut at B{barge.number}" if barge is not None else "cut"
    heard, total = len((reply.heard or "").split()), len(reply.text.split())
    return [((f"╳ {where}", "bad"), (f" · {heard} of {total} words heard", "quiet"))]


def _calls(state: State, most: int | None) -> list[Block]:
    names = call_names(state)
    shown = _last(list(state.calls.values()), most)
    return [Block(c.called_ms, c.seq, "", (tuple(call_parts(c, names[c.id])),)) for c in shown]


def call_parts(call: Call, name: str) -> list[Part]:
    """One tool call: ``T2 update_leave(end=05-14) ✓ 84 ms``."""
    word = CALL_WORDS[call.state]
    parts: list[Part] = [
        (f"{name} ", "strong"),
        (f"{plain(call.name, 60)}({arguments(call.arguments)}) ", "agent"),
        (word.glyph if call.state == "done" else str(word), word.role),
    ]
    if call.latency_ms is not None:
        parts.append((f" {millis(call.latency_ms)}", "quiet"))
    if call.decision is not None:
        decided = DECISION_WORDS[call.decision]
        parts.append((f" {decided}", decided.role))
    if call.after_interruption:
        parts.append((" after the interruption", "warn"))
    if call.error:
        parts.append((f" {plain(call.error, 200)}", "bad"))
    return parts


def _versions(state: State, most: int | None) -> list[Block]:
    return [b for artifact in state.artifacts.values() for b in _artifact_blocks(artifact, most)]


def _artifact_blocks(artifact: Artifact, most: int | None) -> list[Block]:
    rows: list[Block] = []
    for version in _last(artifact.versions, most):
        changed = [plain(c.field, 60) for c in version.changes if c.kind != "same"]
        what = f"  {', '.join(changed)}" if changed else f"  {version.lifecycle.lower().replace('_', ' ')}"
        parts: tuple[Part, ...] = (("◆ ", "strong"), f"{plain(artifact.id, 60)} v{version.number}", (what, "quiet"))
        rows.append(Block(version.at_ms, version.seq, "", (parts,)))
    return rows


def _authority(state: State) -> list[Block]:
    rows: list[Block] = []
    for request in state.requests.values():
        covers = f" on v{request.version}" if request.version is not None else ""
        parts: tuple[Part, ...] = (("A? ", "strong"), f"asks approval: {plain(request.action, 60)}{covers}")
        rows.append(Block(request.at_ms, request.seq, "", (parts,)))
    for approval in state.approvals.values():
        covers = f" covers v{approval.version}" if approval.version is not None else ""
        flags = f"  {', '.join(plain(f, 40) for f in approval.flags)}" if approval.flags else ""
        given: tuple[Part, ...] = (
            ("A✓ ", "good"),
            f"approval of {plain(approval.action, 60)}{covers}",
            (flags, "warn"),
        )
        rows.append(Block(approval.granted_ms, approval.seq, "", (given,)))
    return rows


def _marks(state: State) -> list[Block]:
    return [
        Block(m.at_ms, m.seq, "", ((("● ", "mark"), f"operator's mark {plain(m.label, 200)}".rstrip()),))
        for m in state.marks
        if m.glyph == "M"
    ]

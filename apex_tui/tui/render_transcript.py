"""Pane 1: what was said and done, in the order in which speech began.

A reply that was cut shows what was heard, the place of the cut, and the rest struck out. Acts, tool calls, versions and authority stand
between the words that led to them. `blocks` reads the state; `block_lines` wraps one block, so a widget can keep what did not change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rich.text import Text

from apex_tui.timeline.state import Artifact, Call, Reply, State, Turn
from apex_tui.tui.figures import barge_of, call_names, unheard
from apex_tui.tui.lines import Part, hanging, row, teach
from apex_tui.tui.plain import arguments, compact, plain
from apex_tui.tui.words import CALL_WORDS, DECISION_WORDS, at, millis

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


def blocks(state: State) -> list[Block]:
    """Every entry of the transcript, in the order in which it began."""
    rows = [*_turns(state), *_replies(state), *_calls(state), *_versions(state), *_authority(state), *_marks(state)]
    rows.sort(key=lambda b: (b.at_ms, b.seq))
    return rows


def later_blocks(whole: State, now: list[Block], now_ms: float) -> list[Block]:
    """What replay still has in store after ``now_ms``, to be dimmed below the cursor line."""
    shown = {block.seq for block in now}
    return [replace(b, later=True) for b in blocks(whole) if b.at_ms > now_ms and b.seq not in shown]


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


def _turns(state: State) -> list[Block]:
    rows: list[Block] = []
    stated: dict[str, object] = {}
    for number, turn in enumerate(state.turns):
        speaking = turn.offset_ms is None and state.caller_speaking and number == len(state.turns) - 1
        words: list[Part] = [plain(turn.text) + (" …" if speaking else "")]
        paragraphs: list[tuple[Part, ...]] = [tuple(words), tuple(_act(turn, stated))]
        if turn.heard_by_agent and _differs(turn.heard_by_agent, turn.text):
            paragraphs.append((("agent heard  ", "warn"), plain(turn.heard_by_agent)))
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
    def bare(text: str) -> str:
        return "".join(c for c in text.casefold() if c.isalnum())

    return bare(heard) != bare(said)


def _replies(state: State) -> list[Block]:
    read: dict[str, list[str]] = {}
    for act in state.acts:
        if act.reply is not None and act.source != "tool":
            read.setdefault(act.reply, []).append(plain(act.key, 60))
    rows: list[Block] = []
    for reply_id in state.reply_order:
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


def _calls(state: State) -> list[Block]:
    names = call_names(state)
    return [Block(c.called_ms, c.seq, "", (tuple(call_parts(c, names[c.id])),)) for c in state.calls.values()]


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


def _versions(state: State) -> list[Block]:
    return [b for artifact in state.artifacts.values() for b in _artifact_blocks(artifact)]


def _artifact_blocks(artifact: Artifact) -> list[Block]:
    rows: list[Block] = []
    for version in artifact.versions:
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

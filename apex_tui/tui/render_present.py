"""Presenter mode: four boxes with few words and large digits, the words of both sides, and at the end the verdict. Pure functions to lines.

Ids, seeds, digests and tool arguments are left out on purpose: people watch who have never seen the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from apex_tui.timeline.state import Artifact, State, Version
from apex_tui.tui.figures import Speaker, agent_speaker, authority, caller_speaker, last_stop, observed_stops
from apex_tui.tui.lines import Part, beside, box, fit, hanging, row
from apex_tui.tui.plain import compact, plain
from apex_tui.tui.render_score import headline
from apex_tui.tui.render_work import drift_words
from apex_tui.tui.words import GATE_NAMES, NONE, Word, latency_word, millis, stop_word

if TYPE_CHECKING:
    from apex_tui.score.verdict import Score
    from apex_tui.score.verdict_work import Drift

_SHAPES = {
    "0": "111101101101111", "1": "010110010010111", "2": "111001111100111", "3": "111001111001111", "4": "101101111001001",
    "5": "111100111001111", "6": "111100111101111", "7": "111001001001001", "8": "111101111101111", "9": "111101111001111",
    ",": "000000000010100", ".": "000000000000010",
}  # fmt: skip
"""Five rows of three dots."""
DIGIT_ROWS = 5
_WORD_ROWS = 4


def large(text: str) -> list[str]:
    """Digits five rows high and six cells wide; a character without a shape is left out."""
    rows = [""] * DIGIT_ROWS
    for char in text:
        shape = _SHAPES.get(char)
        if shape is None:
            continue
        for number in range(DIGIT_ROWS):
            dots = shape[3 * number : 3 * number + 3]
            rows[number] += "".join("██" if dot == "1" else "  " for dot in dots) + "  "
    return rows


def spaced(word: str) -> str:
    """``S P E A K I N G``: readable from the last row."""
    return "   ".join(" ".join(part) for part in word.upper().split())


def present_lines(
    state: State,
    now_ms: float,
    score: Score | None,
    width: int,
    height: int,
    primary: str | None = None,
    drift: dict[str, Drift] | None = None,
) -> list[Text]:
    """``height`` rows of ``width`` cells (from 60 by 18)."""
    high = max(7, (height - _WORD_ROWS) // 2)
    low = max(6, height - _WORD_ROWS - high)
    left = width // 2
    right = width - left
    speakers = (
        ("VERDICT", verdict_box(score, left - 4))
        if score is not None
        else ("AGENT AND CALLER", floor_box(state, now_ms))
    )
    artifact = _artifact(state, primary)
    form = (
        "FORM"
        if artifact is None
        else f"{plain(artifact.id, 40).replace('_', ' ').upper()}  v{artifact.versions[-1].number}"
    )
    upper = (box(*speakers, left, high), box("STOPPED IN", stop_box(state, high - 2), right, high))
    lower = (box(form, form_box(artifact, left - 4, low - 2, drift or {}), left, low),
             box("APPROVAL", approval_box(state, right - 4), right, low))  # fmt: skip
    return [*beside(upper), *beside(lower), *words_lines(state, width)]


def floor_box(state: State, now_ms: float) -> list[Text]:
    """Who speaks, in spaced capitals."""
    rows: list[Text] = []
    sides: tuple[tuple[str, Speaker], ...] = (
        ("agent", agent_speaker(state, now_ms)),
        ("caller", caller_speaker(state, now_ms)),
    )
    for name, speaker in sides:
        rows.append(row((f"{name:<7} {speaker.word.glyph}  ", "quiet"), (spaced(speaker.word.word), speaker.word.role)))
        rows.append(Text(""))
    last = state.responses[-1] if state.responses else None
    if last is not None and last.first_audible_ms is not None:
        word = Word("", "with a tool", "quiet") if last.after_tool else latency_word(last.first_audible_ms)
        rows.append(
            row(("answered after ", "quiet"), (millis(last.first_audible_ms), "strong"), " ", (word.word, word.role))
        )
    return rows


def verdict_box(score: Score, width: int) -> list[Text]:
    """Success or failure, and the four gates in words; why nobody is judged."""
    word = headline(score)
    first, _, rest = word.word.partition(" · ")
    rows = [row((f"{word.glyph}  {spaced(first)}", word.role)), Text("")]
    if score.validity != "scored":
        return [*rows, fit(row((rest, "quiet")), width)]
    for gate in score.gates:
        glyph, role = ("✓", "good") if gate.passed else ("✗", "bad")
        rows.append(fit(row((f"{glyph} ", role), GATE_NAMES[gate.gate], ("" if gate.passed else f": {plain(gate.reason, 120)}", "quiet")),
                        width))  # fmt: skip
    return rows


def stop_box(state: State, rows: int) -> list[Text]:
    """The last stop in large digits, and how the interruptions went."""
    stop = last_stop(state)
    closed = stop.closed if stop else None
    delay = None if closed is None else closed.stop_delay_ms
    digits = large(f"{delay:,.0f}") if delay is not None else ["", "", f"  {NONE}", "", ""]
    lines = [row((line, "strong")) for line in digits]
    if stop is None:
        lines.append(row(("nobody has interrupted yet", "quiet")))
    elif closed is None:
        lines.append(row(("… watching", "warn")))
    else:
        word = stop_word(closed.stop_kind)
        lines.append(row(("ms  " if delay is not None else "", "strong"), (str(word), word.role)))
    if rows > DIGIT_ROWS + 1:
        ended = observed_stops(state)
        yielded = sum(1 for c in ended if c.stop_kind == "yielded")
        lines.append(row((f"{yielded} of {len(ended)} interruptions yielded", "quiet")))
    return lines


def _artifact(state: State, primary: str | None) -> Artifact | None:
    written = [a for a in state.artifacts.values() if a.versions]
    return next((a for a in written if a.id == primary), written[0] if written else None)


def form_box(artifact: Artifact | None, width: int, rows: int, drift: dict[str, Drift]) -> list[Text]:
    """What the newest version changed, once for each field; stale and drifted fields first."""
    if artifact is None:
        return [row(("nothing written yet", "quiet"))]
    version: Version = artifact.versions[-1]
    entries = [
        hanging(row((f"{glyph} ", role)), row((plain(name, 40).replace("_", " "), role), "  ", *words), width)
        for name, (glyph, role, words) in _noteworthy(artifact, version, drift).items()
    ]
    lines: list[Text] = []
    for number, entry in enumerate(entries):
        lines += entry
        left = len(entries) - number - 1
        if len(lines) > rows - (1 if left else 0):
            return [*lines[: rows - 1], row((f"… and {left} more" if left else "…", "quiet"))]
    if len(lines) < rows and version.number > 1:
        lines.append(row(("everything else unchanged", "quiet")))
    return lines


def _noteworthy(
    artifact: Artifact, version: Version, drift: dict[str, Drift]
) -> dict[str, tuple[str, str, list[Part]]]:
    """Field -> glyph, role and words: what changed, why it no longer holds, where it came apart from what was said."""
    found: dict[str, tuple[str, str, list[Part]]] = {}

    def note(name: str, glyph: str, role: str, *words: Part) -> None:
        known = found.get(name)
        found[name] = (glyph, role, list(words)) if known is None else (*known[:2], [*known[2], "  ", *words])

    for name, cause in artifact.stale.items():
        note(name, "▲", "bad", (f"stale: {plain(cause, 80)}", "bad"))
    for path, row_ in drift.items():
        if row_.first_disagreement is not None and path.startswith(f"{artifact.id}."):
            note(path.partition(".")[2], "≠", "bad", (drift_words(row_), "bad"))
    for change in version.changes:
        if change.kind != "same":
            old = "" if change.kind == "added" else f"{compact(change.old, 24)} -> "
            note(change.field, "~", "warn", (old, "quiet"), (compact(change.new, 40), "strong"))
    return found


def approval_box(state: State, width: int) -> list[Text]:
    """The state of the approval as a word, and one sentence."""
    now = authority(state)
    sentences = {
        "STALE": "the form was changed since: the agent must ask again before it submits",
        "BOUND": "given for exactly what is written now",
        "USED": "given, and used for the submission",
        "PENDING": "the agent has asked; the caller has not answered",
        "none": "the agent has not asked yet",
        "NOT GIVEN": "the agent tried to submit without an approval",
    }
    body = hanging(Text(""), row((sentences.get(now.word.word, now.detail), "quiet")), max(12, width))
    return [row((f"{now.word.glyph}  {spaced(now.word.word)}", now.word.role)), Text(""), *body]


def words_lines(state: State, width: int) -> Sequence[Text]:
    """The newest words of both sides, two rows each."""
    caller = plain(state.turns[-1].words, 400) if state.turns else NONE
    spoken = [r for r in (state.replies[i] for i in state.reply_order) if r.text or r.heard]
    agent = plain(spoken[-1].heard if spoken[-1].heard is not None else spoken[-1].text, 2000) if spoken else NONE
    rows: list[Text] = []
    for name, words in (("caller", caller), ("agent", agent)):
        lead = row((f" {name:<8}", name))
        kept = hanging(lead, row((words, "strong")), width)
        if len(kept) > 2:  # the end is what is being said now
            lines = hanging(lead, row((words, "strong")), width - 2)
            kept = [row(lead, "… ", (lines[-2].plain.strip(), "strong")), lines[-1]]
        rows += [fit(line, width) for line in kept] + [Text("")] * (2 - len(kept))
    return rows

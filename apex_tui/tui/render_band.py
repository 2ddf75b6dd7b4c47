"""The band: who speaks, why the caller is silent, the last stop in big digits, how fast the agent answers, what the approval covers.

Two shapes: six rows of four boxes from 100 columns, three plain rows below. Both are pure functions of the state and a moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.text import Text

from apex_tui.timeline.agent_facts import ResponseMeasured
from apex_tui.timeline.state import BargeIn, State
from apex_tui.tui.figures import (
    Speaker,
    agent_speaker,
    authority,
    caller_speaker,
    last_stop,
    median_answer,
    why_silent,
)
from apex_tui.tui.lines import beside, big_millis, box, ends, fit, row
from apex_tui.tui.plain import plain
from apex_tui.tui.words import NONE, Word, latency_word, millis, seconds, stages, stop_word

BAND_ROWS = 6
COMPACT_ROWS = 3
_SILENCE_DB = -60.0
"""Left end of a level bar; quieter is shown as silence."""


class Levels(NamedTuple):
    """Levels of both lanes in dBFS, live from the meters, in replay from the pulse."""

    caller_db: float
    agent_db: float


def levels_of(state: State) -> Levels | None:
    """The levels that the log holds: those of the last full second."""
    return None if state.pulse is None else Levels(state.pulse.caller_db, state.pulse.agent_db)


def level_bar(db: float | None, width: int) -> Text:
    """A level as a bar of ``width`` cells, from -60 dBFS to 0."""
    share = 0.0 if db is None else min(1.0, max(0.0, (db - _SILENCE_DB) / -_SILENCE_DB))
    full = round(share * width)
    return row(("━" * full, "good"), ("─" * (width - full), "quiet"))


def band(state: State, now_ms: float, width: int, levels: Levels | None) -> list[Text]:
    """Six rows by ``width`` cells (at least 100)."""
    spare = max(0, width - 120)
    short = min(0, width - 120)
    widths = [34 + spare // 4, 28 + spare // 4, 29 + spare // 4, 29 + spare - 3 * (spare // 4)]
    if short:
        widths = [width - 3 * (width // 4), width // 4, width // 4, width // 4]
    boxes = (
        ("AGENT", _agent(state, now_ms, widths[0] - 4, levels)),
        ("CALLER", _caller(state, now_ms, widths[1] - 4, levels)),
        (_stop_title(state), _stop(state, widths[2] - 4)),
        ("APPROVAL", _approval(state)),
    )
    return beside(box(title, inner, cells, BAND_ROWS) for (title, inner), cells in zip(boxes, widths, strict=True))


def band_compact(state: State, now_ms: float, width: int, levels: Levels | None) -> list[Text]:
    """Three rows by ``width`` cells."""
    agent, caller = agent_speaker(state, now_ms), caller_speaker(state, now_ms)
    why, following = why_silent(state, now_ms, short=True)
    why = f"says {state.turns[-1].act}" if state.caller_speaking and state.turns else why
    meter = 8 if width >= 90 else 3
    first = row(
        (" AGENT  ", "head"), *_speaker_short(agent), " ", level_bar(levels and levels.agent_db, meter),
        ("  ANSWER ", "head"), *_answer_short(state),
    )  # fmt: skip
    second = row(
        (" CALLER ", "head"), *_speaker_short(caller), " ", level_bar(levels and levels.caller_db, meter),
        (f"  {why}", ""), (f", next {following}" if following and not state.caller_speaking else "", "quiet"),
    )  # fmt: skip
    stop = last_stop(state)
    third = row((" STOP ", "head"), *_stop_short(stop), ("  APPROVAL ", "head"), *_authority_short(state))
    return [fit(line, width) for line in (first, second, third)]


def _speaker_short(speaker: Speaker) -> tuple[tuple[str, str], str]:
    return (str(speaker.word), speaker.word.role), f" {seconds(speaker.since_ms)}"


def _speaker_line(speaker: Speaker, width: int) -> Text:
    return ends(row((str(speaker.word), speaker.word.role)), row(seconds(speaker.since_ms)), width)


def _agent(state: State, now_ms: float, width: int, levels: Levels | None) -> list[Text]:
    agent = agent_speaker(state, now_ms)
    last = state.responses[-1] if state.responses else None
    if last is None:
        answered = row(("answer ", "quiet"), NONE)
        middle = row(("median ", "quiet"), NONE, (" n 0", "quiet"))
    else:
        answered = row(("answer ", "quiet"), *_last_answer(last))
        middle = row(*_median(state, " after a tool"))
    return [_speaker_line(agent, width), level_bar(levels and levels.agent_db, width), answered, middle]


def _last_answer(last: ResponseMeasured) -> Sequence[str | tuple[str, str]]:
    """The newest answer: with its band, or as one that needed a tool (those are kept apart and have no band)."""
    if last.after_tool:
        return ((millis(last.first_audible_ms), "strong"), (" after a tool", "quiet"))
    return _latency(last.first_audible_ms)


def _latency(ms: float | None) -> Sequence[str | tuple[str, str]]:
    if ms is None:
        return (NONE,)
    word = latency_word(ms)
    return ((millis(ms), "strong"), " ", (word.word, word.role))


def _caller(state: State, now_ms: float, width: int, levels: Levels | None) -> list[Text]:
    why, following = why_silent(state, now_ms)
    if state.caller_speaking and state.turns:
        why, following = f"says {state.turns[-1].act}", None
    lines = [
        _speaker_line(caller_speaker(state, now_ms), width),
        level_bar(levels and levels.caller_db, width),
        row((why, "strong")),
    ]
    if len(why) > width:
        cut = why.rfind(" ", 0, width)
        lines[2:] = [row((why[:cut], "strong")), row((why[cut + 1 :], "strong"))]
    elif following:
        lines.append(row(("next ", "quiet"), following))
    return lines


def _stop_title(state: State) -> str:
    stop = last_stop(state)
    return "LAST STOP" if stop is None else f"LAST STOP  B{stop.number}"


def _stop(state: State, width: int) -> list[Text]:
    stop = last_stop(state)
    closed = stop.closed if stop else None
    digits, unit = big_millis(closed.stop_delay_ms if closed else None)
    word = _stop_word(stop)
    beside_digits = (
        row((stop.kind if stop else "", "quiet")),
        row((unit, "strong")),
        row((str(word), word.role)),
    )
    lines = [
        Text.assemble((big_row, "strong"), "  ", note) for big_row, note in zip(digits, beside_digits, strict=True)
    ]
    if stop is None:
        lines.append(row(("speak over the agent", "quiet")))
    elif closed is None:
        lines.append(row(("watched for 2 s", "quiet")))
    else:
        lines.append(row((stages(closed.detect_ms, closed.detect_source, closed.flush_ms), "quiet")))
    return lines


def _stop_word(stop: BargeIn | None) -> Word:
    if stop is None:
        return Word("-", "none yet", "quiet")
    if stop.closed is None:
        return Word("…", "observed", "warn")
    if stop.kind == "in_pause" and stop.closed.stop_delay_ms is None:
        return Word("●", f"in a pause, {stop_word(stop.closed.stop_kind).word}", "quiet")
    return stop_word(stop.closed.stop_kind)


def _stop_short(stop: BargeIn | None) -> list[str | tuple[str, str]]:
    word = _stop_word(stop)
    closed = stop.closed if stop else None
    shown: list[str | tuple[str, str]] = [
        (millis(closed.stop_delay_ms if closed else None), "strong"), " ", (str(word), word.role),
    ]  # fmt: skip
    if closed is not None:
        shown.append((f" {stages(closed.detect_ms, closed.detect_source, closed.flush_ms)}", "quiet"))
    return shown


def _answer_short(state: State) -> list[str | tuple[str, str]]:
    if not state.responses:
        return [NONE]
    last = state.responses[-1]
    newest = ((millis(last.first_audible_ms), "strong"), (" tool", "quiet")) if last.after_tool else _last_answer(last)
    return [*newest, "  ", *_median(state, " tool")]


def _median(state: State, tool_note: str) -> list[str | tuple[str, str]]:
    """``median 620 n 1 holds together``; of answers that needed a tool only when there are no others, and then without a band."""
    half, number, after_tool = median_answer(state)
    shown = NONE if half is None else f"{half:,.0f}"
    parts: list[str | tuple[str, str]] = [("median ", "quiet"), (shown, "strong"), (f" n {number}", "quiet")]
    if after_tool:
        parts.append((tool_note, "quiet"))
    elif half is not None:
        word = latency_word(half)
        parts += [" ", (word.word, word.role)]
    return parts


def _authority_short(state: State) -> list[str | tuple[str, str]]:
    now = authority(state)
    detail = f"  {now.detail}" if now.detail else ""
    return [(str(now.word), now.word.role), f" {now.short}", (detail, "quiet")]


def _approval(state: State) -> list[Text]:
    now = authority(state)
    lines = [row((str(now.word), now.word.role), f"  {now.short}")]
    source = now.approval or now.request
    if source is not None:
        lines.append(row(plain(source.action, 60), (f"({plain(source.target, 60)})", "quiet")))
    if now.approval is not None and now.approval.state == "stale":
        lines.append(row(("changed since:", "quiet")))
        lines.append(row(", ".join(plain(name, 40) for name in now.approval.differs) or "content"))
    elif now.detail:
        lines.append(row((now.detail, "quiet")))
    elif source is None:
        lines.append(row(("the agent has not asked", "quiet")))
    return lines

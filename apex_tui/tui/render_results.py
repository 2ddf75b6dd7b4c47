"""Lines of the results screen: one row a session, and the chosen one in words. Pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from apex_tui.tui.lines import Part, fit, hanging, pad, row, teach
from apex_tui.tui.plain import plain
from apex_tui.tui.words import (
    DIRECTED,
    GATE_NAMES,
    JUDGES_NOBODY,
    NONE,
    OUTCOMES,
    REHEARSAL,
    Word,
    counted,
    outcome_text,
)

if TYPE_CHECKING:
    from apex_tui.store.listing import Listing

GATE_ORDER = ("TS", "PV", "AC", "AV")


def failed_gates(listing: Listing) -> list[str]:
    """The gates that a session failed; none where nobody is judged."""
    return [g for g in GATE_ORDER if listing.gates.get(g) is False and listing.outcome not in JUDGES_NOBODY]


def outcome_word(listing: Listing) -> Word:
    """Success, failure, or why the session counts with no others."""
    if not listing.gates or listing.outcome in JUDGES_NOBODY:
        return Word("?", "not scored", "quiet")
    if DIRECTED in listing.labels:
        return Word("?", DIRECTED, "warn")
    if failed_gates(listing):
        return Word("✗", "failed", "bad")
    return Word("✓", "success", "good") if listing.success is not False else Word("?", "not scored", "warn")


def agent_of(listing: Listing) -> str:
    """The agent's name; a rehearsal agent carries its label."""
    return REHEARSAL if listing.rehearsal else plain(listing.agent, 40)


def manner_of(listing: Listing) -> str:
    """The manner or planted fault of a rehearsal agent: ``forgets-correction``; empty without one."""
    return plain(listing.agent.partition(":")[2].removeprefix("fault="), 80) if listing.rehearsal else ""


def fits(listing: Listing, words: str) -> bool:
    """Whether a row holds every word that was typed, in workflow, agent, manner, outcome, failed gates (``PV``) or name."""
    failed = " ".join(g.casefold() for g in failed_gates(listing))
    ended = outcome_text(listing.outcome or "")
    agent = f"{agent_of(listing)} {plain(listing.agent, 200)}"
    hay = f"{listing.workflow} {agent} {outcome_word(listing).word} {failed} {ended} {listing.name}".casefold()
    return all(word in hay for word in words.casefold().split())


def results_lines(rows: Sequence[Listing], chosen: int, width: int) -> list[Text]:
    """Head and rows: outcome, the four gates, workflow, agent, seed, date."""
    if not rows:
        return teach(
            width, "No session was recorded, or none fits the filter: enter on the picker runs one; / filters."
        )
    narrow = width < 96
    names = max(14, min(36, width - 64)) if narrow else 24
    agents = 20 if narrow else max(20, width - names - 53)
    seed = "" if narrow else f" {'seed':>5}"
    head = f"  {'outcome':<13}{'TS PV AC AV':<13}{pad('workflow', names)} {pad('agent', agents)}{seed}  when"
    lines = [fit(row((head, "quiet")), width)]
    for number, listing in enumerate(rows):
        word = outcome_word(listing)
        here = number == chosen
        line = row(
            ("▸ " if here else "  ", "strong"), (pad(str(word), 13), word.role), *_gates(listing), "  ",
            (pad(plain(listing.workflow, 60), names), "strong"), " ",
            pad(agent_of(listing) if narrow else f"{agent_of(listing)} {manner_of(listing)}", agents),
            "" if narrow else f" {listing.seed:>5}",
            ("  " + plain((listing.started_utc or NONE)[: 10 if narrow else 16].replace("T", " "), 16), "quiet"),
        )  # fmt: skip
        line = fit(line, width)
        if here:
            line.stylize("cursor", 0, len(line.plain))
        lines.append(line)
    return lines


def _gates(listing: Listing) -> list[tuple[str, str]]:
    marks = {True: ("✓  ", "good"), False: ("✗  ", "bad"), None: ("—  ", "quiet")}
    gates = {} if listing.outcome in JUDGES_NOBODY else listing.gates
    parts = [marks[gates.get(gate)] for gate in GATE_ORDER]
    return [*parts[:-1], (parts[-1][0].rstrip(), parts[-1][1])]


def chosen_lines(listing: Listing | None, width: int) -> list[Text]:
    """The chosen session in words."""
    if listing is None:
        return []
    failed = failed_gates(listing)
    judged = listing.gates and listing.outcome not in JUDGES_NOBODY
    told = ", ".join(f"{g} {GATE_NAMES[g]}" for g in failed) if failed else "none" if judged else "not scored"
    rows = [
        ("session", plain(listing.name, 120)),
        ("agent", f"{plain(listing.agent, 120)} · seed {listing.seed}"),
        ("ended", outcome_text(listing.outcome) if listing.outcome else "cut off, or still running"),
        ("failed", told),
        ("labels", ", ".join(plain(label, 60) for label in listing.labels) or NONE),
        ("enter", "replays it at its failing moment" if failed else "replays it from the beginning"),
    ]
    lines: list[Text] = []
    for label, text in rows:
        lines += hanging(row((f"{label:<9}", "quiet")), row(text), width)
    return lines


def summary_words(rows: Sequence[Listing]) -> str:
    """``12 sessions · 7 success · 3 failed · 2 not scored``."""
    counts = Counter(outcome_word(r).word for r in rows)
    return " · ".join(
        [counted(len(rows), "session"), *(f"{n} {word}" for word, n in sorted(counts.items(), reverse=True))]
    )


def listing_line(listing: Listing, width: int) -> Text:
    """One recorded session on one line: verdict by gate, workflow, agent, seed, date."""
    word = _listing_word(listing)
    when = plain((listing.started_utc or "")[:16].replace("T", " "), 16)
    narrow = width < 84
    agents = 20 if narrow else max(20, width - 68)
    parts: list[Part] = [
        (pad(str(word), 12 if narrow else 14), word.role), " ",
        pad(agent_of(listing) if narrow else f"{agent_of(listing)} {manner_of(listing)}", agents), " ",
        (pad(plain(listing.workflow, 60), 13 if narrow else 24), "strong"),
    ]  # fmt: skip
    line = row(*parts)
    tails = (f" seed {listing.seed}  {when}", f" seed {listing.seed}", "")
    line.append(next(tail for tail in tails if not tail or line.cell_len + cell_len(tail) <= width), "quiet")
    line.truncate(width, overflow="ellipsis")
    return line


def _listing_word(listing: Listing) -> Word:
    if listing.outcome in JUDGES_NOBODY:
        return Word("?", "not scored", "quiet")
    if not listing.gates:
        return Word("?", OUTCOMES.get(listing.outcome or "", "not scored"), "quiet")
    if DIRECTED in listing.labels:
        return Word("?", DIRECTED, "warn")
    failed = failed_gates(listing)
    if failed:
        return Word("✗", " ".join(failed), "bad")
    return Word("✓", "success", "good") if listing.success is not False else Word("?", "not scored", "warn")

"""What the help screen says: the legend of the glyphs and the definition of every number shown. Taken from the measures' definitions."""

from __future__ import annotations

from rich.text import Text

from apex_tui.tui.lines import hanging, row

GLYPHS: tuple[tuple[str, str], ...] = (
    ("►", "speaking now, or playing; at the right end of a lane: still going on"),
    ("■", "silent, paused or ended"),
    ("━", "audible sound on a lane; ╼ ╾ where it begins and ends"),
    ("╋", "both sides audible at once; on the seek bar: the cursor"),
    ("▲", "a barge-in on the marks row (B1 141: it took 141 ms); beside a field: it no longer holds"),
    ("◆", "an artifact version"),
    ("T", "a tool call, with its result: ✓ done, ✗ failed or refused, … running"),
    ("A S", "A approval: ✓ given, ✗ denied, revoked or stale; S commit: ✓ authorised, ✗ refused"),
    ("~ + -", "field changed, added, removed by the newest version"),
    ("╳", "where a reply was cut; the words after it were written and never heard"),
    ("● M", "recording; on the marks row: your mark"),
    ("E b", "an event of the script: the caller changes their mind, or the world moves on; b: a back-channel"),
    ("≠", "drift: the value came apart from what the caller said, and where"),
    ("[x] (-y)", "in the agent's transcript: heard instead, and missing from it"),
    ("◆ first", "on a drift chain: the first place that disagrees"),
    ("—", "there is no such value (never shown as 0)"),
)
DEFINITIONS: tuple[tuple[str, str], ...] = (
    ("stop", "Caller's onset to the last audible agent sample as played, in ms. Audio that was flushed does not exist for it."),
    ("yielded", "Silent within 2,000 ms, and the provider reported the cancellation or unplayed audio was flushed."),
    ("natural end", "The reply was complete and fully played: nobody stopped."),
    ("unattributed", "Silent, but neither of the two can be proven."),
    ("resumed", "Audible again for 300 ms or more inside the window while the caller was speaking."),
    ("not stopped", "Still audible when the window of 2,000 ms closed."),
    ("censored", "The session, the transport or the next caller turn ended the observation."),
    ("stages", "vad 96 + flush 45: onset to the agent's own signal (vad, server, energy or client), then to silence."),
    ("answer", "Last audible caller sample to the first audible agent sample played. Up to 600 ms natural, up to 1,500 holds "
     "together, above strained. Answers that needed a tool are kept apart."),
    ("n", "How many values a number rests on. Below 20 the values themselves are shown, no percentiles."),
    ("BOUND v4", "An approval covers the version that was read back; it allows one commit of exactly that content."),
    ("STALE v3≠v4", "The artifact was written after the approval: a commit is refused until the agent asks again."),
    ("uptake", "End of the corrected value's word to its first write."),
    ("TS target state", "The world is as the gold outcome wants it."),
    ("PV process validity", "No forbidden act, the right order, every commit authorised."),
    ("AC action completion", "Every required action was done."),
    ("AV artifact validity", "Every required field is right and none is stale."),
    ("gates so far", "While a run goes on: commits that were refused (PV), commits that were completed (AC), fields that no longer hold (AV). "
     "No verdict: TS is the state at the end, so it stays —, and the others are decided when the session is over."),
    ("floor 1/2 yielded", "Barge-ins after which the agent fell silent, of those watched to the end; cut in: it spoke into a caller's turn."),
    ("AFA", "Correct gold fields of all gold fields; a diagnosis, never part of success."),
    ("screen", "How late this screen's own timer (25 ms) was at worst in the last second; the recording does not depend on it."),
)  # fmt: skip


def glyph_lines(width: int) -> list[Text]:
    """The legend."""
    lines = [row(("Glyphs", "head"))]
    for glyph, meaning in GLYPHS:
        lines += hanging(row("  ", (f"{glyph:<9}", "strong")), row(meaning), width)
    return lines


def definition_lines(width: int) -> list[Text]:
    """The numbers."""
    lines = [row(("Numbers and words", "head"))]
    for name, meaning in DEFINITIONS:
        lines += hanging(row("  ", (f"{name:<21}", "strong")), row(meaning), width)
    return lines

"""What the provider counted, in words for a scorecard. Pure; deliberately not in here: adding it up (the fold does) and prices."""

from __future__ import annotations

from collections.abc import Mapping


def usage_words(usage: Mapping[str, Mapping[str, float]]) -> str:
    """``agent 1200 input, 300 cached, 340 output tokens; transcript 34.2 s``. Names are the fold's; whoever prints cleans them."""
    return "; ".join(f"{part} {_counts(counts)}" for part, counts in usage.items())


def _counts(counts: Mapping[str, float]) -> str:
    tokens = [f"{n:.0f} {name[:-7].replace('_', ' ')}" for name, n in counts.items() if name.endswith("_tokens")]
    seconds = [f"{n:g} {name[:-8]} s".replace("  ", " ") for name, n in counts.items() if name.endswith("seconds")]
    return ", ".join([*([", ".join(tokens) + " tokens"] if tokens else []), *seconds])

"""Whether a person's few words were only "mm-hm": said while listening, they claim no floor and want no answer.

Deliberately strict: a word that may be an answer or an order (yes, no, stop, wait) is none, whatever its length.
"""

from __future__ import annotations

import re

LONGEST_MS = 1000.0
MOST_WORDS = 2
"""The same bounds as for an agent's back-channel (measures.md section 3)."""

_SAID_WHILE_LISTENING = frozenset(
    ("aha", "ah", "ahh", "hm", "hmm", "huh", "mhm", "mm", "mmm", "mmhm", "mmhmm", "oh", "okay", "ok", "right", "sure", "uh", "uhhuh", "uhuh",
     "yeah", "yep", "i see", "got it", "mm hm", "mm hmm", "mm mhm", "uh huh", "oh okay", "oh right", "okay sure", "ah okay", "yeah right")
)  # fmt: skip


def only_listening(words: str) -> bool:
    """Whether these words, as somebody heard them, are a back-channel; no words at all are none."""
    plain = re.sub(r"[^a-z\s]+", " ", words.casefold().replace("'", "")).split()
    if not plain or len(plain) > MOST_WORDS:
        return False
    return " ".join(plain) in _SAID_WHILE_LISTENING or (
        len(plain) == MOST_WORDS and all(word in _SAID_WHILE_LISTENING for word in plain)
    )

"""The verdict cache of the reference's judge: its key, to the byte, and reading a file of kept verdicts.

The reference asks a language model about values that its graders miss, and keeps each answer in one JSON object. Nothing here asks a model: a
value that no kept verdict is about stays undecided.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from apex_tui.timeline.errors import UserError

JUDGE_VERSION = "artifact-aware-3"
ASKED = frozenset({"semantic", "exact", "casefold_exact", "enum", "numeric_tolerance"})
"""Graders whose misses the reference puts before its judge."""
MAX_BYTES = 64 * 1024 * 1024


def judge_key(field: str, found: Any, expected: Any) -> str:
    """Return the key of a verdict: MD5 (hex) over version, field and both values as Python writes them."""
    return hashlib.md5(f"{JUDGE_VERSION}|{field}|{found}|{expected}".encode(), usedforsecurity=False).hexdigest()


def kept_verdict(verdicts: Mapping[str, bool], grader: str, field: str, found: Any, expected: Any) -> bool | None:
    """Return what the judge said of a value that its grader missed; None: it is asked about such values, and said nothing of this one.

    A blank value, and any grader that the judge has no part in, is False: there the miss is final.
    """
    if grader not in ASKED or not str(found).strip():
        return False
    return verdicts.get(judge_key(field, found, expected))


def read_verdicts(path: Path) -> dict[str, bool]:
    """Read a cache file.

    Raises:
        UserError: it cannot be read, or is no object of keys and truth values.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
        content = json.loads(raw) if len(raw) <= MAX_BYTES else None
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror or error}); name the judge's cache file") from None
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise UserError(
            f"{path} is no cache of the reference's judge: it must hold one JSON object of keys and verdicts"
        )
    return {key: value for key, value in content.items() if isinstance(value, bool)}

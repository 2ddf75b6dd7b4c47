"""A small part of JSONPath (RFC 9535): ``$``, then members ``.name`` or ``["any name"]`` and items ``[0]``. Exactly one value, or none.

Deliberately not in here: wildcards, slices, filters and descent, which give more than one value.
"""

from __future__ import annotations

import json
import re
from typing import Any

MOST_STEPS = 32
_STEP = re.compile(r"""\.(?P<name>[A-Za-z_][\w-]*)|\[(?P<index>0|[1-9]\d{0,8})\]|\[(?P<quoted>"(?:[^"\\]|\\.)*")\]""")

Path = tuple[str | int, ...]


class Missing:
    """What a path finds where there is nothing (null is something)."""


MISSING = Missing()


def parse_json_path(text: str) -> Path:
    """``$.dates[0]["first day"]`` as its steps.

    Raises:
        ValueError: it is no such path; says what is allowed.
    """
    allowed = f'{text!r} is not a path: write $.name, $.list[0] or $["any name"], one after another'
    if not text.startswith("$"):
        raise ValueError(allowed)
    steps: list[str | int] = []
    at = 1
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None or len(steps) >= MOST_STEPS:
            raise ValueError(allowed)
        if match["index"] is not None:
            steps.append(int(match["index"]))
        else:
            steps.append(match["name"] if match["name"] is not None else _unquoted(match["quoted"], allowed))
        at = match.end()
    return tuple(steps)


def _unquoted(quoted: str, allowed: str) -> str:
    try:
        return str(json.loads(quoted))
    except ValueError:
        raise ValueError(allowed) from None


def find(document: Any, path: Path) -> Any:
    """The value at a path, or `MISSING`."""
    node = document
    for step in path:
        if isinstance(step, str):
            if not isinstance(node, dict) or step not in node:
                return MISSING
            node = node[step]
        else:
            if not isinstance(node, list) or step >= len(node):
                return MISSING
            node = node[step]
    return node

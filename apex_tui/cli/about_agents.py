"""``apex-tui agents list``."""

from __future__ import annotations

import json

from apex_tui.agents.registry import KNOWN_AGENTS, find_key


def list_all(*, as_json: bool) -> None:
    """Every agent, and whether its key is in the environment or `.env` (the key itself is never printed)."""
    rows = [
        {"name": name, "about": about, "key": key, "key_present": None if key is None else find_key(key) is not None}
        for name, about, key in KNOWN_AGENTS
    ]
    if as_json:
        print(json.dumps(rows, ensure_ascii=False))
        return
    for row in rows:
        state = "needs no key" if row["key"] is None else f"{row['key']} {'found' if row['key_present'] else 'missing'}"
        print(f"{row['name']:<12} {state:<26} {row['about']}")

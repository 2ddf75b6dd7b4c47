"""The world's state: one nested JSON object, read and changed by dotted paths."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from apex_tui.timeline.base import Json
from apex_tui.timeline.work_facts import WorldChanged


class World:
    """A private copy of the workflow's initial world. Keys may not hold dots, as in the official format."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._state: Json = copy.deepcopy(dict(state))

    def get(self, path: str | tuple[str, ...]) -> Any:
        """Return a copy of the value at a dotted path (or at ready-made segments); None when any part is missing."""
        node: Any = self._state
        for key in path.split(".") if isinstance(path, str) else path:
            if not isinstance(node, dict) or key not in node:
                return None
            node = node[key]
        return copy.deepcopy(node)

    def set(self, path: str, value: Any, cause: str) -> WorldChanged:
        """Write a value; whatever is missing or no object on the way becomes an object."""
        old = self.get(path)
        *parents, last = path.split(".")
        node = self._state
        for key in parents:
            if not isinstance(node.get(key), dict):
                node[key] = {}
            node = node[key]
        node[last] = copy.deepcopy(value)
        return WorldChanged(path=path, old=old, new=copy.deepcopy(value), cause=cause)

    def update(self, changes: Mapping[str, Any], cause: str) -> list[WorldChanged]:
        """`set` for several paths, in their order."""
        return [self.set(path, value, cause) for path, value in changes.items()]

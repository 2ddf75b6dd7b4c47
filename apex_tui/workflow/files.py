"""The door for workflow files: bounded, UTF-8, safe YAML and JSON, inside one folder.

In here: reading text into plain values, with the line of a key for error messages. Deliberately not in here: what the values mean. Files from
outside are untrusted: their size, the number of their values (YAML aliases can multiply) and where their paths lead are all bounded.
"""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import yaml

from apex_tui.timeline.errors import WorkflowError
from apex_tui.timeline.paths import real_path
from apex_tui.workflow.problems import Key

MAX_BYTES = 4_000_000
"""Largest file that is read; the toy package has 4 KB, a bank of 120 plans stays under 1 MB."""
MAX_VALUES = 200_000
"""Most values in one file after YAML aliases are followed; a circular alias runs into it as well."""
MAX_DEPTH = 64
"""Deepest nesting of one file; what is read here is walked by recursion later."""

_Fast: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _PlainDates(_Fast):  # type: ignore[misc]  # the C loader exists only where libyaml does
    """Safe loader that leaves dates as they are written, and refuses a key that is given twice."""

    yaml_implicit_resolvers = {
        first: [(tag, rule) for tag, rule in rules if tag != "tag:yaml.org,2002:timestamp"]
        for first, rules in _Fast.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key.value, str):
                if key.value in seen:
                    raise yaml.MarkedYAMLError(
                        problem=f"the key {key.value!r} is given twice", problem_mark=key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_text(path: Path, name: str) -> str:
    """Return a file's text. ``name`` is what errors call it. Raises ``WorkflowError``: unreadable, too large, not UTF-8."""
    try:
        if path.exists() and not path.is_file():  # a pipe would keep its reader waiting for ever
            raise WorkflowError(f"{name}: is no regular file; name a YAML file.")
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise WorkflowError(f"{name}: cannot be read ({error.strerror or error}).") from None
    if len(raw) > MAX_BYTES:
        raise WorkflowError(f"{name}: larger than {MAX_BYTES // 1_000_000} MB; split or shorten it.")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise WorkflowError(f"{name}: not UTF-8 (byte {error.start}); save it as UTF-8.") from None


def parse_yaml(text: str, name: str, *, dates_as_written: bool = False) -> Any:
    """Return the values of a YAML text. Raises ``WorkflowError`` with the line: a syntax error, or too many values.

    ``dates_as_written`` keeps ``2026-12-14`` as those ten characters and refuses double keys (our recipes); otherwise YAML's own dates
    become text after parsing.
    """
    try:
        data = yaml.load(text, Loader=_PlainDates if dates_as_written else _Fast)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise WorkflowError(f"{name}{f':{mark.line + 1}' if mark else ''}: {error.problem or error.context}.") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise WorkflowError(f"{name}: not readable as YAML ({str(error).splitlines()[0]}).") from None
    _bound(data, name)
    return _plain(data)


def parse_json(text: str, name: str) -> Any:
    """Return the values of a JSON text. Raises ``WorkflowError`` with the line of a syntax error."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise WorkflowError(f"{name}:{error.lineno}: not valid JSON ({error.msg}).") from None
    except RecursionError:
        raise WorkflowError(f"{name}: nested too deeply.") from None
    _bound(data, name)
    return data


def line_of(text: str, key: Key) -> int | None:
    """Return the line (from 1) of a key in a YAML text, or of its nearest parent; None when it cannot be told."""
    try:
        node = yaml.compose(text, Loader=_Fast)
    except yaml.YAMLError:
        return None
    line: int | None = None
    for part in key:
        if isinstance(node, yaml.MappingNode):
            pair = next((pair for pair in node.value if pair[0].value == str(part)), None)
            if pair is None:
                return line
            line, node = pair[0].start_mark.line + 1, pair[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
        else:
            return line
    return line


def inside(folder: Path, relative: str) -> Path | None:
    """Return the path of a file below ``folder``, links followed; None when it leads out."""
    path = real_path(folder / relative)
    return path if path.is_relative_to(real_path(folder)) else None


def _bound(data: Any, name: str) -> None:
    count, waiting = 0, [(data, 0)]
    while waiting:
        value, depth = waiting.pop()
        count += 1
        if count > MAX_VALUES:
            raise WorkflowError(f"{name}: more than {MAX_VALUES} values; check for a YAML alias that repeats itself.")
        if depth > MAX_DEPTH:
            raise WorkflowError(f"{name}: nested more than {MAX_DEPTH} levels deep.")
        if isinstance(value, dict):
            waiting.extend((item, depth + 1) for item in value.values())
        elif isinstance(value, list):
            waiting.extend((item, depth + 1) for item in value)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, datetime.date) else value

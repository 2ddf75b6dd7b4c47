"""The door for workflow files: bounded, UTF-8, safe YAML and JSON, inside one folder.

In here: reading text into plain values, with the line of a key for error messages. Deliberately not in here: what the values mean. Files from
outside are untrusted: their size, the number of their values (YAML aliases can multiply) and where their paths lead are all bounded.
"""

from __future__ import annotations

import datetime
import json
import re
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
LARGEST = 2**63 - 1
"""Whole number: what is larger, or smaller than its negative, the records do not take and other programs do not read."""
_TOO_LONG = "holds a number beyond 64 bits; put it in quotes if it is a code"

_MOST_DIGITS = 100
"""Characters of a number. YAML's numbers to the base of sixty (``1:30:00``) take ever longer to work out, the longer they are."""

_Fast: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INT, _FLOAT, _DATE = (f"tag:yaml.org,2002:{kind}" for kind in ("int", "float", "timestamp"))
_RULES = {
    _INT: re.compile(r"[-+]?(?:0|[1-9][0-9_]*|0x[0-9a-fA-F_]+)$"),
    _FLOAT: re.compile(
        r"(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
    ),
}
"""What is a number in a recipe: YAML's own rules without those to the bases of two, eight and sixty."""


class _Safe(_Fast):  # type: ignore[misc]  # the C loader exists only where libyaml does
    """Safe loader that refuses numbers that nobody could have meant, and names the line of a value that is not what its tag says."""

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError, AttributeError):  # what PyYAML's own readers of values die of
            kind = node.tag.rpartition(":")[2]
            raise yaml.MarkedYAMLError(problem=f"this is no {kind}", problem_mark=node.start_mark) from None

    def number(self, node: Any) -> Any:
        if len(node.value) <= _MOST_DIGITS:
            value = self.construct_yaml_int(node) if node.tag == _INT else self.construct_yaml_float(node)
            if isinstance(value, float) or abs(value) <= LARGEST:
                return value
        raise yaml.MarkedYAMLError(problem=_TOO_LONG, problem_mark=node.start_mark)


_Safe.add_constructor(_INT, _Safe.number)
_Safe.add_constructor(_FLOAT, _Safe.number)


class _AsWritten(_Safe):
    """Leaves dates, times of day (``10:30``) and codes that begin with 0 as they are written, and refuses a key that is given twice."""

    yaml_implicit_resolvers = {
        first: [(tag, _RULES.get(tag, rule)) for tag, rule in rules if tag != _DATE]
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


def parse_yaml(text: str, name: str, *, as_written: bool = False) -> Any:
    """Return the values of a YAML text. Raises ``WorkflowError`` with the line: a syntax error, or too many values.

    ``as_written`` keeps ``2026-12-14``, ``10:30`` and ``0042`` as those characters and refuses double keys (our recipes); otherwise they are what
    YAML makes of them (a date, which becomes text after parsing, 630 and 34), as the reference reads packages.
    """
    try:
        data = yaml.load(text, Loader=_AsWritten if as_written else _Safe)
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
    except ValueError:
        raise WorkflowError(f"{name}: {_TOO_LONG}.") from None
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
        elif isinstance(value, int) and abs(value) > LARGEST:
            raise WorkflowError(f"{name}: {_TOO_LONG}.")
        elif not isinstance(value, str | int | float | datetime.date | None):
            kind = (
                "!!binary" if isinstance(value, bytes) else "!!set" if isinstance(value, set) else "!!omap or !!pairs"
            )
            raise WorkflowError(f"{name}: holds {kind}, which nothing here takes; write text, a list or keys.")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, datetime.date) else value

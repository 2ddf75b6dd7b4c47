"""Reads dialect files: the shipped ones, then the user's over them.

A user's file has one table per agent. A table named like a shipped agent changes single keys of it; any other name is a new
agent, whose ``extends`` names what it starts from. An empty text stands for "leave it out". Whatever is wrong is one sentence
with the file, the table and the key. Deliberately not in here: the profile classes of the families.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module, resources
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

import platformdirs
from pydantic import TypeAdapter, ValidationError

from apex_tui.timeline.errors import UserError
from apex_tui.timeline.paths import refuse_pipe
from apex_tui.timeline.toml import parse_toml

MAX_FILE = 256 * 1024
MAX_NAME = 40

FAMILIES: dict[str, tuple[str, str]] = {
    "openai-realtime": ("apex_tui.agents.realtime.profile", "Profile"),
    "gemini-live": ("apex_tui.agents.gemini.profile", "GeminiProfile"),
    "gpt-live": ("apex_tui.agents.gptlive.profile", "LiveProfile"),
    "chat": ("apex_tui.agents.text.profile", "TextProfile"),
    "responses": ("apex_tui.agents.text.profile", "TextProfile"),
    "cascade": ("apex_tui.agents.cascade.profile", "CascadeProfile"),
}
"""Family -> where its profile class is; loaded only when a profile of it is wanted."""

SHIPPED = ("openai", "xai", "stepfun", "generic", "gemini", "gpt-live", "chat", "responses", "cascade")
"""The dialect files, in the order of ``agents list``."""

_NAMES = {"generic": "realtime"}
"""A file whose agent has another name."""
_FILES = {name: file for file, name in _NAMES.items()}

KEYS = ("key", "stt_key", "llm_key", "tts_key")
"""Which keys of a dialect name the variable of an account's key."""

BUILT_IN = "built in"
"""The source of a profile that the user has not touched."""


@dataclass(frozen=True, slots=True)
class Known:
    """A profile by name. ``source`` is the file that had the last word, for messages and lists."""

    name: str
    profile: Any
    source: str

    @property
    def family(self) -> str:
        """The family that its agent belongs to."""
        return str(self.profile.family)


def default_user_file() -> Path:
    """Where a user's own dialects are looked for (``agents.toml`` in the configuration folder)."""
    return platformdirs.user_config_path("apex-tui", appauthor=False) / "agents.toml"


class Profiles(Mapping[str, Known]):
    """Dialects by name. One of ours is read in full when it is asked for: a session needs one, and every family costs time to load."""

    def __init__(self, tables: Mapping[str, Mapping[str, Any]], changed: Mapping[str, Known]) -> None:
        self._tables, self._changed = tables, changed

    def __getitem__(self, name: str) -> Known:
        if name not in self._tables:
            raise KeyError(name)
        return self._changed[name] if name in self._changed else _built_in(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def key_variables(self) -> tuple[str, ...]:
        """The variables that hold the keys of all of them, without reading any in full."""
        named = (table.get(key) for table in self._tables.values() for key in KEYS)
        return tuple(dict.fromkeys(str(name) for name in named if name))


def load_profiles(user_file: Path | None = None) -> Profiles:
    """All agents that are described by a dialect. ``user_file``: instead of the default place; it must exist then.

    Raises ``UserError``: a file that cannot be read, an unknown table, key or value.
    """
    tables = {_NAMES.get(name, name): _shipped(name) for name in SHIPPED}
    sources: dict[str, str] = {}
    path = user_file or default_user_file()
    if user_file is not None or path.exists():
        for name, changes in _read(path).items():
            tables[name] = _merged(name, changes, tables, path)
            sources[name] = str(path)
    changed = {name: Known(name, _profile(name, tables[name], source), source) for name, source in sources.items()}
    return Profiles(tables, changed)


def dialect_digest(profile: Any) -> str:
    """SHA-256 (hex) of a dialect's content, wherever it is written."""
    text = json.dumps(
        dataclasses.asdict(profile), sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str
    )
    return hashlib.sha256(text.encode()).hexdigest()


def own_dialect(agent: str, user_file: Path | None = None) -> str | None:
    """The digest of an agent's dialect where a user's file describes or changes it; None: it is ours, or the agent has none.

    Raises ``UserError`` as ``load_profiles``.
    """
    known = load_profiles(user_file).get(agent)
    return None if known is None or known.source == BUILT_IN else dialect_digest(known.profile)


@cache
def _built_in(name: str) -> Known:
    """A shipped profile as it is; it never changes, and a session asks for all of them twice."""
    return Known(name, _profile(name, _shipped(_FILES.get(name, name)), BUILT_IN), BUILT_IN)


@cache
def _shipped(name: str) -> Mapping[str, Any]:
    return parse_toml(resources.files(__package__).joinpath(f"{name}.toml").read_bytes())


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        refuse_pipe(path)
        with path.open("rb") as file:
            raw = file.read(MAX_FILE + 1)
        if len(raw) > MAX_FILE:
            raise UserError(f"{path} is larger than {MAX_FILE // 1024} KiB; is it a file of agents?")
        content = parse_toml(raw)
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror or error}); correct --profile-file.") from None
    except ValueError as error:
        raise UserError(f"{path} is not TOML: {error}.") from None
    for name, table in content.items():
        if not isinstance(table, dict):
            raise UserError(f"{path}: {name} stands outside of a table; write [AGENT] above the keys of an agent.")
        if not (name.isascii() and name.replace("-", "").replace("_", "").isalnum() and len(name) <= MAX_NAME):
            raise UserError(f"{path}: [{name}] is no name; use letters, digits, - and _, at most {MAX_NAME}.")
        if name == "rehearsal":
            raise UserError(f"{path}: [rehearsal] is scripted by the workflow and has no dialect; choose another name.")
    return content


def _merged(name: str, changes: dict[str, Any], tables: Mapping[str, Mapping[str, Any]], path: Path) -> dict[str, Any]:
    changes = dict(changes)
    parent = changes.pop("extends", name)
    if not isinstance(parent, str) or parent not in tables:
        names = ", ".join(tables)
        if parent == name:
            raise UserError(f'{path}: [{name}] is a new agent; say what it starts from with extends = "...": {names}.')
        raise UserError(f"{path}: [{name}] extends {parent!r}, which does not exist; there are: {names}.")
    merged = {**tables[parent], **changes}
    if "family" in changes and changes["family"] != tables[parent]["family"]:
        raise UserError(f"{path}: [{name}] cannot change its family; extend another agent instead.")
    if parent != name and "about" not in changes:
        merged["about"] = f"{merged['about']} (as {parent})"
    return merged


@cache
def _adapter(kind: type) -> TypeAdapter[Any]:
    return TypeAdapter(kind)  # building one costs ten times as much as using it


def _profile(name: str, table: Mapping[str, Any], source: str) -> Any:
    where, cls = FAMILIES[str(table.get("family"))]
    kind = getattr(import_module(where), cls)
    known = {field.name for field in dataclasses.fields(kind)}
    for key in table:
        if key not in known:
            near = get_close_matches(key, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(sorted(known))}."
            raise UserError(f"{source}: [{name}] has an unknown key {key!r}; {hint}")
    hints = get_type_hints(kind)
    values = {key: None if value == "" and NoneType in get_args(hints[key]) else value for key, value in table.items()}
    try:
        return _adapter(kind).validate_python(values)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"] if part != "function-after")
        raise UserError(f"{source}: [{name}] {key} = {first['input']!r}: {first['msg'].lower()}.") from None

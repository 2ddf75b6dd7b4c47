"""What a person has set: ``config.toml`` in the user's configuration folder, overridden by the environment and by flags; and the layout
of the panes, which the screen remembers by itself.

In here: reading and validating, with the source of every value, so that ``apex-tui config --show`` can name it. Deliberately not in here:
what a setting does, and which keys an action may have (the screen knows its actions; their ids come in as an argument).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import platformdirs

from apex_tui.timeline.errors import RecordingError, UserError
from apex_tui.timeline.paths import refuse_pipe
from apex_tui.timeline.toml import parse_toml

MAX_BYTES = 1 << 18
_WHOLE = re.compile(r"-?[0-9]{1,18}")
PREFIX = "APEX_TUI_"
THEMES = {"dark": "apex-dark", "light": "apex-light", "contrast": "apex-contrast", "ansi": "ansi-dark", "ansi-light": "ansi-light"}  # fmt: skip
"""Name in the settings -> name of the theme."""
FPS = (1, 60)
PRESETS = ("neutral", "coaching")
"""As ``messages.Preset``, which would cost the start of every command."""
Value = str | int | bool


@dataclass(frozen=True, slots=True)
class Option:
    """One setting: its default, and in a few words what it does."""

    default: Value
    help: str


OPTIONS: dict[str, Option] = {
    "theme": Option("dark", f"colours: {', '.join(THEMES)}"),
    "mono": Option(False, "no colour at all; NO_COLOR=1 does the same"),
    "fps": Option(20, "repaints a second, 1 to 60; 5 suits a slow line"),
    "mouse": Option(True, "take the mouse; false leaves it to the terminal"),
    "plain": Option(False, "one line per event instead of screens"),
    "agent": Option("rehearsal", "agent that the picker begins with"),
    "seed": Option(1, "seed that the picker begins with"),
    "instructions": Option("neutral", "what agents that the picker starts are told: neutral or coaching"),
}
"""Every setting; the names are the keys of config.toml, and with ``APEX_TUI_`` before them, in capitals, of the environment."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Values by name with where each comes from, and the keymap: id of an action -> keys."""

    values: dict[str, Value] = field(default_factory=lambda: {name: option.default for name, option in OPTIONS.items()})
    sources: dict[str, str] = field(default_factory=lambda: dict.fromkeys(OPTIONS, "default"))
    keymap: dict[str, str] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """A setting that is text."""
        return str(self.values[name])

    def flag(self, name: str) -> bool:
        """A setting that is true or false."""
        return bool(self.values[name])

    def number(self, name: str) -> int:
        """A setting that is a whole number."""
        return int(self.values[name])


def config_path() -> Path:
    """Where the settings are looked for; the file need not be there."""
    return Path(platformdirs.user_config_dir("apex-tui", appauthor=False)) / "config.toml"


def load_settings(
    flags: Mapping[str, Value | None] | None = None,
    *,
    path: Path | None = None,
    environment: Mapping[str, str] | None = None,
    actions: Collection[str] | None = None,
) -> Settings:
    """The settings in force: flags before the environment before the file before the defaults.

    ``flags`` that are None were not given. ``actions``: ids that the keymap may name; None leaves them unchecked.

    Raises:
        UserError: the file cannot be read, names something unknown, or a value cannot be used.
    """
    environment = os.environ if environment is None else environment
    path = config_path() if path is None else path
    settings = Settings()
    for name, value in _from_file(path, settings, actions).items():
        _set(settings, name, value, str(path))
    for name in OPTIONS:
        raw = environment.get(PREFIX + name.upper())
        if raw:
            _set(settings, name, _decoded(name, raw), f"environment {PREFIX}{name.upper()}")
    if environment.get("NO_COLOR") and settings.sources["mono"] == "default":
        _set(settings, "mono", True, "environment NO_COLOR")
    for name, given in (flags or {}).items():
        if given is not None:
            _set(settings, name, given, f"flag --{name}")
    return settings


def _from_file(path: Path, settings: Settings, actions: Collection[str] | None) -> dict[str, Any]:
    try:
        refuse_pipe(path)
        if path.stat().st_size > MAX_BYTES:
            raise UserError(f"{path} is larger than {MAX_BYTES // 1024} KB: settings are a few lines")
        raw = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from error
    try:
        record = parse_toml(raw)
    except ValueError as error:
        raise UserError(f"{path} is not valid TOML: {error}") from error
    keymap = record.pop("keymap", {})
    for name in record:
        if name not in OPTIONS:
            raise UserError(f"{path}: there is no setting '{name}'; {_nearest(name, [*OPTIONS, 'keymap'])}")
    _read_keymap(path, keymap, settings, actions)
    return record


def _read_keymap(path: Path, keymap: Any, settings: Settings, actions: Collection[str] | None) -> None:
    if not isinstance(keymap, dict):
        raise UserError(f'{path}: keymap must be a table, such as [keymap] and then zoom = "z"')
    owners: dict[str, str] = {}
    for action, keys in keymap.items():
        if actions is not None and action not in actions:
            raise UserError(f"{path}: keymap names no action '{action}'; {_nearest(action, actions)}")
        if not isinstance(keys, str) or not keys.strip():
            raise UserError(f'{path}: keymap.{action} must be text that names keys, such as "z" or "ctrl+z,f2"')
        for key in (k.strip() for k in keys.split(",")):
            if key in owners:
                raise UserError(f"{path}: keymap gives the key '{key}' to both {owners[key]} and {action}")
            owners[key] = action
        settings.keymap[action] = keys


def _nearest(name: str, known: Collection[str]) -> str:
    import difflib

    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"did you mean '{close[0]}'?" if close else f"known are {', '.join(sorted(known))}"


def _decoded(name: str, raw: str) -> Value:
    default = OPTIONS[name].default
    if isinstance(default, bool):
        words = {
            "1": True,
            "true": True,
            "yes": True,
            "on": True,
            "0": False,
            "false": False,
            "no": False,
            "off": False,
        }
        return words.get(raw.strip().lower(), raw)
    if isinstance(default, int):
        return int(raw) if _WHOLE.fullmatch(raw.strip()) else raw
    return raw


def _set(settings: Settings, name: str, value: Any, source: str) -> None:
    wanted = OPTIONS[name].default
    if type(value) is not type(wanted):
        kind = {bool: "true or false", int: "a whole number", str: "text"}[type(wanted)]
        raise UserError(f"{source}: {name} must be {kind}, not {value!r}")
    if name == "theme" and isinstance(value, str) and value not in THEMES:
        raise UserError(f"{source}: there is no theme '{value}'; {_nearest(value, THEMES)}")
    if name == "fps" and isinstance(value, int) and not FPS[0] <= value <= FPS[1]:
        raise UserError(f"{source}: fps must be {FPS[0]} to {FPS[1]}, not {value}")
    if name == "instructions" and isinstance(value, str) and value not in PRESETS:
        raise UserError(f"{source}: there are no instructions '{value}'; {_nearest(value, PRESETS)}")
    settings.values[name] = value
    settings.sources[name] = source


# --- the layout that is remembered -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Layout:
    """Which panes are hidden, which one is in front, and whether it fills the body."""

    hidden: tuple[int, ...] = ()
    active: int = 1
    zoomed: bool = False


def layout_path() -> Path:
    """Where the layout is kept: it is state, not a setting."""
    return Path(platformdirs.user_state_dir("apex-tui", appauthor=False)) / "layout.json"


def load_layout(path: Path | None = None) -> Layout:
    """The layout of the last time; the usual one when there is none or it cannot be read."""
    try:
        record = json.loads((path or layout_path()).read_text(encoding="utf-8"))
        hidden = tuple(sorted({int(n) for n in record["hidden"] if 2 <= int(n) <= 6}))
        active = int(record["active"])
        return Layout(hidden, active if 1 <= active <= 6 else 1, record["zoomed"] is True)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return Layout()


def save_layout(layout: Layout, path: Path | None = None) -> None:
    """Remember the layout; a disk that refuses costs only the memory of it."""
    from apex_tui.store.files import write_json  # heavy, and needed only when someone changes the layout

    target = path or layout_path()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_json(
            target, {"hidden": list(layout.hidden), "active": layout.active, "zoomed": layout.zoomed}, durable=False
        )
    except (OSError, RecordingError):
        return

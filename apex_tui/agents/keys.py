"""Keys to accounts: where they are found, when they may travel, and that they are shown nowhere.

A key is read from the environment, else from a ``.env`` file in the current folder; it lives only in request headers. Deliberately
not in here: which agent needs which key (its profile says so).
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

from apex_tui.timeline.addresses import is_loopback
from apex_tui.timeline.errors import UserError

MAX_ENV_FILE = 64 * 1024
HIDDEN = "[key]"

_T = TypeVar("_T")


def find_key(variable: str, folder: Path | None = None) -> str | None:
    """The value of a variable from the environment, else from ``.env`` in ``folder`` (default: the current one)."""
    value = os.environ.get(variable, "").strip()
    if value:
        return value
    return _from_env_file((folder if folder is not None else Path.cwd()) / ".env", variable)


def auth_headers(variable: str | None, header: str, form: str, more: Mapping[str, str], target: str) -> dict[str, str]:
    """The headers of a request to ``target``: ``more``, and the key where there is one and the way is safe.

    Raises ``UserError``: a value that no key can be.
    """
    headers = dict(more)
    key = find_key(variable) if variable is not None else None
    if key is None:
        return headers
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise UserError(f"{variable} holds characters that no key has; copy it again, without spaces or line breaks.")
    if urlsplit(target).scheme in ("wss", "https") or is_loopback(target):  # never in clear text over a network
        headers[header] = form.replace("{key}", key)
    return headers


def spelled(secrets: Iterable[str]) -> tuple[str, ...]:
    """The secrets, and each as it stands in an address and inside JSON text, where that looks different; every spelling once."""
    return tuple(dict.fromkeys(form for key in secrets for form in (key, quote(key, safe=""), json.dumps(key)[1:-1])))


def hide(value: _T, secrets: Sequence[str]) -> _T:
    """The value with every secret in its texts replaced, however deep; the same object when there is none. Sound is not searched.

    Servers repeat keys in errors, and a model can be made to say what it was given: no text of an agent is kept unseen.
    """
    return _hidden(value, secrets) if secrets else value


def _hidden(value: Any, secrets: Sequence[str]) -> Any:
    if isinstance(value, str):
        for secret in secrets:
            if secret in value:
                value = value.replace(secret, HIDDEN)
        return value
    if isinstance(value, dict):
        return {_hidden(key, secrets): _hidden(entry, secrets) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_hidden(entry, secrets) for entry in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        before = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        after = {name: _hidden(entry, secrets) for name, entry in before.items() if not isinstance(entry, bytes)}
        changed = {name: entry for name, entry in after.items() if entry != before[name]}
        return dataclasses.replace(value, **changed) if changed else value
    return value


def _from_env_file(path: Path, variable: str) -> str | None:
    try:
        with path.open(encoding="utf-8-sig") as file:
            content = file.read(MAX_ENV_FILE)
    except (OSError, UnicodeDecodeError):
        return None
    for line in content.splitlines():
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if equals and name.strip() == variable:
            value = value.strip()
            if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
                value = value[1:-1]
            return value or None
    return None

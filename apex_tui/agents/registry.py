"""Agents by name: what there is, what each needs, and making one.

In here: the list for ``agents list``, keys from the environment or a ``.env`` file, and ``make_agent``. A key lives only in the
request's headers: it is in no name, error, log or representation. Deliberately not in here: talking to an agent.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from apex_tui.agents.realtime.agent import RealtimeAgent
from apex_tui.agents.realtime.profile import OPENAI
from apex_tui.agents.rehearsal.agent import RehearsalAgent
from apex_tui.agents.rehearsal.manner import Manner
from apex_tui.agents.seam import Agent, WireTap
from apex_tui.agents.websocket import WebsocketTransport, is_loopback, shown_url
from apex_tui.audio.frames import Pcm
from apex_tui.timeline.errors import UserError
from apex_tui.workflow.model import Workflow

KNOWN_AGENTS: tuple[tuple[str, str, str | None], ...] = (
    ("rehearsal", "speaks the workflow's reference solution (scripted; no network, no key)", None),
    ("openai", "OpenAI realtime voice agent, or any server of that protocol with --url", "OPENAI_API_KEY"),
)
"""Name, one line about it, and the variable that holds its key."""

MAX_ENV_FILE = 64 * 1024


def make_agent(
    name: str,
    *,
    url: str | None,
    model: str | None,
    workflow: Workflow,
    lines: Mapping[str, Pcm],
    virtual: bool,
    wire: WireTap | None,
    log_path: Path | None,
    manner: Manner | None = None,
) -> Agent:
    """An agent of that name, not connected yet. ``lines`` and ``manner`` matter only to the rehearsal agent.

    Raises ``UserError``: an unknown name, a missing key, a wrong address, or a network agent in virtual time.
    """
    if name == "rehearsal":
        if url is not None or model is not None:
            raise UserError("The rehearsal agent takes no --url and no --model; leave them out, or use --agent openai.")
        if virtual:
            return RehearsalAgent.in_memory(workflow, lines, manner, wire=wire)
        return RehearsalAgent.child(workflow, lines, manner, wire=wire, log_path=log_path)
    if name != "openai":
        names = ", ".join(known[0] for known in KNOWN_AGENTS)
        near = get_close_matches(name, [known[0] for known in KNOWN_AGENTS], 1)
        raise UserError(
            f"There is no agent {name!r}{f' (did you mean {near[0]}?)' if near else ''}; there are: {names}."
        )
    if virtual:
        raise UserError(f"The agent {name} needs the network, which does not run in virtual time; leave --virtual out.")
    return _openai(url, model, wire)


def find_key(variable: str, folder: Path | None = None) -> str | None:
    """The value of a variable from the environment, else from ``.env`` in ``folder`` (default: the current one)."""
    value = os.environ.get(variable, "").strip()
    if value:
        return value
    return _from_env_file((folder if folder is not None else Path.cwd()) / ".env", variable)


def known_secrets() -> tuple[str, ...]:
    """The keys of all known agents that are set here: whatever is written masks them."""
    found = (find_key(variable) for _, _, variable in KNOWN_AGENTS if variable is not None)
    return tuple(key for key in found if key is not None)


def _openai(url: str | None, model: str | None, wire: WireTap | None) -> Agent:
    profile = replace(OPENAI, model=model or OPENAI.model)
    key = find_key("OPENAI_API_KEY")
    if url is None:
        if key is None:
            raise UserError("The agent openai needs a key: set OPENAI_API_KEY, or write it into a .env file here.")
        target = f"{profile.url}?{urlencode({'model': profile.model})}"
    else:
        target = _with_model(url, model)
        secure = urlsplit(target).scheme == "wss"
        if not secure and not is_loopback(target):
            key = None  # never in clear text over a network
    _check_key(key)
    headers = {"Authorization": f"Bearer {key}"} if key is not None else {}
    return RealtimeAgent(WebsocketTransport(target, headers, "OPENAI_API_KEY"), profile, name="openai", wire=wire)


def _with_model(url: str, model: str | None) -> str:
    try:
        parts = urlsplit(url)
        right = parts.scheme in ("ws", "wss") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        right = False
    if not right:
        raise UserError(f"--url {shown_url(url)}: give a websocket address such as ws://127.0.0.1:8765/v1/realtime.")
    if model is None:
        return url
    query = [(key, value) for key, value in parse_qsl(parts.query) if key != "model"]
    return urlunsplit(parts._replace(query=urlencode([*query, ("model", model)])))


def _check_key(key: str | None) -> None:
    if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
        raise UserError(
            "OPENAI_API_KEY holds characters that no key has; copy it again, without spaces or line breaks."
        )


def _from_env_file(path: Path, variable: str) -> str | None:
    try:
        with path.open(encoding="utf-8") as file:
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

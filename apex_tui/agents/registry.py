"""Agents by name: what there is, what each needs, and making one.

In here: the list for ``agents list``, and ``make_agent``. Most names are dialects, which are data (``dialects``); what is made of one
depends on its family. Only the family that is wanted is imported. Deliberately not in here: keys (``keys``), and talking to an agent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from apex_tui.agents.dialects import KEYS, Known, load_profiles
from apex_tui.agents.keys import auth_headers, find_key, spelled
from apex_tui.agents.rehearsal.manner import Manner
from apex_tui.agents.rehearsal.presets import is_rehearsal, parse
from apex_tui.agents.seam import Agent, WireTap
from apex_tui.agents.websocket import WebsocketTransport, shown_url
from apex_tui.audio.frames import Pcm
from apex_tui.timeline.errors import UserError
from apex_tui.workflow.model import Workflow

__all__ = ["Listed", "find_key", "known_agents", "known_secrets", "make_agent"]

SHORTEST_KEY = 8


class Listed(NamedTuple):
    """One agent of the list. ``keys``: variables that hold its keys (none: it needs no key); ``source``: the file that describes it.

    ``key_required`` False: it is asked without a key where there is none.
    """

    name: str
    about: str
    family: str
    keys: tuple[str, ...]
    url: str | None
    source: str
    key_required: bool = True


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for: a dialect, and what the command line changes of it."""

    name: str
    profile: Any
    url: str | None = None
    model: str | None = None
    wire: WireTap | None = None
    parts: Mapping[str, str] = field(default_factory=dict)


def known_agents(profile_file: Path | None = None) -> list[Listed]:
    """Every agent that can be made, the user's own included. Raises ``UserError``: a file of profiles that cannot be used."""
    about = "speaks the workflow's reference solution (scripted; no network, no key)"
    rows = [Listed("rehearsal", about, "openai-realtime", (), None, "built in")]
    for known in load_profiles(profile_file).values():
        profile = known.profile
        names, required = _key_names(profile), profile.key_required
        rows.append(Listed(known.name, profile.about, known.family, names, profile.url, known.source, required))
    return rows


def known_secrets(profile_file: Path | None = None) -> tuple[str, ...]:
    """The keys of all known agents that are set here: whatever is written masks them.

    A stand-in such as ``x`` or ``none``, as servers of one's own take it, is no secret, and its letters occur in every sentence.
    """
    names = load_profiles(profile_file).key_variables()
    return spelled(key for name in names if (key := find_key(name)) is not None and len(key) >= SHORTEST_KEY)


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
    profile_file: Path | None = None,
    parts: Mapping[str, str] | None = None,
) -> Agent:
    """An agent of that name, not connected yet.

    Args:
        name: as in ``known_agents``; ``rehearsal:...`` with its manner or fault.
        url: replaces the dialect's address.
        model: replaces the dialect's model.
        workflow: matters to the rehearsal agent only, as do ``lines`` and ``manner``.
        lines: samples of the rehearsal agent's spoken lines.
        virtual: simulated time, in which only the rehearsal agent runs.
        wire: gets every raw message.
        log_path: where a child process writes what goes wrong.
        manner: how the rehearsal agent behaves in time.
        profile_file: the user's own dialects; None: the default place.
        parts: addresses of a cascade's parts (``stt``, ``llm``, ``tts``).

    Raises ``UserError``: an unknown name, a missing key, a wrong address, or a network agent in virtual time.
    """
    if is_rehearsal(name):
        if url is not None or model is not None:
            raise UserError(
                "The rehearsal agent takes no --url and no --model; leave them out, or use --agent realtime."
            )
        from apex_tui.agents.rehearsal.agent import RehearsalAgent
        from apex_tui.agents.rehearsal.faults import planted

        character = parse(name)
        workflow, manner = planted(character.fault, workflow, manner or character.manner)
        if virtual:
            return RehearsalAgent.in_memory(workflow, lines, manner, name=name, wire=wire)
        return RehearsalAgent.child(workflow, lines, manner, name=name, wire=wire, log_path=log_path)
    known = _find(name, load_profiles(profile_file))
    if virtual:
        raise UserError(f"The agent {name} needs the network, which does not run in virtual time; leave --virtual out.")
    if parts and known.family != "cascade":
        raise UserError(f"--stt, --llm and --tts are the parts of a cascade; the agent {name} has none.")
    return _BUILDERS[known.family](Wanted(name, known.profile, url, model, wire, dict(parts or {})))


def check_name(name: str, profile_file: Path | None = None) -> None:
    """Raise ``UserError`` unless there is an agent of that name (or a rehearsal with a manner or fault)."""
    if not is_rehearsal(name):
        _find(name, load_profiles(profile_file))


def _find(name: str, profiles: Mapping[str, Known]) -> Known:
    if name in profiles:
        return profiles[name]
    names = ["rehearsal", *profiles]
    near = get_close_matches(name, names, 1)
    raise UserError(
        f"There is no agent {name!r}{f' (did you mean {near[0]}?)' if near else ''}; there are: {', '.join(names)}."
    )


def _key_names(profile: Any) -> tuple[str, ...]:
    found = [getattr(profile, name, None) for name in KEYS]
    return tuple(dict.fromkeys(name for name in found if name))


# --- addresses and keys ---------------------------------------------------------------------------------------------------------------


def _headers(wanted: Wanted, target: str, variable: str | None, *, own: bool) -> dict[str, str]:
    """The request's headers. ``own``: the address was given by the user, where a key may not be needed."""
    profile = wanted.profile
    if variable is not None and profile.key_required and not own and find_key(variable) is None:
        raise UserError(f"The agent {wanted.name} needs a key: set {variable}, or write it into a .env file here.")
    return auth_headers(variable, profile.auth_header, profile.auth_format, profile.headers, target)


def _address(wanted: Wanted, option: str, given: str | None, fallback: str | None, schemes: tuple[str, str]) -> str:
    address = given or fallback
    example = "ws://127.0.0.1:8765/v1/realtime" if schemes[0] == "ws" else "http://127.0.0.1:8080/v1"
    if not address:
        raise UserError(f"The agent {wanted.name} needs an address: give one such as {option} {example}.")
    try:
        parts = urlsplit(address)
        right = parts.scheme in schemes and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        right = False
    if not right:
        kind = "a websocket address" if schemes[0] == "ws" else "an address"
        raise UserError(f"{option} {shown_url(address)}: give {kind} such as {example}.")
    return address


def _with_model(url: str, model: str | None) -> str:
    if model is None:
        return url
    parts = urlsplit(url)
    query = [(key, value) for key, value in parse_qsl(parts.query) if key != "model"]
    return urlunsplit(parts._replace(query=urlencode([*query, ("model", model)])))


# --- families -------------------------------------------------------------------------------------------------------------------------


def _realtime(wanted: Wanted) -> Agent:
    from apex_tui.agents.realtime.agent import RealtimeAgent

    profile = replace(wanted.profile, model=wanted.model or wanted.profile.model)
    target = _address(wanted, "--url", wanted.url, profile.url, ("ws", "wss"))
    if profile.model_in_query:
        # An address given by hand, or one that states a model, names its model itself, unless --model says otherwise.
        named = wanted.url is not None or "model" in dict(parse_qsl(urlsplit(target).query))
        target = _with_model(target, wanted.model if named else profile.model)
    headers = _headers(wanted, target, profile.key, own=wanted.url is not None)
    transport = WebsocketTransport(target, headers, profile.key or "the connection")
    return RealtimeAgent(transport, profile, name=wanted.name, wire=wanted.wire)


def _text(wanted: Wanted) -> Agent:
    from apex_tui.agents.text.agent import TextAgent
    from apex_tui.agents.text.endpoint import Endpoint
    from apex_tui.agents.text.model import Model

    profile = replace(wanted.profile, model=wanted.model or wanted.profile.model)
    base = _address(wanted, "--url", wanted.url, profile.url, ("http", "https"))
    headers = _headers(wanted, base, profile.key, own=wanted.url is not None)
    endpoint = Endpoint(base, headers, profile.key or "the request", profile.stall_s)
    return TextAgent(Model(profile, endpoint, wanted.wire), name=wanted.name)


def _cascade(wanted: Wanted) -> Agent:
    from apex_tui.agents.cascade.agent import CascadeAgent
    from apex_tui.agents.cascade.parts import SpeechToText, TextToSpeech
    from apex_tui.agents.text.endpoint import Endpoint
    from apex_tui.agents.text.model import Model

    profile = replace(wanted.profile, llm_model=wanted.model or wanted.profile.llm_model)

    def endpoint(name: str) -> Endpoint:
        given = wanted.parts.get(name) or wanted.url
        part = profile.part(name)
        base = _address(wanted, f"--{name}", given, part.url, ("http", "https"))
        headers = _headers(wanted, base, part.key, own=given is not None)
        return Endpoint(base, headers, part.key or "the request", profile.stall_s)

    ears = SpeechToText(endpoint("stt"), profile.stt_model, profile.stt_language, wanted.wire)
    model = Model(profile.text_profile(), endpoint("llm"), wanted.wire)
    voice = TextToSpeech(endpoint("tts"), profile.tts_model, profile.tts_voice, wanted.wire)
    return CascadeAgent(profile, ears, model, voice, name=wanted.name)


def _gemini(wanted: Wanted) -> Agent:
    from apex_tui.agents.gemini.agent import GeminiAgent

    profile, target, headers = _live(wanted)

    def dial() -> WebsocketTransport:
        return WebsocketTransport(target, headers, profile.key or "the connection")

    return GeminiAgent(dial(), profile, dial=dial, name=wanted.name, wire=wanted.wire)


def _gpt_live(wanted: Wanted) -> Agent:
    from apex_tui.agents.gptlive.agent import GptLiveAgent

    profile, target, headers = _live(wanted)
    transport = WebsocketTransport(target, headers, profile.key or "the connection")
    return GptLiveAgent(transport, profile, name=wanted.name, wire=wanted.wire)


def _live(wanted: Wanted) -> tuple[Any, str, dict[str, str]]:
    """Profile, address and headers of a family whose first message names the model."""
    profile = replace(wanted.profile, model=wanted.model or wanted.profile.model)
    target = _address(wanted, "--url", wanted.url, profile.url, ("ws", "wss"))
    return profile, target, _headers(wanted, target, profile.key, own=wanted.url is not None)


_BUILDERS: dict[str, Callable[[Wanted], Agent]] = {
    "openai-realtime": _realtime,
    "gemini-live": _gemini,
    "gpt-live": _gpt_live,
    "chat": _text,
    "responses": _text,
    "cascade": _cascade,
}
"""What is made of a dialect, by its family."""

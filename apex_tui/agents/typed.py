"""An agent whose every move is typed by a person: words, or a tool call. It sounds as tones of the right length, so the caller can interrupt.

In simulated time the call stands still while somebody types. Deliberately not in here: the keyboard and what is shown (``cli.playing``).
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from apex_tui.agents.outbox import Outbox
from apex_tui.agents.seam import (
    AgentAudio,
    AgentSetup,
    AgentText,
    Capabilities,
    Closed,
    Hint,
    Ready,
    ReplyBegun,
    ReplyEnded,
    SpeechStarted,
    Stamped,
    ToolRequest,
)
from apex_tui.audio.frames import RATE, pcm_bytes
from apex_tui.audio.tones import tone_speech

CAPABILITIES = Capabilities(
    server_vad=False,
    cancel=True,
    truncate=False,
    reports_interruption=False,
    user_transcript=False,
    hints=True,
    audio_in=False,
)
NOTICES = RATE // 10
"""Samples after which an interruption is noticed."""


@dataclass(frozen=True, slots=True)
class Typed:
    """One move: ``say`` words, or ``call`` a tool with ``args``; neither: listen on. ``quit``: end the call."""

    say: str = ""
    call: str = ""
    args: dict[str, Any] | None = None
    error: str | None = None
    quit: bool = False


def read_line(line: str, tools: Iterable[Mapping[str, Any]] = ()) -> Typed:
    """Read what was typed: ``/tool {"json"}`` or ``/tool name=value``, ``/quit``, an empty line, or words.

    ``tools`` (as in ``AgentSetup``) say which values are text although they look like numbers (a card's last four digits), and which names are
    those of ``fields`` that a tool writes.
    """
    text = line.strip()
    if not text.startswith("/"):
        return Typed(say=text)
    name, _, rest = text[1:].partition(" ")
    if name == "quit":
        return Typed(quit=True)
    rest = rest.strip()
    if rest.startswith("{"):
        try:
            args = json.loads(rest)
        except ValueError as error:
            return Typed(call=name, error=f"not JSON: {error}")
        return Typed(call=name, args=args)
    schema: Mapping[str, Any] = next((tool["parameters"]["properties"] for tool in tools if tool["name"] == name), {})
    texts = {key for key, about in schema.items() if about.get("type") == "string"}
    pairs = _pairs(rest)
    inner = schema.get("fields", {}).get("properties", {})
    if pairs and inner and all(key in inner and key not in schema for key, _ in pairs):
        texts = {key for key, about in inner.items() if about.get("type") == "string"}
        return Typed(call=name, args={"fields": {key: _value(value, as_text=key in texts) for key, value in pairs}})
    return Typed(call=name, args={key: _value(value, as_text=key in texts) for key, value in pairs})


def _pairs(text: str) -> list[tuple[str, str]]:
    """``a=1 b=two words`` as pairs: a value goes on until the next ``name=``."""
    found: list[tuple[str, str]] = []
    for word in text.split():
        key, equals, value = word.partition("=")
        if equals and key.isidentifier():
            found.append((key, value))
        elif found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {word}")
    return found


def _value(text: str, *, as_text: bool) -> Any:
    """A number where it is written as one (no leading zero) and not ``as_text``, otherwise text; quotes around it are no part of it."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    if as_text:
        return text
    plain = text.lstrip("-")
    if plain.isdigit() and (plain == "0" or not plain.startswith("0")):
        return int(text)
    try:
        return float(text) if plain.count(".") == 1 and plain.replace(".", "").isdigit() else text
    except ValueError:
        return text


class TypedAgent:
    """See ``seam.Agent`` for the methods. ``ask`` blocks until the next line is there; None: there is none, and the call ends."""

    capabilities = CAPABILITIES
    rehearsal = False
    name = family = "typed"
    url = "keyboard"

    def __init__(self, ask: Callable[[], str | None], voice: str = "heart") -> None:
        self._ask = ask
        self._voice = voice
        self._out = Outbox()
        self._hints: deque[Hint] = deque()
        self._heard: deque[Hint] = deque()
        self._samples = 0
        self._replies = 0
        self._calls: set[str] = set()
        self._over = False
        self._tools: tuple[dict[str, Any], ...] = ()

    async def open(self, setup: AgentSetup) -> Ready:
        """A person is ready at once."""
        self._tools = setup.tools
        return Ready({"tools": [tool["name"] for tool in setup.tools]}, None)

    def events(self) -> AsyncIterator[Stamped]:
        """Everything the agent does after ``open``; ends after ``Closed``."""
        return self._out.events()

    def send_hint(self, hint: Hint) -> None:
        """A turn is planned: it is noticed when it begins, and answered when it has been said."""
        if hint.act != "BACKCHANNEL":
            self._hints.append(hint)

    def send_audio(self, pcm: bytes) -> None:
        """The caller's next frame: only its length counts."""
        self._samples += len(pcm) // 2
        while self._hints and self._hints[0].onset + NOTICES <= self._samples:
            self._out.say(SpeechStarted("client_energy"))
            self._heard.append(self._hints.popleft())
        while self._heard and self._heard[0].end <= self._samples:
            self._heard.popleft()
            self._move()

    def send_tool_result(self, call_id: str, output: str) -> None:
        """A result came: what next? Not while the caller speaks."""
        self._calls.discard(call_id)
        if not self._calls and not self._heard:
            self._move()

    def truncate(self, item: str, audio_end_ms: int) -> None:
        """Nothing is kept that could be cut."""

    async def close(self) -> None:
        """End the session; never raises."""
        self._end()

    def _move(self) -> None:
        if self._over or self._calls:
            return
        line = self._ask()
        typed = Typed(quit=True) if line is None else read_line(line, self._tools)
        if typed.quit:
            self._end()
        elif typed.call:
            self._call(typed)
        elif typed.say:
            self._say(typed.say)

    def _say(self, words: str) -> None:
        reply = self._begin()
        self._out.say(AgentAudio(reply, reply, pcm_bytes(tone_speech(words, self._voice))))
        self._out.say(AgentText(reply, reply, words, final=True))
        self._out.say(ReplyEnded(reply, "completed"))

    def _call(self, typed: Typed) -> None:
        reply = self._begin()
        call = f"call_{self._replies}"
        self._calls.add(call)
        self._out.say(ToolRequest(call, typed.call, typed.args, reply, typed.error))
        self._out.say(ReplyEnded(reply, "completed"))

    def _begin(self) -> str:
        self._replies += 1
        reply = f"reply_{self._replies}"
        self._out.say(ReplyBegun(reply))
        return reply

    def _end(self) -> None:
        self._over = True
        self._out.end(Closed(None, "the person at the keyboard ended the call", clean=True))

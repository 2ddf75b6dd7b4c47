"""Chat completions: the request, and the chunks of its stream. Pure; foreign input never raises."""

from __future__ import annotations

import json
from collections.abc import Sequence

from apex_tui.agents.realtime import door
from apex_tui.agents.realtime.door import ident, items, obj, text
from apex_tui.agents.realtime.profile import nested_tool
from apex_tui.agents.seam import AgentSetup
from apex_tui.agents.text.conversation import Assistant, Entry, Result
from apex_tui.agents.text.pieces import Call, Json, Over, Piece, Trouble, Words, usage_of
from apex_tui.agents.text.profile import TextProfile
from apex_tui.timeline.agent_facts import ReplyStatus

PATH = "/chat/completions"
MOST_CALLS = 64
_ENDINGS: dict[str, ReplyStatus] = {
    "stop": "completed",
    "tool_calls": "completed",
    "function_call": "completed",
    "length": "incomplete",
    "content_filter": "incomplete",
}


def request(profile: TextProfile, setup: AgentSetup, entries: Sequence[Entry]) -> Json:
    """The body of one request, with the whole conversation."""
    body: Json = {
        "model": profile.model,
        "stream": True,
        "messages": [{"role": "system", "content": setup.instructions}, *map(_message, filter(_told, entries))],
    }
    if profile.ask_usage:
        body["stream_options"] = {"include_usage": True}
    if setup.tools:
        body["tools"] = [nested_tool(tool) for tool in setup.tools]
        if profile.send_tool_choice:
            body["tool_choice"] = "auto"
        if profile.parallel_tool_calls is not None:
            body["parallel_tool_calls"] = profile.parallel_tool_calls
    if profile.max_output_tokens is not None:
        body["max_completion_tokens"] = profile.max_output_tokens
    if profile.temperature is not None:
        body["temperature"] = profile.temperature
    return body


def _told(entry: Entry) -> bool:
    """An answer of which nothing was heard and nothing run is not worth a message; some servers refuse it."""
    return not isinstance(entry, Assistant) or bool(entry.text or entry.calls)


def _message(entry: Entry) -> Json:
    if isinstance(entry, Result):
        return {"role": "tool", "tool_call_id": entry.call_id, "content": entry.output}
    if isinstance(entry, Assistant):
        message: Json = {"role": "assistant", "content": entry.text or None}
        if entry.calls:
            message["tool_calls"] = [
                {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": resent(call)}}
                for call in entry.calls
            ]
        return message
    return {"role": "user", "content": entry.text}


def resent(call: Call) -> str:
    """Arguments as they may be sent back: servers parse them, so what is no whole JSON goes back as none."""
    arguments, _ = door.parse_arguments(call.arguments)
    return "{}" if call.cut or arguments is None else call.arguments or "{}"


class ChatReader:
    """Reads the stream of one request. ``prefix`` makes names for calls of servers that give none."""

    def __init__(self, prefix: str) -> None:
        self.over = False
        self._prefix = prefix
        self._calls: dict[int, list[str]] = {}

    def read(self, data: str) -> list[Piece]:
        """The pieces that one event holds."""
        if data.strip() == "[DONE]":
            return [] if self.over else self._finish("completed", "")
        try:
            chunk = json.loads(data)
        except (ValueError, RecursionError):
            return [Trouble("unreadable", "a chunk of the stream is no JSON")]
        chunk = obj(chunk)
        if chunk.get("error"):
            error = obj(chunk["error"])
            why = door.without_secrets(text(error.get("message")) or text(chunk["error"]))
            return [Trouble(ident(error.get("code")) or ident(error.get("type")) or "error", why or "error")]
        out: list[Piece] = []
        for choice in items(chunk.get("choices"), 1):
            out += self._delta(obj(choice.get("delta")))
            ending = choice.get("finish_reason")
            if isinstance(ending, str) and not self.over:
                status = _ENDINGS.get(ending, "completed")
                out += self._finish(status, "" if status == "completed" else text(ending)[:80])
        return out + usage_of(chunk.get("usage"))

    def ended(self) -> list[Piece]:
        """The connection ended: an answer without an ending was cut off."""
        return [] if self.over else self._finish("failed", "the stream ended early")

    def _delta(self, delta: Json) -> list[Piece]:
        out: list[Piece] = []
        for key in ("content", "refusal"):
            words = text(delta.get(key))
            if words:
                out.append(Words(words))
        for number, part in enumerate(items(delta.get("tool_calls"), MOST_CALLS)):
            index = part.get("index")
            self._part(index if type(index) is int and 0 <= index < MOST_CALLS else number, part)
        return out

    def _part(self, index: int, part: Json) -> None:
        call = self._calls.setdefault(index, ["", "", ""])
        function = obj(part.get("function"))
        call[0] = call[0] or ident(part.get("id"))
        call[1] = call[1] or ident(function.get("name"))
        pieces = function.get("arguments")
        if isinstance(pieces, str) and len(call[2]) <= door.MAX_TEXT:
            call[2] += pieces

    def _finish(self, status: ReplyStatus, reason: str) -> list[Piece]:
        self.over = True
        calls: list[Piece] = [
            Call(name or f"{self._prefix}_{index}", function, arguments, cut=status != "completed")
            for index, (name, function, arguments) in sorted(self._calls.items())
        ]
        return [*([] if status == "failed" else calls), Over(status, reason)]

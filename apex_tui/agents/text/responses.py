"""The Responses API: the request, and the events of its stream. Pure; foreign input never raises."""

from __future__ import annotations

import json
from collections.abc import Sequence

from apex_tui.agents.realtime import door
from apex_tui.agents.realtime.door import ident, items, obj, text
from apex_tui.agents.realtime.profile import flat_tool
from apex_tui.agents.seam import AgentSetup
from apex_tui.agents.text.chat import resent
from apex_tui.agents.text.conversation import Assistant, Entry, Result
from apex_tui.agents.text.pieces import Call, Json, Over, Piece, Trouble, Words, usage_of
from apex_tui.agents.text.profile import TextProfile
from apex_tui.timeline.agent_facts import ReplyStatus

PATH = "/responses"


def request(profile: TextProfile, setup: AgentSetup, entries: Sequence[Entry]) -> Json:
    """The body of one request, with the whole conversation: nothing rests on what the server kept."""
    body: Json = {
        "model": profile.model,
        "stream": True,
        "store": False,
        "instructions": setup.instructions,
        "input": [item for entry in entries for item in _items(entry)],
    }
    if setup.tools:
        body["tools"] = [flat_tool(tool) for tool in setup.tools]
        if profile.send_tool_choice:
            body["tool_choice"] = "auto"
        if profile.parallel_tool_calls is not None:
            body["parallel_tool_calls"] = profile.parallel_tool_calls
    if profile.max_output_tokens is not None:
        body["max_output_tokens"] = profile.max_output_tokens
    if profile.temperature is not None:
        body["temperature"] = profile.temperature
    return body


def _items(entry: Entry) -> list[Json]:
    if isinstance(entry, Result):
        return [{"type": "function_call_output", "call_id": entry.call_id, "output": entry.output}]
    if isinstance(entry, Assistant):
        said: list[Json] = [{"role": "assistant", "content": entry.text}] if entry.text else []
        calls: list[Json] = [
            {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": resent(call)}
            for call in entry.calls
        ]
        return said + calls
    return [{"role": "user", "content": entry.text}]


class ResponsesReader:
    """Reads the stream of one request. Calls count when their item is complete, and are run when the response is."""

    def __init__(self, prefix: str) -> None:
        self.over = False
        self._prefix = prefix
        self._calls: dict[str, Call] = {}
        self._begun: dict[str, Json] = {}
        self._arguments: dict[str, str] = {}

    def read(self, data: str) -> list[Piece]:
        """The pieces that one event holds."""
        if data.strip() == "[DONE]":
            return self.ended()
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            return [Trouble("unreadable", "an event of the stream is no JSON")]
        event = obj(event)
        kind = text(event.get("type"))
        response = obj(event.get("response"))
        if kind in ("response.output_text.delta", "response.refusal.delta"):
            words = text(event.get("delta"))
            return [Words(words)] if words else []
        if kind == "response.output_item.added":
            item = obj(event.get("item"))
            if item.get("type") == "function_call" and len(self._begun) < 64:
                self._begun[ident(item.get("id"))] = item
        elif kind == "response.function_call_arguments.done":
            # Only the item's id stands here; name and call id came with the item.
            door.remember(self._arguments, ident(event.get("item_id")), text(event.get("arguments")), 64)
        elif kind == "response.output_item.done":
            self._item(obj(event.get("item")))
        elif kind == "response.completed":
            for item in items(response.get("output")):
                self._item(item)
            return self._finish("completed", "") + usage_of(response.get("usage"))
        elif kind == "response.incomplete":
            reason = text(obj(response.get("incomplete_details")).get("reason"))[:80]
            return self._finish("incomplete", reason) + usage_of(response.get("usage"))
        elif kind == "response.failed":
            return self._failed(obj(response.get("error")))
        elif kind == "error":
            return self._failed(obj(event.get("error")) or event)
        return []

    def ended(self) -> list[Piece]:
        """The connection ended: a response without an ending was cut off."""
        return [] if self.over else self._finish("failed", "the stream ended early")

    def _item(self, item: Json) -> None:
        if item.get("type") != "function_call" or item.get("status", "completed") != "completed":
            return
        name = ident(item.get("id"))
        begun = self._begun.pop(name, {})
        call_id = ident(item.get("call_id")) or ident(begun.get("call_id"))
        call_id = call_id or f"{self._prefix}_{len(self._calls)}"
        arguments = item.get("arguments", self._arguments.get(name, ""))
        if call_id not in self._calls and len(self._calls) < 64:
            function = ident(item.get("name")) or ident(begun.get("name"))
            self._calls[call_id] = Call(call_id, function, arguments if isinstance(arguments, str) else "")

    def _failed(self, error: Json) -> list[Piece]:
        why = door.without_secrets(text(error.get("message")) or "the response failed")
        kind = ident(error.get("code")) or ident(error.get("type")) or "error"
        return [Trouble(kind, why), *self._finish("failed", f"{kind}: {why}"[:200])]

    def _finish(self, status: ReplyStatus, reason: str) -> list[Piece]:
        if self.over:
            return []
        self.over = True
        if status == "failed":
            return [Over(status, reason)]
        if status == "completed":
            return [*self._calls.values(), Over(status, reason)]
        whole = list(self._calls.values())
        for name, item in self._begun.items():
            call_id = ident(item.get("call_id")) or f"{self._prefix}_{name}"
            whole.append(Call(call_id, ident(item.get("name")), self._arguments.get(name, "")))
        return [*(Call(call.call_id, call.name, call.arguments, cut=True) for call in whole), Over(status, reason)]

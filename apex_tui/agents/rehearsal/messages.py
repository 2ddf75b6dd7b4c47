"""The server messages of the GA protocol, as text, with identifiers that count up.

Pure building; deliberately not in here: when each is sent (``server``, ``speech``).
"""

from __future__ import annotations

import json
from typing import Any

Json = dict[str, Any]


class Messages:
    """Builds messages of one session. Identifiers are numbered, so that two equal sessions are equal byte for byte."""

    def __init__(self) -> None:
        self._events = 0
        self._ids: dict[str, int] = {}

    def new_id(self, kind: str) -> str:
        """The next identifier of a kind: ``item_1``, ``resp_1``, ``call_1``."""
        self._ids[kind] = self._ids.get(kind, 0) + 1
        return f"{kind}_{self._ids[kind]}"

    def event(self, kind: str, **fields: Any) -> str:
        """A message of this type."""
        self._events += 1
        message = {"type": kind, "event_id": f"event_{self._events}", **fields}
        return json.dumps(message, separators=(",", ":"))

    def audio_delta(self, response: str, item: str, index: int, encoded: str) -> str:
        """An audio delta; written by hand, since base64 needs no escaping and this is most of the traffic."""
        self._events += 1
        return (
            f'{{"type":"response.output_audio.delta","event_id":"event_{self._events}","response_id":"{response}",'
            f'"item_id":"{item}","output_index":{index},"content_index":0,"delta":"{encoded}"}}'
        )

    def error(
        self, code: str, message: str, cause: str | None, param: str | None = None, kind: str = "invalid_request_error"
    ) -> str:
        """An ``error``; ``cause`` is the event id of the client event that caused it."""
        error = {"type": kind, "code": code, "message": message, "param": param, "event_id": cause}
        return self.event("error", error=error)


def user_item(item: str, transcript: str | None) -> Json:
    """The caller's turn as an item."""
    content = {"type": "input_audio", "transcript": transcript}
    return {
        "id": item,
        "object": "realtime.item",
        "type": "message",
        "status": "completed",
        "role": "user",
        "content": [content],
    }


def message_item(item: str, status: str, transcript: str | None) -> Json:
    """Words of the agent as an item; no content before there are any."""
    content = [] if transcript is None else [{"type": "output_audio", "transcript": transcript}]
    return {
        "id": item,
        "object": "realtime.item",
        "type": "message",
        "status": status,
        "role": "assistant",
        "content": content,
    }


def call_item(item: str, status: str, call: str, name: str, arguments: str) -> Json:
    """A tool call as an item."""
    return {
        "id": item,
        "object": "realtime.item",
        "type": "function_call",
        "status": status,
        "call_id": call,
        "name": name,
        "arguments": arguments,
    }


def response(name: str, status: str, output: list[Json], details: Json | None = None) -> Json:
    """A response object."""
    return {
        "object": "realtime.response",
        "id": name,
        "status": status,
        "status_details": details,
        "output": output,
        "usage": None,
        "metadata": None,
    }

"""A client of the OpenAI-realtime family whose session stands, and short ways to say what a server says."""

from __future__ import annotations

import base64
import json
from typing import Any

from agent_kit import SETUP, TOOLS

from apex_tui.agents.realtime.client import RealtimeClient
from apex_tui.agents.realtime.profile import OPENAI, Profile, flat_tool
from apex_tui.agents.seam import AgentEvent, Ready


def b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


class Session:
    """A client whose session stands, and short ways to say what a server says."""

    def __init__(self, profile: Profile = OPENAI) -> None:
        self.client = RealtimeClient(profile)
        self.client.start(SETUP)
        self.client.take()
        session = {
            "model": "m1",
            "tools": [flat_tool(tool) for tool in TOOLS],
            "audio": {"output": {"format": {"type": "audio/pcm", "rate": 24000}, "voice": "marin"}},
        }
        ready = self.get("session.updated", session=session)
        assert isinstance(ready[0], Ready)
        self.ready = ready[0]

    def get(self, kind: str, **fields: Any) -> list[AgentEvent]:
        return self.client.receive(json.dumps({"type": kind, **fields}))

    def sent(self) -> list[dict[str, Any]]:
        return [json.loads(message) for message in self.client.take()]

    def sent_types(self) -> list[str]:
        return [message["type"] for message in self.sent()]

    def begin(self, reply: str = "r1") -> list[AgentEvent]:
        return self.get("response.created", response={"id": reply, "status": "in_progress"})

    def done(self, reply: str = "r1", status: str = "completed", **fields: Any) -> list[AgentEvent]:
        return self.get("response.done", response={"id": reply, "status": status, **fields})

    def audio(self, raw: bytes, reply: str = "r1", item: str = "i1") -> list[AgentEvent]:
        return self.get("response.output_audio.delta", response_id=reply, item_id=item, content_index=0, delta=b64(raw))

    def call(
        self, call_id: str, arguments: str = "{}", reply: str = "r1", status: str = "completed"
    ) -> list[AgentEvent]:
        item = {"type": "function_call", "call_id": call_id, "name": "submit", "arguments": arguments, "status": status}
        return self.get("response.output_item.done", response_id=reply, item=item)

    def busy(self, cause: str | None) -> list[AgentEvent]:
        error = {"type": "invalid_request_error", "code": "conversation_already_has_active_response", "message": "x"}
        return self.get("error", error={**error, "event_id": cause})

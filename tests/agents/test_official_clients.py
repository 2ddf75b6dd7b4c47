"""The official Python clients talk to our local servers: a turn, a tool loop and an interruption, over real sockets.

Needs the extra ``peers``; skipped, and said so, without it.
"""

from __future__ import annotations

import asyncio
import base64
import datetime
import importlib
import importlib.util
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agent_kit import tone
from peers.base import served
from peers.gemini_peer import GeminiPeer
from peers.gptlive_peer import GptLivePeer
from peers.realtime_peer import RealtimePeer

from apex_tui.audio.frames import pcm_bytes

WITHOUT = "is not installed (pip install '.[peers]')"
needs_openai = pytest.mark.skipif(importlib.util.find_spec("openai") is None, reason=f"SKIPPED: openai {WITHOUT}")
needs_genai = pytest.mark.skipif(
    importlib.util.find_spec("google") is None or importlib.util.find_spec("google.genai") is None,
    reason=f"SKIPPED: google-genai {WITHOUT}",
)
pytestmark = [pytest.mark.realtime, pytest.mark.filterwarnings("ignore")]
SPEECH = pcm_bytes(tone(0.3))
TOOL = {
    "type": "function",
    "name": "update_form",
    "description": "",
    "parameters": {"type": "object", "properties": {}},
}


class TalkingPeer(RealtimePeer):
    """Answers each request: first with a call, then with speech."""

    def __init__(self) -> None:
        super().__init__()
        self.on_create = self._next

    def _next(self) -> None:
        self.begin()
        if self.creates == 1:
            self.call("c1", "update_form", "{}")
        else:
            self.say("It is done.", SPEECH)
        self.end()


@needs_openai
async def test_openai_s_client_completes_a_tool_loop_and_an_interruption() -> None:
    openai: Any = importlib.import_module("openai")
    async with served(TalkingPeer) as (port, servers):
        client: Any = openai.AsyncOpenAI(api_key="k", base_url=f"http://127.0.0.1:{port}/v1")
        async with client.realtime.connect(model="gpt-realtime-2.1") as connection:
            await connection.session.update(session={"type": "realtime", "tools": [TOOL]})
            await connection.response.create()
            peer: Any = servers[0]
            heard, kinds, statuses = b"", [], []
            async with asyncio.timeout(10):
                async for event in connection:
                    kinds.append(event.type)
                    if event.type == "response.output_audio.delta":
                        heard += base64.b64decode(event.delta)
                    if event.type == "response.done":
                        statuses.append(event.response.status)
                        if len(statuses) == 1:
                            item = {"type": "function_call_output", "call_id": "c1", "output": "{}"}
                            await connection.conversation.item.create(item=item)
                            await connection.response.create()
                        elif len(statuses) == 2:
                            peer.begin()
                            peer.caller_starts()
                        else:
                            break
        assert statuses == ["completed", "completed", "cancelled"]
        assert heard == SPEECH
        assert kinds[:2] == ["session.created", "session.updated"]
        assert servers[0].faults == []


@needs_openai
async def test_openai_s_client_completes_a_live_session() -> None:
    openai: Any = importlib.import_module("openai")
    session = {
        "model": "gpt-live-1",
        "instructions": "Help.",
        "audio": {"format": {"type": "audio/pcm", "rate": 24_000}},
        "delegation": {"type": "responses", "responses": {"model": "gpt-5.6-luna", "tools": [TOOL]}},
    }
    async with served(GptLivePeer) as (port, servers):
        client: Any = openai.AsyncOpenAI(api_key="k", base_url=f"http://127.0.0.1:{port}/v1")
        async with client.live.connect() as connection:
            await connection.send({"type": "session.start", "session": session})
            kinds = []
            async with asyncio.timeout(10):
                async for event in connection:
                    kinds.append(event.type)
                    server: Any = servers[0]
                    if event.type == "session.started":
                        server.delegate(("c1", "update_form", "{}"))
                    elif event.type == "response.event" and dict(event.event)["type"] == "response.completed":
                        item = {"type": "function_call_output", "call_id": "c1", "output": "{}"}
                        await connection.send({"type": "response.item.create", "item": item})
                        await connection.send({"type": "response.create"})
                    elif event.type == "session.output_audio.delta" and server.creates:
                        await connection.send({"type": "session.close"})
                    elif event.type == "session.closed":
                        break
        assert kinds[0] == "session.started"
        assert "session.delegation.created" in kinds
        assert (server.creates, server.faults) == (1, [])


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for localhost, signed by itself: Google's client speaks nothing but TLS."""
    x509: Any = importlib.import_module("cryptography.x509")
    hashes: Any = importlib.import_module("cryptography.hazmat.primitives.hashes")
    serialization: Any = importlib.import_module("cryptography.hazmat.primitives.serialization")
    ec: Any = importlib.import_module("cryptography.hazmat.primitives.asymmetric.ec")

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    day = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(day)
        .not_valid_after(day.replace(year=2099))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    public, private = folder / "cert.pem", folder / "key.pem"
    public.write_bytes(built.public_bytes(serialization.Encoding.PEM))
    encoding, shape = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    private.write_bytes(key.private_bytes(encoding, shape, serialization.NoEncryption()))
    return public, private


@needs_genai
async def test_google_s_client_completes_a_tool_loop_and_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    public, private = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(public))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, private)
    genai: Any = importlib.import_module("google.genai")
    make: Callable[[], GeminiPeer] = GeminiPeer
    async with served(make, ssl=context) as (port, servers):
        client: Any = genai.Client(api_key="k", http_options={"base_url": f"https://localhost:{port}"})
        config = {
            "response_modalities": ["AUDIO"],
            "output_audio_transcription": {},
            "tools": [{"function_declarations": [{"name": "update_form", "behavior": "BLOCKING"}]}],
            "realtime_input_config": {"automatic_activity_detection": {"prefix_padding_ms": 20}},
        }
        heard, words, interrupted = b"", "", False
        async with client.aio.live.connect(model="gemini-3.8-live", config=config) as session:
            server: Any = servers[0]
            await session.send_realtime_input(audio={"data": b"\0\0" * 320, "mime_type": "audio/pcm;rate=16000"})
            server.calls(("c1", "update_form", {}))
            async with asyncio.timeout(10):
                for _ in range(2):  # its receive() ends after each turn
                    async for message in session.receive():
                        if message.tool_call:
                            response = {"id": "c1", "name": "update_form", "response": {"output": {"ok": True}}}
                            await session.send_tool_response(function_responses=[response])
                            server.say("It is done.", SPEECH)
                            server.end()
                        heard += message.data or b""
                        content = message.server_content
                        if content and content.output_transcription:
                            words += content.output_transcription.text
                        interrupted = interrupted or bool(content and content.interrupted)
                    if not interrupted:
                        server.begin()
                        server.caller_starts()
        assert (heard, words, interrupted) == (SPEECH, "It is done.", True)
        assert server.answers["c1"]["response"] == {"output": {"ok": True}}
        assert server.faults == []
        assert len(server.heard) == 640

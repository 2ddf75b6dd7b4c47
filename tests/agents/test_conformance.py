"""What we send, and what our local servers send, read by the official SDKs' types: a check that nobody here wrote.

Needs the extra ``peers`` (openai and google-genai, 70 MB); without them it is skipped, and says so.
"""

from __future__ import annotations

import asyncio
import base64
import importlib
import importlib.util
import json
from collections.abc import AsyncGenerator, Iterator
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import matrix_http
import pytest
from agent_kit import tone
from live_kit import conduct
from peers.base import Message
from peers.model_peer import ModelPeer
from test_family_matrix import FAMILIES, ROWS

from apex_tui.agents import Call, Say, Turn
from apex_tui.agents.own_session import OwnSession
from apex_tui.audio.frames import pcm_bytes, silence, to_samples

needs_openai = pytest.mark.skipif(
    importlib.util.find_spec("openai") is None, reason="SKIPPED: openai is not installed (pip install '.[peers]')"
)
needs_genai = pytest.mark.skipif(
    importlib.util.find_spec("google") is None or importlib.util.find_spec("google.genai") is None,
    reason="SKIPPED: google-genai is not installed (pip install '.[peers]')",
)


@cache
def traffic(family: str) -> tuple[tuple[str, str, str], ...]:
    """Every message of the family's rows: row, direction, text. Repetitions of one kind are thinned."""
    found: dict[tuple[str, str], tuple[str, str, str]] = {}
    for row, chosen in ROWS.items():
        make, profile = FAMILIES[family]
        peer = make()
        conduct(peer, chosen.play, 7.0, profile=profile)
        for direction, messages in (("out", peer.got), ("in", peer.sent)):
            for number, message in enumerate(messages):
                shape = json.dumps(_shape(message), sort_keys=True)
                if row != "4 MiB message" and "telepathy" not in shape:  # an event of the future
                    found.setdefault((direction, shape), (f"{row}, message {number}", direction, json.dumps(message)))
    return tuple(found.values())


def _shape(value: Any) -> Any:
    """Keys, and the values that name a kind."""
    if isinstance(value, dict):
        return {key: entry if key in ("type", "status") else _shape(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_shape(entry) for entry in value[:3]]
    return type(value).__name__


def messages(family: str, direction: str) -> Iterator[tuple[str, Message]]:
    found = [(where, json.loads(text)) for where, way, text in traffic(family) if way == direction]
    assert len(found) >= 4
    yield from found


def read(union: Any, message: Message, where: str) -> None:
    """Read a message with the one member of a union that has its type: a union's own errors list every member."""
    from pydantic import ValidationError

    members = [member for member in _members(union) if message["type"] in _types(member)]
    assert members, f"{where}: the SDK knows no {message['type']}"
    errors = []
    for member in members:
        try:
            _reader(member).validate_python(message)
        except ValidationError as error:
            errors.append(str(error))
        else:
            return
    raise AssertionError(f"{where}: {message}\n{errors}")


@cache
def _reader(member: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(member)


def _members(union: Any) -> list[Any]:
    if get_origin(union) is Annotated:
        return _members(get_args(union)[0])
    return [inner for part in get_args(union) for inner in _members(part)] if get_args(union) else [union]


def _types(member: Any) -> tuple[Any, ...]:
    fields = getattr(member, "model_fields", None)
    hint = fields["type"].annotation if fields else get_type_hints(member)["type"]
    while get_args(hint) and get_origin(hint) is not Literal:
        hint = get_args(hint)[0]  # Required[...], Optional[...]
    return get_args(hint)


@needs_openai
@pytest.mark.parametrize("direction", ["out", "in"])
@pytest.mark.filterwarnings("ignore")
def test_realtime_messages_have_the_sdk_s_types(direction: str) -> None:
    types: Any = importlib.import_module("openai.types.realtime")
    for where, message in messages("ga", direction):
        read(types.RealtimeClientEventParam if direction == "out" else types.RealtimeServerEvent, message, where)


@needs_openai
@pytest.mark.parametrize("direction", ["out", "in"])
@pytest.mark.filterwarnings("ignore")
def test_live_messages_have_the_sdk_s_types(direction: str) -> None:
    types: Any = importlib.import_module("openai.types.live")
    for where, message in messages("gpt-live", direction):
        if message["type"] == "response.event":
            continue  # its inner events are those of another protocol, shortened by the service
        read(types.ClientEventParam if direction == "out" else types.ServerEvent, message, where)


@needs_genai
@pytest.mark.filterwarnings("ignore")
def test_gemini_messages_have_the_sdk_s_types() -> None:
    types: Any = importlib.import_module("google.genai.types")
    for where, message in messages("gemini", "in"):
        calls = message.get("toolCall", {}).get("functionCalls", [])
        if all(isinstance(call["args"], dict) for call in calls):
            known = types.LiveServerMessage.model_validate(message)
            assert known.model_dump(exclude_none=True, exclude_unset=True), where
    for where, message in messages("gemini", "out"):
        # The SDK builds this part from a type of its own and lists it nowhere in the set-up.
        config = message.get("setup", {}).pop("realtimeInputConfig", None)
        if config is not None:
            types.RealtimeInputConfig.model_validate(config)
        sent = types.LiveClientMessage.model_validate(message)
        assert sent.model_fields_set, where
        if sent.setup is not None:
            assert sent.setup.tools is not None


@needs_openai
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_what_we_ask_of_models_is_what_the_sdk_would_ask(api: str) -> None:
    from pydantic import TypeAdapter

    if api == "chat":
        params = importlib.import_module("openai.types.chat.completion_create_params").CompletionCreateParamsStreaming
    else:
        params = importlib.import_module("openai.types.responses.response_create_params").ResponseCreateParamsStreaming
    reader = TypeAdapter(params)
    asked = 0
    for row, play in matrix_http.PLAYS.items():
        peer = ModelPeer(api)
        conduct(peer, play, 14.0)
        for body in peer.requests:
            reader.validate_python(body)
            assert set(body) <= set(get_type_hints(params)), row
            asked += 1
    assert asked > len(matrix_http.PLAYS)


STREAMED = ("text turn", "two parallel calls", "cut arguments")
"""Rows with every kind of event that a service streams."""


@needs_openai
@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.filterwarnings("ignore")
def test_what_our_model_servers_stream_has_the_sdk_s_types(api: str) -> None:
    chunk: Any = importlib.import_module("openai.types.chat").ChatCompletionChunk
    stream: Any = importlib.import_module("openai.types.responses").ResponseStreamEvent
    seen = set()
    for row in STREAMED:
        peer = ModelPeer(api)
        conduct(peer, matrix_http.PLAYS[row], 14.0)
        for line in b"".join(peer.sent).splitlines():
            if line.startswith(b"data: {") and line not in seen:
                seen.add(line)
                event = json.loads(line[6:])
                chunk.model_validate(event) if api == "chat" else read(stream, event, row)
    assert len(seen) > 20


@needs_openai
@pytest.mark.filterwarnings("ignore")
def test_what_a_cascade_asks_of_a_voice_is_what_the_sdk_would_ask() -> None:
    from pydantic import TypeAdapter

    params: Any = importlib.import_module("openai.types.audio.speech_create_params").SpeechCreateParams
    peer = ModelPeer("chat", cascade=True)
    conduct(peer, matrix_http.PLAYS["text turn"], 14.0)
    assert peer.asked_to_speak
    for body in peer.asked_to_speak:
        TypeAdapter(params).validate_python(body)
        assert set(body) <= set(get_type_hints(params))


@needs_openai
@pytest.mark.filterwarnings("ignore")
async def test_what_an_agent_of_one_s_own_sends_has_the_sdk_s_types() -> None:
    """The server behind ``serve``: a turn in sound, calls, an interruption, a failure, and what it refuses."""
    types: Any = importlib.import_module("openai.types.realtime")
    sent: list[Message] = []

    async def agent(turn: Turn) -> AsyncGenerator[Any, Any]:
        if turn.text == "fail":
            raise ValueError
        yield Say("One moment.", pcm_bytes(tone(0.1)))
        yield [Call("submit"), Call("submit", {"n": 2})]
        yield Say("It is done.", pcm_bytes(tone(30.0)))

    async def put(raw: str) -> None:
        sent.append(json.loads(raw))

    async def words(audio: bytes) -> str:
        return "hello"

    session = OwnSession(put, agent, words)

    async def take(kind: str, **fields: Any) -> None:
        await session.receive(json.dumps({"type": kind, **fields}))
        await asyncio.sleep(0)

    async def until(kind: str, count: int) -> None:
        async with asyncio.timeout(30):
            while sum(message["type"] == kind for message in sent) < count:
                await asyncio.sleep(0.01)

    async def hear(*sounds: Any) -> None:
        for sound in sounds:
            await take("input_audio_buffer.append", audio=base64.b64encode(pcm_bytes(sound)).decode())

    await session.open()
    await take("session.update", session={"type": "realtime", "tools": [], "instructions": "Help."})
    await hear(silence(to_samples(200)), tone(0.4), silence(to_samples(600)))
    await until("response.done", 1)
    calls = [m["item"]["call_id"] for m in sent if m["type"] == "response.output_item.done" and "call_id" in m["item"]]
    for call in calls:
        await take("conversation.item.create", item={"type": "function_call_output", "call_id": call, "output": "{}"})
    await take("response.create")
    await until("response.created", 2)
    await hear(tone(0.4))
    await take("response.cancel")
    await until("response.done", 2)
    await take(
        "conversation.item.create",
        item={"type": "message", "role": "user", "content": [{"type": "input_text", "text": "fail"}]},
    )
    await take("response.create")
    await until("response.done", 3)
    await take("telepathy")
    await take(
        "session.update",
        session={"type": "realtime", "audio": {"output": {"format": {"type": "audio/pcm", "rate": 16000}}}},
    )
    await session.close()
    assert len(calls) == 2
    assert [m["response"]["status"] for m in sent if m["type"] == "response.done"] == [
        "completed",
        "cancelled",
        "failed",
    ]
    assert "not 16000 Hz" in sent[-1]["error"]["message"]
    for message in sent:
        read(types.RealtimeServerEvent, message, message["type"])

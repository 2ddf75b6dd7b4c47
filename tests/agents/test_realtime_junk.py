"""What a realtime server must not be able to do to us: junk, unknown types, endless texts, audio that is cut anywhere, keys in errors."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from live_kit import conduct
from peers.realtime_peer import RealtimePeer
from realtime_kit import Session, b64

from apex_tui.agents.realtime.client import RealtimeClient
from apex_tui.agents.realtime.door import MAX_MESSAGE, MAX_TEXT, AudioReader, without_secrets
from apex_tui.agents.realtime.profile import OPENAI
from apex_tui.agents.seam import AgentAudio, AgentText, ProviderError, ReplyBegun
from apex_tui.agents.shell import BYTES_PER_MESSAGE


@pytest.mark.parametrize(
    "raw", [b"\xff\x00\x01", "", "[]", '"x"', "{}", '{"type":3}', "{" * 100_000, "x" * (MAX_MESSAGE + 1)]
)
def test_junk_is_reported_and_the_session_goes_on(raw: str | bytes) -> None:
    session = Session()
    (event,) = session.client.receive(raw)
    assert isinstance(event, ProviderError)
    assert (event.kind, event.fatal) == ("unreadable", False)
    assert session.begin() == [ReplyBegun("r1")]


def test_unknown_types_are_ignored() -> None:
    session = Session()
    assert session.get("rate_limits.updated", rate_limits=[]) == []
    assert session.get("response.output_audio.done", response_id="r1") == []
    assert session.get("something.new") == []


def test_texts_are_bounded() -> None:
    session = Session()
    session.begin()
    (event,) = session.get("response.output_text.done", response_id="r1", item_id="i", text="x" * 1_000_000)
    assert isinstance(event, AgentText)
    assert len(event.text) == MAX_TEXT


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KEYS = ["response", "response_id", "item", "item_id", "delta", "error", "session", "transcript", "audio_start_ms"]


# A busy machine is no finding: neither the first draw nor one example has a time limit.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@UNHURRIED
@given(st.sampled_from(sorted(RealtimeClient(OPENAI)._handlers)), st.dictionaries(st.sampled_from(KEYS), JSON))
def test_known_types_with_foreign_fields_never_raise(kind: str, fields: dict[str, Any]) -> None:
    session = Session()
    session.begin()
    session.client.receive(json.dumps({"type": kind, **fields}))


@UNHURRIED
@given(st.binary(max_size=200), st.lists(st.integers(1, 9), max_size=40), st.booleans())
def test_audio_is_whole_however_it_is_cut(raw: bytes, cuts: list[int], padded: bool) -> None:
    reader = AudioReader()
    out, rest = b"", raw
    for cut in [*cuts, len(raw)]:
        piece, rest = rest[:cut], rest[cut:]
        got = reader.read(b64(piece) if padded else b64(piece).rstrip("="))
        assert got is not None
        assert len(got) % 2 == 0
        out += got
    assert out == raw[: len(raw) // 2 * 2]
    assert reader.received == len(out)


def test_audio_that_is_no_base64_is_reported_once_per_item() -> None:
    session = Session()
    session.begin()
    bad = {"response_id": "r1", "item_id": "i1", "delta": "***"}
    (event,) = session.get("response.output_audio.delta", **bad)
    assert isinstance(event, ProviderError)
    assert session.get("response.output_audio.delta", **bad) == []
    assert session.audio(b"\1\0") == [AgentAudio("r1", "i1", b"\1\0")]


def test_keys_are_taken_out_of_texts() -> None:
    assert without_secrets("key sk-abc_DEF-12345 and Bearer xyz") == "key [key] and [key]"


def test_messages_that_mean_nothing_to_us_are_a_flood_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apex_tui.agents.shell.FLOOD_MESSAGES", 1000)

    async def play(peer: RealtimePeer) -> None:
        for _ in range(400):  # for a second, half of what is forgiven in one
            peer.unknown()
        await asyncio.sleep(2.0)
        for _ in range(6):
            peer.send({"type": "unknown", "text": "x" * 200 * BYTES_PER_MESSAGE})
        peer.begin()

    ran = conduct(RealtimePeer(), play)
    assert [event for event in ran.events if event[0] in ("error", "closed", "begun")] == [
        ("error", "flood", True),
        ("closed", None, False),
    ]
    assert 2.0 <= ran.time_of("error") < 2.5

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apex_tui.store import wire
from apex_tui.store.masking import MOST_CHARS, Masker, masked_append
from apex_tui.store.wire import MAX_MESSAGE, WireLog

KEY = "hunter2-very/secret+key=="
PCM = bytes(range(256)) * 4
AUDIO = base64.b64encode(PCM).decode()
DIGEST = {"bytes": len(PCM), "sha256": hashlib.sha256(PCM).hexdigest()}


def stored(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def masked(message: Any, *secrets: str) -> Any:
    return Masker(secrets).message(json.dumps(message))


def test_a_message_is_one_line_with_its_time_and_direction(tmp_path: Path) -> None:
    log = WireLog(tmp_path / "wire.jsonl", start_s=10.0)
    log(10.25, "out", '{"type": "session.update"}')
    log(10.2512344, "in", "not json")
    log.close()
    assert stored(log.path) == [
        {"at_ms": 250.0, "dir": "out", "raw": {"type": "session.update"}},
        {"at_ms": 251.234, "dir": "in", "raw": "not json"},
    ]
    assert log.problem is None


@pytest.mark.parametrize("key", ["audio", "delta", "data", "pcm"])
def test_audio_is_replaced_by_length_and_digest(key: str) -> None:
    assert masked({"type": "x", "item": [{key: AUDIO}]}) == {"type": "x", "item": [{key: DIGEST}]}
    urlsafe = AUDIO.replace("+", "-").replace("/", "_")
    assert masked({key: urlsafe}) == {key: DIGEST}


def test_words_are_no_audio() -> None:
    words = {"delta": "words of an answer, " * 30, "text": AUDIO, "data": "c2hvcnQ="}
    assert masked(words) == words


def test_binary_messages_leave_only_length_and_digest() -> None:
    assert Masker(()).message(PCM) == DIGEST
    assert Masker(()).message(b'{"a":1}') == {"a": 1}


@settings(deadline=None)
@given(
    secret=st.text(min_size=6, max_size=40).filter(lambda text: text.strip("*") != ""),
    before=st.text(max_size=5),
    where=st.sampled_from(["value", "key", "nested", "plain"]),
)
def test_a_known_secret_never_remains(secret: str, before: str, where: str) -> None:
    message = {
        "value": json.dumps({"a": before + secret}),
        "key": json.dumps({before + secret: [1]}),
        "nested": json.dumps({"a": [{"b": json.dumps({"c": secret})}]}),
        "plain": f"{before}{secret} is not json",
    }[where]
    kept = Masker([secret]).message(message)

    def texts(value: Any) -> str:
        if isinstance(value, dict):
            return "\n".join(texts(part) for pair in value.items() for part in pair)
        return "\n".join(map(texts, value)) if isinstance(value, list) else str(value)

    assert secret not in texts(kept).replace("***", "|")


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer abcdef0123456789",
        "key sk-proj-0123456789abcdef in words",
        "ek_0123456789abcdef",
        "AIzaSyA0123456789abcdefghijklmnopqrstu",
        "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.c2lnbmF0dXJl",
    ],
)
def test_what_looks_like_a_key_is_masked(text: str) -> None:
    kept = masked({"error": text})["error"]
    assert "***" in kept
    assert "0123456789" not in kept
    assert "c2lnbmF0dXJl" not in kept


def test_fields_that_hold_secrets_are_masked_whatever_they_hold() -> None:
    message = {
        "Authorization": "x",
        "api_key": "y",
        "client_secret": {"value": "z", "expires_at": 5},
        "max_tokens": 100,
    }
    assert masked(message) == {"Authorization": "***", "api_key": "***", "client_secret": "***", "max_tokens": 100}


def test_secrets_are_masked_as_they_are_spelled_elsewhere(tmp_path: Path) -> None:
    log = WireLog(tmp_path / "wire.jsonl", secrets=(KEY, ""))
    log(
        0.0,
        "out",
        json.dumps({"url": "ws://h/?k=hunter2-very%2Fsecret%2Bkey%3D%3D", "arguments": json.dumps({"k": KEY})}),
    )
    log.close()
    (line,) = stored(log.path)
    assert line["raw"] == {"url": "ws://h/?k=***", "arguments": '{"k": "***"}'}


def test_a_long_message_is_shortened_and_says_so(tmp_path: Path) -> None:
    log = WireLog(tmp_path / "wire.jsonl")
    log(0.0, "in", json.dumps({"text": '"\\ä' * 40_000}))
    log(0.0, "in", json.dumps({"delta": base64.b64encode(bytes(90_000)).decode()}))
    log.close()
    first, second = stored(log.path)
    assert first["shortened_from_bytes"] > MAX_MESSAGE
    assert first["raw"].startswith('{"text":"')
    assert all(len(line) <= MAX_MESSAGE + 200 for line in log.path.read_bytes().splitlines())
    assert second["raw"] == {"delta": {"bytes": 90_000, "sha256": hashlib.sha256(bytes(90_000)).hexdigest()}}


def test_of_a_huge_message_only_what_may_be_kept_is_looked_at(tmp_path: Path) -> None:
    huge = json.dumps({"a": ["x" * MOST_CHARS, KEY], "b": [1] * (MOST_CHARS + 5), "data": AUDIO})
    kept = Masker((KEY,)).message(huge)
    assert (len(kept["a"][0]), kept["a"][1], len(kept["b"]), kept["data"]) == (MOST_CHARS, "", MOST_CHARS, DIGEST)
    assert len(Masker((KEY,)).message("no json " * MOST_CHARS)) == MOST_CHARS
    log = WireLog(tmp_path / "wire.jsonl")
    log(0.0, "in", huge)
    log.close()
    assert stored(log.path)[0]["shortened_from_bytes"] >= len(huge)


def test_the_file_is_bounded_and_its_last_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_FILE", 5_000)
    log = WireLog(tmp_path / "wire.jsonl")
    for number in range(200):
        log(number / 50, "in", json.dumps({"n": number, "pad": "x" * 60}))
    log.close()
    lines = stored(log.path)
    assert log.path.stat().st_size < 5_200
    assert lines[-1]["dir"] == "note"
    assert "5000 bytes" in lines[-1]["raw"]
    assert [line["raw"]["n"] for line in lines[:-1]] == list(range(len(lines) - 1))


def test_lines_are_written_in_bundles_and_at_a_flush(tmp_path: Path) -> None:
    log = WireLog(tmp_path / "wire.jsonl")
    log(0.0, "in", "{}")
    assert log.path.read_bytes() == b""
    log.flush()
    assert len(stored(log.path)) == 1
    log(0.01, "in", "{}")
    log(0.1, "in", "{}")
    assert len(stored(log.path)) == 3
    log.close()
    log.close()
    log(0.2, "in", "{}")
    assert len(stored(log.path)) == 3, "a closed file takes nothing more"


@pytest.mark.parametrize(
    "message",
    ["[" * 100_000, "[" * 900 + "]" * 900, '"\\ud800"', "\ud800", "NaN", '[1e999, {"a": -Infinity}]', "9" * 10_000, ""],
)
def test_no_message_can_break_the_tap(tmp_path: Path, message: str) -> None:
    log = WireLog(tmp_path / "wire.jsonl")
    log(0.0, "in", message)
    log.close()
    (line,) = log.path.read_bytes().splitlines()
    assert json.loads(line, parse_constant=pytest.fail)["dir"] == "in", "any reader of JSON takes it"


def test_a_disk_that_refuses_ends_the_file_and_not_the_session(tmp_path: Path) -> None:
    log = WireLog(tmp_path / "gone" / "wire.jsonl")
    assert log.problem is not None
    assert "cannot be written" in log.problem
    log(0.0, "in", "{}")
    log.flush()
    log.close()


@given(st.integers(0, 10**6), st.binary(min_size=240, max_size=2000))
def test_the_short_way_for_caller_audio_writes_what_the_long_way_writes(number: int, pcm: bytes) -> None:
    audio = base64.b64encode(pcm).decode()
    message = f'{{"type":"input_audio_buffer.append","event_id":"evt_{number}","audio":"{audio}"}}'
    short = masked_append(message)
    assert short is not None
    assert json.loads(short) == Masker(()).message(message)


@pytest.mark.parametrize(
    "message",
    [
        '{"type":"input_audio_buffer.append","event_id":"evt_1","audio":"sk-abcdefghijklmnop"}',
        '{"type":"input_audio_buffer.append","event_id":"evt_1","audio":"'
        + "A" * 400
        + '","key":"sk-abcdefghijklmnop"}',
        '{"type":"input_audio_buffer.append","event_id":"evt_sk-abcdefghijklmnop","audio":"' + "A" * 400 + '"}',
        '{"type":"session.update","event_id":"evt_1"}',
    ],
)
def test_anything_else_takes_the_long_way(message: str) -> None:
    assert masked_append(message) is None

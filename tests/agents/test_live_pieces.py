"""The pieces of the continuous families on their own: tool schemas, MIME rates, and replies cut out of a track."""

from __future__ import annotations

import json
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agent_kit import LINES, SETUP, TOOLS, tone, workflow
from hypothesis import given, settings
from hypothesis import strategies as st

from apex_tui.agents.gemini import wire
from apex_tui.agents.gemini.profile import GEMINI, GeminiProfile, declaration, setup_message, subset
from apex_tui.agents.gptlive.track import GAP_SAMPLES, Track
from apex_tui.agents.registry import make_agent
from apex_tui.agents.stall import StallWatch
from apex_tui.audio.frames import Pcm, pcm_bytes, silence, to_samples
from apex_tui.timeline.errors import UserError
from apex_tui.workbench.schemas import tool_schemas
from apex_tui.workflow.library import find_workflow


def test_a_schema_in_the_subset_of_the_service() -> None:
    schema = {
        "type": "object",
        "$schema": "x",
        "additionalProperties": False,
        "properties": {
            "end": {"type": ["string", "null"], "description": "Last day.", "pattern": "^.{10}$"},
            "kind": {"enum": ["annual", "unpaid", None]},
            "days": {"type": "integer", "enum": [1, 2], "minimum": 1},
            "way": {"const": "post"},
            "lines": {"type": "array", "items": {"type": "number", "multipleOf": 0.5}},
            "either": {"anyOf": [{"type": "string"}, {"type": "boolean"}]},
            "both": {"type": ["string", "integer"]},
        },
        "required": ["end"],
    }
    assert subset(schema) == {
        "type": "OBJECT",
        "properties": {
            "end": {"type": "STRING", "nullable": True, "description": "Last day.", "pattern": "^.{10}$"},
            "kind": {"type": "STRING", "enum": ["annual", "unpaid"]},
            "days": {"type": "INTEGER", "minimum": 1},
            "way": {"type": "STRING", "enum": ["post"]},
            "lines": {"type": "ARRAY", "items": {"type": "NUMBER"}},
            "either": {"anyOf": [{"type": "STRING"}, {"type": "BOOLEAN"}]},
            "both": {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]},
        },
        "required": ["end"],
    }


def test_the_set_up_is_camel_case_and_says_how_tools_behave() -> None:
    setup = setup_message(GEMINI, SETUP, "handle-1")["setup"]
    assert "_" not in "".join(key for key in _keys({**setup, "tools": []}))
    first, second = setup["tools"][0]["functionDeclarations"]
    assert (first["behavior"], first["parameters"]["type"]) == ("NON_BLOCKING", "OBJECT")
    assert "parameters" not in second  # an empty object is refused
    assert setup["sessionResumption"] == {"handle": "handle-1"}
    assert setup["model"] == "models/gemini-3.8-live"
    plain = declaration(GeminiProfile(schemas="json", tools="BLOCKING"), TOOLS[0])
    assert plain == {
        "name": "update_form",
        "description": "Writes fields.",
        "behavior": "BLOCKING",
        "parametersJsonSchema": TOOLS[0]["parameters"],
    }


def _keys(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*value] + [key for entry in value.values() for key in _keys(entry)]
    return []


@pytest.mark.parametrize("name", ["leave-request", "payment"])
def test_the_tools_of_a_workflow_keep_their_names_and_required_fields(name: str) -> None:
    for tool in tool_schemas(find_workflow(name)):
        declared = declaration(GEMINI, tool)
        assert declared["name"] == tool["name"]
        required = tool["parameters"].get("required", [])
        if required:
            assert declared["parameters"]["required"] == required
        text = json.dumps(declared)
        assert "additionalProperties" not in text
        assert '"type": "object"' not in text


@pytest.mark.parametrize(
    ("mime", "rate"),
    [
        ("audio/pcm;rate=24000", 24_000),
        ("audio/pcm", 24_000),
        ("audio/L16; rate=16000", 16_000),
        ("audio/pcm;rate=1", None),
        ("audio/pcm;rate=", None),
        ("audio/pcm;rate=999999999", None),
        ("audio/mpeg", None),
        ("text/plain", None),
        (None, None),
    ],
)
def test_rates_are_those_of_an_allow_list(mime: Any, rate: int | None) -> None:
    assert wire.rate_of(mime) == rate


def test_answers_say_whether_the_tool_worked() -> None:
    assert wire.answer('{"ok":true,"version":4}') == {"output": {"ok": True, "version": 4}}
    assert wire.answer('{"ok":false,"error":"no"}') == {"error": {"ok": False, "error": "no"}}
    assert wire.answer("[1]") == {"output": [1]}
    assert wire.answer("no JSON") == {"output": "no JSON"}


def test_durations() -> None:
    assert (wire.seconds("50s"), wire.seconds("1.25s"), wire.seconds("soon"), wire.seconds(None)) == (
        50,
        1.25,
        None,
        None,
    )


# --- the track ------------------------------------------------------------------------------------------------------------------------


def track_of(*spoken: tuple[float, float]) -> Pcm:
    """Silence of the first length and then sound of the second (s), for each pair."""
    return np.concatenate([part for gap, sound in spoken for part in (silence(round(gap * 24_000)), tone(sound))])


Reply = tuple[int, int, bytes]


def cut(pcm: Pcm, sizes: list[int]) -> list[Reply]:
    """Begin, end and audio of each reply when the track comes in pieces of these sizes."""
    track, at = Track(), 0
    audio: dict[int, bytes] = {}
    begin: dict[int, int] = {}
    end: dict[int, int] = {}
    turns = cycle(sizes)
    while at < len(pcm):
        size = next(turns)
        found = track.feed(pcm_bytes(pcm[at : at + size]))
        at += size
        for piece in found:
            if piece.what == "began":
                begin[piece.reply] = piece.at
            elif piece.what == "audio":
                audio[piece.reply] = audio.get(piece.reply, b"") + piece.raw
            else:
                end[piece.reply] = piece.at
    for piece in track.finish():
        end[piece.reply] = piece.at
    return [(begin[reply], end[reply], audio[reply]) for reply in begin]


def test_replies_are_divided_by_a_pause_and_no_shorter_one() -> None:
    pcm = np.concatenate((track_of((0.5, 1.0), (0.6, 0.5), (1.2, 0.4)), silence(24_000)))
    first, second = cut(pcm, [2400])
    assert first[0] == to_samples(500)
    assert first[1] == pytest.approx(to_samples(2600) + GAP_SAMPLES, abs=600)
    assert second[0] == to_samples(3800)
    assert first[2].startswith(pcm_bytes(tone(1.0)))
    assert second[2].startswith(pcm_bytes(tone(0.4)))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 6000), min_size=1, max_size=6), st.lists(st.floats(0.05, 1.5), min_size=1, max_size=4))
def test_no_sound_is_lost_however_the_track_is_cut(sizes: list[int], gaps: list[float]) -> None:
    pcm = np.concatenate((track_of(*((gap, 0.3) for gap in gaps)), silence(2000)))
    replies = cut(pcm, [max(120, size) for size in sizes])
    covered = np.zeros(len(pcm), dtype=bool)
    for begin, end, audio in replies:
        assert len(audio) == 2 * (end - begin)  # without a gap
        assert audio == pcm_bytes(pcm[begin:end])  # and unchanged, at its own time
        assert not covered[begin:end].any()  # and once
        covered[begin:end] = True
    missed = np.abs(pcm[~covered].astype(int))
    assert missed.size == 0 or missed.max() < 60  # below what is audible at all


# --- the rest -------------------------------------------------------------------------------------------------------------------------


def test_a_stall_is_counted_in_looks_and_any_sign_ends_it() -> None:
    watch = StallWatch(3.0)
    assert [watch.look(True) for _ in range(2)] == [False, False]
    watch.sign()
    assert [watch.look(True) for _ in range(4)] == [False, False, False, True]
    assert watch.look(False) is False


@pytest.mark.parametrize(
    ("name", "variable", "header"),
    [("gemini", "GEMINI_API_KEY", "x-goog-api-key"), ("gpt-live", "OPENAI_API_KEY", "Authorization")],
)
def test_keys_go_only_where_they_are_safe(
    name: str, variable: str, header: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv(variable, raising=False)
    given: dict[str, Any] = {"workflow": workflow(), "lines": LINES, "virtual": False, "wire": None, "log_path": None}
    with pytest.raises(UserError, match=variable):
        make_agent(name, url=None, model=None, **given)
    monkeypatch.setenv(variable, "canary-0123456789")
    own: Any = make_agent(name, url=None, model=None, **given)
    assert own._transport._headers[header].endswith("canary-0123456789")
    assert "canary" not in own.url + repr(own) + repr(own._transport)
    far: Any = make_agent(name, url="ws://example.org/live", model="other", **given)
    assert far._transport._headers == {}

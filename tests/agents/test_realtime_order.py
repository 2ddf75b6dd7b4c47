"""Late, repeated, cumulative, restated and out-of-order messages of a server."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from apex_tui.agents.realtime.client import RealtimeClient
from apex_tui.agents.realtime.profile import OPENAI
from apex_tui.agents.seam import (
    AgentAudio,
    AgentEvent,
    AgentText,
    LateAudio,
    ProviderError,
    ReplyEnded,
    SpeechStarted,
    ToolRequest,
)

SECOND = "AAAA" * 4000  # base64 of 12,000 bytes: 250 ms at 24 kHz


def get(client: RealtimeClient, kind: str, **fields: Any) -> list[AgentEvent]:
    return client.receive(json.dumps({"type": kind, **fields}))


def begun(cumulative: bool = False) -> RealtimeClient:
    client = RealtimeClient(dataclasses.replace(OPENAI, agent_text="cumulative") if cumulative else OPENAI)
    get(client, "response.created", response={"id": "r1", "status": "in_progress"})
    return client


def audio(client: RealtimeClient, event_id: str | None = None, delta: str = SECOND) -> list[AgentEvent]:
    return get(client, "response.output_audio.delta", response_id="r1", item_id="i1", event_id=event_id, delta=delta)


def words(client: RealtimeClient, delta: str) -> list[AgentEvent]:
    return get(client, "response.output_audio_transcript.delta", response_id="r1", item_id="i1", delta=delta)


def test_an_event_that_comes_twice_counts_once() -> None:
    client = begun()
    assert len(audio(client, "event_1")) == 1
    assert audio(client, "event_1") == []
    assert len(audio(client, "event_2")) == 1
    assert client.repeats.duplicates == 1


def test_without_ids_equal_audio_is_no_repetition() -> None:
    client = begun()
    assert [len(audio(client)), len(audio(client, ""))] == [1, 1]


def test_ids_that_are_not_unique_prove_nothing() -> None:
    client = begun()
    audio(client, "event_0")
    other = audio(client, "event_0", delta="AQAB" * 4000)
    again = audio(client, "event_0")
    assert [type(e) for e in (*other, *again)] == [AgentAudio, AgentAudio]
    assert client.repeats.duplicates == 0


def test_late_audio_is_measured() -> None:
    client = begun()
    get(client, "response.done", response={"id": "r1", "status": "cancelled"})
    assert audio(client) == [LateAudio("r1", 250.0)]
    assert client.late == 1


def test_words_that_are_written_after_their_reply_has_ended_are_its_words() -> None:
    """The sound is sent faster than it plays, and a server may write down what was said when it has been said."""
    client = begun()
    get(client, "response.done", response={"id": "r1", "status": "completed"})
    late = {"response_id": "r1", "item_id": "i1", "transcript": "Good day"}
    told = get(client, "response.output_audio_transcript.done", **late)
    assert told == [AgentText("r1", "i1", "Good day", final=True)]
    assert words(client, "Good ") == []


def test_a_second_end_changes_nothing() -> None:
    client = begun()
    first = get(client, "response.done", response={"id": "r1", "status": "cancelled"})
    assert [e.status for e in first if isinstance(e, ReplyEnded)] == ["cancelled"]
    assert get(client, "response.done", response={"id": "r1", "status": "completed"}) == []
    (told,) = get(client, "response.created", response={"id": "r1", "status": "in_progress"})
    assert isinstance(told, ProviderError)  # nothing begins again, and it is no secret


def test_a_call_after_its_replys_end_is_not_run() -> None:
    client = begun()
    get(client, "response.done", response={"id": "r1", "status": "cancelled"})
    item = {"type": "function_call", "call_id": "c1", "name": "submit", "arguments": "{}", "status": "completed"}
    late = get(client, "response.output_item.done", response_id="r1", item=item)
    assert [e for e in late if isinstance(e, ToolRequest)] == []


def test_cumulative_words_are_taken_apart() -> None:
    client = begun(cumulative=True)
    out = [
        *words(client, "One"),
        *words(client, "One moment"),
        *words(client, "One moment"),
        *words(client, "A moment"),
    ]
    assert out == [
        AgentText("r1", "i1", "One"),
        AgentText("r1", "i1", " moment"),
        AgentText("r1", "i1", "A moment", final=True),
    ]


def started(client: RealtimeClient, item: str, at: float) -> list[AgentEvent]:
    return get(client, "input_audio_buffer.speech_started", item_id=item, audio_start_ms=at)


def test_a_repeated_start_of_the_callers_speech_is_no_second_interruption() -> None:
    client = begun()
    assert started(client, "u1", 1000) == [SpeechStarted("server_vad", 1000)]
    assert started(client, "u1", 1000) == []
    get(client, "input_audio_buffer.speech_stopped", item_id="u1", audio_end_ms=3000)
    assert started(client, "u2", 4000) == [SpeechStarted("server_vad", 4000)]
    assert client.repeats.stale == 1


def test_a_start_that_comes_after_a_later_end_is_stale() -> None:
    client = begun()
    get(client, "input_audio_buffer.speech_stopped", item_id="u2", audio_end_ms=9000)
    assert started(client, "u1", 4000) == []
    assert len(started(client, "u3", 8900)) == 1  # its padding reaches back before the end


def message(item: str, *parts: dict[str, str], status: str = "completed") -> dict[str, Any]:
    return {"id": item, "type": "message", "role": "assistant", "status": status, "content": list(parts)}


def done(client: RealtimeClient, *output: dict[str, Any], status: str = "completed") -> list[AgentEvent]:
    return get(client, "response.done", response={"id": "r1", "status": status, "output": list(output)})


SPOKEN = {"type": "output_audio", "transcript": "Good day."}


def test_words_that_come_with_the_finished_reply_only_are_read_there() -> None:
    client = begun()
    audio(client)
    written = message("i2", {"type": "output_text", "text": "Note"}, {"type": "output_text", "text": "seven."})
    assert done(client, message("i1", SPOKEN), written) == [
        AgentText("r1", "i1", "Good day.", final=True),
        AgentText("r1", "i2", "Note seven.", final=True),
        ReplyEnded("r1", "completed", ""),
    ]
    # ... also of one that was cut off, whose words say what was meant to be said
    client = begun()
    audio(client)
    cut = done(client, message("i1", SPOKEN, status="incomplete"), status="cancelled")
    assert cut[0] == AgentText("r1", "i1", "Good day.", final=True)


def test_words_that_come_with_the_finished_item_only_are_read_there_once() -> None:
    client = begun()
    audio(client)
    told = get(client, "response.output_item.done", response_id="r1", item=message("i1", SPOKEN))
    assert told == [AgentText("r1", "i1", "Good day.", final=True)]
    assert done(client, message("i1", SPOKEN)) == [ReplyEnded("r1", "completed", "")]


def test_words_that_were_told_before_are_not_read_again_with_the_reply() -> None:
    client = begun()
    words(client, "Good ")
    assert done(client, message("i1", SPOKEN)) == [ReplyEnded("r1", "completed", "")]
    client = begun()
    get(client, "response.output_audio_transcript.delta", response_id="r1", delta="Good ")  # without the item's id
    assert done(client, message("i1", SPOKEN)) == [ReplyEnded("r1", "completed", "")]


def test_words_of_the_finished_reply_go_to_its_sound() -> None:
    client = begun()
    get(client, "response.output_audio.delta", response_id="r1", delta=SECOND)  # without the item's id
    assert done(client, message("i1", SPOKEN))[0] == AgentText("r1", "r1", "Good day.", final=True)

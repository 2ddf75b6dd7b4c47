from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from agent_kit import SETUP, TOOLS
from realtime_kit import Session

from apex_tui.agents.realtime.client import RealtimeClient
from apex_tui.agents.realtime.door import MAX_TEXT, parse_arguments
from apex_tui.agents.realtime.profile import OPENAI, flat_tool
from apex_tui.agents.seam import (
    AgentAudio,
    AgentText,
    LateAudio,
    ProviderError,
    ReplyBegun,
    ReplyEnded,
    SpeechStarted,
    SpeechStopped,
    ToolRequest,
    UserTranscript,
)


def test_the_session_message_is_ga_shaped() -> None:
    client = RealtimeClient(OPENAI)
    client.start(SETUP)
    update = json.loads(client.take()[0])
    assert update["type"] == "session.update"
    assert update["event_id"]
    session = update["session"]
    assert session["type"] == "realtime"
    assert session["tool_choice"] == "auto"
    assert session["tools"][0] == {"type": "function", **TOOLS[0]}
    detection = session["audio"]["input"]["turn_detection"]
    assert (detection["type"], detection["interrupt_response"], detection["create_response"]) == (
        "server_vad",
        True,
        True,
    )
    assert session["audio"]["output"]["format"] == {"type": "audio/pcm", "rate": 24000}
    assert "temperature" not in session


def test_ready_names_what_was_accepted() -> None:
    ready = Session().ready
    assert ready.model == "m1"
    assert ready.accepted == {
        "model": "m1",
        "voice": "marin",
        "output_format": {"type": "audio/pcm", "rate": 24000},
        "tools": ["update_form", "submit"],
    }


def test_a_session_without_our_tools_is_refused() -> None:
    client = RealtimeClient(OPENAI)
    client.start(SETUP)
    events = client.receive('{"type":"session.updated","session":{"tools":[{"type":"function","name":"submit"}]}}')
    assert client.refusal == "it did not take the tools update_form"
    assert [event.fatal for event in events if isinstance(event, ProviderError)] == [True]
    assert not client.ready


@pytest.mark.parametrize(
    ("heard", "spoken", "refusal"),
    [
        ({"rate": 24000}, {"rate": 8000}, "it sends audio at 8000 Hz, not 24000 Hz; state out_rate = 8000 for it in"),
        (
            {"rate": 16000},
            {"rate": 16000},
            "it takes audio at 16000 Hz, not 24000 Hz and sends audio at 16000 Hz, not 24000 Hz; "
            "state in_rate = 16000 and out_rate = 16000 for it in",
        ),
        ({}, {"type": "audio/pcmu"}, "it sends audio/pcmu, and only 16-bit PCM is spoken here"),
        ({"rate": 24000}, {}, None),
    ],
)
def test_a_session_at_another_rate_or_in_another_format_is_refused(
    heard: dict[str, Any], spoken: dict[str, Any], refusal: str | None
) -> None:
    client = RealtimeClient(OPENAI)
    client.start(SETUP)
    session = {
        "tools": [flat_tool(t) for t in TOOLS],
        "audio": {
            "input": {"format": {"type": "audio/pcm", **heard}},
            "output": {"format": {"type": "audio/pcm", **spoken}},
        },
    }
    client.receive(json.dumps({"type": "session.updated", "session": session}))
    assert (client.refusal or "").startswith(refusal or "")
    assert client.ready == (refusal is None)


def test_an_error_before_ready_is_the_refusal_without_the_key() -> None:
    client = RealtimeClient(OPENAI)
    client.start(SETUP)
    message = "Incorrect API key provided: sk-proj-abcdef123456."
    client.receive(json.dumps({"type": "error", "error": {"code": "invalid_api_key", "message": message}}))
    assert client.refusal == "Incorrect API key provided: [key]"


@pytest.mark.parametrize(
    ("delta", "done", "extra"),
    [
        ("response.output_audio_transcript.delta", "response.output_audio_transcript.done", "transcript"),
        ("response.audio_transcript.delta", "response.audio_transcript.done", "transcript"),
        ("response.text.delta", "response.text.done", "text"),
        ("response.output_text.delta", "response.output_text.done", "text"),
    ],
)
def test_a_text_turn_under_both_names(delta: str, done: str, extra: str) -> None:
    session = Session()
    assert session.begin() == [ReplyBegun("r1", False)]
    place = {"response_id": "r1", "item_id": "i1"}
    assert session.get(delta, **place, delta="Good ") == [AgentText("r1", "i1", "Good ")]
    assert session.get(done, **place, **{extra: "Good day"}) == [AgentText("r1", "i1", "Good day", final=True)]
    assert session.done() == [ReplyEnded("r1", "completed", "")]
    assert session.done() == []


def test_vad_events_carry_their_audio_time() -> None:
    session = Session()
    assert session.get("input_audio_buffer.speech_started", audio_start_ms=300) == [SpeechStarted("server_vad", 300.0)]
    assert session.get("input_audio_buffer.speech_stopped", audio_end_ms=900) == [SpeechStopped("server_vad", 900.0)]


def test_a_call_is_reported_once_wherever_it_is_repeated() -> None:
    session = Session()
    session.begin()
    assert session.call("c1", '{"a":1}') == [ToolRequest("c1", "submit", {"a": 1}, "r1")]
    assert session.call("c1", '{"a":1}') == []
    item = {"type": "function_call", "call_id": "c1", "name": "submit", "arguments": '{"a":1}', "status": "completed"}
    assert session.done(output=[item]) == [ReplyEnded("r1", "completed", "")]


def test_a_call_that_only_the_end_mentions_is_reported() -> None:
    session = Session()
    session.begin()
    item = {"type": "function_call", "call_id": "c1", "name": "submit", "arguments": ""}
    assert session.done(output=[item]) == [ToolRequest("c1", "submit", {}, "r1"), ReplyEnded("r1", "completed", "")]


@pytest.mark.parametrize("status", ["cancelled", "failed", "incomplete"])
def test_no_call_from_an_abandoned_reply(status: str) -> None:
    session = Session()
    session.begin()
    item = {"type": "function_call", "call_id": "c1", "name": "submit", "arguments": "{}", "status": "completed"}
    ended = session.done(status=status, output=[item], status_details={"reason": "turn_detected"})
    assert ended == [ReplyEnded("r1", status, "turn_detected")]  # type: ignore[arg-type]
    assert session.call("c1") == []


def test_no_call_from_an_incomplete_item() -> None:
    session = Session()
    session.begin()
    assert session.call("c1", '{"a":', status="incomplete") == []


def test_a_complete_call_of_a_reply_that_is_cut_off_later_keeps_its_reply() -> None:
    session = Session()
    session.begin()
    assert session.call("c1") == [ToolRequest("c1", "submit", {}, "r1")]
    assert session.done(status="cancelled") == [ReplyEnded("r1", "cancelled", "")]


@pytest.mark.parametrize(
    "raw",
    ['{"a":', "[1]", "nonsense", '{"a":NaN}', '"text"', '{"a":' + "1" * 5000 + "}", "[" * 60_000, "x" * (MAX_TEXT + 1)],
)
def test_cut_or_foreign_arguments_never_become_an_empty_call(raw: str) -> None:
    session = Session()
    session.begin()
    (event,) = session.call("c1", raw)
    assert isinstance(event, ToolRequest)
    assert event.arguments is None
    assert event.error


def test_arguments_without_text_are_no_arguments() -> None:
    assert parse_arguments("") == ({}, None)
    assert parse_arguments(None)[0] is None


def test_a_lone_surrogate_can_be_written_as_utf8() -> None:
    arguments, error = parse_arguments('{"a\\ud800":["\\udfff"]}')
    assert error is None
    json.dumps(arguments, ensure_ascii=False).encode()


def test_parallel_calls_are_answered_before_the_one_request() -> None:
    session = Session()
    session.begin()
    session.call("c1")
    session.call("c2")
    session.client.tool_result("c1", '{"ok":true}')
    assert session.sent_types() == ["conversation.item.create"]
    session.done()
    assert session.sent_types() == []
    session.client.tool_result("c2", '{"ok":true}')
    assert session.sent_types() == ["conversation.item.create", "response.create"]
    assert session.begin("r2") == [ReplyBegun("r2", after_tool=True)]


def test_an_answer_to_a_turn_that_was_handed_over_follows_no_tool() -> None:
    session = Session()
    session.client.commit()
    assert session.begin("r1") == [ReplyBegun("r1", after_tool=False)]
    session.call("c1")
    session.done("r1")
    session.client.tool_result("c1", "{}")
    session.client.commit()  # before the answer to the result began: that one answers results alone
    assert session.begin("r2") == [ReplyBegun("r2", after_tool=True)]
    session.done("r2")
    assert session.begin("r3") == [ReplyBegun("r3", after_tool=False)]
    session.call("c2")
    session.client.tool_result("c2", "{}")
    session.client.commit()
    session.done("r3")
    assert session.begin("r4") == [ReplyBegun("r4", after_tool=False)], "the caller's turn came after the result"


def test_what_is_asked_for_again_still_follows_its_tool() -> None:
    session = Session()
    session.begin("r1")
    session.call("c1")
    session.done("r1")
    session.client.tool_result("c1", "{}")
    session.get("error", error={"code": "conversation_already_has_active_response", "message": "busy"})
    assert session.sent_types().count("response.create") == 2
    assert session.begin("r2") == [ReplyBegun("r2", after_tool=True)]


def slow_call_and_a_later_one(session: Session) -> None:
    session.begin()
    session.call("slow")
    session.done()
    session.begin("r2")
    session.call("c2", reply="r2")
    session.done("r2")
    session.client.tool_result("c2", "{}")


def test_a_slow_call_of_an_earlier_reply_holds_nothing_up() -> None:
    session = Session()
    slow_call_and_a_later_one(session)
    assert session.sent_types() == ["conversation.item.create", "response.create"]
    session.begin("r3")
    session.done("r3")
    session.client.tool_result("slow", "{}")
    assert session.sent_types() == ["conversation.item.create", "response.create"]


def test_a_server_that_wants_every_result_first_is_asked_when_it_has_them() -> None:
    session = Session(dataclasses.replace(OPENAI, results_later=False))
    slow_call_and_a_later_one(session)
    assert session.sent_types() == ["conversation.item.create"]
    session.client.tool_result("slow", "{}")
    assert session.sent_types() == ["conversation.item.create", "response.create"]


def test_a_result_waits_for_the_end_of_its_reply() -> None:
    session = Session()
    session.begin()
    session.call("c1")
    session.client.tool_result("c1", "{}")
    assert session.sent_types() == ["conversation.item.create"]
    session.done()
    assert session.sent_types() == ["response.create"]


def test_results_of_unknown_calls_and_second_results_are_not_sent() -> None:
    session = Session()
    session.begin()
    session.call("c1")
    session.client.tool_result("nobody", "{}")
    session.client.tool_result("c1", "{}")
    session.client.tool_result("c1", "{}")
    assert session.sent_types() == ["conversation.item.create"]


def asked(session: Session) -> str:
    session.begin()
    session.call("c1")
    session.done()
    session.client.tool_result("c1", "{}")
    return str(session.sent()[-1]["event_id"])


def test_a_request_that_raced_a_turn_is_asked_again_once() -> None:
    session = Session()
    event = asked(session)
    session.begin("vad")
    assert session.busy(event) == []
    assert session.sent_types() == []
    session.done("vad")
    (again,) = session.sent()
    assert again["type"] == "response.create"
    (reported,) = session.busy(again["event_id"])
    assert isinstance(reported, ProviderError)
    assert reported.caused_by == "response.create"
    assert session.sent_types() == []


def test_busy_without_its_cause_means_our_request() -> None:
    session = Session()
    asked(session)
    assert session.busy(None) == []
    assert session.sent_types() == ["response.create"]


def test_while_the_caller_talks_the_server_answers_by_itself() -> None:
    session = Session()
    session.begin()
    session.call("c1")
    session.get("input_audio_buffer.speech_started")
    session.done(status="cancelled")
    session.client.tool_result("c1", "{}")
    assert session.sent_types() == ["conversation.item.create"]
    session.get("input_audio_buffer.speech_stopped")
    assert session.begin("r2") == [ReplyBegun("r2", after_tool=False)]
    session.done("r2")
    assert session.sent_types() == []


def test_a_turn_that_stays_unanswered_does_not_swallow_results() -> None:
    session = Session()
    session.begin()
    session.call("c1")
    session.get("input_audio_buffer.speech_started")
    session.done(status="cancelled")
    session.client.tool_result("c1", "{}")
    session.get("input_audio_buffer.speech_stopped")
    session.sent()
    for _ in range(99):
        session.client.audio(bytes(960))
    assert set(session.sent_types()) == {"input_audio_buffer.append"}
    session.client.audio(bytes(960))
    assert session.sent_types() == ["input_audio_buffer.append", "response.create"]


def test_late_deltas_of_a_cut_reply_are_dropped_and_counted() -> None:
    session = Session()
    session.begin()
    assert session.audio(b"\1\0") == [AgentAudio("r1", "i1", b"\1\0")]
    session.done(status="cancelled", status_details={"type": "cancelled", "reason": "turn_detected"})
    (late,) = session.audio(b"\1\0")
    assert isinstance(late, LateAudio)
    assert late.reply == "r1"
    assert late.ms == pytest.approx(0.0417, abs=0.03)
    assert session.get("response.output_text.delta", response_id="r1", delta="x") == []
    assert session.client.late == 2


def test_cancelling_before_the_reply_has_an_id_mutes_it_when_it_has() -> None:
    session = Session()
    asked(session)
    session.client.cancel()
    assert session.sent_types() == []
    session.begin("r2")
    (cancel,) = session.sent()
    assert (cancel["type"], cancel["response_id"]) == ("response.cancel", "r2")
    assert [type(event) for event in session.audio(b"\1\0", "r2")] == [LateAudio]
    assert session.done("r2", "cancelled") == [ReplyEnded("r2", "cancelled", "")]


def test_a_cancel_that_came_too_late_is_no_error() -> None:
    session = Session()
    session.begin()
    session.client.cancel()
    (cancel,) = session.sent()
    error = {"code": "response_cancel_not_active", "message": "Cancellation failed", "event_id": cancel["event_id"]}
    assert session.get("error", error=error) == []


def test_a_reply_that_vanishes_is_ended_by_the_next() -> None:
    session = Session()
    session.begin()
    assert session.begin("r2") == [ReplyEnded("r1", "cancelled", "superseded"), ReplyBegun("r2")]


def test_truncation_is_clamped_to_what_was_received() -> None:
    session = Session()
    session.begin()
    session.audio(bytes(2 * 24 * 150))
    session.done()
    for wanted in (100, 5000):
        session.client.truncate("i1", wanted)
    session.client.truncate("i1", 0)
    session.client.truncate("i1", -5)
    session.client.truncate("unknown", 100)
    assert [(m["type"], m["item_id"], m["content_index"], m["audio_end_ms"]) for m in session.sent()] == [
        ("conversation.item.truncate", "i1", 0, 100),
        ("conversation.item.truncate", "i1", 0, 150),
    ]


def test_user_transcripts_add_up_or_repeat() -> None:
    session = Session()
    kind = "conversation.item.input_audio_transcription"
    assert session.get(f"{kind}.delta", item_id="u", delta="move ") == [UserTranscript("u", "move ", False)]
    assert session.get(f"{kind}.delta", item_id="u", delta="it") == [UserTranscript("u", "move it", False)]
    assert session.get(f"{kind}.updated", item_id="u", transcript="moved") == [UserTranscript("u", "moved", False)]
    assert session.get(f"{kind}.completed", item_id="u", transcript="Moved.") == [UserTranscript("u", "Moved.", True)]
    failed = session.get(f"{kind}.failed", item_id="v", error={"code": "bad", "message": "too short"})
    assert failed[0] == UserTranscript("v", "", True)
    assert isinstance(failed[1], ProviderError)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": "a", "type": "b", "message": "c"}, "a"),
        ({"code": None, "type": "b", "message": "c"}, "b"),
        ({"message": "c"}, "c"),
        ({}, "error"),
    ],
)
def test_the_kind_of_an_error(error: dict[str, Any], kind: str) -> None:
    (event,) = Session().get("error", error=error)
    assert isinstance(event, ProviderError)
    assert (event.kind, event.fatal) == (kind, False)


def test_an_expired_session_is_fatal() -> None:
    (event,) = Session().get("error", error={"code": "session_expired", "message": "over"})
    assert isinstance(event, ProviderError)
    assert event.fatal

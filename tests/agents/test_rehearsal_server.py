"""The rehearsal server against the protocol: order of messages, statuses, and errors as the real service sends them."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from agent_kit import LINES, TOOLS, parsed, tone, workflow
from hypothesis import given
from hypothesis import strategies as st

from apex_tui.agents.realtime.client import RealtimeClient
from apex_tui.agents.realtime.profile import REHEARSAL, flat_tool
from apex_tui.agents.rehearsal.manner import FADE_MS, Manner
from apex_tui.agents.rehearsal.server import RehearsalServer
from apex_tui.agents.seam import AgentSetup
from apex_tui.audio.frames import RATE, Pcm, pcm_bytes
from apex_tui.workflow.outcome_model import ReferenceTurn, Step


class Talk:
    """A server, and a clock that the test moves; ``log`` holds every message with its time."""

    def __init__(self, *turns: ReferenceTurn, manner: Manner | None = None) -> None:
        self.server = RehearsalServer(workflow(*turns), LINES, manner)
        self.now = 100.0
        self.log: list[tuple[float, dict[str, Any]]] = []
        self.sent_samples = 0
        self._note(self.server.open(self.now))

    def _note(self, messages: list[str]) -> list[dict[str, Any]]:
        read = parsed(messages)
        self.log += [(self.now, message) for message in read]
        return read

    def tell(self, kind: str, **fields: Any) -> list[dict[str, Any]]:
        return self._note(self.server.receive(json.dumps({"type": kind, "event_id": "mine", **fields}), self.now))

    def error(self, kind: str, **fields: Any) -> tuple[str, str]:
        (message,) = self.tell(kind, **fields)
        assert message["type"] == "error"
        assert message["error"]["event_id"] == "mine"
        return message["error"]["code"], message["error"]["message"]

    def pass_time(self, seconds: float) -> None:
        """Wake the server at each of its deadlines, as a loop would."""
        end = self.now + seconds
        while (due := self.server.next_deadline()) is not None and due <= end:
            self.now = max(self.now, due)
            self._note(self.server.poll(self.now))
        self.now = end

    def hear(self, pcm: Pcm) -> None:
        """The caller's lane in frames of 20 ms."""
        for start in range(0, len(pcm), 480):
            frame = pcm[start : start + 480]
            self.pass_time(len(frame) / RATE)
            self.sent_samples += len(frame)
            self.tell("input_audio_buffer.append", audio=base64.b64encode(pcm_bytes(frame)).decode())

    def utter(self, plan: str, seconds: float = 0.5, act: str = "ANSWER", silence: float = 0.6) -> None:
        onset = self.sent_samples
        pcm = tone(seconds)
        end = onset + len(pcm)
        self.tell(
            "rehearsal.hint", turn=1, plan=plan, act=act, text=f"words of {plan}", onset=onset, end=end, pauses=[]
        )
        self.hear(pcm)
        self.hear(tone(silence) * 0)

    def types(self) -> list[str]:
        return [message["type"] for _, message in self.log]

    def last(self, kind: str) -> dict[str, Any]:
        return next(message for _, message in reversed(self.log) if message["type"] == kind)


CALL_TURN = ReferenceTurn(
    after="go", steps=(Step(say="One moment.", clip="agent.moment"), Step(call="submit", args={"a": 1}))
)


def test_a_whole_answer_in_the_order_of_the_protocol() -> None:
    talk = Talk(CALL_TURN)
    talk.utter("go")
    talk.pass_time(3)
    order = [kind for n, kind in enumerate(talk.types()) if n == 0 or talk.types()[n - 1] != kind]
    spoken = [
        kind for kind in order if kind not in ("response.output_audio.delta", "response.output_audio_transcript.delta")
    ]
    assert spoken == [
        "session.created",
        "input_audio_buffer.speech_started",
        "input_audio_buffer.speech_stopped",
        "input_audio_buffer.committed",
        "conversation.item.added",
        "conversation.item.done",
        "conversation.item.input_audio_transcription.completed",
        "response.created",
        "response.output_item.added",
        "conversation.item.added",
        "response.content_part.added",
        "response.output_audio.done",
        "response.output_audio_transcript.done",
        "response.content_part.done",
        "response.output_item.done",
        "conversation.item.done",
        "response.output_item.added",
        "conversation.item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "conversation.item.done",
        "response.done",
    ]
    done = talk.last("response.done")["response"]
    assert (done["status"], done["status_details"]) == ("completed", None)
    assert [(item["type"], item["status"]) for item in done["output"]] == [
        ("message", "completed"),
        ("function_call", "completed"),
    ]
    assert json.loads(done["output"][1]["arguments"]) == {"a": 1}
    assert talk.last("input_audio_buffer.speech_stopped")["audio_end_ms"] == 500
    transcript = talk.last("conversation.item.input_audio_transcription.completed")
    assert transcript["transcript"] == "words of go"
    assert transcript["usage"] == {"type": "duration", "seconds": 0.5}
    ids = [message["event_id"] for _, message in talk.log]
    assert len(set(ids)) == len(ids)


def test_a_cut_answer_is_closed_as_incomplete() -> None:
    talk = Talk(manner=Manner(burst=1.0))
    talk.utter("opening")
    talk.pass_time(0.5)
    talk.utter("something", seconds=0.3, silence=0.0)
    done = talk.last("response.done")["response"]
    assert done["status"] == "cancelled"
    assert done["status_details"] == {"type": "cancelled", "reason": "turn_detected"}
    assert done["output"][0]["status"] == "incomplete"
    heard = talk.last("response.output_audio_transcript.done")["transcript"]
    assert done["output"][0]["content"][0]["transcript"] == heard
    assert "Hello, which date do you want?".startswith(heard)
    types = talk.types()
    end = len(types) - types[::-1].index("response.done")
    assert types[end - 6 : end] == [
        "response.output_audio.done",
        "response.output_audio_transcript.done",
        "response.content_part.done",
        "response.output_item.done",
        "conversation.item.done",
        "response.done",
    ]
    assert types.index("input_audio_buffer.speech_started", 3) < end
    assert "response.output_audio.delta" not in types[end:]


def test_a_late_stop_announces_itself_late_and_only_when_there_is_something_to_stop() -> None:
    talk = Talk(manner=Manner(burst=1.0, stop_ms=200))
    talk.utter("opening")
    talk.hear(tone(0.2) * 0)
    onset = talk.now
    talk.utter("something", seconds=1.0, silence=0.0)
    first, second = (at for at, message in talk.log if message["type"] == "input_audio_buffer.speech_started")
    cut = next(at for at, message in talk.log if message["type"] == "response.done")
    assert first - 100.0 == pytest.approx(0.090, abs=1e-6)
    assert second == pytest.approx(onset + 0.2 - FADE_MS / 1000, abs=1e-6)
    assert cut == second


def test_a_second_request_is_refused() -> None:
    talk = Talk()
    talk.utter("opening")
    code, why = talk.error("response.create")
    assert code == "conversation_already_has_active_response"
    assert why.startswith("Conversation already has an active response in progress: resp_1")


def test_a_request_before_the_result_is_refused_and_after_it_goes_on() -> None:
    talk = Talk(CALL_TURN)
    talk.utter("go")
    talk.pass_time(3)
    assert talk.error("response.create")[0] == "function_call_output_pending"
    call = talk.last("response.done")["response"]["output"][1]["call_id"]
    output = {"type": "function_call_output", "call_id": call, "output": '{"ok":false}'}
    assert [message["type"] for message in talk.tell("conversation.item.create", item=output)] == [
        "conversation.item.added",
        "conversation.item.done",
    ]
    assert talk.server.brain.refused == ["submit"]
    talk.tell("response.create")
    talk.pass_time(1)
    empty = talk.last("response.done")["response"]
    assert (empty["status"], empty["output"]) == ("completed", [])


def test_cancelling_nothing_is_an_error_and_something_is_not() -> None:
    talk = Talk(manner=Manner(burst=1.0))
    assert talk.error("response.cancel") == (
        "response_cancel_not_active",
        "Cancellation failed: no active response found",
    )
    talk.utter("opening")
    talk.pass_time(0.5)
    talk.tell("response.cancel")
    details = talk.last("response.done")["response"]["status_details"]
    assert details == {"type": "cancelled", "reason": "client_cancelled"}
    assert talk.server.next_deadline() is None


def test_truncation_is_judged_by_what_was_sent() -> None:
    talk = Talk()
    talk.utter("opening")
    talk.pass_time(3)
    item = talk.last("response.output_item.done")["item"]["id"]
    assert talk.error("conversation.item.truncate", item_id=item, content_index=0, audio_end_ms=2001) == (
        "invalid_value",
        "Audio content of 2000 ms is already shorter than 2001 ms",
    )
    only = "Only model output audio messages can be truncated"
    assert talk.error("conversation.item.truncate", item_id=item, content_index=0, audio_end_ms=0)[1] == only
    assert talk.error("conversation.item.truncate", item_id="item_1", content_index=0, audio_end_ms=5)[1] == only
    (ack,) = talk.tell("conversation.item.truncate", item_id=item, content_index=0, audio_end_ms=1500)
    assert (ack["type"], ack["item_id"], ack["audio_end_ms"]) == ("conversation.item.truncated", item, 1500)
    assert "1500 ms is already" in talk.error("conversation.item.truncate", item_id=item, audio_end_ms=1600)[1]


@pytest.mark.parametrize(
    ("session", "code"),
    [
        ({"type": "realtime", "temperature": 0.8}, "unknown_parameter"),
        ({"modalities": ["text"]}, "missing_required_parameter"),
        (
            {"type": "realtime", "tools": [{"type": "function", "function": {"name": "x"}}]},
            "missing_required_parameter",
        ),
    ],
)
def test_a_wrong_session_is_refused_as_a_whole(session: dict[str, Any], code: str) -> None:
    talk = Talk()
    assert talk.error("session.update", session=session)[0] == code
    (updated,) = talk.tell("session.update", session={"type": "realtime", "tools": [flat_tool(tool) for tool in TOOLS]})
    assert updated["type"] == "session.updated"
    assert [tool["name"] for tool in updated["session"]["tools"]] == ["update_form", "submit"]
    assert "temperature" not in updated["session"]


def test_our_client_is_accepted_by_it() -> None:
    talk = Talk()
    client = RealtimeClient(REHEARSAL)
    client.start(AgentSetup("x", TOOLS))
    for message in client.take():
        for answer in talk.server.receive(message, talk.now):
            client.receive(answer)
    assert client.ready


@pytest.mark.parametrize(
    ("kind", "fields", "code"),
    [
        ("no.such.event", {}, "invalid_value"),
        ("input_audio_buffer.append", {"audio": 5}, "invalid_value"),
        ("input_audio_buffer.append", {"audio": "AAA"}, "invalid_value"),
        ("input_audio_buffer.append", {"audio": "AAAA"}, "invalid_value"),
        ("input_audio_buffer.commit", {}, "input_audio_buffer_commit_empty"),
        ("conversation.item.create", {"item": {"type": "function_call_output", "call_id": "x"}}, "invalid_value"),
        ("conversation.item.create", {"item": 3}, "invalid_value"),
        ("rehearsal.hint", {"turn": 1, "plan": "p", "onset": 9, "end": 3}, "invalid_value"),
        ("rehearsal.hint", {"turn": True, "plan": "p", "onset": 1, "end": 3}, "invalid_value"),
    ],
)
def test_wrong_events_are_errors_that_name_their_cause(kind: str, fields: dict[str, Any], code: str) -> None:
    assert Talk().error(kind, **fields)[0] == code


@given(st.one_of(st.binary(max_size=30), st.text(max_size=30)))
def test_junk_never_ends_the_session(raw: bytes | str) -> None:
    talk = Talk()
    (message,) = parsed(talk.server.receive(raw, talk.now))
    assert message["type"] == "error"


def test_a_line_without_a_clip_is_a_tone_of_its_length() -> None:
    talk = Talk(ReferenceTurn(steps=(Step(say="three short words"),)))
    talk.utter("anything")
    talk.pass_time(3)
    audio = b"".join(
        base64.b64decode(message["delta"])
        for _, message in talk.log
        if message["type"] == "response.output_audio.delta"
    )
    assert len(audio) == 2 * RATE * 96 // 100


@pytest.mark.parametrize("wrong", [{"detect_ms": -1}, {"burst": 0}, {"nonsense": 1}, {"yields": 1}, {"stop_ms": "x"}])
def test_a_wrong_manner_is_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Manner.from_dict(wrong)
    assert Manner.from_dict(Manner(detect_ms=5).as_dict()) == Manner(detect_ms=5)

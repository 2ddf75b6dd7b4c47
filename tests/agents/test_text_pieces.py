"""The text families without a socket: events from bytes, pieces from events, and the conversation."""

from __future__ import annotations

import json

import pytest
from agent_kit import SETUP
from http_peer import DONE, USAGE, Chunk, chat_calls, chat_chunk, chat_words, data, response_events
from hypothesis import given
from hypothesis import strategies as st

from apex_tui.agents.text import chat, responses
from apex_tui.agents.text.conversation import Assistant, Conversation, Entry, Result, User
from apex_tui.agents.text.pieces import Call, Over, Piece, Trouble, Usage, Words
from apex_tui.agents.text.profile import TextProfile
from apex_tui.agents.text.sse import MAX_EVENT, SseReader, TooLong

CHAT = TextProfile(model="m")
RESPONSES = TextProfile(family="responses", model="m")


def read(reader: chat.ChatReader | responses.ResponsesReader, chunks: list[Chunk]) -> list[Piece]:
    events = SseReader()
    pieces = [
        piece
        for chunk in chunks
        if isinstance(chunk, bytes)
        for event in events.feed(chunk)
        for piece in reader.read(event)
    ]
    return pieces + reader.ended()


# --- server-sent events ---------------------------------------------------------------------------------------------------------------


@given(
    texts=st.lists(st.text(alphabet="aé☎{}: \u2028", min_size=1, max_size=8), max_size=4),
    ending=st.sampled_from(["\n", "\r\n", "\r"]),
    cut=st.integers(1, 5),
)
def test_how_bytes_are_cut_changes_nothing(texts: list[str], ending: str, cut: int) -> None:
    raw = "".join(f"event: x{ending}data: {text}{ending}: note{ending}{ending}" for text in texts).encode()
    reader = SseReader()
    got = [event for start in range(0, len(raw), cut) for event in reader.feed(raw[start : start + cut])]
    assert got == texts


def test_lines_of_one_event_are_joined_and_an_endless_event_is_refused() -> None:
    assert SseReader().feed(b"data: a\ndata:b\n\ndata: c") == ["a\nb"]
    with pytest.raises(TooLong):
        SseReader().feed(b"x" * (MAX_EVENT + 1))
    with pytest.raises(TooLong):
        SseReader().feed((b"data: " + b"x" * 1000 + b"\n") * (MAX_EVENT // 1000 + 1))


def test_an_event_of_4_mib_passes() -> None:
    words = "w" * (4 * 1024 * 1024)
    (event,) = SseReader().feed(data({"choices": [{"delta": {"content": words}}]}))
    assert json.loads(event)["choices"][0]["delta"]["content"] == words


# --- chat completions -----------------------------------------------------------------------------------------------------------------


def test_chat_words_ending_and_usage() -> None:
    assert read(chat.ChatReader("r"), chat_words("Hel", "lo")) == [
        Words("Hel"),
        Words("lo"),
        Over("completed"),
        Usage({"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}),
    ]


def test_chat_parallel_calls_are_put_together_by_index() -> None:
    chunks = chat_calls(("c1", "update_form", '{"date": "2026-12-14"}'), ("c2", "submit", ""))
    assert read(chat.ChatReader("r"), chunks)[:3] == [
        Call("c1", "update_form", '{"date": "2026-12-14"}'),
        Call("c2", "submit", ""),
        Over("completed"),
    ]


@pytest.mark.parametrize(("finish", "status"), [("length", "incomplete"), ("content_filter", "incomplete")])
def test_calls_of_an_answer_that_was_cut_are_marked(finish: str, status: str) -> None:
    call, over, *_ = read(chat.ChatReader("r"), chat_calls(("c1", "submit", '{"a": 1}'), finish=finish))
    assert call == Call("c1", "submit", '{"a": 1}', cut=True)
    assert isinstance(over, Over)
    assert (over.status, over.reason) == (status, finish)


def test_a_chat_stream_that_ends_early_runs_no_call() -> None:
    assert read(chat.ChatReader("r"), chat_calls(("c1", "submit", "{}"))[:-3]) == [
        Over("failed", "the stream ended early")
    ]


def test_odd_chat_streams() -> None:
    nameless = chat_chunk({"tool_calls": [{"function": {"name": "submit", "arguments": "{}"}}]})
    assert read(chat.ChatReader("r"), [nameless, DONE]) == [Call("r_0", "submit", "{}"), Over("completed")]
    error = data({"error": {"message": "Bearer sk-abcdef12345 is bad", "code": "overloaded"}})
    trouble, *_ = read(chat.ChatReader("r"), [error])
    assert trouble == Trouble("overloaded", "[key] is bad")
    odd = [data(b"nonsense"), data(b"[]"), data({"choices": [7]}), data({"choices": None, "usage": "x"}), USAGE]
    pieces = read(chat.ChatReader("r"), [*odd, chat_chunk(finish="stop"), chat_chunk(finish="stop")])
    assert pieces.count(Over("completed")) == 1
    assert pieces[0] == Trouble("unreadable", "a chunk of the stream is no JSON")


def test_the_chat_request_tells_everything() -> None:
    calls = (Call("c1", "update_form", '{"date": '), Call("c2", "submit", "{}"))
    entries: list[Entry] = [
        User("hi"),
        Assistant("Yes.", calls),
        Result("c1", '{"ok": true}'),
        Result("c2", "{}"),
        Assistant(""),
        User("now"),
    ]
    body = chat.request(CHAT, SETUP, entries)
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "tool", "tool", "user"]
    sent = body["messages"][2]["tool_calls"]
    assert [call["function"]["arguments"] for call in sent] == ["{}", "{}"], "what is no JSON is not sent back"
    assert body["messages"][3] == {"role": "tool", "tool_call_id": "c1", "content": '{"ok": true}'}
    assert body["tools"][0]["function"]["name"] == "update_form"
    assert (body["stream"], body["tool_choice"]) == (True, "auto")
    assert body["stream_options"] == {"include_usage": True}
    assert "stream_options" not in chat.request(TextProfile(ask_usage=False), SETUP, [])


# --- Responses ------------------------------------------------------------------------------------------------------------------------


def test_responses_words_ending_and_usage() -> None:
    assert read(responses.ResponsesReader("r"), response_events("Hel", "lo")) == [
        Words("Hel"),
        Words("lo"),
        Over("completed"),
        Usage({"input_tokens": 5, "output_tokens": 2, "total_tokens": 7, "cached_tokens": 0, "reasoning_tokens": 0}),
    ]


def test_responses_calls_count_once_though_they_are_repeated() -> None:
    calls = (("c1", "update_form", '{"date": "x"}'), ("c2", "submit", ""))
    assert read(responses.ResponsesReader("r"), response_events(calls=calls))[:3] == [
        Call("c1", "update_form", '{"date": "x"}'),
        Call("c2", "submit", ""),
        Over("completed"),
    ]


def test_an_incomplete_response_marks_its_calls_as_cut() -> None:
    pieces = read(responses.ResponsesReader("r"), response_events(calls=(("c1", "submit", '{"a'),), end="incomplete"))
    assert pieces[:2] == [Call("c1", "submit", "", cut=True), Over("incomplete", "max_output_tokens")]


def test_failed_responses_and_errors() -> None:
    pieces = read(responses.ResponsesReader("r"), response_events(calls=(("c1", "submit", "{}"),), end="failed"))
    assert pieces == [
        Trouble("server_error", "The model went away."),
        Over("failed", "server_error: The model went away."),
    ]
    top = data({"type": "error", "code": "rate_limit", "message": "slow down"})
    assert read(responses.ResponsesReader("r"), [top])[0] == Trouble("rate_limit", "slow down")
    assert read(responses.ResponsesReader("r"), response_events("Hi")[:-1])[-1] == Over(
        "failed", "the stream ended early"
    )
    assert read(responses.ResponsesReader("r"), [data({"type": "response.new_thing"}), data(b"1")])[-1] == Over(
        "failed", "the stream ended early"
    )


def test_the_responses_request_tells_everything() -> None:
    entries: list[Entry] = [User("hi"), Assistant("Yes.", (Call("c1", "submit", ""),)), Result("c1", "{}")]
    body = responses.request(RESPONSES, SETUP, entries)
    assert body["input"] == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "Yes."},
        {"type": "function_call", "call_id": "c1", "name": "submit", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "{}"},
    ]
    assert body["instructions"] == SETUP.instructions
    assert body["tools"][0]["name"] == "update_form"
    assert body["store"] is False


# --- the conversation -----------------------------------------------------------------------------------------------------------------


def test_what_is_said_while_a_call_is_open_waits_for_its_result() -> None:
    talk = Conversation()
    talk.said("hi")
    owes = [talk.owes_reply]
    talk.begin()
    talk.spoke("", (Call("c1", "a", ""), Call("c2", "b", "")))
    talk.said("make it the fifteenth")
    owes.append(talk.owes_reply)
    assert talk.answered("c2", "2")
    owes.append(talk.owes_reply)
    assert talk.answered("c1", "1")
    owes.append(talk.owes_reply)
    entries = talk.begin()
    assert entries[2:] == (Result("c1", "1"), Result("c2", "2"), User("make it the fifteenth"))
    assert [*owes, talk.owes_reply] == [True, False, False, True, False]


def test_a_result_counts_once_and_only_for_an_open_call() -> None:
    talk = Conversation()
    talk.said("hi")
    talk.begin()
    talk.spoke("", (Call("c1", "a", ""), Call("c2", "b", "")))
    assert [talk.answered(name, "x") for name in ("nobody", "c1", "c1")] == [False, True, False]


def test_an_answer_after_results_is_told_from_one_to_the_caller() -> None:
    talk = Conversation()
    talk.said("hi")
    after = [talk.after_tool]
    talk.begin()
    talk.spoke("x", (Call("c1", "a", ""),))
    talk.answered("c1", "1")
    after.append(talk.after_tool)
    talk.said("wait")
    assert [*after, talk.after_tool] == [False, True, False]

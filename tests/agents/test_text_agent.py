"""Text agents over real sockets, against a scripted server of either API."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from agent_kit import SETUP
from http_peer import (
    ERROR_401,
    Abort,
    Answer,
    Chunk,
    HttpPeer,
    Request,
    chat_calls,
    chat_chunk,
    chat_words,
    response_events,
)
from text_kit import made, talking

from apex_tui.agents.seam import AgentText, Closed, ProviderError, ReplyBegun, ReplyEnded, ToolRequest, UsageReported
from apex_tui.timeline.errors import UserError

pytestmark = pytest.mark.realtime
KEY = "sk-canary-0123456789"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def scripted(*answers: list[Chunk] | Answer) -> HttpPeer:
    waiting = list(answers)

    def script(request: Request) -> Answer:
        answer = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        return answer if isinstance(answer, Answer) else Answer(answer)

    return HttpPeer(script)


def words(*said: str, family: str) -> list[Chunk]:
    return chat_words(*said) if family == "chat" else response_events(*said)


def calls(*made: tuple[str, str, str], family: str) -> list[Chunk]:
    return chat_calls(*made) if family == "chat" else response_events(calls=made)


def told(request: Request) -> list[dict[str, Any]]:
    body = request.json()
    found: list[dict[str, Any]] = body.get("messages") or body["input"]
    return found


@pytest.mark.parametrize("family", ["chat", "responses"])
async def test_a_turn_is_told_at_its_end_and_answered(family: str) -> None:
    peer = scripted(words("Which ", "day?", family=family))
    async with talking(family, peer) as talk:
        assert (talk.agent.capabilities.audio_in, talk.agent.capabilities.audio_out) == (False, False)
        talk.say("mm-hm", "BACKCHANNEL")
        talk.say("I want leave.")
        await talk.count(ReplyEnded, 1)
        assert talk.of(ReplyBegun) == [ReplyBegun("reply_1", after_tool=False)]
        assert [(text.text, text.final) for text in talk.of(AgentText)] == [
            ("Which ", False),
            ("day?", False),
            ("Which day?", True),
        ]
        assert talk.of(ReplyEnded) == [ReplyEnded("reply_1", "completed")]
        talk.say("Monday.")
        await talk.count(ReplyEnded, 2)
        used = await talk.count(UsageReported, 2)
    assert [entry.get("content") for entry in told(peer.requests[-1])][-3:] == [
        "I want leave.",
        "Which day?",
        "Monday.",
    ]
    assert peer.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert talk.seen[-1].event == Closed(None, "", clean=True)
    assert [(event.part, event.reply) for event in used] == [("agent", "reply_1"), ("agent", "reply_2")]
    assert all(event.counts["input_tokens"] > 0 < event.counts["output_tokens"] for event in used)


@pytest.mark.parametrize("family", ["chat", "responses"])
async def test_two_parallel_calls_are_answered_together(family: str) -> None:
    both = calls(("c1", "update_form", '{"date": "2026-12-14"}'), ("c2", "submit", ""), family=family)
    peer = scripted(both, words("Done.", family=family))
    async with talking(family, peer) as talk:
        talk.answers = {"update_form": '{"ok": true}'}
        talk.say("The fourteenth, and submit.")
        first, second = await talk.count(ToolRequest, 2)
        assert (first.arguments, second.arguments) == ({"date": "2026-12-14"}, {})
        assert first.reply == second.reply == "reply_1"
        await asyncio.sleep(0.05)
        assert len(peer.requests) == 1, "one result is not enough"
        talk.agent.send_tool_result("c2", '{"ok": false}')
        talk.agent.send_tool_result("c2", '{"ok": true}')
        await talk.count(ReplyEnded, 2)
        assert talk.of(ReplyBegun)[1] == ReplyBegun("reply_2", after_tool=True)
    sent = json.dumps(told(peer.requests[1]))
    assert sent.index("c1") < sent.index("c2")
    assert '{\\"ok\\": false}' in sent
    assert len(peer.requests) == 2


async def test_a_turn_in_mid_answer_closes_the_stream_and_the_words_so_far_stand() -> None:
    slow: list[Chunk] = [chat_chunk({"content": "So that is the "}), 5.0, *chat_words("fourteenth.")]
    peer = scripted(slow, chat_words("The fifteenth."))
    async with talking("chat", peer) as talk:
        talk.say("The fourteenth.")
        await talk.count(AgentText, 1)
        talk.say("No, the fifteenth.")
        await talk.count(ReplyEnded, 2)
        assert talk.of(ReplyEnded) == [
            ReplyEnded("reply_1", "cancelled", "the caller went on"),
            ReplyEnded("reply_2", "completed"),
        ]
        await talk.until(lambda: peer.left_early == 1)  # the stream was closed, not read to its end
    told_then = [entry["content"] for entry in told(peer.requests[1])[1:]]
    assert told_then == ["The fourteenth.", "So that is the ", "No, the fifteenth."]


async def test_what_is_said_while_a_tool_runs_is_told_with_its_result() -> None:
    peer = scripted(chat_calls(("c1", "submit", "{}")), chat_words("Changed."))
    async with talking("chat", peer) as talk:
        talk.say("Submit it.")
        await talk.count(ReplyEnded, 1)
        talk.say("Wait, change it.")
        await asyncio.sleep(0.05)
        assert len(peer.requests) == 1
        talk.agent.send_tool_result("c1", "{}")
        await talk.count(ReplyEnded, 2)
    assert [entry["role"] for entry in told(peer.requests[1])] == ["system", "user", "assistant", "tool", "user"]


async def test_calls_that_were_cut_are_not_run_and_three_in_a_row_end_the_session() -> None:
    peer = scripted(chat_calls(("c1", "update_form", '{"date": "2026'), finish="length"))
    async with talking("chat", peer) as talk:
        talk.answers = {"update_form": '{"ok": false}'}
        talk.say("The fourteenth.")
        (first, *_) = await talk.count(ToolRequest, 3)
        assert first.arguments is None
        assert "was not run" in first.error
        await talk.count(ProviderError, 1)
        (error,) = talk.of(ProviderError)
        assert (error.kind, error.fatal) == ("answers_cut", True)


async def test_servers_that_fail_for_a_moment_are_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apex_tui.agents.text.model.RETRY_S", (0.01,))
    busy = Answer([b'{"error":{"message":"overloaded","type":"server_error"}}'], 503, "application/json")
    peer = scripted(busy, [Abort], chat_words("Hello."))
    async with talking("chat", peer) as talk:
        talk.say("Hi.")
        await talk.count(ReplyEnded, 1)
        assert talk.of(ReplyEnded) == [ReplyEnded("reply_1", "completed")]
        assert not talk.of(ProviderError)
    assert len(peer.requests) == 3


async def test_a_stream_that_breaks_after_its_first_words_fails_that_answer_only() -> None:
    peer = scripted([chat_chunk({"content": "So "}), Abort], chat_words("Again."))
    async with talking("chat", peer) as talk:
        talk.say("Hi.")
        await talk.count(ProviderError, 1)
        (ended,) = talk.of(ReplyEnded)
        assert ended.status == "failed"
        assert not talk.of(ProviderError)[0].fatal
        talk.say("Are you there?")
        await talk.count(ReplyEnded, 2)
        assert talk.of(ReplyEnded)[1].status == "completed"


@pytest.mark.parametrize(
    ("answer", "kind", "sentence"),
    [
        (Answer([b'{"error":{"message":"no such model","code":"model_not_found"}}'], 404, "application/json"), "model_not_found", "404"),
        (Answer([b'{"error":{"message":"pay first","code":"insufficient_quota"}}'], 429, "application/json"), "insufficient_quota", "pay first"),
        (Answer([b"<html>"], 400, "text/html"), "http_400", "answered 400"),
        (Answer([b'{"choices":[]}'], 200, "application/json"), "no_stream", "does not stream"),
    ],
)  # fmt: skip
async def test_refusals_are_fatal_and_say_why(answer: Answer, kind: str, sentence: str) -> None:
    async with talking("chat", scripted(answer)) as talk:
        talk.say("Hi.")
        (error,) = await talk.count(ProviderError, 1)
        assert (error.kind, error.fatal) == (kind, True)
        assert sentence in error.message


async def test_a_stalled_stream_ends_the_session(tmp_path: Any) -> None:
    (tmp_path / "agents.toml").write_text("[chat]\nstall_s = 0.1\n")
    peer = scripted([chat_chunk({"content": "So "}), 5.0])
    async with talking("chat", peer, profile_file=tmp_path / "agents.toml") as talk:
        talk.say("Hi.")
        (error,) = await talk.count(ProviderError, 1)
        assert (error.kind, error.fatal) == ("stalled", True)


async def test_a_refused_key_and_a_missing_server_are_said_before_anything_begins() -> None:
    peer = scripted(chat_words("x"))
    peer.models = 401
    async with peer.running():
        with pytest.raises(UserError, match=r"refused OPENAI_API_KEY \(401\).*set a valid one") as caught:
            await made("chat", peer.url).open(SETUP)
    assert KEY not in str(caught.value)
    assert KEY in ERROR_401.decode()
    with pytest.raises(UserError, match=r"nothing listens at http://127\.0\.0\.1:9/v1; start the server"):
        await made("chat", "http://127.0.0.1:9/v1").open(SETUP)


async def test_closing_in_mid_answer_leaves_nothing_behind() -> None:
    peer = scripted([chat_chunk({"content": "So "}), 5.0])
    async with talking("chat", peer) as talk:
        talk.say("Hi.")
        await talk.count(AgentText, 1)
    names = [task.get_name() for task in asyncio.all_tasks()]
    assert "text reply" not in names

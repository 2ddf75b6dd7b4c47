"""What providers count: read from every dialect under the same names, put on the timeline, added up in the verdict."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from live_kit import SECOND, agent_of
from peers.base import Server
from peers.gemini_peer import GeminiPeer
from peers.gptlive_peer import GptLivePeer
from peers.realtime_peer import RealtimePeer

from apex_tui.agents.usage import counts_of
from apex_tui.engine.headless import run_headless
from apex_tui.score.usage import usage_words
from apex_tui.timeline.agent_facts import AgentUsage
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import AnyNotice, Run
from apex_tui.tui.render_score import tool_lines

REALTIME = {
    "total_tokens": 253,
    "input_tokens": 132,
    "output_tokens": 121,
    "input_token_details": {"text_tokens": 119, "audio_tokens": 13, "cached_tokens": 64},
    "output_token_details": {"text_tokens": 30, "audio_tokens": 91},
}
CHAT = {
    "prompt_tokens": 19,
    "completion_tokens": 10,
    "total_tokens": 29,
    "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 6},
}
GEMINI = {
    "promptTokenCount": 50,
    "responseTokenCount": 40,
    "totalTokenCount": 90,
    "promptTokensDetails": [{"modality": "AUDIO", "tokenCount": 45}, {"modality": "TEXT", "tokenCount": 5}],
    "responseTokensDetails": [{"modality": "AUDIO", "tokenCount": 40}],
}


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        (
            REALTIME,
            {
                "input_tokens": 132, "output_tokens": 121, "total_tokens": 253, "cached_tokens": 64, "input_text_tokens": 119,
                "input_audio_tokens": 13, "output_text_tokens": 30, "output_audio_tokens": 91,
            },
        ),
        (
            CHAT,
            {
                "input_tokens": 19, "output_tokens": 10, "total_tokens": 29, "cached_tokens": 4, "input_audio_tokens": 0,
                "reasoning_tokens": 6,
            },
        ),
        (
            GEMINI,
            {
                "input_tokens": 50, "output_tokens": 40, "total_tokens": 90, "input_audio_tokens": 45, "input_text_tokens": 5,
                "output_audio_tokens": 40,
            },
        ),
        ({"type": "duration", "seconds": 3.5}, {"seconds": 3.5}),
        ({"input_tokens": 0, "total_tokens": 0}, {}),
        ({"input_tokens": -1, "output_tokens": True, "total_tokens": "7", "prompt_tokens_details": [1]}, {}),
        ("many", {}),
        (None, {}),
    ],
)  # fmt: skip
def test_every_dialect_has_the_same_names(usage: object, counts: dict[str, float]) -> None:
    assert counts_of(usage) == counts


def after(seconds: float, act: Any) -> None:
    asyncio.get_running_loop().call_later(seconds, act)


class Realtime(RealtimePeer):
    """``beside``: the usage stands beside the response, as one dialect has it."""

    beside = False

    def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "response.done":
            message["response"]["usage"] = None if self.beside else REALTIME
            message |= {"usage": REALTIME} if self.beside else {}
        super().send(message)

    def greet(self) -> None:
        super().greet()
        for second in (1.0, 3.0):
            after(second, self.begin)
            after(second, lambda: self.say("Good day.", SECOND))
            after(second + 0.1, self.end)
        after(3.2, lambda: self.send({**self.sent[-1], "event_id": "again"}))
        after(4.5, lambda: self.transcribe("item", "words"))


class Beside(Realtime):
    beside = True


class Gemini(GeminiPeer):
    def greet(self) -> None:
        super().greet()
        after(1.0, lambda: self.say("Good day.", SECOND))
        after(1.1, lambda: self.content(generationComplete=True))
        after(2.5, lambda: self.send({"serverContent": {"turnComplete": True}, "usageMetadata": GEMINI}))


class Live(GptLivePeer):
    def greet(self) -> None:
        for second in (1.0, 2.0):
            usage = {"seconds": second, "active_seconds": second, "paused_seconds": 0.0}
            after(second, lambda usage=usage: self.emit("session.usage.updated", usage=usage))
        over = {
            "id": "resp_1",
            "status": "completed",
            "usage": {"input_tokens": 8, "output_tokens": 2, "total_tokens": 10},
        }
        after(2.5, lambda: self.inner("dlg_1", {"type": "response.completed", "response": over}))


VOICE = {"agent": {name: 2.0 * count for name, count in counts_of(REALTIME).items()}, "transcript": {"seconds": 1.0}}


@pytest.mark.parametrize(
    ("peer", "usage"),
    [
        (Realtime, VOICE),
        (Beside, VOICE),
        (Gemini, {"agent": counts_of(GEMINI)}),
        (
            Live,
            {
                "agent": {"seconds": 2.0, "active_seconds": 2.0, "paused_seconds": 0.0},
                "delegate": {"input_tokens": 8.0, "output_tokens": 2.0, "total_tokens": 10.0},
            },
        ),
    ],
)
def test_the_verdict_states_what_a_session_took(
    peer: type[Server], usage: dict[str, dict[str, float]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts: list[AgentUsage] = []

    def keep(item: Event | AnyNotice) -> None:
        if isinstance(item, Event) and isinstance(item.fact, AgentUsage):
            facts.append(item.fact)

    monkeypatch.setattr("apex_tui.engine.session.make_agent", lambda name, **more: agent_of(peer()))
    result = run_headless(Run(workflow="leave-request", virtual=True, sound="none", out=str(tmp_path), max_s=6), keep)
    assert result.score.usage == usage
    assert json.loads((result.folder / "score.json").read_text())["usage"] == usage
    assert {fact.part for fact in facts} == set(usage)
    assert usage_words(result.score.usage) in " ".join(line.plain for line in tool_lines(result.score))
    if issubclass(peer, Realtime):
        assert len({fact.reply for fact in facts if fact.part == "agent"}) == 2


def test_a_scripted_agent_costs_nothing(tmp_path: Path) -> None:
    command = Run(workflow="leave-request", virtual=True, sound="none", out=str(tmp_path), max_s=8)
    assert run_headless(command, lambda item: None).score.usage == {}


def test_the_scorecards_line() -> None:
    usage = {"agent": {"input_tokens": 1200.0, "output_audio_tokens": 30.0}, "transcript": {"seconds": 34.2}}
    assert usage_words(usage) == "agent 1200 input, 30 output audio tokens; transcript 34.2 s"
    assert usage_words({"agent": {"seconds": 7.0, "active_seconds": 5.0}}) == "agent 7 s, 5 active s"

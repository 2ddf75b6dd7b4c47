"""A whole call by push-to-talk whose server answers and yields by the millisecond: what the session says of it is what happened."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from live_kit import agent_of
from peers.base import Message
from peers.realtime_peer import RealtimePeer

from apex_tui.agents.realtime.profile import OPENAI
from apex_tui.audio.frames import pcm_bytes
from apex_tui.audio.tones import tone_speech
from apex_tui.engine.headless import run_headless
from apex_tui.timeline.agent_facts import ReplyClosed, ResponseMeasured
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import Run

STOPWATCH = Path(__file__).parents[1] / "benchmarks" / "stopwatch"
LINES: tuple[tuple[str, Message], ...] = (
    ("Hello, which code shall I note?", {}),
    ("Thank you, and which place is it for?", {"code": "seven"}),
    (
        "Let me read that back, the code is seven, and I shall keep this note until you say otherwise.",
        {"place": "north"},
    ),
    ("I have changed the code to nine.", {"code": "nine"}),
)
ANSWER_S = 0.3
BUTTON_MS = 200
"""For so long the button is held on after the caller's last sound."""


class Noting(RealtimePeer):
    """Answers each turn that is handed over, ``ANSWER_S`` later; its words stand in the finished reply only."""

    def __init__(self) -> None:
        super().__init__()
        self.turns_ms: list[float] = []
        self.on_create = self._answer
        self._heard_before = self._said = 0

    def send(self, message: Message) -> None:
        if "transcript" not in message["type"]:
            super().send(message)

    def take(self, message: Message) -> None:
        if message["type"] != "input_audio_buffer.commit":
            super().take(message)
            return
        self.turns_ms.append((len(self.heard) - self._heard_before) / 48)
        self._heard_before = len(self.heard)
        self.emit("input_audio_buffer.committed", item_id=self.name("item"), previous_item_id=None)

    def _answer(self) -> None:
        reply = self.begin()
        if self._said == len(self.turns_ms):
            self.end()  # it was asked about a result, and has said what there is to say
        else:
            asyncio.get_running_loop().call_later(ANSWER_S, self._speak, reply)

    def _speak(self, reply: str) -> None:
        text, fields = LINES[self._said]
        self._said += 1
        assert self.active == reply
        if fields:
            self.call(f"c{self._said}", "update_note", json.dumps({"fields": fields}))
        self.say(text, pcm_bytes(tone_speech(text, "voice_01")))
        self.end()


def test_a_call_by_push_to_talk_succeeds_and_its_numbers_are_true(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = Noting()
    by_button = replace(OPENAI, turn_detection="push_to_talk")
    monkeypatch.setattr("apex_tui.engine.session.make_agent", lambda name, **more: agent_of(peer, profile=by_button))
    facts: list[Any] = []
    command = Run(workflow=str(STOPWATCH), seed=1, virtual=True, sound="none", out=str(tmp_path))
    result = run_headless(command, lambda item: facts.append(item.fact) if isinstance(item, Event) else None)
    assert result.score.success
    assert len(peer.turns_ms) == 4
    assert peer.faults == []
    answers = [fact for fact in facts if isinstance(fact, ResponseMeasured)]
    assert [fact.after_tool for fact in answers] == [False] * 4
    due = BUTTON_MS + 1000 * ANSWER_S
    assert all(due <= (fact.first_audible_ms or 0) <= due + 40 for fact in answers), "in frames of 20 ms"
    (barge_in,) = result.score.floor.barge_ins
    assert (barge_in.stop_kind, barge_in.detect_source) == ("yielded", "client_cancel")
    assert barge_in.stop_delay_ms is not None
    assert barge_in.stop_delay_ms <= 25
    heard = [fact.heard for fact in facts if isinstance(fact, ReplyClosed) and fact.text]
    assert heard[:2] + heard[3:] == [LINES[number][0] for number in (0, 1, 3)]
    assert heard[2]
    assert LINES[2][0].startswith(heard[2] + " ")

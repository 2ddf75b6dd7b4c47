"""Whole sessions with agents of the continuous families: what their servers do arrives on the timeline as what it is."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from live_kit import LONG, SECOND, agent_of
from peers.gemini_peer import GeminiPeer
from peers.gptlive_peer import GptLivePeer
from peers.realtime_peer import RealtimePeer

from apex_tui.agents.realtime.profile import OPENAI
from apex_tui.engine.headless import run_headless
from apex_tui.store.meta import meta_from_events
from apex_tui.timeline import agent_facts as a
from apex_tui.timeline import work_facts as w
from apex_tui.timeline.base import Fact
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import AnyNotice, Run
from apex_tui.timeline.session_facts import SessionEnded, SessionWarning

T = TypeVar("T", bound=Fact)
LOOK_UP = ("get_employee", {"entity_id": "A1234"})


class Log:
    """The events of one session."""

    def __init__(self, peer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, max_s: float) -> None:
        self.events: list[Event] = []
        monkeypatch.setattr("apex_tui.engine.session.make_agent", lambda name, **more: agent_of(peer))

        def keep(item: Event | AnyNotice) -> None:
            if isinstance(item, Event):
                self.events.append(item)

        command = Run(workflow="leave-request", seed=1, virtual=True, sound="none", out=str(tmp_path), max_s=max_s)
        run_headless(command, keep)

    def facts(self, kind: type[T]) -> list[T]:
        return [event.fact for event in self.events if isinstance(event.fact, kind)]

    def at(self, kind: type[Fact]) -> float:
        return next(event.media_ms for event in self.events if isinstance(event.fact, kind))


def after(seconds: float, act: Any) -> None:
    asyncio.get_running_loop().call_later(seconds, act)


class Gemini(GeminiPeer):
    """Takes a call back before it has an effect, another one after; is interrupted; hands over to a new connection."""

    def greet(self) -> None:
        super().greet()
        if self.opened_links > 1:
            return
        after(6.0, lambda: self.calls(("early", *LOOK_UP)))
        after(6.01, self._take_back)
        after(6.02, lambda: self.content(turnComplete=True))
        after(8.0, lambda: self.calls(("late", *LOOK_UP)))
        after(11.0, lambda: self.send({"toolCallCancellation": {"ids": ["late"]}}))
        after(11.02, lambda: self.content(turnComplete=True))
        after(12.0, lambda: self.say("Good day, I will now say very much.", LONG))
        after(13.0, self.caller_starts)
        after(14.0, lambda: self.go_away("30s"))
        after(16.0, lambda: (self.say("Here on the new line.", SECOND), self.end()))  # type: ignore[func-returns-value]

    def _take_back(self) -> None:
        self.send({"toolCallCancellation": {"ids": ["early"]}})
        self._open.clear()


def test_a_gemini_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    peer = Gemini()
    log = Log(peer, tmp_path, monkeypatch, 20.0)
    connected = log.facts(a.AgentConnected)[0]
    assert (connected.family, connected.model) == ("gemini-live", "gemini-3.8-live")
    assert (connected.capabilities["truncate"], connected.capabilities["cancel"]) == (False, False)
    assert [(fact.call, fact.name) for fact in log.facts(w.ToolCancelled)] == [("early", "get_employee")]
    assert [fact.call for fact in log.facts(w.ToolFinished)] == ["late"]
    assert set(peer.answers) == {"late"}
    warnings = [(fact.code, fact.message) for fact in log.facts(SessionWarning)]
    assert [code for code, _ in warnings] == ["taken-back-too-late", "session-limit", "session-limit"]
    assert "what it did stands" in warnings[0][1]
    assert "moved to a new connection" in warnings[2][1]
    noticed = log.facts(a.AgentNoticed)
    assert [(fact.what, fact.source) for fact in noticed] == [("speech_started", "server_interrupt")]
    (flushed,) = log.facts(a.ReplyFlushed)
    assert flushed.dropped_ms == pytest.approx(2000, abs=40)
    assert not log.facts(a.AgentTruncated)
    closed = [(fact.how, round(fact.played_ms, -2)) for fact in log.facts(a.ReplyClosed) if fact.played_ms]
    assert closed == [("flushed", 1000.0), ("played", 1000.0)]
    assert log.facts(SessionEnded)[0].outcome in ("operator", "agent_stalled")
    assert peer.opened_links == 2
    assert peer.faults == []


class Live(GptLivePeer):
    """Speaks, falls silent in mid-sentence, works through its delegate, and expires."""

    def greet(self) -> None:
        after(6.0, lambda: self.say("Good day, I will now say very much.", LONG))
        after(7.0, self.caller_starts)
        after(9.0, lambda: self.delegate(("c1", LOOK_UP[0], '{"entity_id": "A1234"}')))
        after(12.0, lambda: self.say("I have looked it up.", SECOND))


def test_a_gpt_live_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    peer = Live(expires_at=1_999_992_800 + 20)
    log = Log(peer, tmp_path, monkeypatch, 60.0)
    connected = log.facts(a.AgentConnected)[0]
    assert connected.family == "gpt-live"
    assert connected.capabilities["reports_interruption"] is False
    assert connected.capabilities["max_session_s"] == 20.0  # what the service stated is what a screen counts down
    assert not log.facts(a.AgentNoticed)
    assert not log.facts(a.ReplyFlushed)
    closed = log.facts(a.ReplyClosed)
    assert [fact.how for fact in closed] == ["played", "played"]
    speech = [round(fact.offset_ms - 6000, -2) for fact in log.facts(a.AgentSpeechEnded)]
    assert speech[0] in (1000.0, 1100.0)  # silent when the service fell silent, to the next 100 ms of its track
    assert [fact.call for fact in log.facts(w.ToolFinished)] == ["c1"]
    assert (peer.creates, set(peer.answers)) == (1, {"c1"})
    ended = log.facts(SessionEnded)[0]
    assert ended.outcome == "infrastructure"
    assert "limit of" in ended.reason
    assert log.at(SessionEnded) == pytest.approx(18_000, abs=40)
    assert [fact.code for fact in log.facts(SessionWarning)] == ["session-limit"]
    assert peer.faults == []
    assert peer.got[-1]["type"] == "session.close"


def test_a_push_to_talk_session_says_so_wherever_its_numbers_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_button = replace(OPENAI, turn_detection="push_to_talk")
    for profile, labelled in ((by_button, True), (OPENAI, False)):
        peer = RealtimePeer()
        monkeypatch.setattr(
            "apex_tui.engine.session.make_agent",
            lambda name, peer=peer, profile=profile, **more: agent_of(peer, profile=profile),
        )
        command = Run(
            workflow="leave-request", virtual=True, sound="none", out=str(tmp_path / str(labelled)), max_s=1.0
        )
        events: list[Event] = []
        folder = run_headless(command, lambda item, e=events: e.append(item)).folder  # type: ignore[misc]
        assert ("push-to-talk" in json.loads((folder / "session.json").read_text())["labels"]) is labelled
        told = meta_from_events(event for event in events if isinstance(event, Event))
        assert told is not None
        assert ("push-to-talk" in told.labels) is labelled

"""The rehearsal agent in a process of its own: a real socket, real time."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

import pytest
from agent_kit import LINES, SETUP, Caller, workflow

from apex_tui.agents.rehearsal.agent import ChildTransport, RehearsalAgent, child_setup
from apex_tui.agents.rehearsal.manner import Manner
from apex_tui.agents.seam import AgentAudio, Closed, SpeechStarted
from apex_tui.timeline.errors import UserError

pytestmark = pytest.mark.realtime


def alive(pid: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


async def test_a_dialogue_over_a_socket_and_the_child_ends_with_it() -> None:
    agent = RehearsalAgent.child(workflow(), LINES, Manner(react_ms=50, burst=50.0))
    ready = await agent.open(SETUP)
    assert ready.model == "rehearsal"
    assert agent.url.startswith("ws://127.0.0.1:")
    transport = agent._transport
    assert isinstance(transport, ChildTransport)
    pid = transport.pid
    assert pid is not None
    assert alive(pid)
    caller = Caller(agent)
    caller.speak(100, 0.3, "opening", "OPENING_REQUEST")
    await caller.until(1000)
    await caller.end()
    assert caller.times(SpeechStarted)[0] == pytest.approx(190, abs=60)
    assert b"".join(event.pcm for event in caller.of(AgentAudio)) == LINES["agent.hello"].tobytes()
    assert caller.of(Closed) == [Closed(1000, "", True)]
    assert not alive(pid)


async def test_the_child_ends_when_its_parent_is_gone() -> None:
    transport = ChildTransport(child_setup(workflow(), LINES, Manner()), None)
    await transport.connect()
    process = transport._process
    assert process is not None
    assert process.stdin is not None
    process.stdin.close()
    assert await asyncio.wait_for(process.wait(), 5) == 0
    await transport.close()


async def test_a_child_that_cannot_start_is_one_sentence_and_its_log_says_why(tmp_path: Path) -> None:
    log = tmp_path / "agent.log"
    transport = ChildTransport(b'{"workflow": {}, "manner": {}, "lines": []}\n', log)
    with pytest.raises(UserError, match=r"ended before it was ready; see .*agent\.log"):
        await transport.connect()
    assert "ValidationError" in log.read_text()

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from agent_kit import LINES, workflow

from apex_tui.agents.realtime.agent import RealtimeAgent
from apex_tui.agents.registry import find_key, known_agents, make_agent
from apex_tui.agents.seam import Agent
from apex_tui.agents.websocket import WebsocketTransport
from apex_tui.timeline.errors import UserError

KEY = "sk-test-0123456789abcdef"


def make(name: str, **more: Any) -> Agent:
    given: dict[str, Any] = {"url": None, "model": None, "virtual": False, "wire": None, "log_path": None}
    return make_agent(name, workflow=workflow(), lines=LINES, **{**given, **more})


def headers(agent: Agent) -> dict[str, str]:
    assert isinstance(agent, RealtimeAgent)
    transport = agent._transport
    assert isinstance(transport, WebsocketTransport)
    return transport._headers


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)


def test_every_known_agent_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for listed in known_agents():
        for key in listed.keys:
            monkeypatch.setenv(key, KEY)
        agent = make(listed.name, url=None if listed.url or listed.name == "rehearsal" else "ws://127.0.0.1:1")
        assert agent.name == listed.name
        assert agent.family.endswith(listed.family)
        assert agent.rehearsal is (listed.name == "rehearsal")
        assert agent.capabilities.hints is agent.rehearsal
        assert listed.about


def test_an_unknown_agent_lists_the_names() -> None:
    with pytest.raises(UserError, match=r"no agent 'opnai' \(did you mean openai\?\); there are: rehearsal, openai"):
        make("opnai")


def test_a_network_agent_in_virtual_time_is_refused() -> None:
    with pytest.raises(UserError, match="virtual time"):
        make("openai", url="ws://127.0.0.1:1", virtual=True)


def test_openai_needs_a_key_unless_an_address_is_given() -> None:
    with pytest.raises(UserError, match="OPENAI_API_KEY"):
        make("openai")
    assert headers(make("openai", url="ws://127.0.0.1:1")) == {}


def test_the_key_is_found_in_a_file_and_shown_nowhere(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"# keys\nOTHER=1\nexport OPENAI_API_KEY='{KEY}'\n")
    assert find_key("OPENAI_API_KEY") == KEY
    agent = make("openai", model="gpt-realtime-2")
    assert headers(agent) == {"Authorization": f"Bearer {KEY}"}
    assert agent.url == "wss://api.openai.com/v1/realtime?model=gpt-realtime-2"
    assert KEY not in repr(agent) + repr(vars(agent))


def test_the_key_is_found_in_a_file_of_an_editor_that_begins_with_a_mark(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(f"\ufeffOPENAI_API_KEY={KEY}\r\nXAI_API_KEY=b\r\n".encode())
    assert (find_key("OPENAI_API_KEY"), find_key("XAI_API_KEY")) == (KEY, "b")


def test_the_key_does_not_travel_in_clear_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert headers(make("openai", url="ws://example.org/v1/realtime")) == {}
    assert headers(make("openai", url="wss://example.org/v1/realtime")) != {}


def test_a_key_with_a_line_break_is_refused_without_showing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abc\ndef")
    with pytest.raises(UserError, match="OPENAI_API_KEY holds characters") as caught:
        make("openai")
    assert "abc" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://x/", "ws://", "ws://host:99999999/", "nonsense"])
def test_a_wrong_address_is_refused(url: str) -> None:
    with pytest.raises(UserError, match="--url"):
        make("openai", url=url)


def test_a_model_replaces_the_one_in_the_address() -> None:
    assert make("openai", url="ws://127.0.0.1:1/r?model=a", model="b").url == "ws://127.0.0.1:1/r?model=b"


def test_a_dialect_whose_address_names_a_model_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    file = tmp_path / "agents.toml"
    file.write_text('[office]\nextends = "openai"\nurl = "wss://office.example.org/v1/realtime?model=DEPLOYMENT"\n')
    assert make("office", profile_file=file).url == "wss://office.example.org/v1/realtime?model=DEPLOYMENT"
    assert make("office", profile_file=file, model="b").url == "wss://office.example.org/v1/realtime?model=b"


def test_a_line_without_a_clip_is_named() -> None:
    lines = {name: pcm for name, pcm in LINES.items() if name != "agent.done"}
    with pytest.raises(UserError, match=r"'agent\.done' has no clip"):
        make_agent(
            "rehearsal",
            url=None,
            model=None,
            workflow=workflow(),
            lines=lines,
            virtual=True,
            wire=None,
            log_path=None,
        )

"""What the screens say of an agent that owns its tools."""

from __future__ import annotations

from tui_sample import artifact_lines

from apex_tui.timeline import agent_facts as a
from apex_tui.timeline import work_facts as w
from apex_tui.timeline.events import AnyFact, Event
from apex_tui.timeline.view import SessionView
from apex_tui.tui.render_floor import event_summary
from apex_tui.tui.render_work import tool_lines

CONNECTED = a.AgentConnected(
    family="x", url="ws://x", capabilities={"tools": "mcp", "tools_at": "http://127.0.0.1:8808/mcp"},
    instructions_sha256="0", tools_sha256="0",
)  # fmt: skip
CALLED = w.ToolCalled(call="mcp-1", name="get_employee", arguments={"entity_id": "E2047"}, source="mcp")
SEEN = w.ArtifactVersion(
    artifact="form", version=1, digest="0", author="agent", lifecycle="DRAFT", fields={"day": "2026-12-14"},
    changes=(w.FieldChange(field="day", new="2026-12-14", kind="added"),), source="sqlite office.db", since_ms=1000,
)  # fmt: skip


def view(*facts: AnyFact) -> SessionView:
    return SessionView.fold(Event(n, 2000.0 * n, 0, fact, fact.actor) for n, fact in enumerate(facts))


def test_the_tools_pane_says_where_tools_are_and_who_mounted_them() -> None:
    empty = "\n".join(map(str, tool_lines(view(CONNECTED).state, 0, 80)))
    assert "Served over MCP at http://127.0.0.1:8808/mcp, mounted by nobody yet." in empty
    mounted = w.ToolsMounted(client="livekit 1.0", protocol="2025-06-18", tools=5)
    assert "mounted by livekit 1.0." in "\n".join(map(str, tool_lines(view(CONNECTED, mounted).state, 0, 80)))
    assert "tools" in SessionView().apply(Event(0, 0.0, 0, CONNECTED, "agent")), "the pane is painted again"


def test_a_mounted_call_and_a_seen_version_say_so() -> None:
    state = view(CONNECTED, CALLED, SEEN).state
    assert "get_employee mcp " in str(tool_lines(state, 3000, 80)[0])
    assert "by probe" in str(artifact_lines(state, 80)[0])
    assert event_summary(Event(0, 0.0, 0, CALLED, "agent")) == "get_employee(entity_id=E2047) over MCP"
    assert event_summary(Event(0, 0.0, 0, SEEN, "agent")) == "form v1: day (seen: sqlite office.db)"

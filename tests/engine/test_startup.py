"""A session starts without what it does not need: whoever waits for the first frame waits for every import."""

from __future__ import annotations

import subprocess
import sys

NEVER = ("textual", "rich", "typer", "openai", "google.genai", "mcp", "pytest")
"""The screen, the command line, and provider SDKs: the engine has no use for them."""
LATER = (
    "httpx",
    "sounddevice",
    "apex_tui.score.judge",
    "apex_tui.workflow.official",
    "apex_tui.agents.rehearsal.server",
    "apex_tui.agents.text.agent",
    "apex_tui.agents.gemini.agent",
    "apex_tui.agents.gemini.profile",
    "apex_tui.agents.cascade.profile",
    "apex_tui.bank.own",
    "apex_tui.bank.package",
    "apex_tui.engine.probes",
    "apex_tui.engine.mcp_tools",
)
"""What some sessions need, or what comes after the call."""

PROGRAM = """
import sys
import apex_tui.engine.child
from apex_tui.agents.registry import known_secrets, make_agent
from apex_tui.engine.speech import load_speech
from apex_tui.workflow.library import find_workflow
workflow = find_workflow("leave-request")
known_secrets()
make_agent("realtime", url="ws://127.0.0.1:9/", model=None, workflow=workflow, lines={}, virtual=False, wire=None, log_path=None)
print(sorted(load_speech(workflow, 1, rehearsal=False).agent))
print(*sys.modules)
"""


def test_a_session_with_a_realtime_agent_loads_neither_sdks_nor_what_comes_later() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=120)
    agent_lines, modules = ran.stdout.splitlines()
    assert agent_lines == "[]"
    assert {"numpy", "websockets", "apex_tui.agents.realtime.agent"} <= set(modules.split())
    assert not set(modules.split()) & {*NEVER, *LATER}

"""docs/agents.md against the code: what it names exists, and its examples load. (Its twenty lines of Python are run in ``test_serving``.)"""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest
from agent_kit import LINES, workflow

from apex_tui.agents.cascade.profile import CascadeProfile
from apex_tui.agents.dialects import load_profiles
from apex_tui.agents.gemini.profile import GeminiProfile
from apex_tui.agents.gptlive.profile import LiveProfile
from apex_tui.agents.realtime.profile import Profile
from apex_tui.agents.registry import known_agents, make_agent

DOCS = (Path(__file__).parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")


def section(begin: str, end: str) -> str:
    found = re.search(rf"{re.escape(begin)}(.*?){re.escape(end)}", DOCS, re.S)
    assert found, begin
    return found[1]


def keys(text: str) -> set[str]:
    return {name for name in re.findall(r"`([a-z_*]+)(?: = [^`]*)?`", text) if "_" in name or name in known_keys()}


def known_keys() -> set[str]:
    return {field.name for kind in (Profile, GeminiProfile, LiveProfile, CascadeProfile) for field in fields(kind)}


def test_every_agent_stands_in_the_table() -> None:
    table = section("| name | what it is | needs |", "## Three ways in")
    for listed in known_agents():
        assert f"`{listed.name}`" in table, listed.name


def test_the_example_of_dialects_loads_and_makes_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", DOCS, re.S)
    file = tmp_path / "agents.toml"
    file.write_text(example)
    found = load_profiles(file)
    assert found["stepfun"].profile.tool_shape == "flat"
    assert (found["office"].profile.in_rate, found["office"].profile.turn_detection) == (16_000, "push_to_talk")
    monkeypatch.setenv("OFFICE_KEY", "sk-office-123456")
    agent = make_agent(
        "office", url=None, model=None, workflow=workflow(), lines=LINES, virtual=False, wire=None, log_path=None, profile_file=file
    )  # fmt: skip
    assert agent.url == "wss://voice.example.org/v1/realtime"
    assert not agent.capabilities.server_vad


def test_the_switches_of_the_realtime_shape_are_its_fields() -> None:
    named = keys(section("Switches of the realtime shape:", "Audio on our side"))
    there = {field.name for field in fields(Profile)}
    vad = {name for name in there if name.startswith("vad_")}
    values = {"server_vad", "semantic_vad", "push_to_talk"}
    assert named - {"vad_*"} - values <= there
    missing = there - named - vad - {"about", "family", "url", "model"}
    assert missing == set(), "every switch is documented"


@pytest.mark.parametrize(
    ("begin", "end", "kind"),
    [
        ("**Gemini.**", "**GPT-Live.**", GeminiProfile),
        ("**GPT-Live.**", "## What it took", LiveProfile),
        ("Keys of the dialect:", "Each part is swapped", CascadeProfile),
    ],
)
def test_the_keys_of_the_other_families_are_fields(begin: str, end: str, kind: type) -> None:
    there = {field.name for field in fields(kind)}
    named = {name for name in keys(section(begin, end)) if not name.endswith("_*")}
    assert named
    assert named <= there, named - there

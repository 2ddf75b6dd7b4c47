from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any, get_args

import pytest
from agent_kit import TOOLS, workflow
from live_kit import agent_of
from peers.base import Server
from peers.gemini_peer import GeminiPeer
from peers.gptlive_peer import GptLivePeer
from peers.realtime_peer import RealtimePeer

from apex_tui.agents.instructions import build_instructions, instructions_sha256, tools_sha256
from apex_tui.cli.main import main
from apex_tui.engine.headless import run_headless
from apex_tui.store.settings import PRESETS, load_settings
from apex_tui.timeline.agent_facts import AgentConnected
from apex_tui.timeline.errors import UserError
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import Preset, Run
from apex_tui.trials.plan import read_plan
from apex_tui.tui.render_picker import Choice
from apex_tui.workbench.schemas import tool_schemas
from apex_tui.workflow.library import LIBRARY, find_workflow


def test_the_prompt_states_the_public_side() -> None:
    prompt = build_instructions(workflow())
    for wanted in (
        "Leave request",
        "HR assistant",
        "A3_APPROVAL_GATED_COMMIT",
        "approval first: submit",
        "- date (string; required; when it changes, renew days): first day of the leave",
        "- kind (string; one of annual, unpaid)",
        "Ask for what you need",
        "When the caller corrects something, update the artifact",
    ):
        assert wanted in prompt


def test_the_prompt_holds_no_secret() -> None:
    prompt = build_instructions(workflow())
    assert "SECRET" not in prompt
    assert "2026-12-14" not in prompt
    assert "fourteenth" not in prompt


def test_digests_depend_on_the_content_only() -> None:
    assert instructions_sha256("é") == "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"
    turned = [dict(reversed(list(tool.items()))) for tool in TOOLS]
    assert tools_sha256(turned) == tools_sha256(TOOLS)
    assert tools_sha256(TOOLS[:1]) != tools_sha256(TOOLS)


def test_coaching_advises_and_names_the_task_and_nothing_of_the_artifact() -> None:
    prompt = build_instructions(workflow(), "coaching")
    assert prompt.endswith("Task: Leave request")
    for advice in ("one short sentence per turn", "record the answer", "corrected field again", "Finalise the work"):
        assert advice in prompt
    assert "first day of the leave" not in prompt
    assert "SECRET" not in prompt


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", sorted(path.stem for path in LIBRARY.glob("*/*.yaml")))
def test_every_agent_is_told_which_day_it_is(name: str, preset: Preset) -> None:
    found = find_workflow(name)
    day = date.fromisoformat(str(found.world["today"]))
    assert f"Today is {day:%A}, {day.isoformat()}." in build_instructions(found, preset)


def test_no_day_is_told_where_none_is_stated() -> None:
    assert "Today" not in build_instructions(workflow())
    assert "Today" not in build_instructions(workflow().model_copy(update={"world": {"today": "soon"}}))


def told(peer: Server) -> tuple[str, list[str], list[Any]]:
    """Instructions, tool names and tool schemas as this server got them."""
    first = peer.got[0]
    if isinstance(peer, GeminiPeer):
        setup = first["setup"]
        tools = setup["tools"][0]["functionDeclarations"]
        return setup["systemInstruction"]["parts"][0]["text"], [t["name"] for t in tools], []
    session = first["session"]
    tools = session["delegation"]["responses"]["tools"] if isinstance(peer, GptLivePeer) else session["tools"]
    return session["instructions"], [t["name"] for t in tools], [t["parameters"] for t in tools]


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, Preset], tuple[AgentConnected, Server]]:
    """What each agent was given, with both prompts."""
    made: dict[tuple[str, Preset], tuple[AgentConnected, Server]] = {}
    with pytest.MonkeyPatch.context() as patch:
        for name, make in (("openai", RealtimePeer), ("gemini", GeminiPeer), ("gpt-live", GptLivePeer)):
            for preset in get_args(Preset) if name == "openai" else ("neutral",):
                peer: Server = make()
                seen: list[AgentConnected] = []
                patch.setattr("apex_tui.engine.session.make_agent", lambda _, peer=peer, **more: agent_of(peer))
                out = tmp_path_factory.mktemp("sessions")
                command = Run(
                    workflow="leave-request", virtual=True, sound="none", out=str(out), max_s=0.5, instructions=preset
                )

                def keep(item: object, seen: list[AgentConnected] = seen) -> None:
                    if isinstance(item, Event) and isinstance(item.fact, AgentConnected):
                        seen.append(item.fact)

                run_headless(command, keep)
                made[name, preset] = (seen[0], peer)
    return made


def test_another_model_changes_no_digest_and_another_prompt_only_the_prompts(
    sessions: dict[tuple[str, Preset], tuple[AgentConnected, Server]],
) -> None:
    leave = find_workflow("leave-request")
    prompts = {
        preset: {f.instructions_sha256 for (_, p), (f, _) in sessions.items() if p == preset} for preset in PRESETS
    }
    assert all(len(digests) == 1 for digests in prompts.values()), "swap the model and the prompt is the same"
    assert prompts["neutral"] != prompts["coaching"]
    assert {fact.tools_sha256 for fact, _ in sessions.values()} == {tools_sha256(tool_schemas(leave))}
    assert len({fact.model for fact, _ in sessions.values()}) == 3


def test_the_digests_are_of_what_the_servers_were_given(
    sessions: dict[tuple[str, Preset], tuple[AgentConnected, Server]],
) -> None:
    tools = tool_schemas(find_workflow("leave-request"))
    for (_, preset), (fact, peer) in sessions.items():
        words, names, schemas = told(peer)
        assert instructions_sha256(words) == fact.instructions_sha256
        assert words == build_instructions(find_workflow("leave-request"), preset)
        assert names == [tool["name"] for tool in tools]
        assert schemas in ([], [tool["parameters"] for tool in tools]), "complete schemas, whatever the prompt"


def test_the_prompt_is_chosen_on_the_command_line_in_a_plan_and_in_the_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "leave-request", "--instructions", "coach", "--headless"]) == 2
    assert "--instructions 'coach': input should be 'neutral' or 'coaching'" in capsys.readouterr().err
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "name: n\nworkflows: [leave-request]\nagents: [{name: a, agent: openai, options: {instructions: [neutral, coaching]}}]\n"
    )
    assert read_plan(plan).agents[0].options == {"instructions": ("neutral", "coaching")}
    assert get_args(Preset) == PRESETS
    settings = load_settings(path=tmp_path / "none", environment={"APEX_TUI_INSTRUCTIONS": "coaching"})
    assert settings.text("instructions") == "coaching"
    with pytest.raises(UserError, match="there are no instructions 'coach'; did you mean 'coaching'"):
        load_settings(path=tmp_path / "none", environment={"APEX_TUI_INSTRUCTIONS": "coach"})
    assert Choice(workflow="leave-request", instructions="coaching").command().instructions == "coaching"

"""Regressions: a failed session fails again with the same fault, passes with an agent that does better, and is not compared off its path."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from campaign_kit import FORGETS, recorded, recording
from shared_sessions import shared_session

from apex_tui.agents.dialects import own_dialect
from apex_tui.cli import main
from apex_tui.engine.opening import dialect_of
from apex_tui.engine.session import Result
from apex_tui.store.meta import addresses
from apex_tui.timeline.errors import UserError
from apex_tui.timeline.messages import Run
from apex_tui.trials.regress import Pin, Scenario, failed_expectations, read_scenario, scenario_of, write_scenario
from apex_tui.trials.regress_run import (
    Instead,
    Outcome,
    command_of,
    exit_code,
    judge,
    junit,
    left_path,
    other_dialect,
    pinned,
    play,
    spoken,
)
from apex_tui.workflow.library import find_workflow
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.snapshot import from_json, to_json


def test_the_scenario_holds_what_failed_and_pins_what_the_failure_needed() -> None:
    made = scenario_of(recording(FORGETS))
    fields = {e.id for e in made.expect if e.kind == "field"}
    assert fields >= {"leave_form.start_date", "leave_form.end_date"}
    assert {e.gate for e in made.expect} == {"AV"}
    plans = {pin.plan: pin for pin in made.caller}
    assert set(plans) >= {"ans_dates", "change_dates"}
    assert "ans_leave_type" not in plans, "the failure did not need it"
    change = plans["change_dates"]
    assert (change.event, change.delivered) == ("change_dates", "barge_in")
    low, high = find_workflow("leave-request").events[0].start_window_ms or (0, 0)
    assert change.at_played_ms is not None
    assert low <= change.at_played_ms <= high
    assert (made.seed, made.agent, made.virtual) == (1, FORGETS, True)


def test_the_scenario_asks_the_agent_where_the_session_did() -> None:
    failed = recording(FORGETS)

    def made(agent_url: str | None, **parameters: Any) -> Scenario:
        known = {k: v for k, v in failed.meta.parameters.items() if k not in ("url", "parts")}
        return scenario_of(
            replace(failed, meta=failed.meta.completed(agent_url=agent_url, parameters={**known, **parameters}))
        )

    given = addresses("wss://me:secret@h/v1/realtime?model=m&key=k", {"llm": "http://a/v1"})
    assert given == {"url": "wss://h/v1/realtime", "parts": {"llm": "http://a/v1"}}
    asked = command_of(made("wss://h/v1/realtime?model=m", **given), Path("out"), Instead())
    assert (asked.url, asked.parts) == ("wss://h/v1/realtime", {"llm": "http://a/v1"})
    assert made("wss://api.openai.com/v1/realtime?model=m", **addresses(None, {})).url is None, (
        "the agent's own address names its model itself"
    )
    assert made("wss://h/v1/realtime?model=m").url == "wss://h/v1/realtime", "a recording that does not say"
    assert made(None).url is None


def test_the_scenario_gives_the_same_prompt() -> None:
    failed = recording(FORGETS)
    assert "instructions" not in scenario_of(failed).options
    meta = failed.meta.completed(parameters={**failed.meta.parameters, "instructions": "coaching"})
    coached = scenario_of(replace(failed, meta=meta))
    assert command_of(coached, Path("out"), Instead()).instructions == "coaching"


def test_the_dialect_of_a_users_own_file_is_kept_and_another_is_not_comparable(tmp_path: Path) -> None:
    file = tmp_path / "agents.toml"
    file.write_text('[mine]\nextends = "realtime"\nmodel = "small"\n')
    kept = dialect_of(Run(workflow="leave-request", agent="mine", profile_file=str(file)))
    assert kept == {"profile_file": str(file), "dialect_sha256": own_dialect("mine", file)}
    assert dialect_of(Run(workflow="leave-request", agent="realtime")) == {}
    failed = recording(FORGETS)
    meta = failed.meta.completed(agent="mine", parameters={**failed.meta.parameters, **kept})
    made = scenario_of(replace(failed, meta=meta))
    assert command_of(made, Path("out"), Instead()).profile_file == str(file)
    assert command_of(made, Path("out"), Instead("openai")).profile_file is None
    assert other_dialect(made) is None
    file.write_text('[mine]\nextends = "realtime"\nmodel = "large"\n')
    path = write_scenario(made, failed, tmp_path)
    outcome = play(path, tmp_path / "out", Instead())
    assert outcome.status == "not comparable"
    assert outcome.why.startswith(f"{file} describes mine in another way than when it failed")
    file.unlink()
    assert "cannot be read" in play(path, tmp_path / "out", Instead()).why


def test_a_session_that_did_not_fail_is_no_regression() -> None:
    with pytest.raises(UserError, match="did not fail"):
        scenario_of(recording())


def instead_of_running(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Sessions of the agents that are asked for, as they ran before; returns the list of what is asked for."""
    played: list[str] = []

    def again(command: Run, keep: Any, *, workflow: Workflow) -> Result:
        played.append(f"{workflow.id} {command.agent}")
        ran = shared_session("leave-request", agent=command.agent)
        for event in ran.events:
            keep(event)
        return ran.result

    monkeypatch.setattr("apex_tui.trials.regress_run.run_headless", again)
    return played


def test_it_fails_again_with_the_fault_and_passes_without(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scenarios, out, report = tmp_path / "regressions", str(tmp_path / "out"), tmp_path / "junit.xml"
    assert main(["regress", str(recorded(FORGETS)), "--out", str(scenarios)]) == 0
    capsys.readouterr()
    assert main(["regress", "--run", str(scenarios), "--out", out, "--junit", str(report), "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)
    assert [row["status"] for row in rows] == ["failed"]
    assert "leave_form.end_date" in rows[0]["failed"]
    suite = ElementTree.parse(report).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert suite.find("testcase/failure") is not None
    played = instead_of_running(monkeypatch)
    assert main(["regress", "--run", str(scenarios), "--out", out, "--agent", "rehearsal"]) == 0
    assert played == ["leave-request rehearsal"]


def test_the_file_comes_back_as_it_was_written(tmp_path: Path) -> None:
    made = scenario_of(recording(FORGETS))
    path = write_scenario(made, recording(FORGETS), tmp_path)
    assert read_scenario(path) == made
    assert path.read_text().startswith("# leave_form.")
    told = made.expect[0].model_copy(update={"was": "a\rworkflow: payment\u2028agent: b\x1b[2J"})
    hostile = made.model_copy(update={"expect": (told, *made.expect[1:])})
    path = write_scenario(hostile, recording(FORGETS), tmp_path / "hostile")
    assert read_scenario(path) == hostile, "no word of a session is a line of the file"


def test_a_workflow_that_the_library_does_not_hold_is_kept_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played = instead_of_running(monkeypatch)
    made = scenario_of(recording(FORGETS)).model_copy(update={"workflow_digest": "of another version"})
    path = write_scenario(made, recording(FORGETS), tmp_path)
    kept = read_scenario(path)
    assert (tmp_path / kept.workflow).is_file()
    outcome = play(path, tmp_path / "out", Instead())
    assert (outcome.status, outcome.note, played) == ("failed", "", [f"leave-request {FORGETS}"])


def test_an_interruption_is_pinned_to_its_moment() -> None:
    workflow = find_workflow("leave-request")
    found = pinned(
        workflow,
        [Pin(plan="change_dates", act="CORRECT", event="change_dates", delivered="barge_in", at_played_ms=4321.0)],
    )
    moved = found.event("change_dates")
    assert moved is not None
    assert moved.start_window_ms == (4321, 4321)
    assert pinned(workflow, [Pin(plan="x", act="ANSWER")]) is workflow


def test_an_agent_that_leaves_the_pinned_path_is_not_comparable() -> None:
    made, ran = scenario_of(recording(FORGETS)), recording()
    assert left_path(made.caller, ran.events) is None
    score = play_score(ran.folder.path)
    elsewhere = made.model_copy(update={"caller": (Pin(plan="ans_never_asked", act="ANSWER"), *made.caller)})
    judged = judge(elsewhere, score, ran.events)
    assert judged.status == "not comparable"
    assert "ans_never_asked" in judged.why
    in_turn = tuple(p.model_copy(update={"delivered": "in_turn"}) if p.delivered else p for p in made.caller)
    assert "needed it as in turn" in (left_path(in_turn, ran.events) or "")
    backwards = tuple(reversed(made.caller))
    assert left_path(backwards, ran.events) is not None, "the decisions must come in their order"


def play_score(folder: Path):  # type: ignore[no-untyped-def]
    from apex_tui.score.judge import score_folder

    return score_folder(folder)


def test_a_session_that_judges_nobody_is_neither_passed_nor_failed() -> None:
    made = scenario_of(recording(FORGETS))
    score = play_score(recorded()).model_copy(update={"validity": "infrastructure", "outcome": "infrastructure"})
    assert judge(made, score, recording().events).status == "invalid"


def test_a_kept_recipe_is_spoken_by_the_clips_in_the_users_own_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "own" / "parcel-delivery"
    monkeypatch.setenv("APEX_TUI_WORKFLOWS", str(place.parent))
    place.mkdir(parents=True)
    recipe, clips = place / "parcel-delivery.yaml", place / "parcel-delivery.speech"
    assert main(["workflows", "new", "parcel-delivery", "--in", str(place)]) == 0
    kept = from_json(to_json(find_workflow("parcel-delivery")), "kept")
    with pytest.raises(UserError, match="a scenario holds no voices") as refused:
        spoken(kept)
    assert str(recipe) in str(refused.value)
    assert str(clips) in str(refused.value)
    clips.mkdir()
    assert spoken(kept).folder == clips
    recipe.write_text(recipe.read_text().replace("Second delivery", "Another delivery"))
    assert (spoken(kept).folder, spoken(kept).title) == (clips, kept.title)
    ours = from_json(to_json(find_workflow("leave-request-uncorrected")), "kept")
    assert spoken(ours) is ours, "the bank speaks it"


def test_exit_codes() -> None:
    def outcome(status: str) -> Outcome:
        return Outcome("n", status, "why")  # type: ignore[arg-type]

    assert exit_code([outcome("passed")]) == 0
    assert exit_code([outcome("passed"), outcome("not comparable")]) == 3
    assert exit_code([outcome("invalid"), outcome("failed")]) == 1
    suite = ElementTree.fromstring(
        junit([outcome(s) for s in ("passed", "failed", "not comparable", "invalid")]).split("?>", 1)[1]
    )
    assert [suite.get(k) for k in ("tests", "failures", "errors", "skipped")] == ["4", "1", "1", "1"]


def test_a_broken_scenario_is_named_and_the_others_are_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.scenario.yaml").write_text("schema_version: 1\nname: x\nworkflw: y\n")
    made = scenario_of(recording(FORGETS)).model_dump(mode="json", exclude_defaults=True)
    (tmp_path / "b.scenario.yaml").write_text(yaml.safe_dump({**made, "workflow": "nowhere"}))
    assert main(["regress", "--run", str(tmp_path), "--out", str(tmp_path / "out")]) == 3
    err = capsys.readouterr().err
    assert "a.scenario.yaml:3: workflw: unknown key" in err
    assert "There is no workflow 'nowhere'" in err
    assert main(["regress", "--run", str(tmp_path / "nothing")]) == 2
    assert main(["regress"]) == 2


def test_expectations_are_as_fine_as_the_verdict() -> None:
    score = play_score(recorded(FORGETS))
    assert all(e.id for e in failed_expectations(score))
    av = score.gate("AV").model_copy(update={"checks": ()})
    bare = score.model_copy(update={"gates": tuple(av if g.gate == "AV" else g for g in score.gates)})
    assert [(e.kind, e.gate) for e in failed_expectations(bare)] == [("gate", "AV")]
    assert Scenario.model_validate({"name": "x", "workflow": "w", "workflow_digest": "d", "agent": "a", "seed": 1,
                                    "expect": [{"kind": "gate", "gate": "AV"}]}).expect[0].title == "gate AV"  # fmt: skip

"""The text condition against the published walk-through of the sample package, row by row, and the packages that we export ourselves."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from sample_package import described_sample, published_sample

from apex_tui.timeline.view import SessionView
from apex_tui.timeline.work_facts import ArtifactVersion
from apex_tui.trials.check import check_text
from apex_tui.trials.official_layout_package import export_package
from apex_tui.trials.text_control import SILENT, TextRun, run_text
from apex_tui.workflow.library import find_workflow
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.official import read_package
from apex_tui.workflow.official_lint import lint
from apex_tui.workflow.outcome_model import Gold, ReferenceTurn, Step


@pytest.fixture(scope="module", params=["described", "published"])
def toy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Workflow:
    """The sample that the format's description walks through: ours, and the published one where it is there."""
    if request.param == "published":
        return read_package(published_sample())
    return described_sample(tmp_path_factory.mktemp("described"))


@pytest.fixture(scope="module")
def played(toy: Workflow) -> TextRun:
    return run_text(toy, wall_ns=lambda: 7)


def told(run: TextRun, *kinds: str) -> list[tuple[Any, ...]]:
    """(ms, the payload's values) of the rows of some types."""
    return [(r["media_time_ms"], *r["payload"].values()) for r in run.rows if r["type"] in kinds]


def test_the_rows_of_the_walk_through(played: TextRun) -> None:
    assert len(played.rows) == 46
    assert Counter(row["type"] for row in played.rows) == {
        "RUN_START": 1, "USER_PLAN": 7, "USER_TEXT": 7, "AGENT_TEXT": 7, "AGENT_ACT": 7, "TOOL_CALL": 7, "TOOL_RESULT": 7,
        "DUPLEX_EVENT": 1, "APPROVAL_EVENT": 1, "RUN_END": 1,
    }  # fmt: skip
    assert told(played, "USER_PLAN") == [
        (0, "open", "OPENING_REQUEST", []),
        (4000, "ans_emp", "ANSWER", ["employee_id"]),
        (8000, "ans_purpose", "ANSWER", ["trip_purpose"]),
        (12000, "ans_cc", "ANSWER", ["cost_center"]),
        (16000, "ans_total", "ANSWER", ["total_amount"]),
        (20000, "correct_total", "CORRECT", ["total_amount_v2"]),
        (24000, "approve_submit", "APPROVE", []),
    ]
    assert told(played, "AGENT_ACT") == [
        (2000, "ASK:employee_id", "pattern"),
        (6000, "ASK:trip_purpose", "pattern"),
        (10000, "ASK:cost_center", "pattern"),
        (14000, "ASK:total_amount", "pattern"),
        (18000, "CONFIRM:total_amount", "pattern"),
        (22000, "REQUEST_APPROVAL:expense_1", "tool"),
        (26000, "COMMIT:submit_expense", "tool"),
    ]
    assert told(played, "DUPLEX_EVENT") == [(20000, "evt_correct_total", "MID_SPEECH_CORRECTION")]
    assert told(played, "APPROVAL_EVENT") == [(24000, "submit_expense", "expense_1")]
    assert told(played, "RUN_END") == [(28000, "SUCCESS", 1)]
    assert [row["payload"]["auth_decision"] for row in played.rows if row["type"] == "TOOL_RESULT"][-1] == "AUTHORIZED"


def test_order_inside_a_beat_and_the_envelope(played: TextRun) -> None:
    sixth = [row["type"] for row in played.rows if row["media_time_ms"] == 22000]
    assert sixth == ["AGENT_TEXT", "TOOL_CALL", "TOOL_RESULT", "TOOL_CALL", "TOOL_RESULT", "AGENT_ACT"]
    seventh = [row["type"] for row in played.rows if row["media_time_ms"] == 24000]
    assert seventh == ["USER_PLAN", "USER_TEXT", "APPROVAL_EVENT"]
    keys = [
        "seq",
        "type",
        "actor",
        "wall_time_ns",
        "media_time_ms",
        "payload",
        "causal_parents",
        "run_id",
        "task_version",
        "condition",
    ]
    assert all(list(row) == keys for row in played.rows)
    assert [row["seq"] for row in played.rows] == list(range(46))
    assert {row["condition"] for row in played.rows} == {"C0"}
    assert {row["wall_time_ns"] for row in played.rows} == {7}


def test_the_workspace_of_the_walk_through(played: TextRun) -> None:
    versions = [(event.media_ms, event.fact) for event in played.events if isinstance(event.fact, ArtifactVersion)]
    assert [(at, fact.lifecycle, sorted(fact.stale)) for at, fact in versions] == [
        (6000, "DRAFT", []), (10000, "DRAFT", []), (14000, "DRAFT", []), (18000, "DRAFT", ["approval_status"]),
        (22000, "DRAFT", ["approval_status"]), (26000, "COMMITTED", []),
    ]  # fmt: skip
    state = SessionView.fold(event for event in played.events if event.media_ms <= 20000).state
    assert sorted(state.artifacts["expense_1"].stale) == ["approval_status", "total_amount"]
    assert versions[-1][1].fields["total_amount"] == 200.0
    assert versions[-1][1].fields["approval_status"] == "submitted"


def test_the_outcome_of_the_walk_through(played: TextRun) -> None:
    assert (played.turns, played.outcome, played.passed, played.leaks) == (7, "SUCCESS", True, [])
    assert "COMMIT:submit_expense" not in played.acts, "acts of the last beat never reach the dialogue"
    assert "REQUEST_APPROVAL:expense_1" in played.acts


def test_the_wordings_of_each_seed(toy: Workflow) -> None:
    for seed, numbers in ((1, "2121222"), (2, "2111211"), (3, "2121222")):
        spoken = [row["payload"]["text"] for row in run_text(toy, seed=seed).rows if row["type"] == "USER_TEXT"]
        chosen = [
            wording.variants[int(number) - 1].text for wording, number in zip(toy.wordings[:7], numbers, strict=True)
        ]
        assert spoken == chosen


def test_an_empty_bank_is_compiled_as_the_packages_own(tmp_path: Path) -> None:
    copy = tmp_path / "toy_form_001"
    shutil.copytree(published_sample(), copy, ignore=lambda _, names: {"realization_bank.jsonl"} & set(names))
    assert read_package(copy).wordings == read_package(published_sample()).wordings


def calls(*steps: tuple[str, dict[str, Any]], say: str = "", end: bool = False) -> ReferenceTurn:
    said = (Step(say=say),) if say else ()
    return ReferenceTurn(steps=(*said, *(Step(call=name, args=args) for name, args in steps)), end_call=end)


def test_an_agent_that_does_nothing(toy: Workflow) -> None:
    run = run_text(toy, SILENT)
    assert [row["type"] for row in run.rows] == ["RUN_START", "USER_PLAN", "USER_TEXT", "RUN_END"]
    assert told(run, "RUN_END") == [(4000, "FAILURE", 0)]
    assert not run.passed


def test_recovery_volunteers_then_asks_to_finish_then_closes(toy: Workflow) -> None:
    run = run_text(toy, [ReferenceTurn()] * 20, recovery=True)
    texts = [row["payload"] for row in run.rows if row["type"] == "USER_TEXT"]
    flags = [next((key for key in text if key != "text"), None) for text in texts]
    assert flags == [None, *["recovered"] * 4, "finalize_nudge", "finalize_nudge", "closing"]
    assert [row["payload"] for row in run.rows if row["type"] == "USER_PLAN"][1] == {
        "plan_id": "ans_emp", "speech_act": "ANSWER", "facts": ["employee_id"], "recovered": True,
    }  # fmt: skip
    assert (run.turns, told(run, "RUN_END")) == (8, [(32_000, "FAILURE", 0)])
    assert run_text(toy, [ReferenceTurn()] * 20, max_turns=20).turns == 20, "off unless asked for"


def test_skipping_the_correction_fails_the_artifact_alone(toy: Workflow) -> None:
    turns = list(toy.reference.turns)
    request = calls(("request_approval", {"target_id": "expense_1"}), say="Shall I submit it now?")
    run = run_text(toy, [*turns[:5], request, turns[6]])
    assert {gate.gate: gate.passed for gate in run.gates} == {"TS": True, "PV": True, "AC": True, "AV": False}
    assert [row["payload"]["auth_decision"] for row in run.rows if row["type"] == "TOOL_RESULT"][-1] == "AUTHORIZED"
    reasons = {check.id: check.reason for gate in run.gates if gate.gate == "AV" for check in gate.checks}
    assert "240" in reasons["expense_1.total_amount"]
    assert "stale" in reasons["expense_1.total_amount.not_stale"]


def test_committing_in_the_first_beat_is_premature(toy: Workflow) -> None:
    fields = {"employee_id": "E1042", "trip_purpose": "client onsite", "cost_center": "CC-330", "total_amount": 200.0}
    first = calls(
        ("update_expense", {"fields": fields}), ("submit_expense", {"target_id": "expense_1", "artifact_id": "expense_1"}), end=True
    )  # fmt: skip
    run = run_text(toy, [first])
    assert [row["payload"]["auth_decision"] for row in run.rows if row["type"] == "TOOL_RESULT"] == [
        None,
        "PREMATURE_COMMIT",
    ]
    process = next(gate for gate in run.gates if gate.gate == "PV")
    assert [(check.id, check.passed) for check in process.checks] == [("no_unauthorized_submit", False)]


def test_a_plan_without_words_is_a_fallback_and_keeps_its_score(toy: Workflow) -> None:
    silent = toy.model_copy(update={"wordings": tuple(w for w in toy.wordings if w.user_plan_id != "ans_cc")})
    run = run_text(silent)
    assert told(run, "SIMULATOR_FALLBACK") == [(12000, "ans_cc")]
    assert [row["payload"]["text"] for row in run.rows if row["type"] == "USER_TEXT"][3] == "[FALLBACK:ans_cc]"
    assert (run.outcome, run.passed) == ("SIMULATOR_FALLBACK", True)


def test_our_recipes_as_packages_pass_the_references_own_check(tmp_path: Path) -> None:
    folder, _ = export_package(find_workflow("payment"), tmp_path)
    package = read_package(folder)
    run = run_text(package)
    assert (run.outcome, run.leaks) == ("SUCCESS", [])
    assert not run_text(package, SILENT).passed
    cap = run_text(package, [ReferenceTurn()] * 100)
    assert cap.turns == 60


def test_the_references_check_names_what_it_finds(tmp_path: Path) -> None:
    folder, _ = export_package(find_workflow("leave-request"), tmp_path)
    package = read_package(folder)
    found = check_text(package, seeds=(1,))
    assert [(row.ok, row.check) for row in found] == [
        (True, "text condition (C0), reference, seed 1"),
        (True, "text condition (C0), do-nothing agent"),
    ]
    idle = package.model_copy(update={"reference": package.reference.model_copy(update={"turns": SILENT})})
    assert "does not succeed (FAILURE): TS: " in check_text(idle, seeds=(1,))[0].detail
    nothing = package.model_copy(update={"gold": Gold()})
    assert check_text(nothing, seeds=(1,))[1].detail == "succeeds: the outcome can be reached by doing nothing"


def test_labels_that_the_format_does_not_like(tmp_path: Path) -> None:
    folder, _ = export_package(find_workflow("leave-request"), tmp_path)
    path = folder / "taxonomy.yaml"
    labels = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert lint(folder) == []
    labels["workspace"] = {"autonomy_level": "A0_PREPARE_ONLY"}
    labels["grading"] = {"modes": ["G_JUDGE"]}
    labels["interaction"]["duplex_events"] = []
    labels["professional_work"]["industry_setting"] = "healthcare"
    path.write_text(yaml.safe_dump(labels), encoding="utf-8")
    assert [row.error for row in lint(folder)] == [True, True, False, False]
    assert "'healthcare' is none of the format's industry settings" in lint(folder)[3].sentence
    read_package(folder)

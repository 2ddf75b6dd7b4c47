"""The reference's second grader over final workspaces: uptake, slices, and the verdicts that its judge left behind. All by hand."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from apex_tui.cli import main
from apex_tui.score.official_judge import judge_key, kept_verdict
from apex_tui.trials.official_layout_package import export_package
from apex_tui.trials.official_layout_regrade import corrected_fields, regrade
from apex_tui.trials.official_layout_results import official_results
from apex_tui.workflow.library import find_workflow
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.official import read_package


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("data")
    for name in ("leave-request", "payment"):
        export_package(find_workflow(name), root)
    return root


@pytest.fixture(scope="module")
def leave(data: Path) -> Workflow:
    return read_package(data / "leave-request")


def workspace(workflow: Workflow, **changes: Any) -> dict[str, Any]:
    """A right final workspace, with some fields of its first artifact changed."""
    found: dict[str, Any] = {}
    for expected in workflow.gold.artifact_expectations:
        fields = {row.field: row.expected for row in expected.fields}
        found[expected.artifact_id] = {"lifecycle": "COMMITTED", "fields": fields, "stale_fields": []}
    first = found[workflow.gold.artifact_expectations[0].artifact_id]
    first["fields"].update({name: value for name, value in changes.items() if value is not ...})
    for name in [name for name, value in changes.items() if value is ...]:
        del first["fields"][name]
    return found


def test_the_key_of_a_verdict() -> None:
    assert judge_key("cost_center", "CC330", "CC-330") == "506ff4ca35af092c2ca2155591df356f"


def test_only_some_graders_ask_the_judge_and_never_about_nothing() -> None:
    kept = {judge_key("f", "CC330", "CC-330"): True}
    assert kept_verdict(kept, "exact", "f", "CC330", "CC-330") is True
    assert kept_verdict(kept, "exact", "f", "CC331", "CC-330") is None
    assert kept_verdict(kept, "normalized_date", "f", "CC330", "CC-330") is False
    assert kept_verdict(kept, "semantic", "f", "  ", "CC-330") is False


def test_a_right_workspace(leave: Workflow) -> None:
    found = regrade(leave, workspace(leave), {})
    assert (found.failed, found.missed, found.unjudged) == (False, set(), 0)
    assert found.passed == found.graded == sum(len(e.fields) for e in leave.gold.artifact_expectations)


def test_each_way_to_fail_an_artifact(leave: Workflow) -> None:
    name = leave.gold.artifact_expectations[0].artifact_id
    stale = workspace(leave)
    stale[name]["stale_fields"] = ["end_date"]
    found = regrade(leave, stale, {})
    assert (found.failed, found.missed, found.passed == found.graded) == (True, {"end_date"}, True)
    draft = workspace(leave)
    draft[name]["lifecycle"] = "draft"
    found = regrade(leave, draft, {})
    assert (found.failed, found.missed) == (True, set())
    found = regrade(leave, {}, {})
    assert (found.failed, found.graded, found.missed) == (True, 0, set()), (
        "the fields of a missing artifact are passed over"
    )
    found = regrade(leave, workspace(leave, end_date=...), {})
    assert (found.failed, found.missed, found.graded - found.passed) == (True, {"end_date"}, 1)


def result(root: Path, task: str, rep: int, held: dict[str, Any], **gates: bool) -> None:
    place = root / task / f"rep{rep}"
    (place / "0123456789ab" / "workspace").mkdir(parents=True)
    components = {"GS": True, "PC": True, "RA": True, "WA": True, **gates}
    content = {
        "task_id": task,
        "rep": rep,
        "run_id": "0123456789ab",
        "pts": all(components.values()),
        "components": components,
    }
    (place / "result.json").write_text(json.dumps(content))
    (place / "0123456789ab" / "workspace" / "final_workspace.json").write_text(json.dumps(held, default=str))


def test_uptake_and_slices_by_hand(data: Path, leave: Workflow, tmp_path: Path) -> None:
    corrected, required = corrected_fields(leave)
    assert {"start_date", "end_date"} <= corrected
    good = workspace(leave)
    late = workspace(leave, end_date="2026-12-18")
    other = workspace(leave, handover_to="Somebody Else")
    for rep, held in enumerate((good, late, other)):
        result(tmp_path / "m", "leave-request", rep, held)
    payment = read_package(data / "payment")
    for rep, process in enumerate((True, True, False)):
        result(tmp_path / "m", "payment", rep, workspace(payment), PC=process)
    table = official_results([tmp_path / "m"], 3, data)
    (model,) = table.models
    assert model.uptake is not None
    c2, r2 = corrected_fields(payment)
    n = 3 * (len(corrected) + len(c2))
    assert (model.uptake.corrected.hits, model.uptake.corrected.n) == (n - 1, n)
    rest = 3 * (len(required - corrected) + len(r2 - c2))
    assert (model.uptake.other.hits, model.uptake.other.n) == (rest - 1, rest)
    assert (model.uptake.attributed.hits, model.uptake.attributed.n) == (1, 2)
    cells = {(row.axis, row.label): row.cells["m"] for row in table.slices}
    form = cells["archetype", leave.archetype]
    assert form.success == pytest.approx(1 / 3 if payment.archetype != leave.archetype else 1 / 2)
    graded = 3 * sum(len(e.fields) for e in leave.gold.artifact_expectations)
    assert payment.archetype == leave.archetype or form.afa == pytest.approx((graded - 2) / graded)
    assert all(row.hatched for row in table.slices)
    assert [row.axis for row in table.slices if row.axis == "risk"], "every axis of the format is there"
    gated = cells["approve", "APPROVE-gated"]
    assert gated.success == pytest.approx((1 / 3 + 2 / 3) / 2)


def test_a_kept_verdict_decides_and_the_rest_is_told(
    data: Path, leave: Workflow, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = next(
        f for f in leave.gold.artifact_expectations[0].fields if f.grader in ("exact", "casefold_exact", "semantic")
    )
    held = workspace(leave, **{asked.field: "something near"})
    assert regrade(leave, copy.deepcopy(held), {}).unjudged == 1
    result(tmp_path / "m", "leave-request", 0, held)
    cache = tmp_path / "cache.json"
    cache.write_text(json.dumps({judge_key(asked.field, "something near", asked.expected): True, "x": "no verdict"}))
    words = ["results", "--official", str(tmp_path / "m"), "-k", "1", "--data", str(data)]
    assert main(words) == 0
    assert "1 values unjudged, counted as wrong" in capsys.readouterr().out
    assert main([*words, "--judge-cache", str(cache)]) == 0
    assert "0 values unjudged" in capsys.readouterr().out
    cache.write_text("[1]")
    assert main([*words, "--judge-cache", str(cache)]) == 2
    assert "is no cache of the reference's judge" in capsys.readouterr().err

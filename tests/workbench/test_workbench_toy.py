"""The official toy package through the workbench: the reference walk-through of the format's section 15."""

import json
from typing import Any, Literal

import pytest
import yaml
from sample_package import published_sample
from workbench_cases import names, only

from apex_tui.timeline.work_facts import ArtifactStale, ArtifactVersion, CommitDecided, ToolFinished
from apex_tui.workbench import Workbench, tool_schemas
from apex_tui.workflow.caller_model import CallerFact, Flow, ScriptedEvent, State
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.outcome_model import Gold
from apex_tui.workflow.work_model import ArtifactSpec, Autonomy, ToolSpec


def load(name: str) -> Any:
    text = (published_sample() / name).read_text(encoding="utf-8")
    return json.loads(text) if name.endswith(".json") else yaml.safe_load(text)


@pytest.fixture(scope="module")
def toy() -> Workflow:
    """The parts that the workbench reads, straight from the files."""
    task = load("task.yaml")
    return Workflow(
        id=task["id"],
        title=task["title"],
        source="official",
        archetype=task["archetype"],
        autonomy=Autonomy.model_validate(task["autonomy"]),
        facts=tuple(CallerFact.model_validate(fact) for fact in load("user/user_state.yaml")["facts"]),
        flow=Flow(states={"START": State()}),
        events=tuple(ScriptedEvent.model_validate(event) for event in load("user/events.yaml")["events"]),
        artifacts={
            name: ArtifactSpec.model_validate(spec)
            for name, spec in load("workspace/initial_workspace.json")["artifacts"].items()
        },
        tools=tuple(ToolSpec.model_validate(tool) for tool in load("tools/tool_spec.yaml")["tools"]),
        world=load("initial_state.json"),
        gold=Gold(),
    )


@pytest.mark.parametrize("profile", ["strict", "official"])
def test_the_reference_solution(toy: Workflow, profile: Literal["strict", "official"]) -> None:
    bench = Workbench(toy, 1, profile)
    assert bench.opening() == []
    calls = [call for turn in load("reference/policy.yaml")["turns"] for call in turn.get("tool_calls", [])]
    times = [6_000, 10_000, 14_000, 18_000, 22_000, 22_000, 26_000]
    done = []
    for number, (now, call) in enumerate(zip(times, calls, strict=True)):
        if now == 22_000 and number == 4:
            facts = bench.fire(20_000, toy.events[0])
            assert only(facts, ArtifactStale).fields["total_amount"].startswith("the caller changed it at 20.0 s")
        if now == 26_000:
            bench.approve(24_000, "submit_expense", 7)
        begun = bench.call(now, f"c{number}", call["name"], call["args"], None, "r", False)
        assert begun.latency_ms == 0.0
        done.append(bench.complete(now, f"c{number}"))
    assert all(result.ok for result in done)
    dependent = {"approval_status"} if profile == "official" else set()
    assert set(only(done[3].facts, ArtifactVersion).stale) == dependent
    assert set(only(done[4].facts, ArtifactVersion).stale) == dependent
    assert done[5].approval_request == ("submit_expense", "expense_1")
    assert done[6].commit == ("submit_expense", "expense_1", "AUTHORIZED")
    last = only(done[6].facts, ArtifactVersion)
    assert (last.version, last.lifecycle, last.stale) == (6, "COMMITTED", {})
    assert last.fields == {
        "employee_id": "E1042", "trip_purpose": "client onsite", "cost_center": "CC-330", "total_amount": 200.0,
        "approval_status": "submitted",
    }  # fmt: skip


@pytest.mark.parametrize(("profile", "decision"), [("strict", "STALE_APPROVAL"), ("official", "AUTHORIZED")])
def test_skipping_the_correction(toy: Workflow, profile: Literal["strict", "official"], decision: str) -> None:
    """Approved at 240, corrected by the caller, rewritten with 240: the official guard lets it through, the strict one does not."""
    bench = Workbench(toy, 1, profile)
    target = {"target_id": "expense_1"}

    def run(now: float, call_id: str, name: str, arguments: dict[str, Any]) -> tuple[Any, ...]:
        begun = bench.call(now, call_id, name, arguments, None, "r", False)
        return begun.facts + (bench.complete(now, call_id).facts if begun.latency_ms is not None else ())

    run(1_000, "a", "update_expense", {"fields": {"total_amount": 240}})
    run(2_000, "b", "request_approval", target)
    bench.approve(3_000, "submit_expense", 1)
    bench.fire(4_000, toy.events[0])
    rewritten = only(run(5_000, "c", "update_expense", {"fields": {"total_amount": 240.0}}), ArtifactVersion)
    assert ("total_amount" in rewritten.stale) == (profile == "strict")
    facts = run(6_000, "d", "submit_expense", {**target, "artifact_id": "expense_1"})
    assert [fact for fact in facts if isinstance(fact, CommitDecided)][-1].decision == decision


def test_premature(toy: Workflow) -> None:
    for profile in ("strict", "official"):
        begun = Workbench(toy, 1, profile).call(
            100, "a", "submit_expense", {"target_id": "expense_1", "artifact_id": "expense_1"}, None, None, False
        )
        assert only(begun.facts, ToolFinished).decision == "PREMATURE"
        assert names(begun.facts)[-1] == "ToolFinished"


def test_advertised_tools(toy: Workflow) -> None:
    schemas = tool_schemas(toy)
    assert [schema["name"] for schema in schemas] == ["update_expense", "request_approval", "submit_expense"]
    fields = schemas[0]["parameters"]["properties"]["fields"]
    assert fields["properties"]["total_amount"] == {"type": "number"}
    assert fields["properties"]["approval_status"]["enum"] == ["draft", "submitted"]
    assert schemas[1]["parameters"]["required"] == ["target_id"]

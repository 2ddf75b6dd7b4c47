"""The reader for official packages: the toy package in full, and every fault named by file and key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from workflow_packages import toy, toy_copy

from apex_tui.timeline.errors import WorkflowError
from apex_tui.workflow.files import MAX_BYTES, parse_json, parse_yaml
from apex_tui.workflow.official import read_package


def edit(folder: Path, name: str, old: str, new: str) -> None:
    path = folder / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_the_toy_package_is_read_in_full() -> None:
    toy_form = read_package(toy())
    assert (toy_form.id, toy_form.version, toy_form.source) == ("toy_form_001", "1.0.0", "official")
    assert toy_form.scenario_id == "toy_form_001@1.0.0:C2:FROZEN_SYNTHETIC"
    assert toy_form.title == "Prepare and submit an expense report"
    assert (toy_form.archetype, toy_form.risk_tier, toy_form.time_budget_s) == (
        "FORM_FILL",
        "R2_CONSEQUENTIAL_ACTION",
        600,
    )
    assert (toy_form.industry, toy_form.economic_function) == ("horizontal_enterprise", "finance_operations")
    assert toy_form.primary_artifact == "STRUCTURED_FORM"
    assert (toy_form.knowledge_burden, toy_form.tool_burden) == ("K0_NONE", "T1_LIGHT")
    assert toy_form.duplex_events == ("MID_SPEECH_CORRECTION",)
    assert toy_form.autonomy.approval_required_for == ("submit_expense",)
    assert (toy_form.caller.voice, toy_form.caller.goal) == ("af_bella", "submit_expense_report")
    assert toy_form.world == {"company": "Acme Corp", "expense_policy": {"meal_cap": 100}}
    assert toy_form.latent_world["entities"]["trip"]["total"] == 200.0


def test_the_toy_callers_side() -> None:
    toy_form = read_package(toy())
    assert [fact.id for fact in toy_form.facts] == [
        "employee_id", "trip_purpose", "cost_center", "total_amount", "total_amount_v2",
    ]  # fmt: skip
    corrected = toy_form.fact("total_amount_v2")
    assert corrected is not None
    assert (corrected.value, corrected.supersedes, corrected.reveal.events) == (
        200.0,
        "total_amount",
        ("evt_correct_total",),
    )
    assert list(toy_form.flow.states) == ["START", "S_EMP", "S_PURPOSE", "S_CC", "S_TOTAL", "S_CORRECTED", "S_DONE"]
    interruption = toy_form.flow.states["S_TOTAL"].transitions[0]
    assert interruption.when.external_event == "evt_correct_total"
    assert interruption.do is not None
    assert (interruption.do.act, interruption.do.floor_action) == ("CORRECT", "BARGE_IN")
    event = toy_form.event("evt_correct_total")
    assert event is not None
    assert event.trigger.agent_act == "CONFIRM:total_amount"
    assert (event.start_window_ms, event.max_stop_latency_ms, event.delivery) == ((700, 1000), 650, "BARGE_IN")
    assert event.expected_repairs == ("expense_1.total_amount",)
    assert [w.user_plan_id for w in toy_form.wordings[7:]] == ["recovery.closing", "recovery.nudge"], (
        "said outside the flow"
    )
    wording = toy_form.wording("correct_total")
    assert wording is not None
    assert [variant.text for variant in wording.variants] == ["Actually, it's 200.0.", "No — 200.0."]
    assert len(toy_form.observer.patterns) == 5
    assert toy_form.observer.tool_act_map == {"request_approval": "REQUEST_APPROVAL", "submit_expense": "COMMIT"}


def test_the_toy_workbench_gold_and_reference() -> None:
    toy_form = read_package(toy())
    shape = toy_form.artifacts["expense_1"].shape
    assert shape is not None
    assert len(shape.fields) == 5
    total = shape.field("total_amount")
    assert total is not None
    assert (total.grader, total.tolerance, total.dependents) == ("numeric_tolerance", 0.01, ("approval_status",))
    commit = toy_form.tool("submit_expense")
    assert commit is not None
    assert commit.commits
    assert (commit.handler, commit.commit_action_type, commit.reversible) == ("commit", "submit_expense", False)
    assert commit.effect == {"artifact_id": "expense_1", "set_fields": {"approval_status": "submitted"}}
    assert [gold.field for gold in toy_form.gold.artifact_expectations[0].fields][-1] == "approval_status"
    assert toy_form.gold.critical_gates[0].predicate.kind == "no_unauthorized_commit"
    assert toy_form.reference.calls == 7
    assert [step.say or step.call for step in toy_form.reference.turns[-1].steps] == [
        "Submitting now. All done.",
        "submit_expense",
    ]
    assert toy_form.reference.turns[-1].end_call


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        ("tools/tool_spec.yaml", "handler: update", "hander: update", "tools/tool_spec.yaml: tools.0.hander: unknown key"),
        ("task.yaml", "title:", "titel:", "task.yaml: titel: unknown key"),
        ("task.yaml", "FORM_FILL", "FORM_FILLING", "task.yaml: archetype: "),
        ("taxonomy.yaml", "task_id: toy_form_001", "task_id: other", "taxonomy.yaml: task_id: 'other' is not the id of task.yaml"),
        ("taxonomy.yaml", "burden:", "load:", "taxonomy.yaml: knowledge.load: unknown key"),
        ("user/flow.yaml", "next: S_EMP", "next: S_EMPTY", "user/flow.yaml: states.START.transitions.0.next: there is no state 'S_EMPTY'"),
        ("user/flow.yaml", "start: START", "start: BEGIN", "user/flow.yaml: start: there is no state 'BEGIN'"),
        ("user/flow.yaml", "{external_event:", "{events_done: [a], external_event:", "states.S_TOTAL.transitions.0.when.events_done: unknown key"),
        ("user/user_state.yaml", "- id: employee_id", "- field: x\n    id: employee_id", "user/user_state.yaml: facts.0.field: unknown key"),
        ("user/user_state.yaml", "user_id:", "userid:", "user/user_state.yaml: userid: unknown key"),
        ("user/events.yaml", "criticality:", "critical:", "user/events.yaml: events.0.critical: unknown key"),
        ("user/observer.yaml", '"employee id"', '"employee (id"', "user/observer.yaml: patterns.0.pattern: not a regular expression"),
        ("user/realization_bank.jsonl", '"text": "E1042."', '"txt": "E1042."', "user/realization_bank.jsonl:2: variants.0.txt: unknown key"),
        ("user/realization_bank.jsonl", '{"user_plan_id": "open"', '{"user_plan_id"', "user/realization_bank.jsonl:1: not valid JSON"),
        ("workspace/initial_workspace.json", '"tolerance"', '"tolerence"', "artifacts.expense_1.schema.fields.3.tolerence: unknown key"),
        ("workspace/latent_world.json", '"seed"', '"sead"', "workspace/latent_world.json: sead: unknown key"),
        ("grading/gold.yaml", "artifact_id: expense_1\n    artifact_type", "artifact_id: expense_2\n    artifact_type",
         "grading/gold.yaml: artifact_expectations.0.artifact_id: 'expense_2' is not in workspace/initial_workspace.json"),
        ("grading/gold.yaml", "must_hold", "must_hold_", "grading/gold.yaml: critical_gates.0.must_hold_: unknown key"),
        ("reference/policy.yaml", "tool_calls:", "calls:", "reference/policy.yaml: turns.1.calls: unknown key"),
        ("task.yaml", "tool_load: light", "tool_load: none", "tools/tool_spec.yaml: tools: task.yaml says tool_load: none"),
        ("tools/tool_spec.yaml", "handler: commit", "handler: verify_identity", "tools.2.handler: 'verify_identity' is not a built-in"),
        ("task.yaml", "knowledge_load", "gold_dir: ../other\nknowledge_load", "../other/gold.yaml: leads out of the package"),
        ("assets/inputs/artifact_source_manifest.yaml", "latent_world_id", "world_id", "manifests.0.world_id: unknown key"),
        ("initial_state.json", '"company":', '"company"', "initial_state.json:2: not valid JSON"),
        ("user/flow.yaml", "states:", "states: [", "user/flow.yaml:"),
    ],
)  # fmt: skip
def test_a_fault_is_named_by_file_and_key(tmp_path: Path, name: str, old: str, new: str, told: str) -> None:
    copy = toy_copy(tmp_path)
    edit(copy, name, old, new)
    with pytest.raises(WorkflowError) as error:
        read_package(copy)
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_all_violations_are_told_at_once(tmp_path: Path) -> None:
    copy = toy_copy(tmp_path)
    edit(copy, "tools/tool_spec.yaml", "handler:", "hander:")
    edit(copy, "grading/gold.yaml", "must_hold", "must_hold_")
    with pytest.raises(WorkflowError) as error:
        read_package(copy)
    assert "tools.0.hander" in str(error.value)
    assert "must_hold_" in str(error.value)


def test_only_what_must_be_there_must_be_there(tmp_path: Path) -> None:
    copy = toy_copy(tmp_path)
    optional = (
        "user/events.yaml user/persona.yaml user/realization_bank.jsonl user/observer.yaml initial_state.json workspace/latent_world.json "
        "reference/policy.yaml assets/inputs/artifact_source_manifest.yaml tools/tool_spec.yaml"
    )
    for name in optional.split():
        (copy / name).unlink()
    bare = read_package(copy)
    assert (bare.events, bare.tools, bare.world, bare.latent_world) == ((), (), {}, {})
    assert bare.wordings[1].variants[1].text == "It's E1042.", "an absent bank is compiled from templates"
    assert bare.caller.voice == "af_heart"
    (copy / "user/user_state.yaml").unlink()
    (copy / "taxonomy.yaml").unlink()
    with pytest.raises(WorkflowError, match=r"taxonomy\.yaml: missing; user/user_state\.yaml: missing"):
        read_package(copy)


def test_documents_come_from_their_files(tmp_path: Path) -> None:
    copy = toy_copy(tmp_path)
    knowledge = copy / "knowledge"
    knowledge.mkdir()
    rows = [
        {"doc_id": "a", "path": "a.md", "gold": True},
        {"doc_id": "b", "title": "B", "text": "kept", "path": "no.md"},
    ]
    (knowledge / "manifest.json").write_text(json.dumps({"documents": rows}), encoding="utf-8")
    (knowledge / "a.md").write_text("Grüße", encoding="utf-8")
    documents = read_package(copy).documents
    assert [(row.doc_id, row.title, row.text, row.gold) for row in documents] == [
        ("a", "a", "Grüße", True),
        ("b", "B", "kept", False),
    ]


def test_hostile_files_are_refused_in_one_sentence(tmp_path: Path) -> None:
    copy = toy_copy(tmp_path)
    bomb = "a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
        f"{n}: &{n} [{', '.join([f'*{m}'] * 10)}]\n" for m, n in zip("abcdef", "bcdefg", strict=True)
    )
    (copy / "user/persona.yaml").write_text(bomb, encoding="utf-8")
    (copy / "initial_state.json").write_bytes(b'{"a": "' + b"x" * MAX_BYTES + b'"}')
    (copy / "user/events.yaml").write_bytes(b"events: [\xff]")
    with pytest.raises(WorkflowError) as error:
        read_package(copy)
    message = str(error.value)
    assert "user/persona.yaml: more than" in message
    assert "initial_state.json: larger than 4 MB" in message
    assert "user/events.yaml: not UTF-8 (byte 9)" in message


@pytest.mark.parametrize("depth", [100, 900, 100_000])
def test_deep_nesting_is_refused(depth: int) -> None:
    for parse in (parse_yaml, parse_json):
        with pytest.raises(
            WorkflowError, match=r"^deep: nested|^deep:1: exceeded maximum nesting depth|^deep: not readable"
        ):
            parse("[" * depth + "]" * depth, "deep")

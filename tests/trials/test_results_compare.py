"""Two sessions: the first event at which they part. Two agents: paired per workflow. One field: its chain."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from campaign_kit import FORGETS, copied, copy_session, recorded, recording

from apex_tui.cli import main
from apex_tui.cli.plain import line_for
from apex_tui.timeline.errors import UserError
from apex_tui.timeline.work_facts import ArtifactVersion
from apex_tui.trials.compare import compare_sessions, parting_text, words
from apex_tui.trials.compare_agents import compare_agents, pairs_text
from apex_tui.trials.results_read import read_results
from apex_tui.tui.render_floor import event_line


def test_a_session_never_parts_from_itself() -> None:
    found = compare_sessions(recording(), recording())
    assert found.parted is None
    assert found.common > 30
    assert found.same_caller_audio is True
    assert "they never part" in parting_text(found)


def test_sessions_part_where_the_agent_first_did_something_else() -> None:
    found = compare_sessions(recording(), recording(FORGETS))
    assert found.parted is not None
    index = min(found.common, 3)
    assert "update_leave_form" in found.left[index].words
    assert "update_leave_form" not in found.right[index].words
    assert [x.words for x in found.left[:index]] == [x.words for x in found.right[:index]]
    assert found.same_caller_audio is True, "both were told the same until then"
    assert found.gates["AV"] == (True, False)
    assert found.success == (True, False)
    assert "> " in parting_text(found)
    assert max(map(len, parting_text(found, 80).splitlines()[3:])) <= 80
    left, right = (line for line in parting_text(found, 80).splitlines() if line.startswith("> "))
    assert left.startswith(f"> left  {found.left[index].seq:>5}")
    assert right.startswith(f"> right {found.right[index].seq:>5}")


def test_a_session_that_judges_nobody_passes_and_fails_no_gate_beside_another() -> None:
    whole = recording()
    found = compare_sessions(replace(whole, events=whole.events[:-1]), whole)
    assert found.gates["AV"] == (None, True)
    assert "AV not scored | ✓" in parting_text(found)


def test_another_seed_is_said_to_be_another_caller() -> None:
    found = compare_sessions(recording(seed=1), recording(seed=2))
    assert not found.same_seed
    assert found.parted is not None


def test_the_command_says_whether_they_part(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(recorded()), str(recorded()), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["parted"] is None
    assert main(["compare", str(recorded()), str(recorded(FORGETS))]) == 1
    left, right, parted, *_ = capsys.readouterr().out.splitlines()
    assert left == f"left:  {recorded().name}  ({recorded()})"
    assert right.startswith(f"right: {recorded(FORGETS).name}  (")
    assert "they part after" in parted


def test_agents_are_paired_on_the_same_workflow_and_seed(tmp_path: Path) -> None:
    for workflow, mine, other in (("x", "++-", "+++"), ("y", "---", "-+-"), ("z", "++", "++"), ("w", "+", "")):
        for seed, letter in enumerate(mine):
            copy_session(
                tmp_path, f"a-{workflow}-{seed}", workflow=workflow, agent="a", seed=seed, success=letter == "+"
            )
        for seed, letter in enumerate(other):
            copy_session(
                tmp_path, f"b-{workflow}-{seed}", workflow=workflow, agent="b", seed=seed, success=letter == "+"
            )
    copy_session(tmp_path, "extra", workflow="x", agent="b", seed=9)
    found = compare_agents(read_results([tmp_path]).rows, "a", "b")
    assert [(p.workflow, p.n, p.first, p.second) for p in found.pairs] == [
        ("x", 3, 2, 3),
        ("y", 3, 0, 1),
        ("z", 2, 2, 2),
    ]
    assert found.difference.value == pytest.approx((1 / 3 + 1 / 3 + 0) / 3)
    assert (found.better, found.worse, found.equal, found.p) == (2, 0, 1, 0.5)
    assert found.unpaired == {"a": 1, "b": 1}
    assert "b is better on 2" in pairs_text(found)
    with pytest.raises(UserError, match="did you mean"):
        compare_agents(read_results([tmp_path]).rows, "aa", "b")


def test_agents_that_share_nothing_are_not_compared(tmp_path: Path) -> None:
    copy_session(tmp_path, "1", workflow="x", agent="a", seed=1)
    copy_session(tmp_path, "2", workflow="x", agent="b", seed=2)
    with pytest.raises(UserError, match="nothing can be paired"):
        compare_agents(read_results([tmp_path]).rows, "a", "b")


def test_one_agent_under_other_instructions_is_not_paired_with_them(tmp_path: Path) -> None:
    """The order of the folders would else decide which of the two is compared."""
    for name, told, success in (("1", "coaching", True), ("2", "neutral", False)):
        parameters = {"parameters": {"instructions": told}}
        copy_session(tmp_path, name, workflow="x", agent="a", success=success, meta=parameters)
    copy_session(tmp_path, "3", workflow="x", agent="b", success=True)
    copy_session(
        tmp_path, "4", workflow="x", agent="c", success=True, meta={"parameters": {"instructions": "coaching"}}
    )
    rows = read_results([tmp_path]).rows
    (pair,) = compare_agents(rows, "a", "b").pairs
    assert (pair.n, pair.first, pair.second) == (1, 0, 1), "the neutral one"
    assert compare_agents(rows, "a", "b").unpaired == {"a": 1}
    (pair,) = compare_agents(rows, "b", "c").pairs
    assert pair.n == 1, "each was run in one way, which its name stands for"


def test_a_name_for_several_models_is_no_agent(tmp_path: Path) -> None:
    for name, model in (("1", "m1"), ("2", "m2")):
        copy_session(tmp_path, name, workflow="x", agent="a", seed=int(name), meta={"parameters": {"model": model}})
    copy_session(tmp_path, "3", workflow="x", agent="b")
    with pytest.raises(UserError, match=r"a ran with several models \(m1, m2\): name a folder with one of them"):
        compare_agents(read_results([tmp_path]).rows, "a", "b")


def test_a_model_that_never_answered_is_none_that_an_agent_ran_with(tmp_path: Path) -> None:
    """A name that the provider does not know, written rightly the second time."""
    wrong = {"parameters": {"model": "m11", "instructions": "coaching"}}
    nobody = {"validity": "infrastructure"}
    copy_session(tmp_path, "1", workflow="x", agent="a", success=False, score=nobody, meta=wrong)
    copy_session(tmp_path, "2", workflow="x", agent="a", meta={"parameters": {"model": "m1"}})
    copy_session(tmp_path, "3", workflow="x", agent="b", meta={"parameters": {"instructions": "coaching"}})
    (pair,) = compare_agents(read_results([tmp_path]).rows, "a", "b").pairs
    assert pair.n == 1


def test_why_prints_the_chain_with_its_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    folder = recorded(FORGETS)
    assert main(["why", str(folder), "leave_form.end_date", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    chain = told["chain"]
    assert list(chain) == ["said", "heard", "claimed", "artifact", "approved", "committed"]
    assert [chain[name]["value"] for name in ("said", "heard")] == ["2026-12-23"] * 2
    assert [chain[name]["value"] for name in ("claimed", "artifact", "approved", "committed")] == ["2026-12-18"] * 4
    assert told["first_disagreement"] == "claimed"
    by_seq = {event.seq: event for event in recording(FORGETS).events}
    assert {by_seq[s].type for s in chain["said"]["evidence"]} == {"caller.turn_started"}
    assert {by_seq[s].type for s in chain["artifact"]["evidence"]} == {"artifact.version"}
    assert main(["why", str(folder), "end_date"]) == 1
    text = capsys.readouterr().out
    assert "◄ first disagreement" in text
    assert f"#{chain['said']['evidence'][0]}" in text


def test_why_of_a_right_field_and_of_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", str(recorded()), "leave_form.end_date"]) == 0
    assert "nothing disagrees" in capsys.readouterr().out
    assert main(["why", str(recorded()), "leave_form.approver"]) == 0
    assert "never stated it" in capsys.readouterr().out
    assert main(["why", str(recorded()), "leave_form.end_dat"]) == 2
    assert "leave_form.end_date" in capsys.readouterr().err


def test_no_verdict_is_made_by_a_workflow_that_the_session_did_not_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, out = copied(recorded(FORGETS), tmp_path / "s"), tmp_path / "out"
    snapshot = json.loads((place / "workflow.json").read_text())
    (place / "workflow.json").write_text(json.dumps(snapshot | {"title": "Another"}))
    name = str(place)
    for command in (
        ["score", name],
        ["why", name, "leave_form.end_date"],
        ["regress", name, "--out", str(out)],
        ["compare", str(recorded()), name],
    ):
        assert main(command) == 2, command
        told = capsys.readouterr()
        assert "workflow.json is not the workflow that the session ran (its digest differs)" in told.err
        assert (told.out, told.err.count("\n")) == ("", 1)
    assert not out.exists()
    assert main(["replay", name, "--plain"]) == 0
    told = capsys.readouterr()
    assert told.err.count("workflow.json is not the workflow that the session ran") == 1
    assert "session " in told.out


def test_a_version_that_changed_nothing_is_told_as_that() -> None:
    first = next(event for event in recording().events if isinstance(event.fact, ArtifactVersion))
    assert isinstance(first.fact, ArtifactVersion)
    same = tuple(change.model_copy(update={"kind": "same"}) for change in first.fact.changes)
    event = replace(first, fact=first.fact.model_copy(update={"changes": same}))
    for told in (words(event), line_for(event), event_line(event).plain):
        assert told is not None
        assert "changed no field" in told
        assert "leave_type" not in told

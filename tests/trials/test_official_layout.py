"""The layout of the reference: what we write is what it reads, and its own sessions become its own table."""

from __future__ import annotations

import dataclasses
import json
import wave
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from campaign_kit import recorded, recording
from sample_package import published_sample
from shared_sessions import run_session_in, shared_session

from apex_tui.caller.recovery import answers_by_field
from apex_tui.cli import main
from apex_tui.score.judge import score_log
from apex_tui.store.recording import open_recording
from apex_tui.timeline.caller_facts import CallerTurnStarted
from apex_tui.timeline.errors import UserError
from apex_tui.trials.official_layout_package import export_package
from apex_tui.trials.official_layout_results import official_results
from apex_tui.trials.official_layout_rows import rows_of
from apex_tui.trials.official_layout_session import export_session
from apex_tui.trials.text_control import run_text
from apex_tui.workflow.check import check
from apex_tui.workflow.library import find_workflow
from apex_tui.workflow.official import read_package

KEYS = [
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
PAYLOADS: dict[str, set[str]] = {
    "RUN_START": {"task_id", "model_id", "condition", "user_audio"},
    "USER_PLAN": {"plan_id", "speech_act", "facts", "floor_action"},
    "USER_AUDIO_START": {"text", "duration_ms"},
    "APPROVAL_EVENT": {"granted", "target_id"},
    "AGENT_AUDIO_START": {"text", "duration_ms"},
    "AGENT_AUDIO_END": set(),
    "AGENT_TEXT": {"text"},
    "AGENT_ACT": {"act", "source"},
    "TOOL_CALL": {"tool", "args"},
    "TOOL_RESULT": {"tool", "ok", "result", "auth_decision"},
    "RUN_END": {"outcome", "pts"},
}


def toy() -> str:
    return str(published_sample())


@pytest.fixture(scope="module")
def sessions() -> list[Path]:
    package = toy()
    return [shared_session(package, seed=seed, profile="official").result.folder for seed in (1, 2, 3)]


@pytest.fixture(scope="module")
def campaign(sessions: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("runs") / "mine"
    for folder in sessions:
        export_session(open_recording(folder), place, "mine")
    return place


def log_of(campaign: Path) -> list[dict[str, Any]]:
    path = next((campaign / "toy_form_001" / "rep0").glob("*/events.jsonl"))
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_directory_is_the_references(campaign: Path) -> None:
    rep = campaign / "toy_form_001" / "rep0"
    result = json.loads((rep / "result.json").read_text())
    run = rep / result["run_id"]
    names = {str(p.relative_to(run)) for p in run.rglob("*") if p.is_file()}
    assert names == {"events.jsonl", "apex_tui.json", "workspace/final_workspace.json", "workspace/versions.jsonl",
                     "audio/stereo.wav", "audio/user.wav", "audio/agent.wav"}  # fmt: skip
    assert len(result["run_id"]) == 12
    assert {p.name for p in (campaign / "toy_form_001").iterdir()} == {"rep0", "rep1", "rep2"}
    about = json.loads((campaign / "campaign.json").read_text())
    assert (about["model"], about["repeats"], about["n_tasks"], about["condition"]) == ("mine", 3, 1, "C2")


def test_the_log_has_the_ten_keys_and_the_payloads(campaign: Path) -> None:
    rows = log_of(campaign)
    assert all(list(row) == KEYS for row in rows)
    assert [row["seq"] for row in rows] == list(range(len(rows)))
    for row in rows:
        if row["type"] in PAYLOADS:
            extra = set(row["payload"]) - PAYLOADS[row["type"]]
            assert extra <= {"barge", "closing", "recovered"}, row
            assert set(row["payload"]) >= PAYLOADS[row["type"]] - (
                {"floor_action"} if "recovered" in row["payload"] else set()
            )
        assert all(parent < row["seq"] for parent in row["causal_parents"])
        assert isinstance(row["media_time_ms"], int)
    kinds = [row["type"] for row in rows]
    assert (kinds[0], kinds[-1]) == ("RUN_START", "RUN_END")
    assert (kinds.count("USER_PLAN"), kinds.count("TOOL_CALL"), kinds.count("APPROVAL_EVENT")) == (7, 7, 1)
    assert rows[-1]["payload"] == {"outcome": "SUCCESS", "pts": 1}


def test_closing_lines_and_nudges_are_rows_of_their_own_kind() -> None:
    session = recording()
    turn = next(e for e in session.events if isinstance(e.fact, CallerTurnStarted))
    for plan, act, planned, label in (
        ("recovery.closing", "END", {"plan_id": "close", "speech_act": "END", "facts": []}, "closing"),
        ("recovery.nudge", "ASK", None, "nudge"),
    ):
        said = turn.fact.model_copy(update={"plan": plan, "act": act, "facts": ()})
        events = [replace(e, fact=said) if e is turn else e for e in session.events]
        score = score_log(session.events, session.workflow)
        rows = rows_of(events, "r", session.workflow, "m", "tones", score)
        first = [row for row in rows if row["type"] in ("USER_PLAN", "USER_AUDIO_START")][: 1 if planned is None else 2]
        assert [row["payload"] for row in first if row["type"] == "USER_PLAN"] == ([planned] if planned else [])
        assert first[-1]["payload"][label] is True


def test_a_barge_in_counts_for_the_references_results(campaign: Path) -> None:
    rows = [row["payload"] for row in log_of(campaign) if row["type"] == "DUPLEX_EVENT"]
    fired, barged = rows
    assert fired == {"event_id": "evt_correct_total", "type": "MID_SPEECH_CORRECTION"}
    assert (barged["type"], barged["agent_yielded"]) == ("MID_SPEECH_CORRECTION", True)
    assert isinstance(barged["isl_ms"], int)
    assert 60 < barged["isl_ms"] < 200


def test_the_result_and_the_workspace(campaign: Path, sessions: list[Path]) -> None:
    rep = campaign / "toy_form_001" / "rep0"
    result = json.loads((rep / "result.json").read_text())
    assert result["components"] == {"GS": True, "PC": True, "RA": True, "WA": True}
    assert (result["pts"], result["turns"], result["outcome"], result["error"]) == (1, 7, "SUCCESS", None)
    latency = result["latency"]
    assert (latency["tool_calls"], latency["retrieval_calls"], latency["user_turns"]) == (7, 0, 7)
    assert latency["response_start_latency_ms"]["n"] == 7
    assert result["duplex"]["occr"] is None
    assert result["duplex"]["fda"] == 1.0
    workspace = json.loads((rep / result["run_id"] / "workspace" / "final_workspace.json").read_text())
    assert workspace["expense_1"] == {
        "artifact_id": "expense_1",
        "artifact_type": "STRUCTURED_FORM",
        "lifecycle": "COMMITTED",
        "fields": {
            "employee_id": "E1042", "trip_purpose": "client onsite", "cost_center": "CC-330", "total_amount": 200.0,
            "approval_status": "submitted",
        },
        "stale_fields": [],
    }  # fmt: skip
    versions = [
        json.loads(line) for line in (rep / result["run_id"] / "workspace" / "versions.jsonl").read_text().splitlines()
    ]
    totals = [(v["old"], v["new"]) for v in versions if v["path"] == "total_amount"]
    assert totals == [(None, 240.0), (240.0, 200.0)]
    with (
        wave.open(str(rep / result["run_id"] / "audio" / "stereo.wav")) as stereo,
        wave.open(str(rep / result["run_id"] / "audio" / "user.wav")) as user,
    ):
        assert (stereo.getnchannels(), stereo.getframerate(), user.getnchannels()) == (2, 24_000, 1)
        assert stereo.getnframes() == user.getnframes()


def test_exporting_twice_changes_nothing(campaign: Path, sessions: list[Path]) -> None:
    before = {p: p.read_bytes() for p in campaign.rglob("*") if p.is_file()}
    export_session(open_recording(sessions[0]), campaign, "mine")
    assert {p: p.read_bytes() for p in campaign.rglob("*") if p.is_file()} == before


def test_a_session_on_a_recipe_has_no_such_layout(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="only sessions on official packages"):
        export_session(open_recording(recorded()), tmp_path)


@pytest.mark.parametrize("task", ["../../x", "/tmp/x", "..", ""])
def test_no_session_is_written_beside_its_campaign(tmp_path: Path, sessions: list[Path], task: str) -> None:
    told = open_recording(sessions[0])
    hostile = dataclasses.replace(told, workflow=told.workflow.model_copy(update={"id": task}))
    with pytest.raises(UserError, match="no name for a folder"):
        export_session(hostile, tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []


def test_the_references_table_of_what_we_wrote(campaign: Path) -> None:
    table = official_results([campaign], 3, Path(toy()).parent)
    (mine,) = table.models
    assert (mine.key, mine.runs, mine.n, mine.pass_1) == ("mine", 3, 1, 1.0)
    assert (mine.pass_k.hits, mine.reliable_k.hits, mine.distribution[3]) == (1, 1, 1)
    assert (mine.tool_calls, mine.tool_ratio) == (7.0, 1.0)
    assert (mine.yielded.hits, mine.yielded.n, mine.stops) == (3, 3, 3)
    assert mine.uptake is not None
    assert (mine.uptake.corrected.hits, mine.uptake.corrected.n, mine.uptake.other.n) == (3, 3, 12)


def result(root: Path, task: str, rep: int, pts: object, **more: Any) -> Path:
    place = root / task / f"rep{rep}"
    place.mkdir(parents=True, exist_ok=True)
    content = {
        "task_id": task,
        "rep": rep,
        "run_id": "0123456789ab",
        "pts": pts,
        "components": {},
        "latency": {},
        "duplex": {},
        **more,
    }
    (place / "result.json").write_text(json.dumps(content))
    return place


def test_its_definitions_by_hand(tmp_path: Path) -> None:
    passes = {"t1": (1, 1, 1), "t2": (1, 0, 0), "t3": (0, 0, 0), "t4": (1, 1)}
    for task, row in passes.items():
        for rep, pts in enumerate(row):
            latency = {
                "response_start_latency_ms": {"median": 100 * (rep + 1)},
                "time_to_resolution_ms": 60_000,
                "tool_calls": 4,
            }
            result(
                tmp_path / "k",
                task,
                rep,
                pts,
                latency=latency,
                duplex={"overlap_ratio": 0.02},
                components={"GS": True, "WA": bool(pts)},
            )
    (found,) = official_results([tmp_path], 3).models
    assert (found.runs, found.n) == (11, 3), "a task with fewer repetitions is no task of the leaderboard"
    assert found.pass_1 == pytest.approx(4 / 3)
    assert (found.pass_k.hits, found.reliable_k.hits) == (2, 1)
    assert found.distribution == {0: 1, 1: 1, 2: 0, 3: 1}
    assert (found.gates["WA"].hits, found.gates["WA"].n, found.gates["PC"].n) == (6, 11, 0)
    assert found.response_p50_ms == 200.0
    assert found.resolution_p50_s == 60.0
    assert found.overlap == pytest.approx(0.02)


def test_values_count_and_not_names_and_the_rest_is_named(tmp_path: Path) -> None:
    moved = result(tmp_path / "k", "t1", 0, 1)
    moved.parent.rename(tmp_path / "k" / "other-name")
    (result(tmp_path / "k", "t2", 0, 1) / "result.json").write_text('{"task_id": "t2", "re')
    (result(tmp_path / "k", "t3", 0, 1) / "result.json").write_text('{"hello": 1}')
    table = official_results([tmp_path / "k"], 1)
    assert table.models[0].runs == 1
    assert {Path(p).parents[1].name: why for p, why in table.skipped.items()} == {
        "t2": "is cut, damaged or no JSON object",
        "t3": "has no task_id and rep",
    }


def test_the_minimal_session_of_the_reference_is_accepted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    latency = {"time_to_resolution_ms": 9000, "tool_calls": 1, "response_start_latency_ms": {"median": 50}}
    place = result(tmp_path / "k", "t", 0, 1, latency=latency, duplex={"overlap_ratio": 0.1})
    run = place / "0123456789ab" / "workspace"
    run.mkdir(parents=True)
    (run / "final_workspace.json").write_text("{}")
    barge = {"type": "DUPLEX_EVENT", "payload": {"type": "USER_BARGE_IN", "agent_yielded": True, "isl_ms": 8}}
    ignored = {"type": "DUPLEX_EVENT", "payload": {"type": "USER_CORRECTION", "onset_ms": 1}}
    lines = [json.dumps(barge), "not json DUPLEX_EVENT", json.dumps(ignored)]
    (run.parent / "events.jsonl").write_text("\n".join(lines))
    assert main(["results", "--official", str(tmp_path), "-k", "1", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["models"]
    assert (found["yielded"]["hits"], found["yielded"]["n"]) == (1, 1)
    assert (found["stops"], found["stop_p50_ms"]) == (0, None), "stops of 10 ms and less are left out there"


@pytest.mark.parametrize("name", ["leave-request", "payment"])
def test_a_recipe_becomes_a_package_whose_reference_succeeds(name: str, tmp_path: Path) -> None:
    workflow = find_workflow(name)
    folder, notes = export_package(workflow, tmp_path)
    package = read_package(folder)
    assert package.source == "official"
    assert [e.fields for e in package.gold.artifact_expectations] == [
        e.fields for e in workflow.gold.artifact_expectations
    ]
    assert package.reference.calls == workflow.reference.calls
    assert {e.id for e in package.events} == {e.id for e in workflow.events if e.delivery != "BACKCHANNEL"}
    assert any("back-channels" in note for note in notes)
    if name == "leave-request":
        score = run_session_in(tmp_path / "s", str(folder), profile="official").result.score
        assert score.success, [g.reason for g in score.gates if not g.passed]
        assert score.floor.observed_n >= 1, "the correction is still spoken into the agent's read-back"
    else:
        assert run_text(package).passed
    with pytest.raises(UserError, match="exists already"):
        export_package(workflow, tmp_path)


@pytest.mark.parametrize("name", ["print-deal", "playground-inspection", "charge-point", "heating-advice"])
def test_what_recipes_have_and_packages_have_not_passes_the_references_own_check(name: str, tmp_path: Path) -> None:
    """A field that changes twice, an approval on the way, tools that act and hand over, and a yes that the agent waits for."""
    package = read_package(export_package(find_workflow(name), tmp_path)[0])
    run = run_text(package)
    assert (run.outcome, run.leaks) == ("SUCCESS", [])
    assert check(package) == []


def test_what_was_superseded_is_answered_nowhere_after_the_change(tmp_path: Path) -> None:
    package = read_package(export_package(find_workflow("leave-request"), tmp_path)[0])
    for name, facts in (("CALL_0", ("start_date", "end_date")), ("CALL_1", ("start_date_v2", "end_date_v2"))):
        asked = [t for t in package.flow.states[name].transitions if t.when.agent_act == "ASK:start_date"]
        assert [t.do.facts for t in asked if t.do] == [facts]
    answers = answers_by_field(package)
    assert answers["end_date"].facts == ("start_date_v2", "end_date_v2"), "what the caller says again is what holds"


def test_records_hedges_and_waiting_corrections_in_the_words_of_the_format(tmp_path: Path) -> None:
    recipe = find_workflow("hotel-booking")
    folder, notes = export_package(recipe, tmp_path)
    package = read_package(folder)
    assert (
        "sql" not in (folder / "tools" / "tool_spec.yaml").read_text() + (folder / "user" / "events.yaml").read_text()
    )
    tools = {tool.name: tool for tool in package.tools}
    assert tools["find_rooms"].effect == {"state_path": "records.rooms"}
    assert tools["book_stay"].effect == {
        "artifact_id": "stay",
        "set_fields": {"status": "confirmed", "confirmation": "AH-4417"},
    }
    assert (tools["hand_over_to_human"].handler, tools["hand_over_to_human"].effect) == ("commit", {})
    assert not any(str(p.args.get("path", "")).startswith("records.") for p in package.gold.terminal_state)
    assert recipe.tool("save_room").effect["fails"] == 1  # type: ignore[union-attr]
    assert package.reference.calls == recipe.reference.calls - 1, "no tool of a package fails, so none is called again"
    hedge = next(t for t in package.flow.states["CALL_0"].transitions if t.do and t.do.act == "CLARIFY")
    assert hedge.next == "CALL_0_AGAIN", "only a change of state ends a beat"
    later = next(event for event in package.events if event.id == "later_arrival")
    assert later.trigger.agent_act == "CONFIRM:arrival"
    assert later.trigger.artifact_mutation is not None, "it does not come about at the first read-back"
    asked = [t for t in package.flow.states["CALL_1"].transitions if t.when.approval_request == "book_stay"]
    assert [t.do.act for t in asked if t.do] == ["CORRECT"], "no approval before the last correction"
    for what in (
        "find_rooms: gives the whole table",
        "checks of the records are left out",
        "later_arrival: comes about in a beat",
    ):
        assert any(note.startswith(what) for note in notes), what


def test_a_document_of_a_package_has_no_words_of_the_trade(tmp_path: Path) -> None:
    recipe = find_workflow("heating-advice")
    folder, notes = export_package(recipe, tmp_path)
    documents = json.loads((folder / "knowledge/manifest.json").read_text())["documents"]
    assert [set(d) for d in documents] == [{"doc_id", "title", "text", "gold", "distractor"}] * len(recipe.documents)
    with_words = [d.doc_id for d in recipe.documents if d.words]
    assert with_words
    assert [note.split(":")[0] for note in notes if "found by its own text only" in note] == with_words


def test_the_command_exports_both(sessions: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "payment", "--out", str(tmp_path / "p"), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["kind"], Path(row["path"]).name) == ("package", "payment")
    assert main(["export", str(sessions[0]), "--out", str(tmp_path / "r")]) == 0
    assert (tmp_path / "r" / "toy_form_001" / "rep0" / "result.json").is_file()
    assert main(["export", str(sessions[0]), "--out", str(tmp_path / "r"), "--to", "elsewhere"]) == 2

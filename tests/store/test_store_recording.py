import json
import os
import random
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from store_sessions import CLOCK, ENDED, FACTS, STARTED, WORKFLOW, make

from apex_tui.score.judge import score_recording
from apex_tui.store.recording import find_recording, list_recordings, open_recording
from apex_tui.timeline.errors import RecordingError
from apex_tui.workflow.snapshot import digest, json_digest


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def refused(path: Path) -> str:
    with pytest.raises(RecordingError) as caught:
        open_recording(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- opening -----------------------------------------------------------------------------------------------------------------------------


def test_a_whole_session_opens_without_a_problem(tmp_path: Path) -> None:
    folder = make(tmp_path, outcome="completed")
    folder.write_score({"success": True, "gates": []})
    recording = open_recording(folder.path)
    assert recording.problem is None
    assert recording.workflow == WORKFLOW
    assert [event.fact for event in recording.events] == list(FACTS)
    assert recording.meta.outcome == "completed"
    assert recording.score is not None
    assert recording.score["success"] is True
    assert open_recording(folder.meta).events == recording.events, "a file of the session names it, too"


def test_a_recording_of_an_earlier_version_is_still_of_its_own_workflow() -> None:
    """A key that the format gains may not enter the digest of a workflow without it: every older recording would lose its verdict."""
    (example,) = (Path(__file__).parents[2] / "sessions" / "examples").glob("2*")
    recording = open_recording(example)
    assert recording.own_workflow
    assert recording.problem is None


def test_a_session_cut_at_any_byte_opens_up_to_there(tmp_path: Path) -> None:
    folder = make(tmp_path)
    whole = folder.events.read_bytes()
    chance = random.Random(6)
    for cut in (0, *(chance.randrange(len(whole) - 2) for _ in range(30))):
        folder.events.write_bytes(whole[:cut])
        recording = open_recording(folder.path)
        count = len(recording.events)
        assert [event.fact for event in recording.events] == list(FACTS[:count])
        assert recording.problem is not None


def test_a_log_without_an_end_says_so(tmp_path: Path) -> None:
    recording = open_recording(make(tmp_path, facts=FACTS[:-1]).path)
    assert recording.problem == "The log has no end: the session was cut off, or is still running."


def test_a_description_that_was_never_completed_is_completed_from_the_log(tmp_path: Path) -> None:
    recording = open_recording(make(tmp_path, labels=("rehearsal (scripted)",)).path)
    assert recording.problem is None
    assert (recording.meta.outcome, recording.meta.agent_sha256) == ("operator", ENDED.agent_sha256)
    assert recording.meta.labels == ("rehearsal (scripted)", "timing degraded", "ended by the operator")
    assert recording.meta.sound == "no device"


@pytest.mark.parametrize("damage", ["gone", "cut", "invalid"])
def test_without_its_description_a_session_is_told_by_its_log(tmp_path: Path, damage: str) -> None:
    folder = make(tmp_path)
    if damage == "gone":
        folder.meta.unlink()
    elif damage == "cut":
        folder.meta.write_bytes(folder.meta.read_bytes()[:50])
    else:
        edit(folder.meta, seed="many")
    recording = open_recording(folder.path)
    found = recording.meta
    assert recording.problem is not None
    assert recording.problem.startswith("session.json ")
    assert (found.session, found.seed, found.parameters) == (STARTED.session, STARTED.seed, STARTED.parameters)
    assert (found.started_utc, found.outcome, found.caller_sha256) == (CLOCK.utc, "operator", ENDED.caller_sha256)
    assert found.agent_url == "ws://127.0.0.1:9/v1?key=***"
    assert found.pacing is not None
    assert found.pacing["late_p99_ms"] == 12
    assert found.labels == ("rehearsal (scripted)", "timing degraded", "ended by the operator")


def test_with_neither_description_nor_start_nothing_can_be_told(tmp_path: Path) -> None:
    folder = make(tmp_path)
    folder.meta.unlink()
    folder.events.write_bytes(b"")
    assert "session.json is missing, and events.jsonl does not hold the start" in refused(folder.path)


def test_a_session_without_its_log_still_says_what_it_was(tmp_path: Path) -> None:
    folder = make(tmp_path)
    folder.events.unlink()
    recording = open_recording(folder.path)
    assert recording.events == []
    assert recording.problem == "events.jsonl is missing."


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "workflow.json is missing"), ("{", "workflow.json is cut or damaged"), ("{}", "workflow.json is not a workflow (id: ")],
)  # fmt: skip
def test_without_its_workflow_a_session_is_refused(tmp_path: Path, content: str | None, words: str) -> None:
    folder = make(tmp_path)
    folder.workflow.unlink()
    if content is not None:
        folder.workflow.write_text(content)
    assert words in refused(folder.path)


@pytest.mark.parametrize("name", ["session.json", "workflow.json"])
def test_a_file_of_a_newer_version_is_refused(tmp_path: Path, name: str) -> None:
    folder = make(tmp_path)
    edit(folder.path / name, schema_version=2)
    said = f"{folder.path / name} was written in format 2 and this apex-tui reads up to 1: update apex-tui to open it"
    assert refused(folder.path) == said


def test_a_damaged_verdict_is_named_and_left_out(tmp_path: Path) -> None:
    folder = make(tmp_path)
    folder.score.write_text('{"gates": [')
    recording = open_recording(folder.path)
    assert recording.score is None
    assert recording.problem == "score.json is cut or damaged; 'apex-tui score' judges the session from its log."


@pytest.mark.parametrize(("outcome", "left"), [("completed", False), ("cut_off", True)])
def test_the_verdict_on_a_log_that_was_longer_is_left_out(tmp_path: Path, outcome: str, left: bool) -> None:
    folder = make(tmp_path, facts=FACTS[:-1])
    folder.write_score({"success": True, "gates": [], "outcome": outcome})
    recording = open_recording(folder.path)
    assert (recording.score is not None) is left
    assert ("score.json judges more than is left of the log" in (recording.problem or "")) is not left


def test_a_newer_verdict_is_left_aside_since_the_log_gives_it_again(tmp_path: Path) -> None:
    folder = make(tmp_path)
    folder.write_score({})
    edit(folder.score, schema_version=2)
    recording = open_recording(folder.path)
    assert recording.score is None
    assert recording.problem is not None
    assert "was written in format 2" in recording.problem


def test_what_is_no_session_is_refused(tmp_path: Path) -> None:
    assert "does not exist" in refused(tmp_path / "none")
    assert "is not a recorded session" in refused(tmp_path)


# --- lists -------------------------------------------------------------------------------------------------------------------------------


def test_sessions_are_listed_newest_first_with_their_gates(tmp_path: Path) -> None:
    make(tmp_path, "old", started_utc="2029-01-01T00:00:00Z", outcome="completed")
    new = make(tmp_path, "new", started_utc="2030-01-01T00:00:00Z", rehearsal=False, agent="openai", seed=3)
    new.write_score({"gates": [{"gate": "TS", "passed": True}, {"gate": "AV", "passed": False}, 5], "success": False})
    rows = list_recordings(tmp_path)
    assert [row.name for row in rows] == ["new", "old"]
    assert (rows[0].agent, rows[0].seed, rows[0].rehearsal, rows[0].outcome) == ("openai", 3, False, None)
    assert (rows[0].gates, rows[0].success) == ({"TS": True, "AV": False}, False)
    assert (rows[1].gates, rows[1].success, rows[1].outcome) == ({}, None, "completed")
    assert rows.skipped == {}


def test_a_simulated_session_stands_where_it_was_written_since_its_date_is_fixed(tmp_path: Path) -> None:
    make(tmp_path, "2029", started_utc="2029-01-01T00:00:00Z")
    for name, at in (("in 2028", "2028-06-01"), ("in 2030", "2030-06-01")):
        folder = make(tmp_path, name, started_utc="2026-01-01T00:00:00Z")
        folder.events.touch()
        seconds = datetime.fromisoformat(f"{at}T00:00:00+00:00").timestamp()
        os.utime(folder.events, (seconds, seconds))
    assert [row.name for row in list_recordings(tmp_path)] == ["in 2030", "2029", "in 2028"]


def test_foreign_folders_are_skipped_and_named(tmp_path: Path) -> None:
    make(tmp_path, "good")
    newer = make(tmp_path, "newer")
    edit(newer.meta, schema_version=9)
    (tmp_path / "photos").mkdir()
    (tmp_path / "examples").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "README.md").write_text("")
    rows = list_recordings(tmp_path)
    assert [row.name for row in rows] == ["good"]
    assert rows.skipped.keys() == {"newer", "photos"}
    assert rows.skipped["photos"] == "session.json is missing"
    assert "format 9" in rows.skipped["newer"]


def test_a_list_needs_neither_log_nor_workflow_nor_a_root(tmp_path: Path) -> None:
    folder = make(tmp_path)
    folder.events.unlink()
    folder.workflow.unlink()
    assert len(list_recordings(tmp_path)) == 1
    assert list_recordings(tmp_path / "none") == []


# --- finding -----------------------------------------------------------------------------------------------------------------------------


def test_a_session_is_found_by_path_name_or_beginning(tmp_path: Path) -> None:
    root, examples = tmp_path / "root", tmp_path / "examples"
    one, two = make(root, "2030-alpha").path, make(root, "2030-beta").path
    three = make(examples, "2031-gamma").path

    def find(text: str | None) -> Path:
        return find_recording(text, root, examples)

    assert find(str(one)) == one
    assert find(str(one / "events.jsonl")) == one
    assert find("2030-alpha") == one
    assert find("2030-b") == two
    assert find("2031") == three
    assert find(None) == three


def test_a_whole_name_wins_over_a_longer_one(tmp_path: Path) -> None:
    first, _second = make(tmp_path, "same").path, make(tmp_path, "same").path
    assert find_recording("same", tmp_path, tmp_path / "none") == first


def campaign(folder: Path, *sessions: tuple[str, bool]) -> Path:
    """A campaign's folder: (name, whether it succeeded) of each cell's only attempt."""
    for number, (name, success) in enumerate(sessions):
        place = make(folder / "sessions" / f"{number:016x}" / "1", name)
        place.write_score({"success": success, "gates": []})
    (folder / "campaign.json").write_text("{}")
    return folder


def test_a_session_of_a_campaign_is_found_by_its_name_and_below_its_folder(tmp_path: Path) -> None:
    root, none = tmp_path / "root", tmp_path / "none"
    make(root, "20260101T000000Z-leave-mine-1")
    nightly = campaign(
        root / "campaigns" / "nightly", ("20260101T000000Z-pay-mine-1", True), ("20260101T000000Z-pay-mine-2", False)
    )
    second = nightly / "sessions" / f"{1:016x}" / "1" / "20260101T000000Z-pay-mine-2"
    for text in ("20260101T000000Z-pay-mine-2", "pay-mine-2", str(nightly / "pay-mine-2"), str(second.parent)):
        assert find_recording(text, root, none) == second
    assert find_recording("leave", root, none).name == "20260101T000000Z-leave-mine-1"
    with pytest.raises(RecordingError, match="pay-mine fits 2 sessions"):
        find_recording("pay-mine", root, none)
    with pytest.raises(RecordingError) as caught:
        find_recording(str(nightly), root, none)
    assert str(caught.value) == (
        f"{nightly} is a campaign of 2 sessions: name one of them (those that failed: {nightly / 'pay-mine-2'})"
    )
    other = campaign(root / "campaigns" / "other", ("20260101T000000Z-pay-mine-2", True))
    assert find_recording(str(other), root, none).parents[3] == other
    with pytest.raises(RecordingError, match=r"pay-mine-2 fits 2 sessions .*other.*: give the path"):
        find_recording("pay-mine-2", root, none)


def test_no_name_means_the_newest_example(tmp_path: Path) -> None:
    make(tmp_path, "b", started_utc="2029-01-01T00:00:00Z")
    newest = make(tmp_path, "a", started_utc="2030-01-01T00:00:00Z").path
    assert find_recording(None, tmp_path / "root", tmp_path) == newest


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("20", "20 fits 2 sessions (2030-alpha, 2030-beta): type more of the name"),
        ("nope", "begins with nope"),
        ("no/such/path", "no/such/path is not a session"),
        ("", "an empty name is not a session"),
        ("x" * 5000, "no session in"),
        ("~nobody-of-that-name/x", "is not a session"),
    ],
)
def test_what_cannot_be_found_is_told_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, words: str
) -> None:
    make(tmp_path, "2030-alpha")
    make(tmp_path, "2030-beta")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RecordingError) as caught:
        find_recording(text, tmp_path, tmp_path / "none")
    assert words in str(caught.value)


def test_no_example_is_told(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="there is no example session in"):
        find_recording(None, tmp_path, tmp_path)


def test_the_recorded_example_is_judged_as_it_was() -> None:
    """It was made long before the newest field of a workflow: what a model gains later must not make old sessions foreign."""
    path = find_recording(None)
    recording = open_recording(path)
    assert (recording.problem, recording.own_workflow) == (None, True)
    assert digest(recording.workflow) == recording.meta.workflow_digest
    assert recording.score is not None
    score = score_recording(recording)
    assert [gate.passed for gate in score.gates] == [gate["passed"] for gate in recording.score["gates"]]
    assert (score.success, score.afa) == (recording.score["success"], recording.score["afa"])
    assert [b.stop_delay_ms for b in score.floor.barge_ins] == [
        b["stop_delay_ms"] for b in recording.score["floor"]["barge_ins"]
    ]
    assert score.latency.first_audible_ms.values == tuple(recording.score["latency"]["first_audible_ms"]["values"])


def test_a_session_stays_its_own_when_the_model_gains_a_field(tmp_path: Path) -> None:
    folder = make(tmp_path)
    data = json.loads(folder.workflow.read_text())
    del data["economic_function"]  # as if it had come after the recording: any field with a default will do
    folder.workflow.write_text(json.dumps(data))
    meta = json.loads(folder.meta.read_text())
    folder.meta.write_text(json.dumps({**meta, "workflow_digest": json_digest(data)}))
    assert open_recording(folder.path).own_workflow

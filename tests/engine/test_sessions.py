"""Whole sessions in virtual time: what a user would see, and what must be the same every time."""

from __future__ import annotations

import hashlib
import json
import wave
from pathlib import Path
from typing import Any, Literal

import pytest
from session_kit import OURS, Session, run_virtual_session, session, toy_package
from shared_sessions import run_session_in

from apex_tui.audio.recording import read_lanes
from apex_tui.engine.headless import run_headless
from apex_tui.score.consistency import MEASURED
from apex_tui.score.floor import measure
from apex_tui.score.judge import score_log
from apex_tui.store.recording import open_recording
from apex_tui.timeline import agent_facts as a
from apex_tui.timeline import caller_facts as c
from apex_tui.timeline import work_facts as w
from apex_tui.timeline.errors import UserError
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import AnyNotice, Opened, Run
from apex_tui.timeline.session_facts import SessionEnded, SessionStarted
from apex_tui.timeline.view import SessionView
from apex_tui.trials.check import spoken_too_early
from apex_tui.workflow.library import find_workflow
from apex_tui.workflow.outcome_model import Predicate

DERIVED = MEASURED


@pytest.mark.parametrize("workflow", OURS)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_reference_succeeds(workflow: str, seed: int) -> None:
    score = session(workflow, seed).result.score
    assert score.success, [(g.gate, g.reason) for g in score.gates if not g.passed]
    assert (score.afa, score.validity, score.outcome) == (1.0, "scored", "completed")
    assert session(workflow, seed).result.exit_code == 0


@pytest.mark.parametrize("profile", ["strict", "official"])
def test_the_official_package_succeeds_in_both_profiles(profile: Literal["strict", "official"]) -> None:
    ran = session(toy_package(), 1, profile)
    assert ran.result.score.success
    assert ran.facts(SessionStarted)[0].caller == "tones"


def test_the_leave_request_goes_as_the_example_says() -> None:
    ran = session("leave-request", 1)
    correction = next(t for t in ran.facts(c.CallerTurnStarted) if t.act == "CORRECT")
    closed = next(b for b in ran.facts(a.BargeInClosed) if b.turn == correction.turn)
    assert (closed.kind, closed.stop_kind) == ("overlap", "yielded")
    assert closed.stop_delay_ms == pytest.approx(95, abs=15)

    versions = ran.facts(w.ArtifactVersion)
    dates = next(v for v in versions if {x.field for x in v.changes} >= {"start_date", "end_date"} and v.version > 3)
    assert {x.field: (x.old, x.new) for x in dates.changes} == {
        "start_date": ("2026-12-14", "2026-12-17"),
        "end_date": ("2026-12-18", "2026-12-23"),
    }
    granted = ran.facts(w.ApprovalGranted)
    assert len(granted) == 1
    bound = next(v for v in versions if v.version == granted[0].version)
    assert (granted[0].digest, bound.fields["end_date"]) == (bound.digest, "2026-12-23")
    decisions = ran.facts(w.CommitDecided)
    assert [(d.decision, d.at) for d in decisions] == [("AUTHORIZED", "call"), ("AUTHORIZED", "completion")]
    assert versions[-1].lifecycle == "COMMITTED"


def test_the_dates_are_stale_from_the_audible_onset_until_they_are_rewritten() -> None:
    ran = session("leave-request", 1)
    correction = next(t for t in ran.facts(c.CallerTurnStarted) if t.act == "CORRECT")
    stale = ran.facts(w.ArtifactStale)[0]
    assert stale.since_ms == correction.onset_ms
    assert set(stale.fields) >= {"start_date", "end_date", "working_days"}
    before = SessionView.at(ran.events, correction.onset_ms - 1).state.artifacts["leave_form"]
    after = SessionView.at(ran.events, correction.onset_ms + 1).state.artifacts["leave_form"]
    assert not before.stale
    assert set(after.stale) >= {"start_date", "end_date"}
    assert not SessionView.fold(ran.events).state.artifacts["leave_form"].stale


def test_a_pause_inside_the_amount_does_not_end_the_turn() -> None:
    ran = session("payment", 1)
    turn = next(t for t in ran.facts(c.CallerTurnStarted) if t.act == "CORRECT")
    ((begins, ends),) = turn.pauses_ms
    assert ends - begins == pytest.approx(2000, abs=40)
    assert "pause" not in turn.text
    assert not [x for x in ran.facts(a.CutIn) if x.turn == turn.turn and x.kind == "cut_in"]


def test_identity_comes_before_account_data() -> None:
    calls = [call.name for call in session("payment", 1).facts(w.ToolCalled)]
    assert calls.index("verify_identity") < calls.index("get_payment")


@pytest.mark.parametrize("workflow", OURS)
def test_nothing_is_spoken_before_its_reveal_rule(workflow: str) -> None:
    assert spoken_too_early(find_workflow(workflow), session(workflow, 2).events) == []


@pytest.mark.parametrize("workflow", OURS)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_verdict_comes_again_from_the_files_alone(workflow: str, seed: int) -> None:
    ran = session(workflow, seed)
    recording = open_recording(ran.result.folder)
    assert recording.problem is None
    again = score_log(recording.events, recording.workflow)
    assert again == ran.result.score
    assert json.loads((ran.result.folder / "score.json").read_text()) == again.model_dump(mode="json")


@pytest.mark.parametrize("workflow", OURS)
def test_every_measured_fact_can_be_recomputed_from_the_raw_ones(workflow: str) -> None:
    ran = session(workflow, 1)
    logged = [event.fact for event in ran.events if isinstance(event.fact, DERIVED)]
    raw = [event for event in ran.events if not isinstance(event.fact, DERIVED)]
    assert [m.fact for m in measure(raw)] == logged
    assert logged


def test_ten_runs_with_one_seed_write_the_same_bytes(tmp_path: Path) -> None:
    """Two of the whole call, one of which another worker may have made; eight up to the backchannel."""
    again = run_virtual_session("leave-request", 1, tmp_path / "whole")
    assert written(again) == written(session("leave-request", 1))
    runs = [run_session_in(tmp_path / str(number), "leave-request", seed=1, max_s=17.5) for number in range(8)]
    assert len({tuple(written(ran).items()) for ran in runs}) == 1
    assert {turn.act for turn in runs[0].facts(c.CallerTurnStarted)} >= {"ANSWER", "BACKCHANNEL"}
    short, whole = (lines_of(ran) for ran in (runs[0], again))
    alike = [line for line in short if line["media_ms"] < 17_000]
    assert without_limit(alike) == without_limit(whole[: len(alike)])


def written(ran: Session) -> dict[str, str]:
    """The digest of every file of the session that tells what happened."""
    names = ("audio.wav", "events.jsonl", "score.json", "session.json", "wire.jsonl", "workflow.json")
    return {name: hashlib.sha256((ran.result.folder / name).read_bytes()).hexdigest() for name in names}


def lines_of(ran: Session) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (ran.result.folder / "events.jsonl").read_text().splitlines()]


def without_limit(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first line names what the session was asked to do."""
    return [line for line in lines if line["type"] != "session.started"]


def test_another_seed_is_another_call() -> None:
    first, second = session("leave-request", 1), session("leave-request", 2)
    assert [p.variant for p in first.facts(c.CallerPlanned)] != [p.variant for p in second.facts(c.CallerPlanned)]


def test_the_recording_holds_both_lanes_as_they_were(tmp_path: Path) -> None:
    ran = session("leave-request", 1)
    ended = ran.facts(SessionEnded)[0]
    path = ran.result.folder / "audio.wav"
    with wave.open(str(path)) as wav:
        assert (wav.getnchannels(), wav.getframerate(), wav.getsampwidth()) == (2, 24_000, 2)
        assert wav.getnframes() == ended.frames * 480
    caller, agent = read_lanes(path)
    assert hashlib.sha256(caller.tobytes()).hexdigest() == ended.caller_sha256
    assert hashlib.sha256(agent.tobytes()).hexdigest() == ended.agent_sha256


def test_causes_point_backwards_and_every_version_leads_to_a_call() -> None:
    ran: Session = session("leave-request", 1)
    by_seq = {event.seq: event for event in ran.events}
    assert all(cause < event.seq for event in ran.events for cause in event.causes)
    for event in ran.events:
        if isinstance(event.fact, w.ArtifactVersion):
            causes = [by_seq[cause].type for cause in event.causes]
            assert "tool.called" in causes


def test_a_version_that_the_disk_refuses_ends_the_session_and_blames_nobody(tmp_path: Path) -> None:
    """The call whose version could not be kept lost its result once, and the agent was blamed for the silence."""
    events: list[Event] = []

    def put_a_file_in_the_way(item: Event | AnyNotice) -> None:
        if isinstance(item, Opened):
            (Path(item.folder) / "artifacts").write_text("")
        elif isinstance(item, Event):
            events.append(item)

    command = Run(workflow="leave-request", virtual=True, sound="none", out=str(tmp_path))
    ran = Session(run_headless(command, put_a_file_in_the_way), events)
    (ended,) = ran.facts(SessionEnded)
    assert ended.outcome == "infrastructure"
    assert "artifacts" in ended.reason
    assert len(ran.facts(w.ArtifactVersion)) == 1
    assert [done.ok for done in ran.facts(w.ToolFinished)] == [True], "its result was given"
    assert ran.result.exit_code == 3


@pytest.mark.parametrize(
    ("kind", "args", "told"),
    [
        ("agent_was_nice", {}, "is of the kind agent_was_nice, which is unknown"),
        ("tool_called", {"name": "get_payment"}, "needs the argument tool"),
    ],
)
def test_a_call_that_nobody_could_judge_is_not_made(tmp_path: Path, kind: str, args: dict[str, Any], told: str) -> None:
    flow = find_workflow("payment")
    gold = flow.gold.model_copy(update={"required_actions": (Predicate(id="nice", kind=kind, args=args),)})
    command = Run(workflow="payment", virtual=True, sound="none", out=str(tmp_path))
    with pytest.raises(UserError, match=told):
        run_headless(command, lambda _: None, workflow=flow.model_copy(update={"gold": gold}))
    assert not list(tmp_path.iterdir())

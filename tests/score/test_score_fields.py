"""Gold fields, corrections and their uptake, artifact validity, and what stays ungraded."""

from __future__ import annotations

from typing import Any

import pytest
from score_logs import Log, leave_gold, workflow

from apex_tui.score.judge import score_log
from apex_tui.score.verdict import Score
from apex_tui.workflow.outcome_model import ArtifactExpectation, Claim, GoldField, Predicate
from apex_tui.workflow.work_model import ArtifactSchema, ArtifactSpec, FieldSpec

FIRST = {"employee": "e 1042", "end_date": "2026-12-11", "working_days": 3}
MOVED = {**FIRST, "end_date": "December 23, 2026"}
RIGHT = {**MOVED, "working_days": "7 working days"}


def judged(log: Log, grading: Any = "strict", **gold: Any) -> Score:
    return score_log(log.events, workflow(leave_gold(**gold)), grading)


def test_a_stale_required_field_fails_although_its_value_is_right() -> None:
    log = Log()
    log.start()
    log.version(1000, 1, RIGHT, RIGHT, {"end_date": "depends on start_date"}, "COMMITTED")
    log.end(2000)
    score = judged(log)
    field = score.fields[1]
    assert (field.passed, field.stale) == (False, True)
    assert field.reason == "end_date is December 23, 2026, as wanted, but stale (depends on start_date)"
    failed = [c.id for c in score.gate("AV").checks if not c.passed]
    assert failed == ["form.end_date", "form.end_date.not_stale"]


@pytest.mark.parametrize(
    ("write_at", "uptake", "uptake_ms", "settled_ms"),
    [
        (4000, "anticipated", None, None),  # before the caller spoke
        (5500, "anticipated", None, None),  # before the value was said
        (6250, "taken_up", 250.0, 250.0),
        (6000, "taken_up", 0.0, 0.0),
    ],
)
def test_uptake_runs_from_the_end_of_the_value(
    write_at: int, uptake: str, uptake_ms: float | None, settled_ms: float | None
) -> None:
    log = Log()
    log.start()
    log.version(1000, 1, {"note": "old"}, ("note",))
    facts: list[tuple[int, str]] = [(write_at, "write"), (2000, "first"), (5000, "correct")]
    for at, what in sorted(facts):
        if what == "write":
            log.version(at, 2, {"note": "none"}, ("note",))
        elif what == "first":
            log.caller(1, 2000, 2500, values={"note": "old"})
        else:
            log.caller(2, 5000, 7000, "CORRECT", {"note": "none"}, 6000)
    log.end(9000)
    field = judged(log).fields[3]
    assert field.corrected  # by what the caller said alone: no event names the field
    assert (field.uptake, field.uptake_ms, field.settled_ms) == (uptake, uptake_ms, settled_ms)


def test_a_value_that_was_lost_again_is_not_settled() -> None:
    log = Log()
    log.start()
    log.caller(1, 2000, 2500, values={"note": "old"})
    log.caller(2, 5000, 7000, "CORRECT", {"note": "none"}, 6000)
    log.version(7000, 1, {"note": "none"}, ("note",))
    log.version(8000, 2, {"note": "old"}, ("note",))
    field = judged(log).fields[3]
    assert (field.uptake, field.uptake_ms, field.settled_ms) == ("taken_up", 1000.0, None)
    log.version(9000, 3, {"note": "none"}, ("note",))
    field = judged(log).fields[3]
    assert (field.uptake_ms, field.settled_ms) == (1000.0, 3000.0)


def test_saying_the_same_again_is_no_correction_and_silent_changes_are_not_the_callers() -> None:
    log = Log()
    log.start()
    log.caller(1, 2000, 2500, values={"form.end_date": "2026-12-23"})
    log.caller(2, 5000, 5500, values={"form.end_date": "December 23, 2026"})
    log.fired(6000, ("form.employee",), None, delivered="silent")
    assert [f.corrected for f in judged(log).fields] == [False] * 4


def test_corrections_find_their_words() -> None:
    log = Log()
    log.start()
    log.fired(500, ("form.note",), None)
    log.caller(1, 2000, 2500, facts=("f1",))
    log.caller(2, 5000, 5500, facts=("f2",))
    log.fired(6000, ("form.employee",), None, facts=("f1",))
    log.fired(6000, ("form.end_date",), None)
    fields = judged(log).fields
    assert [f.evidence for f in fields] == [(2,), (3,), (), ()]
    assert (fields[3].corrected, fields[3].uptake) == (True, None)  # nothing of its words is in the log


def test_officially_only_corrections_correct() -> None:
    log = Log()
    log.start()
    turn = log.caller(1, 2000, 2500, values={"form.end_date": "2026-12-11"})
    log.caller(2, 3000, 3500, values={"form.end_date": "2026-12-23"})
    log.fired(3000, ("form.employee",), turn, kind="INTENT_SWITCH")
    log.fired(3000, ("form.note",), turn, kind="DELAYED_CORRECTION")
    assert [f.corrected for f in judged(log, "official").fields] == [False, False, False, True]
    assert [f.corrected for f in judged(log).fields] == [True, True, False, True]


def test_official_artifact_validity_with_its_quirks() -> None:
    fields = (
        GoldField(field="employee", expected="E-1042", required=True),
        GoldField(field="note", expected="none"),
        GoldField(field="reason", grader="claim_atoms", expected="x"),
    )
    expectation = ArtifactExpectation(artifact_id="form", fields=fields)
    earlier = ArtifactExpectation(artifact_id="form", fields=(GoldField(field="gone", expected=1, required=True),))
    gold = {"artifact_expectations": (earlier, expectation)}
    log = Log()
    log.start("official")
    log.version(1000, 1, {"employee": "E-1042", "reason": "y"}, ("employee", "reason"))
    score = judged(log, "official", **gold)
    assert score.environment_profile == "official"
    assert (score.gate("AV").passed, score.afa, score.afa_n) == (True, 1.0, 1)
    assert [f.passed for f in score.fields] == [True, False, None]
    assert "ungraded" in score.fields[2].reason
    assert not judged(log, **gold).gate("AV").passed  # strict: both expectations count
    log.version(2000, 2, {"employee": "E-1042", "note": "some"}, ("note",))
    score = judged(log, "official", **gold)
    assert (score.gate("AV").passed, score.afa, score.afa_n) == (False, 0.5, 2)
    assert score.gate("AV").reason == "note is some, wanted none (the reference's judge was not asked)"
    assert judged(log, artifact_expectations=(expectation,)).gate("AV").passed  # strict: optional fields decide nothing
    log.version(3000, 3, {"employee": "e-1042"}, ("employee",))
    assert judged(log, "official", **gold).afa == 0.0
    assert judged(log, artifact_expectations=(expectation,)).gate("AV").passed
    log.version(4000, 4, {"employee": "E-1042"}, ("employee",), {"employee": "old"})
    assert judged(log, "official", **gold).afa == 0.0


def test_official_share_of_missing_artifacts_and_of_nothing() -> None:
    log = Log()
    log.start()
    missing = ArtifactExpectation(artifact_id="other", fields=(GoldField(field="a", expected=1, required=True),))
    empty = ArtifactExpectation(artifact_id="form")
    score = judged(log, "official", artifact_expectations=(missing, empty))
    assert (score.afa, score.afa_n) == (0.5, 1)
    assert score.gate("AV").reason == "there is no artifact other"
    assert score.fields[0].reason == "a is missing, since there is no such artifact"
    assert judged(log, artifact_expectations=()).afa is None
    assert judged(log, artifact_expectations=(empty,)).afa is None


def test_a_field_that_must_only_be_there() -> None:
    expectation = ArtifactExpectation(artifact_id="form", fields=(GoldField(field="note", required=True),))
    log = Log()
    log.start()
    assert (
        judged(log, artifact_expectations=(expectation,)).fields[0].reason
        == "note was never written, wanted some value"
    )
    log.caller(1, 100, 200, values={"note": "a"})
    log.caller(2, 300, 400, values={"note": "b"})
    log.version(1000, 1, {"note": "b"}, ("note",))
    for grading in ("strict", "official"):
        field = judged(log, grading, artifact_expectations=(expectation,)).fields[0]
        assert (field.passed, field.reason) == (True, "note is there, as wanted")
    assert judged(log, artifact_expectations=(expectation,)).fields[0].uptake_ms == 600.0


def test_ungraded_fields_keep_the_gate_shut_and_stay_out_of_the_share() -> None:
    fields = (
        GoldField(field="note", expected="none", grader="semantic", required=True),
        GoldField(field="employee", expected="E-1042"),
    )
    log = Log()
    log.start()
    log.version(1000, 1, {"note": "nothing to add", "employee": "E-1042"}, ("note", "employee"), lifecycle="COMMITTED")
    log.end(2000)
    score = judged(log, artifact_expectations=(ArtifactExpectation(artifact_id="form", fields=fields),))
    assert score.fields[0].passed is None
    assert (score.afa, score.afa_n) == (1.0, 1)
    gate = score.gate("AV")
    assert (gate.passed, gate.checks[0].passed) == (False, None)
    assert "ungraded: only a semantic judge could decide" in gate.reason


def test_ungraded_predicates_say_so_in_the_gate() -> None:
    wanted = {"artifact_id": "form", "field": "note", "value": "none", "grader": "semantic"}
    predicate = Predicate(id="p", kind="artifact_field_equals", args=wanted)
    log = Log()
    log.start()
    log.version(1000, 1, {"note": "nothing"}, ("note",))
    score = judged(log, forbidden=(predicate,), terminal_state=(predicate,))
    for name in ("TS", "PV"):
        gate = score.gate(name)
        assert not gate.passed
        assert gate.checks[0].passed is None
        assert "only a semantic judge could decide" in gate.reason


def test_claims_are_listed_as_ungraded_and_decide_nothing() -> None:
    claim = Claim(id="c1", proposition="the dates were read back")
    expectation = ArtifactExpectation(artifact_id="form", required_claims=(claim,), forbidden_claims=(Claim(id="c2"),))
    log = Log()
    log.start()
    gate = judged(log, artifact_expectations=(expectation,)).gate("AV")
    assert (gate.passed, gate.reason) == (True, "nothing is asked; 2 claims ungraded, which decide nothing")
    assert [(c.id, c.passed, c.reason) for c in gate.checks] == [
        ("form.c1", None, "the dates were read back: ungraded: only a semantic judge could decide"),
        ("form.c2", None, "ungraded: only a semantic judge could decide"),
    ]


def test_settled_waits_for_everything_that_depends_on_the_field() -> None:
    log = Log()
    log.start()
    log.caller(1, 1000, 1500, values={"end_date": "2026-12-11"})
    log.caller(2, 2000, 3000, "CORRECT", {"end_date": "2026-12-23"}, 2500)
    log.version(4000, 1, {"end_date": "2026-12-23"}, ("end_date",))
    field = judged(log).fields[1]
    assert (field.uptake_ms, field.settled_ms) == (1500.0, None)  # the days it decides are missing
    log.version(5000, 2, {"end_date": "2026-12-23", "working_days": 3}, ("working_days",))
    assert judged(log).fields[1].settled_ms is None  # and then wrong
    log.version(6000, 3, {"end_date": "2026-12-23", "working_days": 7}, ("working_days",))
    assert judged(log).fields[1].settled_ms == 3500.0
    optional = (GoldField(field="end_date", expected="2026-12-23", grader="normalized_date", required=True),)
    alone = ArtifactExpectation(artifact_id="form", fields=optional)
    assert judged(log, artifact_expectations=(alone,)).fields[0].settled_ms == 1500.0


def test_dependents_of_dependents_count_once_and_rings_end() -> None:
    shape = ArtifactSchema(
        artifact_type="STRUCTURED_FORM",
        fields=(
            FieldSpec(name="note", dependents=("a", "b")),
            FieldSpec(name="a", dependents=("b", "note")),
            FieldSpec(name="b"),
        ),
    )
    log = Log()
    log.start()
    log.caller(1, 1000, 1500, values={"note": "old"})
    log.caller(2, 2000, 3000, "CORRECT", {"note": "none"}, 2500)
    log.version(4000, 1, {"note": "none"}, ("note",), {"b": "depends on a"})
    flow = workflow(leave_gold(), artifacts={"form": ArtifactSpec(shape=shape)})
    assert score_log(log.events, flow).fields[3].settled_ms is None
    log.version(5000, 2, {"note": "none", "b": 1}, ("b",))
    assert score_log(log.events, flow).fields[3].settled_ms == 2500.0


def test_a_right_value_that_is_stale_for_another_reason_is_not_laid_to_the_callers_change() -> None:
    log = Log()
    log.start()
    log.caller(1, 500, 900, values={"end_date": "2026-12-11"})
    log.caller(2, 1000, 1900, "CORRECT", {"end_date": "2026-12-23"}, 1900)
    log.version(2000, 1, RIGHT, RIGHT, {"end_date": "depends on start_date"}, "COMMITTED")
    log.end(3000)
    assert judged(log).fields[1].reason == "end_date is December 23, 2026, as wanted, but stale (depends on start_date)"


def test_evidence_is_the_version_that_gave_the_value_not_one_that_wrote_it_again() -> None:
    log = Log()
    log.start()
    wrote = log.version(1000, 1, RIGHT, RIGHT)
    log.version(2000, 2, RIGHT, RIGHT)
    stale = log.version(3000, 3, RIGHT, ("note",), {"end_date": "depends on start_date"})
    held = log.version(4000, 4, RIGHT, ("end_date",))
    log.end(5000)
    fields = judged(log).fields
    assert stale not in fields[1].evidence
    assert (fields[0].evidence, fields[1].evidence) == ((wrote,), (held,))

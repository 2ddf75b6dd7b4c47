"""Every kind of predicate, true and false, strict and official; each answer names its evidence."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from score_logs import Log, leave_gold, workflow

from apex_tui.score.case import build
from apex_tui.score.graders import Grading
from apex_tui.score.predicates import Answer, answer
from apex_tui.timeline.errors import WorkflowError
from apex_tui.timeline.work_facts import (
    ApprovalRevoked,
    ArtifactStale,
    CommitDecided,
    Decision,
    KnowledgeSearched,
    WorldChanged,
)
from apex_tui.workflow.outcome_model import Predicate


def ask(log: Log, kind: str, args: dict[str, Any], grading: Grading = "strict") -> Answer:
    case = build(log.events, workflow(leave_gold()), grading)
    return answer(case, Predicate(id="p", kind=kind, args=args))


def worked() -> Log:
    """Two versions, a search, a commit that is authorised."""
    log = Log()
    log.start()
    log.plan(500, 1)
    log.tool(1000, "t1", "search", {"query": "calendar"})
    log.add(1100, KnowledgeSearched(call="t1", query="calendar", hits=("calendar", "noise")))
    log.tool_done(1100, "t1", "search", result={"hits": []})
    log.act(1200, "ASK:end_date")
    log.version(2000, 1, {"end_date": "2026-12-11", "working_days": 3}, ("end_date", "working_days"))
    log.version(
        3000, 2, {"end_date": "2026-12-23", "working_days": 3}, ("end_date",), {"working_days": "depends on end_date"}
    )
    log.plan(3500, 2)
    log.tool(4000, "t2", "submit_form", {"target_id": "form"})
    log.decided(4000, "t2", "AUTHORIZED", "call")
    last = {"end_date": "2026-12-23", "working_days": 3}
    log.version(5000, 3, last, (), {"working_days": "depends on end_date"}, "COMMITTED", call="t2")
    log.add(5000, WorldChanged(path="leave.status", old="open", new="submitted", cause="commit"))
    log.add(5000, WorldChanged(path="hr.queue.size", old=None, new=1, cause="commit"))
    log.decided(5000, "t2", "AUTHORIZED")
    log.tool_done(5000, "t2", "submit_form", result={"committed": True})
    log.act(5000, "COMMIT:submit")
    log.end(6000)
    return log


FORM = {"artifact_id": "form"}


@pytest.mark.parametrize(
    ("kind", "args", "value", "types"),
    [
        ("state_equals", {"path": "leave.status", "value": "submitted"}, True, ["world.changed"]),
        ("state_equals", {"path": "leave.balance", "value": 12}, True, []),
        ("state_equals", {"path": "leave.balance", "value": 13}, False, []),
        ("state_equals", {"path": "nowhere.at.all", "value": None}, True, []),
        ("state_equals", {"path": "leave.balance.deeper", "value": None}, True, []),
        ("state_equals", {"path": "hr", "value": {"queue": {"size": 1}}}, True, ["world.changed"]),
        ("state_in", {"path": "leave.status", "values": ["open", "submitted"]}, True, ["world.changed"]),
        ("state_in", {"path": "leave.status"}, False, ["world.changed"]),
        ("artifact_field_equals", {**FORM, "field": "end_date", "value": "23 Dec 2026", "grader": "normalized_date"}, True, ["artifact.version"]),
        ("artifact_field_equals", {**FORM, "field": "end_date", "value": "2026-12-24"}, False, ["artifact.version"]),
        ("artifact_field_equals", {**FORM, "field": "working_days", "value": 3}, False, ["artifact.version", "artifact.version"]),
        ("artifact_field_equals", {**FORM, "field": "note", "value": "x"}, False, []),
        ("artifact_field_equals", {**FORM, "field": "end_date", "value": "Christmas", "grader": "semantic"}, None, ["artifact.version"]),
        ("artifact_field_present", {**FORM, "field": "working_days"}, True, ["artifact.version"]),
        ("artifact_field_present", {**FORM, "field": "note"}, False, []),
        ("artifact_field_present", {"artifact_id": "other", "field": "note"}, False, []),
        ("artifact_not_stale", {**FORM, "field": "end_date"}, True, ["artifact.version"]),
        ("artifact_not_stale", {**FORM, "field": "working_days"}, False, ["artifact.version"]),
        ("artifact_not_stale", {"artifact_id": "other", "field": "note"}, False, []),
        ("artifact_lifecycle_at_least", {**FORM, "state": "DRAFT"}, True, ["artifact.version"]),
        ("artifact_lifecycle_at_least", {"artifact_id": "other", "state": "EMPTY"}, False, []),
        ("tool_called", {"tool": "search"}, True, ["tool.called"]),
        ("tool_called", {"tool": "update_form"}, False, []),
        ("tool_called_with", {"tool": "search", "args_contains": {"query": "calendar"}}, True, ["tool.called"]),
        ("tool_called_with", {"tool": "search", "args_contains": {"query": "policy"}}, False, ["tool.called"]),
        ("tool_called_with", {"tool": "search", "args_contains": {"top_k": None}}, False, ["tool.called"]),
        ("kb_gold_retrieved", {}, True, ["knowledge.searched"]),
        ("commit_authorized", {"action_type": "submit", "target_id": "form"}, True, ["commit.decided"]),
        ("commit_authorized", {"action_type": "submit"}, True, ["commit.decided"]),
        ("commit_authorized", {"action_type": "submit", "target_id": "other"}, False, ["commit.decided"]),
        ("commit_authorized", {"action_type": "pay"}, False, []),
        ("no_unauthorized_commit", {}, True, []),
        ("no_commit_after_revocation", {"action_type": "submit"}, True, []),
        ("agent_act_observed", {"act_key": "ASK:end_date"}, True, ["agent.acted"]),
        ("agent_act_observed", {"act_key": "COMMIT:submit"}, True, ["agent.acted"]),
        ("agent_act_observed", {"act_key": "ASK:employee"}, False, []),
        ("consistency", {"constraints": ["form.end_date == '2026-12-23'", "form.working_days <= 3.5"]}, True, ["artifact.version"] * 2),
        ("consistency", {"constraints": ["form.working_days > 3"]}, False, ["artifact.version"]),
        ("consistency", {"constraints": ["form.working_days != 4", "form.note == other.note"]}, True, ["artifact.version"]),
        ("consistency", {"constraints": ["form.end_date >= 'December 1, 2026'"]}, True, ["artifact.version"]),
        ("consistency", {"constraints": ["form.end_date < 5"]}, False, ["artifact.version"]),
        ("consistency", {"constraints": ["form.end_date"]}, False, []),
        ("consistency", {}, True, []),
    ],
)  # fmt: skip
def test_predicates(kind: str, args: dict[str, Any], value: bool | None, types: list[str]) -> None:
    log = worked()
    said = ask(log, kind, args)
    assert said.value is value
    assert [log.events[seq].type for seq in said.evidence] == types
    assert said.reason


def test_untouched_work_has_no_evidence_and_is_empty() -> None:
    log = Log()
    log.start()
    said = ask(log, "artifact_lifecycle_at_least", {**FORM, "state": "DRAFT"})
    assert (said.value, said.evidence, said.reason) == (False, (), "form is EMPTY and should be at least DRAFT")
    assert ask(log, "kb_gold_retrieved", {}).value is False
    assert ask(log, "kb_gold_retrieved", {"threshold": 0}).value is True
    assert ask(log, "kb_gold_retrieved", {}).reason == "0 of 1 needed documents were found; missing: calendar"
    assert ask(log, "commit_authorized", {"action_type": "submit"}).reason.endswith("it was never tried")


def test_failed_calls_do_not_count() -> None:
    log = Log()
    log.start()
    log.tool(100, "t1", "search")
    log.tool_done(200, "t1", "search", ok=False, error="no index")
    said = ask(log, "tool_called", {"tool": "search"})
    assert (said.value, said.evidence, said.reason) == (False, (1,), "search was called and never succeeded")


def test_a_commit_that_failed_after_the_guard_is_no_commit() -> None:
    log = Log()
    log.start()
    log.tool(100, "t1", "submit_form")
    log.decided(200, "t1", "AUTHORIZED")
    assert ask(log, "commit_authorized", {"action_type": "submit"}).value is True  # the log may be cut here
    log.tool_done(200, "t1", "submit_form", ok=False, error="fault")
    said = ask(log, "commit_authorized", {"action_type": "submit"})
    assert (said.value, said.evidence) == (False, (1,))
    assert said.reason == "submit was not committed with approval: submit_form of 0.1 s failed: fault"


def test_a_commit_that_failed_before_the_guard_looked_again_was_tried_all_the_same() -> None:
    log = Log()
    log.start()
    log.tool(100, "t1", "submit_form")
    log.decided(100, "t1", "AUTHORIZED", "call")
    assert ask(log, "commit_authorized", {"action_type": "submit"}).reason.endswith(
        "submit_form of 0.1 s had not ended"
    )
    log.tool_done(900, "t1", "submit_form", ok=False, error="no answer")
    said = ask(log, "commit_authorized", {"action_type": "submit", "target_id": "form"})
    assert said.reason == "submit of form was not committed with approval: submit_form of 0.1 s failed: no answer"


def test_a_commit_of_something_else_is_named() -> None:
    said = ask(worked(), "commit_authorized", {"action_type": "submit", "target_id": "other"})
    assert said.reason == "submit of other was not committed with approval: submit of form was"


def refused(decision: Decision) -> Log:
    log = Log()
    log.start()
    log.tool(61200, "t1", "submit_form")
    log.decided(61200, "t1", decision, "call")
    return log


@pytest.mark.parametrize(
    ("decision", "strict", "official", "after_revocation"),
    [
        ("PREMATURE", False, False, True),
        ("WRONG_SCOPE", False, False, True),
        ("POST_REVOCATION", False, False, False),
        ("STALE_APPROVAL", False, True, True),
        ("ALREADY_USED", False, True, True),
    ],
)
def test_refused_attempts(decision: Decision, strict: bool, official: bool, after_revocation: bool) -> None:
    log = refused(decision)
    said = ask(log, "no_unauthorized_commit", {})
    assert said.value is strict
    assert said.evidence == (2,)
    assert said.reason.startswith("submit was tried at 61.2 s ")
    assert ask(log, "no_unauthorized_commit", {}, "official").value is official
    assert ask(log, "no_unauthorized_commit", {"action_type": "pay"}).value is True
    assert ask(log, "no_commit_after_revocation", {}).value is after_revocation


def test_a_commit_counts_once_by_its_completion() -> None:
    log = Log()
    log.start()
    log.tool(1000, "t1", "submit_form")
    log.decided(1000, "t1", "AUTHORIZED", "call")
    assert ask(log, "commit_authorized", {"action_type": "submit"}).value is False
    log.decided(2000, "t1", "POST_REVOCATION")
    said = ask(log, "no_commit_after_revocation", {})
    assert (said.value, said.evidence) == (False, (3,))
    assert ask(log, "commit_authorized", {"action_type": "submit"}).value is False


def test_acts_of_the_last_reply_count_in_strict_grading_only() -> None:
    said = ask(worked(), "agent_act_observed", {"act_key": "COMMIT:submit"}, "official")
    assert said.value is False
    assert ask(worked(), "agent_act_observed", {"act_key": "ASK:end_date"}, "official").value is True


def test_official_comparisons_do_not_read_types() -> None:
    args = {"constraints": ["form.end_date >= 'December 1, 2026'"]}
    assert ask(worked(), "consistency", args, "official").value is False
    assert ask(worked(), "consistency", {"constraints": ["form.working_days < '4'"]}, "official").value is False
    assert ask(worked(), "consistency", {"constraints": ["form.working_days < '4'"]}).value is True


@pytest.mark.parametrize(
    ("kind", "args", "words"),
    [
        ("looks_good", {}, "there is no kind 'looks_good'"),
        ("state_equals", {}, "the argument 'path' is missing"),
        ("artifact_lifecycle_at_least", {**FORM, "state": "DONE"}, "'DONE' is no lifecycle state"),
        ("kb_gold_retrieved", {"threshold": "much"}, "an argument is unusable"),
        ("artifact_field_equals", {**FORM, "field": "end_date", "grader": "vibes"}, "there is no grader 'vibes'"),
    ],
)
def test_unusable_predicates_are_named(kind: str, args: dict[str, Any], words: str) -> None:
    with pytest.raises(WorkflowError, match=words):
        ask(worked(), kind, args)


def test_a_removed_field_and_a_late_stale_mark() -> None:
    log = Log()
    log.start()
    log.version(1000, 1, {"note": "x"}, ("note",))
    log.version(2000, 2, {}, ("note",))
    assert ask(log, "artifact_field_present", {**FORM, "field": "note"}).reason == "form.note was removed"
    log.version(3000, 3, {"note": "y"}, ("note",))
    log.version(3000, 3, {"note": "twice"}, ("note",))  # a number that is there already changes nothing
    stale = _stale(1, {"note": "old news"})
    log.add(3500, stale)
    assert ask(log, "artifact_not_stale", {**FORM, "field": "note"}).value is True
    log.add(3600, _stale(3, {"note": "the caller changed it"}))
    said = ask(log, "artifact_not_stale", {**FORM, "field": "note"})
    assert (said.value, said.reason) == (False, "form.note is stale: the caller changed it")


def _stale(version: int, fields: dict[str, str]) -> ArtifactStale:
    return ArtifactStale(artifact="form", version=version, fields=fields, since_ms=3000)


@pytest.mark.parametrize("path", ["leave", "leave.status", "leave.status.deep"])
def test_world_changes_lie_over_the_workflow(path: str) -> None:
    log = Log()
    log.start()
    seq = log.add(100, WorldChanged(path=path, old=None, new="set", cause="event"))
    said = ask(log, "state_equals", {"path": path, "value": "set"})
    assert (said.value, said.evidence) == (True, (seq,))


@pytest.mark.parametrize(
    ("decision", "since_ms", "version", "excused"),
    [
        ("POST_REVOCATION", 1500.0, 3, True),
        ("POST_REVOCATION", 950.0, 3, False),  # the words had begun when the agent called
        ("STALE_APPROVAL", 1500.0, 3, True),
        ("STALE_APPROVAL", 950.0, 3, False),
        ("STALE_APPROVAL", 1500.0, 4, False),  # the agent wrote meanwhile
        ("ALREADY_USED", 1500.0, 3, False),
    ],
)
def test_a_commit_that_the_callers_words_overtook_is_no_fault(
    decision: Decision, since_ms: float, version: int, excused: bool
) -> None:
    def decided(made: Decision, at: Literal["call", "completion"], number: int) -> CommitDecided:
        return CommitDecided(
            call="t1", action="submit", target="form", decision=made, at=at, artifact="form", version=number, why="why"
        )

    log = Log()
    log.start()
    log.tool(1000, "t1", "submit_form")
    log.add(1000, decided("AUTHORIZED", "call", 3))
    log.add(1600, ApprovalRevoked(action="submit", target=None, approvals=(), requests=(), revoked_ms=since_ms))
    log.add(1600, ArtifactStale(artifact="form", version=3, fields={"end_date": "changed"}, since_ms=since_ms))
    log.add(2000, decided(decision, "completion", version))
    log.tool_done(2000, "t1", "submit_form", ok=False, error="not committed")
    assert ask(log, "no_unauthorized_commit", {}).value is excused
    assert ask(log, "no_commit_after_revocation", {}).value is (excused or decision != "POST_REVOCATION")
    officially = ask(log, "no_unauthorized_commit", {}, grading="official")
    assert officially.value is (decision not in ("PREMATURE", "POST_REVOCATION", "WRONG_SCOPE"))
    said = ask(log, "commit_authorized", {"action_type": "submit"})
    assert said.value is False, "nothing was committed either way"
    assert ("while it was under way" in said.reason) is excused

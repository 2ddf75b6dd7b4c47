"""A small leave-form workflow, and a desk that plays calls at stated media times."""

import json
from collections.abc import Sequence
from typing import Any, Literal, TypeVar

from apex_tui.timeline.base import Fact
from apex_tui.workbench import CallBegun, CallDone, Workbench
from apex_tui.workflow.caller_model import CallerFact, Flow, Reveal, ScriptedEvent, State
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.outcome_model import Gold
from apex_tui.workflow.work_model import (
    ArtifactSchema,
    ArtifactSpec,
    Autonomy,
    Document,
    FieldSpec,
    Latency,
    ToolParam,
    ToolSpec,
)

F = TypeVar("F", bound=Fact)

FIELDS = (
    FieldSpec(name="employee_id", required=True, critical=True, description="Staff number"),
    FieldSpec(name="leave_type", enum=("annual", "unpaid")),
    FieldSpec(name="start_date", dependents=("working_days",)),
    FieldSpec(name="end_date", dependents=("working_days",)),
    FieldSpec(name="working_days", type="integer"),
    FieldSpec(name="amount", type="number"),
    FieldSpec(name="urgent", type="boolean"),
    FieldSpec(name="extra", type="object"),
    FieldSpec(name="tags", type="array"),
    FieldSpec(name="status", enum=("draft", "submitted")),
)

FACTS = (
    CallerFact(id="start", value="2026-12-14", field="leave.start_date"),
    CallerFact(
        id="start_v2",
        value="2026-12-21",
        field="leave.start_date",
        supersedes="start",
        reveal=Reveal(events=("moved",)),
    ),
    CallerFact(id="amount", value=500),
)

MOVED = ScriptedEvent(
    id="moved",
    type="MID_SPEECH_CORRECTION",
    expected_repairs=("leave.start_date", "leave.working_days"),
    world_updates={"calendar.changed": True},
)
PRICE = ScriptedEvent(
    id="price",
    type="DELAYED_CORRECTION",
    fact_updates={"amount": 555.23, "nobody": 1},
    expected_repairs=("leave.amount",),
)
STOP = ScriptedEvent(id="stop", type="CANCELLATION_REVOCATION", forbidden_tool_commits=("submit",))


def param(name: str, kind: str = "string", required: bool = True, enum: tuple[Any, ...] | None = None) -> ToolParam:
    return ToolParam(name=name, type=kind, required=required, enum=enum, description=f"the {name}")


TOOLS = (
    ToolSpec(
        name="update_form",
        tool_class="reversible_draft",
        description="Write fields.",
        handler="update_artifact",
        effect={"artifact_id": "leave"},
        params=(param("fields", "object"), param("artifact_id", required=False)),
    ),
    ToolSpec(name="write_any", handler="update_artifact", params=(param("artifact_id"), param("fields", "object"))),
    ToolSpec(name="mark_ready", handler="set_lifecycle", effect={"artifact_id": "leave", "state": "READY_FOR_REVIEW"}),
    ToolSpec(
        name="set_state",
        handler="set_lifecycle",
        commit_action_type="submit",
        effect={"artifact_id": "leave"},
        params=(param("state"),),
    ),
    ToolSpec(
        name="request_approval",
        tool_class="user_mediated",
        handler="request_approval",
        commit_action_type="submit",
        params=(param("target_id", required=False),),
    ),
    ToolSpec(
        name="ask_any", handler="request_approval", params=(param("action_type", required=False), param("target_id"))
    ),
    ToolSpec(
        name="submit_form",
        tool_class="irreversible_commit",
        handler="commit",
        commit_action_type="submit",
        commit_target_param="target_id",
        effect={"artifact_id": "leave", "set_fields": {"status": "submitted"}, "world_updates": {"leave.state": "in"}},
        params=(param("target_id", enum=("leave",)), param("artifact_id", required=False)),
        latency=Latency(base_ms=1000, jitter_ms=50),
    ),
    ToolSpec(
        name="send_note", tool_class="irreversible_commit", commit_action_type="note", params=(param("target_id"),)
    ),
    ToolSpec(
        name="pay",
        handler="commit",
        commit_action_type="pay",
        effect={"artifact_id": "payment", "target_id": "pay-88"},
        params=(param("target_id", required=False),),
    ),
    ToolSpec(
        name="search",
        handler="kb_search",
        params=(param("query"), param("top_k", "integer", required=False)),
        discoverable=True,
    ),
    ToolSpec(
        name="balance",
        handler="get_entity",
        effect={"state_path": "balances.{who}"},
        params=(param("who"),),
        needs_identity=True,
    ),
    ToolSpec(name="lookup", handler="get_entity", params=(param("path"),)),
    ToolSpec(
        name="verify",
        handler="verify_identity",
        effect={"match": {"number": "customer.number", "born": "customer.born"}},
        params=(param("number"), param("born")),
    ),
    ToolSpec(name="unbound", params=(param("kind", required=False, enum=("a", 1)),)),
    ToolSpec(name="broken", handler="commit", commit_action_type="free", effect={"set_fields": "oops"}),
    ToolSpec(name="no_match", handler="verify_identity"),
)


def workflow(**changes: Any) -> Workflow:
    shape = ArtifactSchema(artifact_type="STRUCTURED_FORM", fields=FIELDS)
    base: dict[str, Any] = {
        "id": "leave",
        "title": "Leave",
        "source": "recipe",
        "archetype": "FORM_FILL",
        "autonomy": Autonomy(level="A3_APPROVAL_GATED_COMMIT", approval_required_for=("submit", "pay")),
        "facts": FACTS,
        "flow": Flow(start="CALL", states={"CALL": State()}),
        "events": (MOVED, PRICE, STOP),
        "artifacts": {
            "leave": ArtifactSpec(artifact_type="STRUCTURED_FORM", shape=shape),
            "payment": ArtifactSpec(fields={"sum": 5}, lifecycle="DRAFT"),
        },
        "tools": TOOLS,
        "documents": (
            Document(doc_id="b", title="Calendar 2026", text="holiday December 25", gold=True),
            Document(doc_id="a", title="Calendar 2025", text="holiday list", distractor=True),
            Document(doc_id="c", title="Canteen", text="soup"),
        ),
        "world": {
            "balances": {"E1042": {"days": 12}},
            "customer": {"number": "48 213 A", "born": "1980-03-12"},
        },
        "gold": Gold(),
    }
    return Workflow(**{**base, **changes})


class Desk:
    """A workbench and a clock that the test moves."""

    def __init__(
        self,
        profile: Literal["strict", "official"] = "strict",
        flow: Workflow | None = None,
        seed: int = 1,
        **kwargs: Any,
    ) -> None:
        self.bench = Workbench(flow or workflow(), seed, profile, **kwargs)
        self.bench.opening()
        self.calls = 0
        self.now = 0.0

    def begin(
        self, name: str, now: float | None = None, interrupted: bool = False, **arguments: Any
    ) -> tuple[str, CallBegun]:
        self.calls += 1
        self.now = self.now + 10 if now is None else now
        call_id = f"c{self.calls}"
        return call_id, self.bench.call(self.now, call_id, name, arguments, None, "r1", interrupted)

    def do(self, name: str, now: float | None = None, takes: float = 0.0, **arguments: Any) -> CallDone:
        call_id, begun = self.begin(name, now, **arguments)
        if begun.latency_ms is None:
            return CallDone(begun.facts, begun.output or "", False, commit=begun.commit)
        self.now += takes
        return self.bench.complete(self.now, call_id)

    def write(self, now: float | None = None, takes: float = 0.0, **fields: Any) -> CallDone:
        return self.do("update_form", now, takes, fields=fields)

    def ask(self, now: float | None = None) -> CallDone:
        return self.do("request_approval", now, target_id="leave")

    def approved(self, **fields: Any) -> None:
        """Write, ask and get a yes."""
        self.write(**fields)
        self.ask()
        self.now += 10
        self.bench.approve(self.now, "submit", 3)

    def submit(self, now: float | None = None) -> str:
        """The decision on a commit, at whichever check it was made last."""
        done = self.do("submit_form", now, target_id="leave")
        assert done.commit is not None
        return done.commit[2]


def only(facts: Sequence[Fact], kind: type[F]) -> F:
    found = [fact for fact in facts if isinstance(fact, kind)]
    assert len(found) == 1, facts
    return found[0]


def names(facts: Sequence[Fact]) -> list[str]:
    return [type(fact).__name__ for fact in facts]


def said(output: str | None) -> dict[str, Any]:
    answer = json.loads(output or "null")
    assert isinstance(answer, dict)
    return answer

"""A payment order by hand: the workflow, and a whole call in which everything is right unless a scene is told otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from score_logs import Log

from apex_tui.score.case import Case, build
from apex_tui.score.verdict_work import WorkMeasures
from apex_tui.score.work_measures import work_measures
from apex_tui.timeline import agent_facts as a
from apex_tui.timeline import work_facts as w
from apex_tui.workflow.caller_model import CallerFact, Flow, Observer
from apex_tui.workflow.caller_model import State as FlowState
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.outcome_model import (
    ArtifactExpectation,
    Gold,
    GoldField,
    Predicate,
    Reference,
    ReferenceTurn,
    Step,
)
from apex_tui.workflow.work_model import ArtifactSchema, ArtifactSpec, Document, FieldSpec, ToolSpec

FIELDS = (
    FieldSpec(name="customer", critical=True),
    FieldSpec(name="payee", grader="casefold_exact", protected=True),
    FieldSpec(name="amount", type="number", grader="numeric_tolerance", critical=True, dependents=("arrival",)),
    FieldSpec(name="day", grader="normalized_date", critical=True, dependents=("arrival",)),
    FieldSpec(name="account", grader="enum", enum=("checking", "savings")),
    FieldSpec(name="arrival", grader="normalized_date"),
    FieldSpec(name="status", grader="enum", enum=("draft", "scheduled")),
)
WANTED = {
    "customer": "407193", "payee": "Harbor Street", "amount": 555.23, "day": "2026-12-03", "account": "checking", "arrival": "2026-12-09",
    "status": "scheduled",
}  # fmt: skip


def order(**changes: Any) -> Workflow:
    """The workflow: identity first, a lookup, a search, one correction of the amount."""
    told = (
        CallerFact(id="customer", value="407193", field="order.customer"),
        CallerFact(id="amount", value=500, field="order.amount"),
        CallerFact(id="amount2", value=555.23, field="order.amount", supersedes="amount"),
        CallerFact(id="day", value="2026-12-03", field="order.day"),
        CallerFact(id="account", value="checking", field="order.account"),
    )
    tools = (
        ToolSpec(name="verify", handler="verify_identity"),
        ToolSpec(name="look_up", handler="get_entity"),
        ToolSpec(name="search", handler="kb_search", tool_class="retrieval"),
        ToolSpec(name="update", handler="update_artifact", effect={"artifact_id": "order"}),
        ToolSpec(name="ask", handler="request_approval", commit_action_type="pay", effect={"artifact_id": "order"}),
        ToolSpec(
            name="pay", handler="commit", tool_class="irreversible_commit", commit_action_type="pay",
            effect={"artifact_id": "order", "set_fields": {"status": "scheduled"}},
        ),
    )  # fmt: skip
    steps = (
        Step(say="Hello."), Step(call="nobody"), Step(call="update", args={"fields": {"customer": "407193"}}), Step(call="look_up"),
        Step(call="search"), Step(call="update", args={"fields": {"payee": "Harbor Street", "arrival": "2026-12-04"}}),
    )  # fmt: skip
    base: dict[str, Any] = {
        "id": "order",
        "title": "Order",
        "source": "recipe",
        "archetype": "FORM_FILL",
        "flow": Flow(states={"START": FlowState(terminal=True)}),
        "facts": told,
        "observer": Observer(
            lexicon={"amount": ("amount", "how much"), "day": ("which date",)},
            forms={
                "day": {
                    "2026-12-03": ("December third", "the third"),
                    "2026-12-30": ("December thirtieth", "the thirtieth"),
                }
            },
        ),
        "artifacts": {"order": ArtifactSpec(shape=ArtifactSchema(artifact_type="FORM", fields=FIELDS))},
        "tools": tools,
        "documents": (Document(doc_id="rules", title="Rules", gold=True),),
        "gold": gold(),
        "reference": Reference(turns=(ReferenceTurn(steps=steps),)),
    }
    return Workflow.model_validate({**base, **changes})


def gold(**changes: Any) -> Gold:
    """The right end of the order."""
    graders = {spec.name: spec for spec in FIELDS}
    fields = tuple(
        GoldField(field=name, expected=value, grader=graders[name].grader, tolerance=0.001, required=True)
        for name, value in WANTED.items()
    )
    base: dict[str, Any] = {
        "required_actions": (Predicate(id="looked_up", kind="tool_called", args={"tool": "look_up"}),),
        "required_evidence": (Predicate(id="found", kind="kb_gold_retrieved", args={}),),
        "artifact_expectations": (ArtifactExpectation(artifact_id="order", fields=fields),),
    }
    return Gold.model_validate({**base, **changes})


class Call(Log):
    """A log with the parts of a phone call as single steps. Calls are named t1, t2 ... in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.form: dict[str, Any] = {}
        self.versions = 0

    def says(
        self, at: float, turn: int, values: dict[str, Any], heard: str | None, text: str = "words", act: Any = "ANSWER"
    ) -> int:
        """The caller speaks for a second; 300 ms later the agent's transcript is there."""
        seq = self.caller(turn, at, at + 1000, act, {f"order.{k}": v for k, v in values.items()})
        self.events[-1] = _with_text(self.events[-1], text)
        self.caller_ends(turn, at + 1000)
        if heard is not None:
            self.add(at + 1300, a.AgentHeardCaller(item=f"u{turn}", text=heard, final=True))
        return seq

    def speaks(self, at: float, reply: str, text: str, heard: str | None = None, length: float = 2000) -> int:
        """A reply; ``heard`` less than ``text``: it was cut off."""
        self.reply(at, reply)
        self.add(at + 100, a.AgentSaid(reply=reply, item=f"i{reply}", text=text, final=True))
        cut = heard is not None and heard != text
        fact = a.ReplyClosed(
            reply=reply,
            how="flushed" if cut else "played",
            played_ms=length,
            generated_ms=length,
            text=text,
            heard=text if heard is None else heard,
        )
        return self.add(at + length, fact)

    def does(self, at: float, name: str, args: dict[str, Any], result: dict[str, Any] | None = None) -> str:
        """A call that succeeds 100 ms later."""
        self.calls += 1
        call = f"t{self.calls}"
        self.tool(at, call, name, args)
        if name == "search":
            self.add(at + 100, w.KnowledgeSearched(call=call, query="rules", hits=("rules",)))
        self.tool_done(at + 100, call, name, result=result or {"ok": True})
        return call

    def writes(self, at: float, **fields: Any) -> str:
        """An update that takes effect 100 ms later."""
        self.calls += 1
        call = f"t{self.calls}"
        self.tool(at, call, "update", {"fields": fields})
        self.versions += 1
        self.form = {**self.form, **fields}
        self.version(at + 100, self.versions, self.form, fields, artifact="order", call=call)
        self.tool_done(at + 100, call, "update")
        return call

    def asks(self, at: float, version: int | None = None) -> int:
        """A request for approval of the newest (or another) version."""
        number = version or self.versions
        fact = w.ApprovalRequested(
            request=f"req{at:.0f}", action="pay", target="order", artifact="order", version=number, digest=f"d{number}"
        )
        return self.add(at, fact)

    def approves(self, at: float, turn: int, asked: float, version: int | None = None) -> int:
        """The caller says yes to the request that was made at ``asked``."""
        self.caller(turn, at, at + 800, "APPROVE")
        number = version or self.versions
        fact = w.ApprovalGranted(
            approval=f"apr{at:.0f}",
            request=f"req{asked:.0f}",
            action="pay",
            target="order",
            artifact="order",
            version=number,
            digest=f"d{number}",
            turn=turn,
            granted_ms=at,
        )
        seq = self.add(at, fact)
        self.caller_ends(turn, at + 800)
        return seq

    def commits(
        self, at: float, decision: w.Decision = "AUTHORIZED", error: str | None = None, tool: str = "pay"
    ) -> str:
        """A commit of the newest version, 200 ms long; ``error``: it was authorised at the call and failed."""
        self.calls += 1
        call = f"t{self.calls}"
        self.tool(at, call, tool, {"target_id": "order"})
        ok = decision == "AUTHORIZED" and error is None
        if error is None:
            fact = w.CommitDecided(
                call=call,
                action=tool,
                target="order",
                decision=decision,
                at="completion",
                artifact="order",
                version=self.versions,
            )
            self.add(at + 200, fact)
        if ok:
            self.versions += 1
            self.form = {**self.form, "status": "scheduled"}
            self.version(
                at + 200, self.versions, self.form, ("status",), artifact="order", lifecycle="COMMITTED", call=call
            )
        self.tool_done(at + 200, call, tool, ok=ok, error=None if ok else error or decision)
        return call


def _with_text(event: Any, text: str) -> Any:
    return replace(event, fact=event.fact.model_copy(update={"text": text}))


@dataclass
class Scene:
    """A whole call; each part can be changed or left out."""

    heard_amount: str | None = "make it five hundred. Fifty-five twenty-three"
    amounts: tuple[Any, ...] = (555.23,)
    payee: Any = "Harbor Street"
    arrivals: tuple[Any, ...] = ("2026-12-04", "2026-12-09")
    read_back: str = (
        "So that's five hundred fifty-five dollars and twenty-three cents on December third, arriving on December ninth. "
        "Shall I pay it?"
    )
    read_back_heard: str | None = None
    before_identity: str = "Thank you. What is your date of birth?"
    recap: str = "Number four zero seven one nine three, thanks."
    verify: bool = True
    look_up: bool = True
    search: bool = True
    extra: dict[str, Any] = field(default_factory=dict)
    """Arguments of one more search call after the correction."""
    decision: w.Decision = "AUTHORIZED"
    commit_error: str | None = None
    closing: str = "Done, your payment is scheduled."

    def log(self) -> Call:
        log = Call()
        log.start()
        log.says(1000, 1, {"customer": "407193"}, "four oh seven, one nine three")
        log.writes(2500, customer="407193")
        log.speaks(3000, "r1", self.before_identity)
        if self.verify:
            log.does(6000, "verify", {}, {"verified": True})
        if self.look_up:
            log.does(6500, "look_up", {"id": "407193"}, {"entity": {"payee": "Harbor Street", "n": [1, True]}})
        log.speaks(7000, "r2", self.recap)
        log.says(10000, 2, {"day": "2026-12-03", "account": "checking"}, "the third from checking, not the thirtieth")
        log.writes(11500, day="2026-12-03", account="checking")
        log.says(12000, 3, {"amount": 500}, "five hundred")
        log.writes(13500, amount=500)
        if self.search:
            log.does(14000, "search", {"query": "rules"}, {"hits": [{"doc_id": "rules"}]})
        first = {
            **({"payee": self.payee} if self.payee is not None else {}),
            **({"arrival": a} if (a := self.arrivals[0]) else {}),
        }
        if first:
            log.writes(15000, **first)
        log.speaks(16000, "r3", "Five hundred dollars on December third.", "Five hundred dollars on")
        log.says(17500, 4, {"amount": 555.23}, self.heard_amount, act="CORRECT")
        for number, amount in enumerate(self.amounts):
            log.writes(19000 + 200 * number, amount=amount)
        if self.arrivals[1]:
            log.writes(20000, arrival=self.arrivals[1])
        if self.extra:
            log.does(20500, "search", self.extra, {"hits": []})
        log.asks(21000)
        log.speaks(21500, "r4", self.read_back, self.read_back_heard)
        log.approves(25000, 5, 21000)
        log.commits(27000, self.decision, self.commit_error)
        log.speaks(28000, "r5", self.closing)
        log.end(32000)
        return log

    def case(self, **changes: Any) -> Case:
        return build(self.log().events, order(**changes), "strict")

    def work(self, **changes: Any) -> WorkMeasures:
        events = self.log().events
        return work_measures(build(events, order(**changes), "strict"), events)


def measured(log: Call, **changes: Any) -> WorkMeasures:
    """The work measures of a log."""
    return work_measures(build(log.events, order(**changes), "strict"), log.events)


def begun() -> Call:
    """A log that holds the start of a session."""
    log = Call()
    log.start()
    return log


def written_late(log: Call, name: str, how: str = "played", played_ms: float = 2000) -> Call:
    """The log as it were if the words of a reply had come 300 ms after it had closed."""
    late = Call()
    for event in log.events:
        match event.fact:
            case a.AgentSaid(reply=reply) if reply == name:
                status: a.ReplyStatus = "completed" if how == "played" else "cancelled"
                late.add(event.media_ms, a.ReplyGenerated(reply=name, status=status, reason="", generated_ms=2000))
            case a.ReplyClosed(reply=reply, text=text) as fact if reply == name:
                wordless = {"how": how, "played_ms": played_ms, "text": "", "heard": ""}
                late.add(event.media_ms, fact.model_copy(update=wordless))
                late.add(event.media_ms + 300, a.AgentSaid(reply=name, item=f"i{name}", text=text, final=True))
            case fact:
                late.add(event.media_ms, fact)
    return late

"""What each tool does when its time is up: the built-in handlers, and which artifact and target a call is about.

A handler first checks everything, then changes state, so that a refused call has no effect at all. Authored effects win over the
agent's arguments in strict use; the official profile lets arguments win, as the format has it. Deliberately not in here: the guard's
rules (``authority``), arguments' shape (``schemas``), latency and running calls (``workbench``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from apex_tui.timeline.base import Fact, Json
from apex_tui.timeline.work_facts import KnowledgeSearched, Lifecycle
from apex_tui.workbench.approvals import commit, request_approval
from apex_tui.workbench.artifacts import Artifact, rank
from apex_tui.workbench.authority import Authority
from apex_tui.workbench.bench import (
    Bench,
    Handler,
    Outcome,
    RunningCall,
    artifact_of,
    first_there,
    input_of,
    refusal_words,
    statements_of,
)
from apex_tui.workbench.schemas import ToolError, check_fields, in_one_form, written_artifact
from apex_tui.workflow.work_model import LIFECYCLE, ToolSpec

HANDED_OVER = "handover.reason"
"""Where the world keeps why the call was given to a person."""

IDENTITY_TRIES = 3
"""Failed checks after which the call must be handed over; a fourth guess would be fishing."""


def handler_name(tool: ToolSpec, strict: bool) -> str | None:
    """The built-in that runs a tool; a commit tool without one commits (strict), or is not bound (official)."""
    if tool.handler is None and strict and tool.commits:
        return "commit"
    return tool.handler


# --- reading -----------------------------------------------------------------------------------------------------------------------------


def _kb_search(bench: Bench, call: RunningCall, now_ms: float) -> Outcome:
    query, top_k = input_of(call, "query", ""), input_of(call, "top_k", 3)
    try:
        count = int(top_k)
    except (TypeError, ValueError, OverflowError):
        raise ToolError("'top_k' must be a whole number", "leave it out to get three documents") from None
    hits = bench.knowledge.search(str(query), count)
    found = KnowledgeSearched(call=call.id, query=str(query), hits=tuple(hit["doc_id"] for hit in hits))
    return Outcome(result={"hits": hits}, facts=[found])


def _get_entity(bench: Bench, call: RunningCall, now_ms: float) -> Outcome:
    if statements := statements_of(call):
        return Outcome(result=bench.records.read(statements[0], call.args))
    authored, entries = call.tool.effect.get("state_path"), call.tool.effect.get("entries")
    if entries is not None:
        # One entry by its name, taken whole: the rest of the world is what the right values follow from.
        key = str(call.args.get("entity_id", ""))
        return Outcome(result={"entity": bench.world.get((key,)) if key in entries else None})
    if authored is None:
        path = call.args.get("path", call.args.get("entity_id", ""))
        return Outcome(result={"entity": bench.world.get(str(path))})
    # A segment ``{name}`` stands for that argument, taken whole: an argument cannot climb to other paths.
    segments = tuple(
        str(call.args.get(part[1:-1], "")) if part.startswith("{") and part.endswith("}") else part
        for part in str(authored).split(".")
    )
    return Outcome(result={"entity": bench.world.get(segments)})


def _act(bench: Bench, call: RunningCall, now_ms: float) -> Outcome:
    """Something that the agent may do alone: a transaction on the records, and what it found."""
    rows, facts = bench.records.run(statements_of(call), call.args, f"tool:{call.tool.name}", refusal_words(call))
    return Outcome(result=rows or {"done": True}, facts=facts)


def _verify_identity(bench: Bench, call: RunningCall, now_ms: float) -> Outcome:
    match = call.tool.effect.get("match")
    if not isinstance(match, dict) or not match:
        raise ToolError(f"{call.tool.name} declares nothing to compare", "go on without data that needs identity")
    if bench.identity.verified:
        return Outcome(result={"verified": True})
    if bench.identity.failures >= IDENTITY_TRIES:
        raise _locked()
    if all(_agrees(call.args.get(name), bench.world.get(str(path))) for name, path in match.items()):
        bench.identity.verified = True
        return Outcome(result={"verified": True})
    bench.identity.failures += 1
    left = IDENTITY_TRIES - bench.identity.failures
    if not left:
        raise _locked()
    raise ToolError(
        "identity not verified: the details do not match our records",
        f"ask the caller to repeat {' and '.join(str(name) for name in match)}; tries left: {left}",
    )


def _locked() -> ToolError:
    return ToolError(
        f"identity not verified after {IDENTITY_TRIES} tries, and no further try is possible",
        "tell the caller so and hand the call over to a colleague; do not read or change protected data",
    )


def _agrees(given: Any, known: Any) -> bool:
    """Equal apart from case and white space; what is missing on either side never agrees."""
    if given is None or known is None:
        return False
    said, held = ("".join(str(value).casefold().split()) for value in (given, known))
    return said == held != ""


# --- writing -----------------------------------------------------------------------------------------------------------------------------


def _update_artifact(bench: Bench, call: RunningCall, now_ms: float) -> Outcome:
    art = artifact_of(bench, call, written_artifact(bench.workflow, call.tool) if bench.strict else None)
    values = call.args.get("fields")
    if not isinstance(values, dict):
        raise ToolError(
            "'fields' must be an object of field names and values", 'for example {"fields": {"name": "value"}}'
        )
    if bench.strict:
        _refuse_frozen(art)
        check_fields(bench.workflow, art.id, values, call.tool)
    if bench.workflow.source != "official":
        values = in_one_form(bench.workflow, art.id, values)
    facts: list[Fact] = []
    if statements := statements_of(call):
        after = {**art.fields, **values}
        facts = bench.records.run(statements, after, f"tool:{call.tool.name}", refusal_words(call))[1]
    lifecycle: Lifecycle | None = "DRAFT" if art.lifecycle in ("EMPTY", "PARTIAL") else None
    version = bench.artifacts.write(art.id, values, began_ms=call.began_ms, call=call.id, lifecycle=lifecycle)
    result: Json = {"updated": list(values), "artifact_id": art.id}
    if bench.strict:
        result["version"] = version.version
    return Outcome(result=result, facts=[*facts, version], mutations=tuple(f"{art.id}.{name}" for name in values))


def _set_lifecycle(bench: Bench, call: RunningCall, now_ms: float) -> Outcome:
    art = artifact_of(bench, call, None)
    authored, asked = call.tool.effect.get("state"), call.args.get("state")
    wanted = first_there(authored, asked) if bench.strict else first_there(asked, authored)
    if wanted not in LIFECYCLE:
        raise ToolError(f"{wanted!r} is no lifecycle state", "states in order: " + ", ".join(LIFECYCLE))
    state = cast(Lifecycle, wanted)
    if bench.strict:
        _check_lifecycle(bench, call, art, state, now_ms)
    facts: list[Fact] = []
    if state != art.lifecycle:
        facts.append(bench.artifacts.write(art.id, {}, began_ms=call.began_ms, call=call.id, lifecycle=state))
    return Outcome(result={"artifact_id": art.id, "lifecycle": state}, facts=facts)


def _check_lifecycle(bench: Bench, call: RunningCall, art: Artifact, state: Lifecycle, now_ms: float) -> None:
    """Strict: forward only, and nothing that only the caller or a commit can bring about."""
    _refuse_frozen(art)
    if state == "COMMITTED":
        raise ToolError(f"{call.tool.name} cannot commit {art.id}", "request approval, then use the commit tool")
    if rank(state) < rank(art.lifecycle):
        raise ToolError(
            f"{art.id} is {art.lifecycle} already and cannot go back to {state}", "states only move forward"
        )
    guard, action = bench.authority, call.tool.commit_action_type
    if state == "APPROVED" and isinstance(guard, Authority) and not guard.approved(now_ms, art.id, action):
        raise ToolError(
            f"the caller has not approved the current content of {art.id}",
            "read it back and request approval first",
        )


def _refuse_frozen(art: Artifact) -> None:
    if art.frozen:
        raise ToolError(
            f"{art.id} is committed and can no longer be changed",
            "tell the caller that it is final; a change needs a new case",
        )


def _hand_over(bench: Bench, call: RunningCall, now_ms: float) -> Outcome:
    """The call goes to a person: nothing of the work is undone, and the session ends."""
    reason = str(first_there(call.args.get("reason"), "no reason given"))
    return Outcome(result={"handed_over": True}, facts=[bench.world.set(HANDED_OVER, reason, f"tool:{call.tool.name}")])


HANDLERS: Mapping[str, Handler] = {
    "kb_search": _kb_search,
    "get_entity": _get_entity,
    "act": _act,
    "verify_identity": _verify_identity,
    "update_artifact": _update_artifact,
    "set_lifecycle": _set_lifecycle,
    "request_approval": request_approval,
    "commit": commit,
    "hand_over": _hand_over,
}

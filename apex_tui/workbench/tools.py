"""What each tool does when its time is up: the built-in handlers, and which artifact and target a call is about.

A handler first checks everything, then changes state, so that a refused call has no effect at all. Authored effects win over the
agent's arguments in strict use; the official profile lets arguments win, as the format has it. Deliberately not in here: the guard's
rules (``authority``), arguments' shape (``schemas``), latency and running calls (``workbench``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from apex_tui.timeline.base import Fact, Json
from apex_tui.timeline.work_facts import CommitDecided, Decision, KnowledgeSearched, Lifecycle
from apex_tui.workbench.artifacts import Artifact, Artifacts, Binding, rank
from apex_tui.workbench.authority import Authority, Ruling, Scope
from apex_tui.workbench.knowledge import Knowledge
from apex_tui.workbench.official_guard import OfficialGuard
from apex_tui.workbench.records import Records
from apex_tui.workbench.schemas import ToolError, check_fields, in_one_form, near, written_artifact
from apex_tui.workbench.world import World
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.work_model import LIFECYCLE, ToolSpec

HANDED_OVER = "handover.reason"
"""Where the world keeps why the call was given to a person."""

IDENTITY_TRIES = 3
"""Failed checks after which the call must be handed over; a fourth guess would be fishing."""


@dataclass(slots=True)
class Identity:
    """Whether the caller's identity was verified, and how often it failed."""

    verified: bool = False
    failures: int = 0


@dataclass(slots=True)
class Bench:
    """Everything that a handler may touch."""

    workflow: Workflow
    strict: bool
    artifacts: Artifacts
    authority: Authority | OfficialGuard
    knowledge: Knowledge
    world: World
    records: Records
    identity: Identity = field(default_factory=Identity)


@dataclass(slots=True)
class RunningCall:
    """A call between its begin and its completion."""

    id: str
    tool: ToolSpec
    args: Json
    began_ms: float
    scope: Scope | None = None
    """What a commit is about."""
    revoked_ms: float | None = None
    """The caller took its action back while it ran."""


@dataclass(slots=True)
class Outcome:
    """What a completed call did. ``facts`` in any order (the workbench sorts them)."""

    result: Json | None = None
    ok: bool = True
    facts: list[Fact] = field(default_factory=list)
    error: str | None = None
    hint: str | None = None
    decision: Decision | None = None
    mutations: tuple[str, ...] = ()
    approval_request: tuple[str, str] | None = None
    commit: tuple[str, str, Decision] | None = None


Handler = Callable[[Bench, RunningCall, float], Outcome]


def handler_name(tool: ToolSpec, strict: bool) -> str | None:
    """The built-in that runs a tool; a commit tool without one commits (strict), or is not bound (official)."""
    if tool.handler is None and strict and tool.commits:
        return "commit"
    return tool.handler


# --- reading -----------------------------------------------------------------------------------------------------------------------------


def _kb_search(bench: Bench, call: RunningCall, now_ms: float) -> Outcome:
    query, top_k = _input(call, "query", ""), _input(call, "top_k", 3)
    try:
        count = int(top_k)
    except (TypeError, ValueError, OverflowError):
        raise ToolError("'top_k' must be a whole number", "leave it out to get three documents") from None
    hits = bench.knowledge.search(str(query), count)
    found = KnowledgeSearched(call=call.id, query=str(query), hits=tuple(hit["doc_id"] for hit in hits))
    return Outcome(result={"hits": hits}, facts=[found])


def _get_entity(bench: Bench, call: RunningCall, now_ms: float) -> Outcome:
    if statements := _statements(call):
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
    rows, facts = bench.records.run(_statements(call), call.args, f"tool:{call.tool.name}", _refusal_words(call))
    return Outcome(result=rows or {"done": True}, facts=facts)


def _statements(call: RunningCall) -> tuple[str, ...]:
    """The author's statements; a transaction on the records belongs to a tool that has some."""
    return tuple(call.tool.effect.get("sql") or ())


def _refusal_words(call: RunningCall) -> str:
    return str(call.tool.effect.get("refusal") or "")


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
    art = _artifact(bench, call, written_artifact(bench.workflow, call.tool) if bench.strict else None)
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
    if statements := _statements(call):
        after = {**art.fields, **values}
        facts = bench.records.run(statements, after, f"tool:{call.tool.name}", _refusal_words(call))[1]
    lifecycle: Lifecycle | None = "DRAFT" if art.lifecycle in ("EMPTY", "PARTIAL") else None
    version = bench.artifacts.write(art.id, values, began_ms=call.began_ms, call=call.id, lifecycle=lifecycle)
    result: Json = {"updated": list(values), "artifact_id": art.id}
    if bench.strict:
        result["version"] = version.version
    return Outcome(result=result, facts=[*facts, version], mutations=tuple(f"{art.id}.{name}" for name in values))


def _set_lifecycle(bench: Bench, call: RunningCall, now_ms: float) -> Outcome:
    art = _artifact(bench, call, None)
    authored, asked = call.tool.effect.get("state"), call.args.get("state")
    wanted = _first(authored, asked) if bench.strict else _first(asked, authored)
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


# --- authority ---------------------------------------------------------------------------------------------------------------------------


def _request_approval(bench: Bench, call: RunningCall, now_ms: float) -> Outcome:
    scope = _request_scope(bench, call)
    binding: Binding | None = None
    if scope.artifact is not None:
        binding = _binding(bench, scope.artifact, call.args.get("version"))
    asked = bench.authority.request(now_ms, call.id, scope.action, scope.target, binding)
    result: Json = {
        "requested_action": scope.action,
        "target_id": scope.target,
        "status": "awaiting_approval",
    }
    if bench.strict:
        result["version"] = asked.version
    return Outcome(result=result, facts=[asked], approval_request=(scope.action, scope.target))


def _request_scope(bench: Bench, call: RunningCall) -> Scope:
    tool, args = call.tool, call.args
    named = _first(args.get("target_id"), args.get(tool.commit_target_param or "target_id"))
    if not bench.strict:
        action = _first(args.get("action_type"), tool.commit_action_type, tool.effect.get("action_type"))
        return Scope(str(_first(action, "")), str(_first(named, "")), None)
    action = _first(tool.commit_action_type, tool.effect.get("action_type"), args.get("action_type"))
    if action is None:
        raise ToolError("the request names no action", "send 'action_type': the action that the caller should approve")
    commit = _commit_tool(bench.workflow, str(action))
    effects = [tool.effect, commit.effect if commit is not None else {}]
    declared = _first(*(effect.get("artifact_id") for effect in effects))
    alias = _first(*(effect.get("target_id") for effect in effects))
    scope = _scope(bench, str(action), named, declared, alias)
    if not scope.belongs:
        raise ToolError(
            f"{scope.target!r} is not what {scope.action} commits",
            f"name {scope.expects!r} as the target",
        )
    return scope


def _binding(bench: Bench, artifact: str, version: Any) -> Binding:
    if version is None:
        return bench.artifacts.binding(artifact)
    try:
        return bench.artifacts.binding(artifact, int(version))
    except IndexError:
        current = bench.artifacts.binding(artifact).version
        raise ToolError(
            f"{artifact} has no version {version}; the current one is {current}",
            "leave 'version' out to ask about the current content",
        ) from None


def _commit_tool(workflow: Workflow, action: str) -> ToolSpec | None:
    """The tool that commits an action."""
    return next((t for t in workflow.tools if t.commits and (t.commit_action_type or t.name) == action), None)


def commit_scope(bench: Bench, tool: ToolSpec, args: Mapping[str, Any]) -> Scope:
    """What a call of a commit tool is about. Strict: target and artifact must be what the tool declares."""
    named = args.get(tool.commit_target_param or "target_id")
    declared, sent = tool.effect.get("artifact_id"), args.get("artifact_id")
    alias = _first(tool.effect.get("target_id"))
    if not bench.strict:
        action = str(_first(tool.commit_action_type, args.get("action_type"), tool.name))
        artifact = str(_first(sent, declared, ""))
        return Scope(action, str(_first(named, alias, "")), artifact if artifact in bench.artifacts else None)
    action = str(_first(tool.commit_action_type, tool.effect.get("action_type"), args.get("action_type"), tool.name))
    scope = _scope(bench, action, named, _first(declared, sent), alias)
    if declared is not None and sent is not None and sent != declared:
        return Scope(action, f"{scope.target} of {sent}", scope.artifact, belongs=False, expects=scope.expects)
    return scope


def _scope(bench: Bench, action: str, named: Any, declared: Any, alias: Any) -> Scope:
    """Strict scope: ``declared`` is the artifact, ``alias`` what the tool calls it; ``named`` is what the agent says."""
    expects = _first(alias, declared)
    target = str(_first(named, expects, ""))
    if declared is None:
        # No artifact is declared: the target may be one, or something that is no artifact at all.
        belongs = alias is None or target == str(alias)
        return Scope(action, target, target if target in bench.artifacts else None, belongs, _text(alias))
    artifact = str(declared)
    belongs = artifact in bench.artifacts and target in (artifact, _text(alias))
    return Scope(action, target, artifact if artifact in bench.artifacts else None, belongs, _text(expects))


def _commit(bench: Bench, call: RunningCall, now_ms: float) -> Outcome:
    scope = call.scope or commit_scope(bench, call.tool, call.args)
    ruling = bench.authority.decide(now_ms, scope, call.revoked_ms)
    decided = decided_fact(bench, call, scope, ruling, "completion")
    if not ruling.authorized:
        return refused_commit(scope, ruling, [decided])
    fields = dict(call.tool.effect.get("set_fields") or {})
    changes = {str(path): value for path, value in dict(call.tool.effect.get("world_updates") or {}).items()}
    facts: list[Fact] = [decided]
    rows: Json = {}
    held = bench.artifacts.get(scope.artifact) if scope.artifact is not None else None
    if statements := _statements(call):
        after = {**(held.fields if held is not None else {}), **fields}
        try:
            rows, changed = bench.records.run(statements, after, f"commit:{call.tool.name}", _refusal_words(call))
        except ToolError as problem:
            return Outcome(ok=False, facts=facts, error=problem.error, hint=problem.hint, decision=ruling.decision)
        facts += changed
    bench.authority.consume(ruling.approval)
    # A step on the way leaves the artifact open; the last commit makes it final.
    final: Lifecycle | None = None if call.tool.effect.get("keeps_open") else "COMMITTED"
    if held is not None and (final or fields):
        facts.append(bench.artifacts.write(held.id, fields, began_ms=call.began_ms, call=call.id, lifecycle=final))
    facts += bench.world.update(changes, f"commit:{call.tool.name}")
    return Outcome(
        result={"action_type": scope.action, "target_id": scope.target, "committed": True, **rows},
        facts=facts,
        decision=ruling.decision,
        mutations=tuple(f"{scope.artifact}.{name}" for name in fields) if scope.artifact is not None else (),
        commit=(scope.action, scope.target, ruling.decision),
    )


def refused_commit(scope: Scope, ruling: Ruling, facts: list[Fact]) -> Outcome:
    """The outcome of a commit that the guard did not authorise."""
    return Outcome(
        result={"action_type": scope.action, "target_id": scope.target, "committed": False},
        ok=False,
        facts=facts,
        error=f"not committed ({ruling.decision}): {ruling.why}",
        hint=ruling.hint,
        decision=ruling.decision,
        commit=(scope.action, scope.target, ruling.decision),
    )


def decided_fact(bench: Bench, call: RunningCall, scope: Scope, ruling: Ruling, at: str) -> CommitDecided:
    """The timeline's form of a ruling; ``version`` is the content that was to be committed."""
    art = bench.artifacts.get(scope.artifact) if scope.artifact is not None else None
    return CommitDecided(
        call=call.id,
        action=scope.action,
        target=scope.target,
        decision=ruling.decision,
        at="call" if at == "call" else "completion",
        artifact=scope.artifact,
        version=art.version if art is not None else None,
        approval=ruling.approval,
        why=ruling.why,
    )


# --- inputs ------------------------------------------------------------------------------------------------------------------------------


def _first(*values: Any) -> Any:
    """The first value that is there (neither None nor empty text)."""
    return next((value for value in values if value is not None and value != ""), None)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _input(call: RunningCall, name: str, default: Any) -> Any:
    """An input of a reading tool: argument first, then the authored effect."""
    return call.args.get(name, call.tool.effect.get(name, default))


def _artifact(bench: Bench, call: RunningCall, fallback: str | None) -> Artifact:
    """The artifact that a writing tool is about. Strict: the declared one, and an argument may not name another."""
    declared, sent = call.tool.effect.get("artifact_id"), call.args.get("artifact_id")
    if bench.strict and declared is not None and sent is not None and sent != declared:
        raise ToolError(f"{call.tool.name} works on {declared!r}, not on {sent!r}", "leave 'artifact_id' out")
    name = _first(sent, declared, fallback)
    art = bench.artifacts.get(str(name))
    if art is None:
        raise ToolError(f"there is no artifact {str(name)[:100]!r}", near(str(name), list(bench.artifacts)))
    return art


def _hand_over(bench: Bench, call: RunningCall, now_ms: float) -> Outcome:
    """The call goes to a person: nothing of the work is undone, and the session ends."""
    reason = str(_first(call.args.get("reason"), "no reason given"))
    return Outcome(result={"handed_over": True}, facts=[bench.world.set(HANDED_OVER, reason, f"tool:{call.tool.name}")])


HANDLERS: Mapping[str, Handler] = {
    "kb_search": _kb_search,
    "get_entity": _get_entity,
    "act": _act,
    "verify_identity": _verify_identity,
    "update_artifact": _update_artifact,
    "set_lifecycle": _set_lifecycle,
    "request_approval": _request_approval,
    "commit": _commit,
    "hand_over": _hand_over,
}

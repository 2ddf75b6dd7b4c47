"""The tools of authority: asking for an approval, and the commits that need one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apex_tui.timeline.base import Fact, Json
from apex_tui.timeline.work_facts import CommitDecided, Lifecycle
from apex_tui.workbench.artifacts import Binding
from apex_tui.workbench.authority import Ruling, Scope
from apex_tui.workbench.bench import Bench, Outcome, RunningCall, as_text, first_there, refusal_words, statements_of
from apex_tui.workbench.schemas import ToolError
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.work_model import ToolSpec


def request_approval(bench: Bench, call: RunningCall, now_ms: float) -> Outcome:
    """Ask the caller; in strict use the request is bound to the version that was read back."""
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
    named = first_there(args.get("target_id"), args.get(tool.commit_target_param or "target_id"))
    if not bench.strict:
        action = first_there(args.get("action_type"), tool.commit_action_type, tool.effect.get("action_type"))
        return Scope(str(first_there(action, "")), str(first_there(named, "")), None)
    action = first_there(tool.commit_action_type, tool.effect.get("action_type"), args.get("action_type"))
    if action is None:
        raise ToolError("the request names no action", "send 'action_type': the action that the caller should approve")
    commit = _commit_tool(bench.workflow, str(action))
    effects = [tool.effect, commit.effect if commit is not None else {}]
    declared = first_there(*(effect.get("artifact_id") for effect in effects))
    alias = first_there(*(effect.get("target_id") for effect in effects))
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
    alias = first_there(tool.effect.get("target_id"))
    if not bench.strict:
        action = str(first_there(tool.commit_action_type, args.get("action_type"), tool.name))
        artifact = str(first_there(sent, declared, ""))
        return Scope(action, str(first_there(named, alias, "")), artifact if artifact in bench.artifacts else None)
    action = str(
        first_there(tool.commit_action_type, tool.effect.get("action_type"), args.get("action_type"), tool.name)
    )
    scope = _scope(bench, action, named, first_there(declared, sent), alias)
    if declared is not None and sent is not None and sent != declared:
        return Scope(action, f"{scope.target} of {sent}", scope.artifact, belongs=False, expects=scope.expects)
    return scope


def _scope(bench: Bench, action: str, named: Any, declared: Any, alias: Any) -> Scope:
    """Strict scope: ``declared`` is the artifact, ``alias`` what the tool calls it; ``named`` is what the agent says."""
    expects = first_there(alias, declared)
    target = str(first_there(named, expects, ""))
    if declared is None:
        # No artifact is declared: the target may be one, or something that is no artifact at all.
        belongs = alias is None or target == str(alias)
        return Scope(action, target, target if target in bench.artifacts else None, belongs, as_text(alias))
    artifact = str(declared)
    belongs = artifact in bench.artifacts and target in (artifact, as_text(alias))
    return Scope(action, target, artifact if artifact in bench.artifacts else None, belongs, as_text(expects))


def commit(bench: Bench, call: RunningCall, now_ms: float) -> Outcome:
    """Do what cannot be taken back, if the guard lets it; refused, it has no effect."""
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
    if statements := statements_of(call):
        after = {**(held.fields if held is not None else {}), **fields}
        try:
            rows, changed = bench.records.run(statements, after, f"commit:{call.tool.name}", refusal_words(call))
        except ToolError as problem:
            # Nothing was committed, so the approval is not used, and no completion is noted.
            return Outcome(ok=False, error=problem.error, hint=problem.hint, decision=ruling.decision)
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

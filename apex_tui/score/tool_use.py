"""How the agent used its tools: counts, against the calls of the reference solution."""

from __future__ import annotations

import json
from typing import Any

from apex_tui.score.case import Case
from apex_tui.score.limits import watched
from apex_tui.score.verdict import ToolUse
from apex_tui.timeline.state import Call
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.work_model import ToolSpec

_PYTHON: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list, tuple),
}


def tool_use(case: Case) -> ToolUse:
    """Count the calls of a session. Calls that still ran when the log ends are neither ok, failed nor cancelled."""
    calls = list(case.state.calls.values())
    ok = sum(1 for call in calls if call.state == "done")
    reference = case.workflow.reference.calls
    all_seen = not watched(case.state)
    prints = [_print(call) for call in calls if call.finished_ms is not None or call.state == "refused"]
    bad = [call for call in calls if call.state in ("refused", "failed")]
    known = {tool.name: tool for tool in case.workflow.tools}
    return ToolUse(
        calls=len(calls),
        ok=ok,
        failed=len(bad),
        cancelled=sum(1 for call in calls if call.state == "cancelled"),
        reference_calls=reference,
        ratio=round(ok / reference, 4) if reference and all_seen else None,
        unknown_tool=sum(1 for call in calls if call.name not in known),
        invalid_arguments=sum(1 for c in bad if c.name in known and _unfit(case.workflow, known[c.name], c)),
        repeated=len(prints) - len(set(prints)),
        after_interruption=sum(1 for call in calls if call.after_interruption),
    )


def _print(call: Call) -> str:
    """Equal for the same call with the same result."""
    outcome = call.result if call.state == "done" else {"error": call.error}
    return json.dumps([call.name, call.arguments, outcome], sort_keys=True, default=str)


def _unfit(workflow: Workflow, tool: ToolSpec, call: Call) -> bool:
    """Whether a call that failed did so for its arguments: unreadable, or not what the tool declares."""
    if call.decision is not None:  # the guard looked at it, so its arguments were accepted
        return False
    params = {param.name: param for param in tool.params}
    if "argument" in (call.error or "").casefold() or any(
        p.required and p.name not in call.arguments for p in tool.params
    ):
        return True
    for name, value in call.arguments.items():
        param = params.get(name)
        if param is None or not _fits(value, param.type) or (param.enum is not None and value not in param.enum):
            return True
    return _unknown_fields(workflow, tool, call)


def _fits(value: Any, declared: str) -> bool:
    allowed = _PYTHON.get(declared, (object,))
    return isinstance(value, allowed) and (not isinstance(value, bool) or bool in allowed or object in allowed)


def _unknown_fields(workflow: Workflow, tool: ToolSpec, call: Call) -> bool:
    """An update that names a field the artifact does not have, or a value outside the field's choices."""
    fields = call.arguments.get("fields")
    name = call.arguments.get("artifact_id", tool.effect.get("artifact_id"))
    artifact = workflow.artifacts.get(name) if isinstance(name, str) else None
    if tool.handler != "update_artifact" or not isinstance(fields, dict) or artifact is None or artifact.shape is None:
        return False
    for key, value in fields.items():
        spec = artifact.shape.field(key)
        if spec is None or (spec.enum is not None and value not in spec.enum):
            return True
    return False

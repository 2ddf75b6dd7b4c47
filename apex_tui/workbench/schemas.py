"""What tools take: validation of arguments, and the JSON schema that agents are given.

Both come from one place, so that nothing is advertised that is refused. Deliberately not in here: effects (``tools``).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from typing import Any

from apex_tui.timeline.base import Json
from apex_tui.workbench.values import canonical
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.work_model import FieldSpec, ToolParam, ToolSpec

_TYPES = {
    "string": "string", "str": "string", "text": "string", "number": "number", "float": "number", "integer": "integer",
    "int": "integer", "boolean": "boolean", "bool": "boolean", "object": "object", "dict": "object", "array": "array",
    "list": "array",
}  # fmt: skip
_PYTHON: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "number": (int, float),
    "boolean": bool,
    "object": dict,
    "array": list,
}
_LOCAL_NUMBER = re.compile(r"[ .-]*(?:[0-9][ .-]*){7}", re.ASCII)
_ARTICLE = {"integer": "an integer", "object": "an object", "array": "an array"}
_VERSION: Json = {
    "type": "integer",
    "description": "Version number of the content that you read back to the caller. Left out: the current version.",
}


class ToolError(Exception):
    """A call that cannot be done: what is wrong, and what the agent can do about it."""

    def __init__(self, error: str, hint: str = "") -> None:
        super().__init__(error)
        self.error = error
        self.hint = hint


def json_type(name: str) -> str:
    """The JSON schema type of a declared type name; unknown names are strings, as in the official format."""
    return _TYPES.get(name.lower(), "string")


def fits(value: Any, kind: str) -> bool:
    """Whether a JSON value is of a JSON schema type. true is no number; 5.0 is an integer."""
    if kind == "integer":
        return not isinstance(value, bool) and (
            isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        )
    if kind == "number" and isinstance(value, bool):
        return False
    return isinstance(value, _PYTHON[kind])


def near(name: str, known: Collection[str]) -> str:
    """Return ``did you mean 'x'?`` for a near name, else the list of known ones (shortened)."""
    close = difflib.get_close_matches(name[:100], list(known), n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return "known: " + ", ".join(sorted(known)[:40]) if known else "there are none"


# --- validation ------------------------------------------------------------------------------------------------------------------------


def check_arguments(workflow: Workflow, tool: ToolSpec, arguments: Mapping[str, Any]) -> None:
    """Check names, presence, types and enums of a call's arguments. Raises `ToolError` with the parameters in its hint."""
    hint = parameter_hint(workflow, tool)
    known = {param.name: param for param in tool.params}
    for name in arguments:
        if name not in known and not _takes_version(tool, name):
            raise ToolError(f"{tool.name} has no argument {name[:100]!r}; {near(name, known)}", hint)
    for param in tool.params:
        if param.name in arguments:
            # What a commit may be about is the guard's ruling (WRONG_SCOPE), which counts, not a misspelt argument.
            target = tool.commits and param.name == (tool.commit_target_param or "target_id")
            enum = None if target else param.enum
            _check_value(f"argument {param.name!r}", arguments[param.name], param.type, enum, hint)
        elif param.required:
            raise ToolError(f"{tool.name} needs the argument {param.name!r}", hint)
    if _takes_version(tool, "version") and "version" in arguments:
        _check_value("argument 'version'", arguments["version"], "integer", None, hint)


def check_fields(workflow: Workflow, artifact: str, values: Mapping[str, Any], tool: ToolSpec | None = None) -> None:
    """Check field names, types and enums of a write. None clears a field and always fits. Raises `ToolError`."""
    mine = fields_of(tool)
    for name in values if mine else ():
        if name not in mine and tool is not None:
            raise ToolError(f"{tool.name} does not write {name[:100]!r}, and nothing was written", near(name, mine))
    if not values:
        raise ToolError("'fields' is empty, so nothing was written", "name at least one field and its value")
    declared = declared_fields(workflow, artifact)
    by_commit = fields_set_by_commit(workflow, artifact)
    for name, value in values.items():
        if name in by_commit:
            raise ToolError(
                f"the field {name!r} is set by {by_commit[name]} when it commits, and nothing was written",
                f"leave {name!r} out and write the other fields again",
            )
        if not declared:
            continue
        spec = declared.get(name)
        if spec is None:
            raise ToolError(
                f"{artifact} has no field {name[:100]!r}, and nothing was written",
                near(name, [field for field in declared if field not in by_commit]),
            )
        if value is not None:
            hint = f"{name} is {_described(spec)}"
            _check_value(f"the field {name!r}", value, spec.type, spec.enum, hint)


def in_one_form(workflow: Workflow, artifact: str, values: Mapping[str, Any]) -> Json:
    """Values as they are kept: a telephone number of seven digits as ``NNN-NNNN``, however it was written ("5550130", "555 0130").

    The artifact and the records then hold the same text, and no agent has to guess it. Whatever else stands there is kept as it is.
    """
    declared = declared_fields(workflow, artifact)
    return {name: _as_kept(declared[name], value) if name in declared else value for name, value in values.items()}


def _as_kept(spec: FieldSpec, value: Any) -> Any:
    if spec.grader != "normalized_phone" or not isinstance(value, str) or not _LOCAL_NUMBER.fullmatch(value):
        return value
    digits = "".join(char for char in value if char in "0123456789")
    return f"{digits[:3]}-{digits[3:]}"


def _check_value(what: str, value: Any, kind: str, enum: tuple[Any, ...] | None, hint: str) -> None:
    wanted = json_type(kind)
    if not fits(value, wanted):
        got = canonical(value)
        shown = got if len(got) <= 60 else got[:57] + "..."
        raise ToolError(f"{what} must be {_ARTICLE.get(wanted, 'a ' + wanted)}, not {shown}", hint)
    if enum is not None and canonical(value) not in {canonical(choice) for choice in enum}:
        raise ToolError(f"{what} must be one of {', '.join(str(choice) for choice in enum)}", hint)


def _takes_version(tool: ToolSpec, name: str) -> bool:
    return tool.handler == "request_approval" and name == "version"


def _described(spec: FieldSpec) -> str:
    if spec.enum:
        return "one of " + ", ".join(spec.enum)
    kind = json_type(spec.type)
    return _ARTICLE.get(kind, "a " + kind) + (f": {spec.description}" if spec.description else "")


# --- what an artifact takes ------------------------------------------------------------------------------------------------------------


def declared_fields(workflow: Workflow, artifact: str) -> dict[str, FieldSpec]:
    """The declared fields of an artifact by name; empty when it has no schema (then any field is taken)."""
    spec = workflow.artifacts.get(artifact)
    return {field.name: field for field in spec.shape.fields} if spec is not None and spec.shape is not None else {}


def fields_set_by_commit(workflow: Workflow, artifact: str) -> dict[str, str]:
    """Fields that only a commit writes, with the tool that does. Official packages leave all fields to the agent."""
    if workflow.source == "official":
        return {}
    return {
        str(name): tool.name
        for tool in workflow.tools
        if tool.commits and tool.effect.get("artifact_id") == artifact
        for name in tool.effect.get("set_fields") or {}
    }


def fields_of(tool: ToolSpec | None) -> tuple[str, ...]:
    """The fields that an update tool is limited to; empty: it writes any."""
    return tuple(str(name) for name in (tool.effect.get("fields") or ())) if tool is not None else ()


def written_artifact(workflow: Workflow, tool: ToolSpec) -> str | None:
    """The artifact that an update tool writes when the call does not name one: the declared one, else the only one."""
    declared = tool.effect.get("artifact_id")
    if declared is not None:
        return str(declared)
    return next(iter(workflow.artifacts)) if len(workflow.artifacts) == 1 else None


# --- what agents are given -------------------------------------------------------------------------------------------------------------


def tool_schemas(workflow: Workflow) -> tuple[Json, ...]:
    """Neutral function tools ``{"name", "description", "parameters": JSON schema}``, in file order, without discoverable ones."""
    return tuple(
        {"name": tool.name, "description": tool.description, "parameters": parameters(workflow, tool)}
        for tool in workflow.tools
        if not tool.discoverable
    )


def parameters(workflow: Workflow, tool: ToolSpec) -> Json:
    """JSON schema of a tool's arguments; ``fields`` of an update tool lists the fields that it may write."""
    properties = {param.name: _property(workflow, tool, param) for param in tool.params}
    if tool.handler == "request_approval" and workflow.source == "recipe":
        properties.setdefault("version", dict(_VERSION))
    return {
        "type": "object",
        "properties": properties,
        "required": [param.name for param in tool.params if param.required],
        "additionalProperties": False,
    }


def parameter_hint(workflow: Workflow, tool: ToolSpec) -> str:
    """The parameters as one line for a refused call."""
    return f"parameters of {tool.name}: {canonical(parameters(workflow, tool))}"


def _property(workflow: Workflow, tool: ToolSpec, param: ToolParam) -> Json:
    schema = _plain(param.type, param.description, param.enum)
    if tool.handler != "update_artifact" or param.name != "fields" or schema["type"] != "object":
        return schema
    artifact = written_artifact(workflow, tool)
    by_commit = fields_set_by_commit(workflow, artifact or "")
    # The reference tool leaves a field called "status" out of what it advertises.
    hidden = {"status"} if workflow.source == "official" else set(by_commit)
    fields = [f for f in declared_fields(workflow, artifact or "").values() if f.name not in hidden]
    fields = [f for f in fields if not fields_of(tool) or f.name in fields_of(tool)]
    if not fields:
        return schema
    names = ", ".join(field.name for field in fields)
    clearing = "" if workflow.source == "official" else " null clears a field."
    schema["description"] = f"{param.description} Fields: {names}.{clearing}".strip()
    schema["properties"] = {field.name: _plain(field.type, field.description, field.enum) for field in fields}
    schema["additionalProperties"] = False
    return schema


def _plain(kind: str, description: str, enum: tuple[Any, ...] | None) -> Json:
    schema: Json = {"type": json_type(kind)}
    if description:
        schema["description"] = description
    if enum is not None:
        schema["enum"] = list(enum)
    if schema["type"] == "array":
        schema["items"] = {}
    return schema

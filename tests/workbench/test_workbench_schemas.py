"""What agents are given: the JSON schema of every tool."""

from typing import Any

import pytest
from workbench_cases import Desk, said, workflow

from apex_tui.workbench import Workbench, tool_schemas
from apex_tui.workflow.work_model import ToolSpec

FORM = "update_form"


def test_tool_schemas_state_what_is_taken() -> None:
    schemas = {tool["name"]: tool for tool in tool_schemas(workflow())}
    assert "search" not in schemas, "discoverable tools are called, not advertised"
    form = schemas[FORM]
    assert form["description"] == "Write fields."
    assert form["parameters"]["required"] == ["fields"]
    assert form["parameters"]["additionalProperties"] is False
    fields = form["parameters"]["properties"]["fields"]
    assert list(fields["properties"]) == [
        "employee_id", "leave_type", "start_date", "end_date", "working_days", "amount", "urgent", "extra", "tags",
    ]  # fmt: skip
    assert fields["additionalProperties"] is False
    assert fields["description"].startswith("the fields Fields: employee_id, leave_type")
    assert fields["description"].endswith("null clears a field.")
    assert fields["properties"]["employee_id"] == {"type": "string", "description": "Staff number"}
    assert fields["properties"]["leave_type"] == {"type": "string", "enum": ["annual", "unpaid"]}
    assert fields["properties"]["tags"] == {"type": "array", "items": {}}
    assert "properties" not in schemas["write_any"]["parameters"]["properties"]["fields"]
    assert schemas["request_approval"]["parameters"]["properties"]["version"]["type"] == "integer"
    assert schemas["unbound"]["parameters"]["properties"]["kind"]["enum"] == ["a", 1]
    assert Workbench.tool_schemas(workflow()) == tool_schemas(workflow())


def test_official_schemas_hide_only_status_and_add_nothing() -> None:
    flow = workflow(source="official")
    schemas = {tool["name"]: tool["parameters"]["properties"] for tool in tool_schemas(flow)}
    assert "status" not in schemas[FORM]["fields"]["properties"]
    assert "null" not in schemas[FORM]["fields"]["description"]
    assert "version" not in schemas["request_approval"]
    assert Desk(flow=flow).write(status="draft").ok, "hidden is not forbidden"


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ("str", "string"),
        ("Float", "number"),
        ("int", "integer"),
        ("bool", "boolean"),
        ("dict", "object"),
        ("date", "string"),
    ],
)
def test_type_names(declared: str, kind: str) -> None:
    flow = workflow(tools=(ToolSpec(name="t", params=(_param(declared),)),))
    assert tool_schemas(flow)[0]["parameters"]["properties"]["p"]["type"] == kind


def _param(kind: str) -> Any:
    return workflow().tools[0].params[0].model_copy(update={"name": "p", "type": kind})


def test_argument_enums() -> None:
    flow = workflow(
        tools=(
            ToolSpec(
                name="t",
                handler="get_entity",
                params=(
                    workflow()
                    .tools[0]
                    .params[0]
                    .model_copy(update={"name": "p", "type": "string", "enum": ("a", "b")}),
                ),
            ),
        )
    )
    desk = Desk(flow=flow)
    assert said(desk.do("t", p="c").output)["error"] == "argument 'p' must be one of a, b"
    assert desk.do("t", p="a").ok
    assert said(Desk(flow=workflow(tools=())).do("t").output)["hint"] == "there are none"

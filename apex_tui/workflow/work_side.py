"""The work half of a compiled recipe: the artifact's schema, the tools, and the gold predicates.

In here: the derivation alone. Deliberately not in here: running a tool or grading a field.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apex_tui.workflow.forms import JSON_TYPES, Kind
from apex_tui.workflow.outcome_model import (  # fmt: skip
    ArtifactExpectation,
    Gate,
    Gold,
    GoldField,
    Precedence,
    Predicate,
    Reference,
)
from apex_tui.workflow.part import Grader  # fmt: skip
from apex_tui.workflow.recipe import Recipe, RecipeField, RecipeTool
from apex_tui.workflow.stages import computed_fields, dependents
from apex_tui.workflow.work_model import (  # fmt: skip
    LIFECYCLE,
    ArtifactSchema,
    ArtifactSpec,
    Document,
    FieldSpec,
    Handler,
    Latency,
    RecordTable,
    ToolClass,
    ToolParam,
    ToolSpec,
)

GRADERS: dict[Kind, Grader] = {
    "text": "casefold_exact", "enum": "enum", "identifier": "exact", "phone": "normalized_phone", "date": "normalized_date",
    "money": "numeric_tolerance", "integer": "numeric_tolerance", "number": "numeric_tolerance", "boolean": "casefold_exact",
}  # fmt: skip
MONEY_TOLERANCE = 0.001
"""Less than a cent: an amount is right or wrong."""

HAND_OVER = "hand_over_to_human"
"""Every recipe has this tool: a call can always be given to a person."""

_CLASSES: dict[str, tuple[Handler, ToolClass]] = {
    "search": ("kb_search", "retrieval"),
    "lookup": ("get_entity", "read_only"),
    "query": ("get_entity", "read_only"),
    "act": ("act", "state_changing"),
    "update": ("update_artifact", "reversible_draft"),
    "identity": ("verify_identity", "user_mediated"),
    "approval": ("request_approval", "user_mediated"),
    "ready": ("set_lifecycle", "reversible_draft"),
    "commit": ("commit", "irreversible_commit"),
    "hand_over": ("hand_over", "cross_application"),
}


def grader(field: RecipeField) -> tuple[Grader, float | None]:
    """Return how a field is graded, and the tolerance where the grader takes one."""
    chosen = field.grader or GRADERS[field.type]
    if chosen != "numeric_tolerance":
        return chosen, None
    return chosen, field.tolerance if field.tolerance is not None else MONEY_TOLERANCE if field.type == "money" else 0.0


def artifact(recipe: Recipe) -> ArtifactSpec:
    """Return the empty artifact with its schema."""
    fields = []
    for name, field in recipe.artifact.fields.items():
        chosen, tolerance = grader(field)
        fields.append(
            FieldSpec(
                name=name,
                type=JSON_TYPES.get(field.type, "string"),
                grader=chosen,
                required=field.required,
                enum=field.enum,
                tolerance=tolerance,
                dependents=dependents(recipe, name),
                description=_field_description(field),
                critical=field.critical,
                protected=field.protected,
            )
        )
    shape = ArtifactSchema(artifact_type=recipe.artifact.type, fields=tuple(fields), lifecycle=LIFECYCLE)
    return ArtifactSpec(artifact_type=recipe.artifact.type, shape=shape)


def tools(recipe: Recipe, solution: Reference) -> tuple[ToolSpec, ...]:
    """Return the tools with parameters, handlers and effects; the one that hands the call over is in every recipe, and last.

    ``solution`` tells which entries of the world a lookup is for.
    """
    own = tuple(_tool(recipe, name, tool, solution) for name, tool in recipe.tools.items())
    if recipe.tools_of("hand_over"):
        return own
    words = "Give the call to a human colleague. Ends the call; only when you cannot or may not help any further."
    return (*own, _tool(recipe, HAND_OVER, RecipeTool(kind="hand_over", description=words, latency_ms=200), solution))


def documents(recipe: Recipe) -> tuple[Document, ...]:
    """Return the documents that can be searched."""
    return tuple(
        Document(
            doc_id=key,
            title=row.title,
            text=row.text.strip(),
            words=row.words,
            gold=row.use == "gold",
            distractor=row.use == "distractor",
        )
        for key, row in recipe.documents.items()
    )


def records(recipe: Recipe) -> dict[str, RecordTable]:
    """Return the tables of the records, without rows: those lie in the world."""
    return {name: RecordTable(key=table.key, columns=table.columns) for name, table in recipe.records.items()}


def gold(recipe: Recipe) -> Gold:
    """Return the predicates of the right end, from the stated outcome."""
    target = recipe.artifact.id
    required = [
        Predicate(
            id=f"{row.action}_authorized",
            kind="commit_authorized",
            args={"action_type": row.action, "target_id": target},
        )
        for row in reversed(recipe.approval)
    ]
    required += [
        Predicate(id=f"{name}_called", kind="tool_called", args={"tool": name})
        for name, tool in recipe.tools.items()
        if tool.required or tool.kind == "identity"
    ]
    found = any(row.use == "gold" for row in recipe.documents.values())
    return Gold(
        terminal_state=(
            Predicate(
                id=f"{target}_{recipe.outcome.lifecycle.lower()}",
                kind="artifact_lifecycle_at_least",
                args={"artifact_id": target, "state": recipe.outcome.lifecycle},
            ),
            *(_state(path, value) for path, value in _world_after(recipe).items()),
        ),
        required_actions=tuple(required),
        required_evidence=(Predicate(id="documents_found", kind="kb_gold_retrieved", args={"threshold": 1.0}),)
        if found
        else (),
        critical_gates=_gates(recipe),
        precedence=_order(recipe),
        artifact_expectations=(_expectation(recipe),),
    )


def _world_after(recipe: Recipe) -> dict[str, Any]:
    """Paths of the world and what they must hold: what the approved commits change, and the rows of the records."""
    found = {path: value for row in recipe.approval for path, value in recipe.tools[row.action].world.items()}
    for path, columns in recipe.outcome.records.items():
        if columns is None:
            found[f"records.{path}"] = None
        for column, value in (columns or {}).items():
            found[f"records.{path}.{column}"] = value
    return found


def _state(path: str, value: Any) -> Predicate:
    return Predicate(id=f"world_{path.replace('.', '_')}", kind="state_equals", args={"path": path, "value": value})


def _field_description(field: RecipeField) -> str:
    hint = {"date": "YYYY-MM-DD", "money": "in dollars"}.get(field.type)
    return " ".join(part for part in (field.description, f"({hint})" if hint else "") if part)


def entries(recipe: Recipe, name: str, solution: Reference) -> tuple[str, ...]:
    """Return the keys of the world that a lookup may read, in file order: never what the right values are computed from or compared with.

    Those that the reference reads with it, entries of the same make (other customers, say), and entries that nothing else in the recipe is about.
    """
    world = {key: value for key, value in recipe.world.items() if isinstance(value, Mapping)}
    calls = [step for turn in solution.turns for step in turn.steps if step.call in recipe.tools_of("lookup")]
    mine = {str(step.args.get("entity_id")) for step in calls if step.call == name}
    others = {str(step.args.get("entity_id")) for step in calls if step.call != name}
    made = [set(world[key]) for key in mine if key in world]
    sources = [
        str(arg) for field in recipe.artifact.fields.values() if field.computed for arg in field.computed.args.values()
    ]
    paths = [source.removeprefix("world.") for source in sources if source.startswith("world.")]
    paths += [path for tool in recipe.tools.values() for path in (*tool.match.values(), *tool.world)]
    paths += [path for event in recipe.follow_through.values() for path in event.world]
    spoken_for = {path.partition(".")[0] for path in paths} | others
    return tuple(key for key in world if key in mine or set(world[key]) in made or key not in spoken_for)


def _tool(recipe: Recipe, name: str, tool: RecipeTool, solution: Reference) -> ToolSpec:
    handler, tool_class = _CLASSES[tool.kind]
    commits, final = tool.kind == "commit", tool.kind in ("commit", "hand_over")
    effect: dict[str, Any] = {}
    if tool.kind in ("update", "approval", "commit"):
        effect["artifact_id"] = recipe.artifact.id
    if tool.kind == "identity":
        effect["match"] = dict(tool.match)
    if tool.kind == "lookup":
        effect["entries"] = list(entries(recipe, name, solution))
    if tool.sets:
        effect["set_fields"] = dict(tool.sets)
    if tool.world:
        effect["world_updates"] = dict(tool.world)
    if tool.kind == "ready":
        effect |= {"artifact_id": recipe.artifact.id, "state": "READY_FOR_REVIEW"}
    if commits and any(row.action == name for row in recipe.approval if row.after):
        effect["keeps_open"] = True
    effect |= {part: given for part in ("sql", "fields", "refusal", "fails") if (given := getattr(tool, part))}
    asks = recipe.approval[0].action if tool.kind == "approval" and len(recipe.approval) == 1 else None
    action = name if commits else asks
    return ToolSpec(
        name=name,
        tool_class=tool_class,
        description=tool.description,
        params=_params(recipe, tool),
        latency=Latency(base_ms=tool.latency_ms, jitter_ms=tool.jitter_ms),
        idempotent=not final,
        reversible=not final,
        commit_action_type=action,
        commit_target_param="target_id" if action else None,
        handler=handler,
        effect=effect,
        needs_identity=tool.needs_identity,
    )


def _params(recipe: Recipe, tool: RecipeTool) -> tuple[ToolParam, ...]:
    target = ToolParam(name="target_id", type="string", description="What it is about.", enum=(recipe.artifact.id,))
    if tool.kind == "search":
        return (ToolParam(name="query", type="string", description="Words to look for."),)
    if tool.kind == "lookup":
        return (ToolParam(name="entity_id", type="string", description=tool.subject or "Which entry."),)
    if tool.kind == "hand_over":
        return (ToolParam(name="reason", type="string", description="Why, in one sentence."),)
    if tool.kind == "update":
        return (ToolParam(name="fields", type="object", description="Field name to value; only what changes."),)
    if tool.kind == "identity":
        topics = {name: recipe.topic(name) for name in tool.match}
        return tuple(
            ToolParam(name=name, type="string", description=_told(topic.type, topic.description) if topic else "")
            for name, topic in topics.items()
        )
    if tool.kind == "approval":
        version = ToolParam(
            name="version", type="integer", required=False, description="The version that was read back."
        )
        if len(recipe.approval) == 1:
            return (target, version)
        known = tuple(row.action for row in recipe.approval)
        action = ToolParam(name="action_type", type="string", description="What the caller is to approve.", enum=known)
        return (action, target, version)
    if tool.kind in ("query", "act"):
        return tuple(
            ToolParam(
                name=name,
                type=JSON_TYPES.get(param.type, "string"),
                required=param.required,
                description=_told(param.type, param.description),
                enum=param.enum,
            )
            for name, param in tool.params.items()
        )
    if tool.kind == "ready":
        return ()
    # No choices here: what a commit may be about is the guard's to say, and a wrong target is its finding.
    return (target.model_copy(update={"enum": None, "description": f"What is committed: {recipe.artifact.id}."}),)


def _told(kind: Kind, description: str) -> str:
    return f"{description} (YYYY-MM-DD)".strip() if kind == "date" else description


def _gates(recipe: Recipe) -> tuple[Gate, ...]:
    guards = tuple(_guard(kind, action) for action in recipe.tools_of("commit") for kind in _guards(recipe, action))
    if any(recipe.tools[name].required for name in recipe.tools_of("hand_over")):
        return guards  # giving the call to a person is the right end
    (name,) = recipe.tools_of("hand_over") or (HAND_OVER,)
    called = Predicate(id="handed_over", kind="tool_called", args={"tool": name})
    return (*guards, Gate(id="no_handover", predicate=called, must_hold=False))


def _guards(recipe: Recipe, action: str) -> tuple[str, ...]:
    taken_back = any(change.revokes == action for change in recipe.corrections.values())
    return ("no_unauthorized_commit", "no_commit_after_revocation") if taken_back else ("no_unauthorized_commit",)


def _guard(kind: str, action: str) -> Gate:
    holds = Predicate(id=f"{kind}_{action}_holds", kind=kind, args={"action_type": action})
    return Gate(id=f"{kind}_{action}", predicate=holds)


def _order(recipe: Recipe) -> tuple[Precedence, ...]:
    guarded = [name for name, tool in recipe.tools.items() if tool.needs_identity]
    checked = [Precedence(before=check, after=name) for check in recipe.tools_of("identity") for name in guarded]
    asked = [(ask, row.action) for row in recipe.approval for ask in recipe.tools_of("approval")]
    return (*checked, *(Precedence(before=ask, after=action) for ask, action in asked))


def _expectation(recipe: Recipe) -> ArtifactExpectation:
    fields, fresh = [], list[str]()
    corrected = {name for change in recipe.corrections.values() for name in change.changes}
    for name, expected in recipe.outcome.fields.items():
        field = recipe.artifact.fields[name]
        chosen, tolerance = grader(field)
        fields.append(
            GoldField(field=name, expected=expected, grader=chosen, required=field.required, tolerance=tolerance)
        )
        if name in corrected or name in computed_fields(recipe):
            fresh.append(name)
    return ArtifactExpectation(
        artifact_id=recipe.artifact.id,
        artifact_type=recipe.artifact.type,
        lifecycle_min=recipe.outcome.lifecycle,
        fields=tuple(fields),
        must_not_be_stale=tuple(fresh),
    )

"""The values of a recipe over the course of the call: what holds before, and after each correction.

In here: the arithmetic of fields (told, corrected, computed) and what depends on what. Deliberately not in here: what is said or done about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from apex_tui.workflow.computed import FUNCTIONS
from apex_tui.workflow.problems import Key
from apex_tui.workflow.recipe import Computed, Recipe

_MISSING = object()


@dataclass(frozen=True, slots=True)
class Beat:
    """A thing that the caller says in the course that the reference takes. ``stage``: number of corrections said before it."""

    kind: Literal["fact", "correction", "approval"]
    key: str
    stage: int


class Fault(Exception):
    """Something in a recipe that does not fit; ``key`` is where, ``words`` what. The reader adds file and line."""

    def __init__(self, key: Key, words: str) -> None:
        super().__init__(words)
        self.key, self.words = key, words


def at_path(state: Mapping[str, Any], path: str, missing: Any = None) -> Any:
    """Return the value at a dotted path of the world, or ``missing``."""
    value: Any = state
    for part in path.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return missing
        value = value[part]
    return value


def world(recipe: Recipe) -> dict[str, Any]:
    """Return the world as the session begins with it: the author's, and the rows of the records under ``records``."""
    if not recipe.records:
        return recipe.world
    tables = {
        name: {
            str(row[list(table.columns).index(table.key)]): dict(zip(table.columns, row, strict=True))
            for row in table.rows
        }
        for name, table in recipe.records.items()
    }
    return {**recipe.world, "records": tables}


def beats(recipe: Recipe) -> tuple[Beat, ...]:
    """Return facts, corrections and approvals in the order in which the reference meets them.

    What is ``after`` something follows it at once; corrections without it come when everything was told, and the last approval ends.
    """
    order: list[tuple[Literal["fact", "correction", "approval"], str]] = []

    def follow(key: str | None) -> None:
        for approval in recipe.approval:
            if approval.after == key and key is not None:
                order.append(("approval", approval.action))
                follow(approval.action)
        for name, change in recipe.corrections.items():
            if change.after == key:
                order.append(("correction", name))

    for key in recipe.facts:
        if key not in recipe.caller.opening.reveals:
            order.append(("fact", key))
            follow(key)
    follow(None)
    if recipe.action is not None:
        order.append(("approval", recipe.action))
    said, found = 0, list[Beat]()
    for kind, key in order:
        found.append(Beat(kind, key, said))
        said += kind == "correction"
    return tuple(found)


def stages(recipe: Recipe) -> tuple[dict[str, Any], ...]:
    """Return the values that the caller wants (computed fields included): before any correction, then after each in file order.

    Raises ``Fault``: a computed field that depends on itself, on a path that is not there, or on a value that does not fit.
    """
    told = {name: value for fact in recipe.facts.values() for name, value in fact.fills.items()}
    found = [_with_computed(recipe, told)]
    for correction in recipe.corrections.values():
        told = {**told, **correction.changes}
        found.append(_with_computed(recipe, told))
    return tuple(found)


def dependents(recipe: Recipe, name: str) -> tuple[str, ...]:
    """Return the fields that no longer hold when ``name`` changes, those that follow indirectly included, in file order."""
    reached, waiting = set[str](), [name]
    while waiting:
        current = waiting.pop()
        for other, field in recipe.artifact.fields.items():
            depends = field.computed is not None and current in field.computed.args.values()
            stated = current in recipe.artifact.fields and other in recipe.artifact.fields[current].dependents
            if (depends or stated) and other not in reached:
                reached.add(other)
                waiting.append(other)
    return tuple(field for field in recipe.artifact.fields if field in reached)


def in_order(recipe: Recipe, names: Iterable[str]) -> list[str]:
    """Return the fields so that each comes after those that it follows from, otherwise in the given order.

    In the official profile a write makes what follows from it stale, also what the same call wrote before: so the order of a call matters.
    """
    rest, found = list(names), list[str]()
    makes_stale = {name: set(dependents(recipe, name)) for name in rest}
    while rest:
        free = (n for n in rest if not any(n in makes_stale[other] for other in rest if other != n))
        chosen = next(free, rest[0])  # fields that make each other stale have no order
        rest.remove(chosen)
        found.append(chosen)
    return found


def computed_fields(recipe: Recipe) -> tuple[str, ...]:
    """Return the names of the computed fields in file order."""
    return tuple(name for name, field in recipe.artifact.fields.items() if field.computed)


def committed_fields(recipe: Recipe) -> dict[str, Any]:
    """Return the fields that approved commits set."""
    return {name: value for tool in recipe.tools.values() for name, value in tool.sets.items()}


def _with_computed(recipe: Recipe, told: Mapping[str, Any]) -> dict[str, Any]:
    values = dict(told)
    open_fields = {name: field.computed for name, field in recipe.artifact.fields.items() if field.computed}
    while open_fields:
        ready = [name for name, computed in open_fields.items() if not set(computed.args.values()) & open_fields.keys()]
        if not ready:
            raise Fault(("artifact", "fields", next(iter(open_fields)), "computed"), "depends on itself")
        for name in ready:
            values[name] = _compute(recipe, name, open_fields.pop(name), values)
    return values


def _compute(recipe: Recipe, name: str, computed: Computed, values: Mapping[str, Any]) -> Any:
    key = ("artifact", "fields", name, "computed")
    args: dict[str, Any] = {}
    for arg, source in computed.args.items():
        args[arg] = _argument(recipe, source, values)
        if args[arg] is _MISSING:
            raise Fault(
                (*key, "args", arg), f"{source!r} is neither a value that is told or computed nor a path of the world"
            )
    try:
        return FUNCTIONS[computed.function](**args)
    except ValueError as error:
        raise Fault(key, f"{computed.function}: {error}") from None


def _argument(recipe: Recipe, source: str | int | float, values: Mapping[str, Any]) -> Any:
    if not isinstance(source, str):
        return source
    if source.startswith("world."):
        return at_path(world(recipe), source.removeprefix("world."), _MISSING)
    return values.get(source, _MISSING)

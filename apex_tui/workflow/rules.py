"""The rules between the parts of a recipe: every name that one part uses exists in another.

In here: checks that need no derived workflow; each fault names its key. Deliberately not in here: the schema (``recipe``), and the checks of a
finished workflow (``check``).
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator

from apex_tui.workflow.computed import FUNCTIONS, parameters
from apex_tui.workflow.problems import Key
from apex_tui.workflow.recipe import Correction, Recipe, RecipeStep, RecipeTool
from apex_tui.workflow.rules_records import record_faults
from apex_tui.workflow.stages import at_path, beats

PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
TAKEN = ("open", "ack", "approve", "close", "nudge")
"""Plan ids that the compiler gives; a correction or back-channel may not be called so, nor begin with ``ans_``."""

Found = Iterator[tuple[Key, str]]


def faults(recipe: Recipe) -> list[tuple[Key, str]]:
    """Return (key, what is wrong) for every name that leads nowhere and every part that is missing."""
    found = [
        *_wordings(recipe),
        *_fields(recipe),
        *_facts(recipe),
        *_events(recipe),
        *_tools(recipe),
        *_approvals(recipe),
        *_lines(recipe),
    ]
    found += [*_outcome(recipe), *record_faults(recipe)]
    return list(dict.fromkeys(found))


def _wordings(recipe: Recipe) -> Found:
    """One wording is enough for a recorded caller only: a person says a thing once."""
    if recipe.speech == "recorded":
        return
    for key, texts in said(recipe):
        if len(texts) == 1:
            yield key, "needs two wordings or more"


def said(recipe: Recipe) -> Iterator[tuple[Key, tuple[str, ...]]]:
    """Yield everything that the caller may say: the key of its wordings, and the wordings."""
    caller = recipe.caller
    for name, spoken in (
        ("opening", caller.opening),
        ("yes", caller.yes),
        ("nudge", caller.nudge),
        ("goodbye", caller.goodbye),
    ):
        yield ("caller", name, "say"), spoken.say
    for key, fact in recipe.facts.items():
        yield ("facts", key, "say"), fact.say
        if fact.hedge is not None:
            yield ("facts", key, "hedge", "say"), fact.hedge.say
    for key, change in recipe.corrections.items():
        yield ("corrections", key, "say"), (*change.say, *(text for text in change.early if text not in change.say))
        for name, texts in change.again.items():
            yield ("corrections", key, "again", name), texts
    for key, back in recipe.backchannels.items():
        yield ("backchannels", key, "say"), back.say
    for index, row in enumerate(recipe.approval):
        yield (("approval",) if len(recipe.approval) == 1 else ("approval", index)) + ("say",), row.say
    for key, follow in recipe.follow_through.items():
        if follow.say:
            yield ("follow_through", key, "say"), follow.say


def _near(known: Iterable[str]) -> str:
    return f"; there are {', '.join(known)}" if known else ""


def _fields(recipe: Recipe) -> Found:
    for name in recipe.artifact.fields.keys() & recipe.topics.keys():
        yield ("topics", name), "is a field of the artifact already"
    for name, field in recipe.artifact.fields.items():
        key: Key = ("artifact", "fields", name)
        if field.type == "enum" and not field.enum:
            yield (*key, "enum"), "an enum needs its values"
        for other in field.dependents:
            if other not in recipe.artifact.fields:
                yield (*key, "dependents"), f"there is no field {other!r}"
        if field.computed is None:
            continue
        function, args = field.computed.function, field.computed.args
        if function not in FUNCTIONS:
            yield (*key, "computed", "function"), f"there is no function {function!r}{_near(FUNCTIONS)}"
        elif set(args) != set(parameters(function)):
            yield (*key, "computed", "args"), f"{function} takes {', '.join(parameters(function))}"


def _facts(recipe: Recipe) -> Found:
    told: dict[str, str] = {}
    for key, fact in recipe.facts.items():
        for name, value in fact.fills.items():
            where: Key = ("facts", key, "fills", name)
            if name in told:
                yield where, f"is told by {told[name]!r} already"
            told[name] = key
            yield from _value(recipe, where, name, value)
            topic = recipe.topic(name)
            if topic and not topic.names:
                yield _topic_key(recipe, name), "needs names: without them nobody can ask for it"
        yield from _steps(recipe, ("facts", key, "then"), fact.then)
        if fact.after is not None and fact.after not in list(recipe.facts)[: list(recipe.facts).index(key)]:
            yield ("facts", key, "after"), f"{fact.after!r} is no fact before this one"
        if fact.hedge is not None:
            yield from _steps(recipe, ("facts", key, "hedge", "then"), fact.hedge.then)
            yield from _template(recipe, ("facts", key, "hedge", "ask"), fact.hedge.ask)
            if key in recipe.caller.opening.reveals:
                yield ("facts", key, "hedge"), "is told in the opening, so nobody asks for it"
    for name in recipe.topics.keys() - told.keys():
        yield ("topics", name), "no fact tells it"
    for key in recipe.caller.opening.reveals:
        if key not in recipe.facts:
            yield ("caller", "opening", "reveals"), f"there is no fact {key!r}{_near(recipe.facts)}"
    if all(key in recipe.caller.opening.reveals for key in recipe.facts):
        yield ("facts",), "every fact is told in the opening, so nothing is left to ask"


def _value(recipe: Recipe, where: Key, name: str, value: object) -> Found:
    topic = recipe.topic(name)
    if topic is None:
        yield where, f"there is no field or topic {name!r}"
        return
    field = recipe.artifact.fields.get(name)
    if field and field.computed:
        yield where, "is computed; nobody tells it"
    if topic.type == "date":
        try:
            datetime.date.fromisoformat(str(value))
        except ValueError:
            yield where, f"{value!r} is no date (YYYY-MM-DD)"
    if topic.type in ("money", "integer", "number") and (isinstance(value, bool) or not isinstance(value, int | float)):
        yield where, f"{value!r} is no number"
    if field and field.enum and value not in field.enum:
        yield where, f"{value!r} is none of {', '.join(field.enum)}"


def _topic_key(recipe: Recipe, name: str) -> Key:
    return ("artifact", "fields", name, "names") if name in recipe.artifact.fields else ("topics", name, "names")


def _events(recipe: Recipe) -> Found:
    ids: set[str] = set(TAKEN)
    for part, keys in (
        ("corrections", recipe.corrections),
        ("backchannels", recipe.backchannels),
        ("follow_through", recipe.follow_through),
    ):
        for key in keys:
            if key in ids or key.startswith("ans_"):
                yield (part, key), "is taken; choose another name"
            ids.add(key)
    for key, correction in recipe.corrections.items():
        yield from _correction(recipe, ("corrections", key), correction)
    for key, back_channel in recipe.backchannels.items():
        if back_channel.onset_ms[0] > back_channel.onset_ms[1]:
            yield ("backchannels", key, "onset_ms"), "ends before it begins"


def _correction(recipe: Recipe, key: Key, correction: Correction) -> Found:
    for name, value in correction.changes.items():
        where = (*key, "changes", name)
        telling = recipe.telling(name)
        if telling is None:
            yield where, "no fact tells it, so it cannot be corrected"
            continue
        yield from _value(recipe, where, name, value)
        if telling not in correction.again:
            yield (*key, "again"), f"needs wordings for {telling!r}: how it is told after the correction"
    for fact in correction.again:
        if fact not in recipe.facts or not recipe.facts[fact].fills.keys() & correction.changes.keys():
            yield (*key, "again", fact), "is no fact that this correction changes"
    for act in correction.when:
        kind, _, name = act.partition(":")
        if kind == "CALL" and name not in recipe.tools:
            yield (*key, "when"), f"there is no tool {name!r}{_near(recipe.tools)}"
        elif kind != "CALL" and name and not recipe.topic(name):
            yield (*key, "when"), f"there is no field or topic {name!r}"
    if correction.onset_ms[0] > correction.onset_ms[1]:
        yield (*key, "onset_ms"), "ends before it begins"
    if (
        correction.revokes
        and (recipe.tools.get(correction.revokes) or RecipeTool(kind="search", description="")).kind != "commit"
    ):
        yield (*key, "revokes"), f"there is no commit tool {correction.revokes!r}{_near(recipe.tools_of('commit'))}"
    yield from _steps(recipe, (*key, "then"), correction.then)


def _tools(recipe: Recipe) -> Found:
    updates = recipe.tools_of("update")
    if not updates or (len(updates) > 1 and any(not recipe.tools[name].fields for name in updates)):
        yield ("tools",), "needs exactly one tool of kind update, or several that each name their fields"
    for kind, least in (("approval", 1 if recipe.approval else 0), ("ready", 0), ("hand_over", 0)):
        if not least <= len(recipe.tools_of(kind)) <= 1:
            yield ("tools",), f"needs {'exactly' if least else 'at most'} one tool of kind {kind}"
    if any(document.use == "gold" for document in recipe.documents.values()) and not recipe.tools_of("search"):
        yield ("tools",), "gold documents need a tool of kind search"
    for name, tool in recipe.tools.items():
        key: Key = ("tools", name)
        for part, given, kind in (
            ("match", tool.match, "identity"),
            ("sets", tool.sets, "commit"),
            ("world", tool.world, "commit"),
            ("fields", tool.fields, "update"),
        ):
            if given and tool.kind != kind:
                yield (*key, part), f"belongs to a tool of kind {kind}"
        for field in tool.sets:
            if field not in recipe.artifact.fields:
                yield (*key, "sets", field), f"there is no field {field!r}"
        if tool.kind == "identity" and not tool.match:
            yield (*key, "match"), "an identity check needs what it compares"
        for topic, path in tool.match.items():
            if not recipe.topic(topic):
                yield (*key, "match", topic), f"there is no field or topic {topic!r}"
            if at_path(recipe.world, path) is None:
                yield (*key, "match", topic), f"the world has no {path!r}"


def _approvals(recipe: Recipe) -> Found:
    for index, row in enumerate(recipe.approval):
        key: Key = ("approval",) if len(recipe.approval) == 1 else ("approval", index)
        last = index == len(recipe.approval) - 1
        if row.action not in recipe.tools_of("commit"):
            yield (*key, "action"), f"there is no commit tool {row.action!r}{_near(recipe.tools_of('commit'))}"
        if row.after is None and (row.ask or row.then):
            yield key, "an approval that ends the work has neither ask nor then"
        if row.after is None and not last:
            yield key, "only the last approval can end the work; name the fact after which this one is asked for"
        if row.after is not None and not (row.after in recipe.facts and row.ask):
            yield key, "an approval on the way needs the fact that it comes after, and how it is asked for"
        yield from _template(recipe, (*key, "ask"), row.ask)
        yield from _template(recipe, (*key, "doing"), row.doing)
        yield from _steps(recipe, (*key, "then"), row.then)
    ends = bool(recipe.tools_of("ready")) or any(recipe.tools[name].required for name in recipe.tools_of("hand_over"))
    if recipe.action is None and not ends:
        yield ("approval",), "without one, a tool of kind ready or a required hand_over must end the work"
    order = [beat.key for beat in beats(recipe) if beat.kind == "correction"]
    for name, change in recipe.corrections.items():
        if name not in order:
            yield ("corrections", name, "after"), f"there is no fact or approval {change.after!r} that is asked for"
    if sorted(order) == sorted(recipe.corrections) and order != list(recipe.corrections):
        yield ("corrections",), f"the reference meets them in the order {', '.join(order)}; write them so"


def _steps(recipe: Recipe, key: Key, steps: tuple[RecipeStep, ...]) -> Found:
    for index, step in enumerate(steps):
        for name in step.write:
            if name not in recipe.artifact.fields:
                yield (*key, index, "write"), f"there is no field {name!r}"
        if step.call is not None and step.call not in recipe.tools:
            yield (*key, index, "call"), f"there is no tool {step.call!r}{_near(recipe.tools)}"
        if step.wait is not None and step.wait not in _in_background(recipe):
            yield (*key, index, "wait"), f"no step calls {step.wait!r} in the background"
        if step.say is not None:
            yield from _template(recipe, (*key, index, "say"), step.say)
        for name, value in step.args.items():
            if isinstance(value, str):
                yield from _template(recipe, (*key, index, "args", name), value)


def _in_background(recipe: Recipe) -> set[str]:
    steps = [step for fact in recipe.facts.values() for step in (*fact.then, *(fact.hedge.then if fact.hedge else ()))]
    steps += [step for change in recipe.corrections.values() for step in change.then]
    steps += [step for approval in recipe.approval for step in approval.then]
    steps += recipe.agent.before_read_back
    return {step.call for step in steps if step.call is not None and step.background}


def _template(recipe: Recipe, key: Key, text: str) -> Found:
    for name in PLACEHOLDER.findall(text):
        if not recipe.topic(name):
            yield key, f"there is no field or topic {name!r}"


def _lines(recipe: Recipe) -> Found:
    agent = recipe.agent
    for name in ("opening", "read_back", "confirm", "closing"):
        yield from _template(recipe, ("agent", name), getattr(agent, name))
    for key, fact in recipe.facts.items():
        yield from _template(recipe, ("facts", key, "ask"), fact.ask)
    yield from _steps(recipe, ("agent", "before_read_back"), agent.before_read_back)
    yield from _steps(recipe, ("agent", "ending"), agent.ending)


def _outcome(recipe: Recipe) -> Found:
    for name in recipe.outcome.fields:
        if name not in recipe.artifact.fields:
            yield ("outcome", "fields", name), f"there is no field {name!r}"
    committed = {field for tool in recipe.tools.values() for field in tool.sets}
    for name, field in recipe.artifact.fields.items():
        if field.required and name not in recipe.outcome.fields:
            yield ("outcome", "fields"), f"the required field {name!r} is missing"
        if (
            not field.computed
            and name not in committed
            and recipe.telling(name) is None
            and name in recipe.outcome.fields
        ):
            yield ("artifact", "fields", name), "is neither told, computed nor set by a commit, so nothing can fill it"

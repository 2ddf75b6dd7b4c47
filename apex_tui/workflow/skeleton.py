"""A recipe from nothing but a session: its artifact's fields, its actions, and an agent that asks for one field after the other.

In here: a pure function of the session and its workflow to a recipe's data, for sessions whose workflow is no recipe (or when a fresh start is
wanted). It is a beginning: documents are taken over, tools are the plain ones, and an author goes on from there.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import Any

from apex_tui.timeline.errors import UserError
from apex_tui.timeline.state import State
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.review import Review, Utterance, utterances

Data = dict[str, Any]
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
OPENED = "request"
"""Key of the fact that the opening tells."""
_TOOLS = ("update_form", "request_approval", "mark_ready")
"""Tools that every skeleton may have: an action of the same name would stand in the place of one."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")


def skeleton(review: Review, state: State, workflow: Workflow) -> Data:
    """The recipe's data, before the person's words are put in (``recorded_recipe.recipe_data``).

    Raises:
        UserError: the session wrote nothing, or nothing that was said tells any of it.
    """
    artifact = next((held for held in state.artifacts.values() if held.current is not None), None)
    if artifact is None or artifact.current is None:
        raise UserError(f"{review.session}: nothing was written, so there is no outcome to make a scenario of.")
    values = {name: value for name, value in artifact.current.fields.items() if _NAME.fullmatch(name) and _plain(value)}
    rows = utterances(review.clips)
    facts = _facts(rows, values)
    if not facts:
        raise UserError(
            f"{review.session}: no utterance tells a field; say in the review which ones do (role answer, of, says)."
        )
    told = [name for fact in facts.values() for name in fact["fills"]]
    approved = any(row.role == "approval" for row in rows)
    actions = (request.action for request in state.requests.values())
    action = next((name for name in actions if _NAME.fullmatch(name) and name not in _TOOLS), "submit")
    fields = {
        name: _field(name, value, workflow) for name, value in values.items() if name in told or name in review.outcome
    }
    unset = [name for name in fields if name not in told]
    opened = [OPENED] if OPENED in facts and len(facts) > 1 else []
    base: Data = {
        "schema_version": 1,
        "id": review.id,
        "title": review.title,
        "summary": f"Recorded in {review.session}.",
        "archetype": "FORM_FILL",
        "risk_tier": "R2_CONSEQUENTIAL_ACTION" if approved else "R0_ROUTINE",
        "tool_burden": "T1_LIGHT",
        "autonomy": workflow.autonomy.level if approved else "A1_DRAFT_CONFIRM",
        "caller": {
            "voice": "am_michael",
            "goal": workflow.caller.goal or review.title,
            "opening": {"reveals": opened, "say": ["Hello."]},
            "goodbye": {"say": ["Thanks. Bye."]},
        },
        "artifact": {"id": "form", "type": "STRUCTURED_FORM", "fields": fields},
        "documents": {
            doc.doc_id: {"title": doc.title, "text": doc.text, "use": "distractor"}
            for doc in workflow.documents
            if _NAME.fullmatch(doc.doc_id)
        },
        "tools": _tools(action, approved, unset, values),
        "facts": facts,
        "agent": _agent(told, approved),
        "outcome": {
            "lifecycle": "COMMITTED" if approved else "READY_FOR_REVIEW",
            "fields": {name: values[name] for name in fields},
        },
    }
    if approved:
        base["approval"] = {"action": action, "say": ["Yes."]}
    return base


def _facts(rows: Sequence[Utterance], values: Data) -> Data:
    """A fact for the opening, one for each answer, and one for each corrected value that no answer tells; told in the words that told it."""
    found: Data = {}
    taken: set[str] = set()

    def add(key: str, fills: Data, words: str) -> None:
        fills = {name: value for name, value in fills.items() if name in values and name not in taken}
        if fills and _NAME.fullmatch(key):
            taken.update(fills)
            asked = " and the ".join(_words(name) for name in fills)
            found[key] = {"fills": fills, "ask": f"What is the {asked}?", "say": [words]}

    for row in rows:
        if row.role == "opening":
            add(OPENED, row.says, row.words)
    for row in rows:
        if row.role == "answer":
            add(row.of, row.says or {row.of: values.get(row.of)}, row.words)
    for row in rows:
        if row.role == "correction":
            for name in row.says:
                add(name, {name: values.get(name)}, row.words)
    return found


def _plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _field(name: str, value: Any, workflow: Workflow) -> Data:
    """A field whose type is guessed from its value, asked for by the names that the workflow knew."""
    names = list(dict.fromkeys([_words(name), *workflow.observer.lexicon.get(name, ())]))
    return {"type": _type(value), "names": names, "description": f"The {_words(name)}."}


def _type(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if _DATE.fullmatch(value):
        try:
            datetime.date.fromisoformat(value)
        except ValueError:
            return "text"
        return "date"
    return "identifier" if any(char.isdigit() for char in value) and " " not in value else "text"


def _tools(action: str, approved: bool, unset: list[str], values: Data) -> Data:
    tools: Data = {
        "update_form": {"kind": "update", "description": "Write one or more fields of the form.", "latency_ms": 100}
    }
    if approved:
        tools["request_approval"] = {
            "kind": "approval",
            "description": "Ask the caller to approve the form as it stands.",
            "latency_ms": 80,
        }
        sets = {name: values[name] for name in unset}
        tools[action] = {
            "kind": "commit",
            "description": "Submit the form.",
            "latency_ms": 300,
            **({"sets": sets} if sets else {}),
        }
    else:
        tools["mark_ready"] = {"kind": "ready", "description": "Mark the form as ready for review.", "latency_ms": 80}
    return tools


def _agent(told: list[str], approved: bool) -> Data:
    listed = ", ".join(f"the {_words(name)} is {{{name}}}" for name in told)
    confirm = f"Okay, so {listed}. " + ("Shall I submit it?" if approved else "Is that right?")
    agent: Data = {
        "opening": "Hello.",
        "read_back": f"Let me read that back. So {listed}.",
        "confirm": confirm,
        "closing": "Done. Goodbye.",
    }
    if not approved:
        agent["ending"] = [{"call": "mark_ready", "args": {}}]
    return agent

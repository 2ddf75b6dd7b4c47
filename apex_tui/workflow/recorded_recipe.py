"""A recipe of what a person said: the base gives documents, tools, world and the agent's lines; the caller's words and values are the session's.

In here: pure functions from a review and the base's data to a recipe's data. What nobody recorded keeps the base's words, and is spoken by the
bank or in tones; what the base has and nobody said (a correction, a hedge) is left out. Deliberately not in here: files, sound.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from apex_tui.timeline.errors import UserError
from apex_tui.workflow.review import Review, Utterance, utterances

NEW_WINDOW = [600, 2500]
"""Played ms of the agent's reply between which a correction that the base does not know begins."""
LISTENING_WINDOW = [300, 1800]

Data = dict[str, Any]


def recipe_data(review: Review, base: Data) -> Data:
    """The recipe as plain data. ``base`` is a recipe's data as parsed; it is not changed.

    Raises:
        UserError: something was said that the base has no place for; names the turn.
    """
    said = utterances(review.clips)
    made = copy.deepcopy(base)
    made |= {"id": review.id, "title": review.title, "version": "1.0.0", "speech": "recorded"}
    _caller(made, said)
    _facts(made, said)
    _corrections(made, said)
    _backchannels(made, said)
    _approvals(made, said)
    _outcome(made, review)
    return made


def _of(said: Sequence[Utterance], role: str) -> list[Utterance]:
    return [row for row in said if row.role == role]


def _texts(rows: Sequence[Utterance]) -> list[str]:
    return list(dict.fromkeys(row.words for row in rows))


def _caller(made: Data, said: Sequence[Utterance]) -> None:
    caller = made["caller"]
    opening = _of(said, "opening")
    told = {name for row in opening for name in row.says}
    answered = {_fact(made, row) for row in _of(said, "answer")}
    before = caller["opening"].get("reveals", [])
    reveals = [
        key
        for key, fact in made["facts"].items()
        if key not in answered and (key in before or told >= set(fact["fills"]))
    ]
    if len(reveals) == len(made["facts"]):
        reveals = [key for key in reveals if key in before][: len(made["facts"]) - 1]
    caller["opening"] = {"reveals": reveals, "say": _texts(opening)}
    for row in opening:
        for key in reveals:
            _fill(made["facts"][key], row.says)
    for role, name in (("yes", "yes"), ("nudge", "nudge"), ("goodbye", "goodbye")):
        rows = _of(said, role)
        if rows:
            caller[name] = {"say": _texts(rows)}
    if not _of(said, "nudge"):
        caller["nudges"] = 0  # nobody recorded one, and another voice would not do


def _fact(made: Data, row: Utterance) -> str:
    """Key of the fact that an answer tells."""
    if row.of in made["facts"]:
        return row.of
    found: str | None = next((key for key, fact in made["facts"].items() if row.of in fact["fills"]), None)
    if found is None:
        raise UserError(
            f"turn {row.turn}: there is no fact {row.of!r} to answer; there are {', '.join(made['facts'])}."
        )
    return found


def _fill(fact: Data, says: Data) -> None:
    fact["fills"] |= {name: value for name, value in says.items() if name in fact["fills"]}


def _facts(made: Data, said: Sequence[Utterance]) -> None:
    recorded: dict[str, list[Utterance]] = {}
    for row in _of(said, "answer"):
        recorded.setdefault(_fact(made, row), []).append(row)
    for key, fact in made["facts"].items():
        fact.pop("hedge", None)
        if key in recorded:
            fact["say"] = _texts(recorded[key])
            for row in reversed(recorded[key]):  # what was said first holds
                _fill(fact, row.says)


def _corrections(made: Data, said: Sequence[Utterance]) -> None:
    base: Data = made.get("corrections", {})
    found: Data = {}
    for row in _of(said, "correction"):
        known = next((name for name, change in base.items() if row.of in change["changes"] and name not in found), None)
        facts = {key for key, fact in made["facts"].items() if {row.of, *row.says} & set(fact["fills"])}
        if not facts:
            raise UserError(
                f"turn {row.turn}: no fact tells {row.of!r}, so it cannot be corrected; give the turn another role."
            )
        told = {name for key in facts for name in made["facts"][key]["fills"]}
        changes = {name: value for name, value in row.says.items() if name in told}
        if not changes and known is not None:
            changes = dict(base[known]["changes"])
        if not changes:
            raise UserError(f"turn {row.turn}: corrects {row.of}, and says no value; write it into says.")
        old = {name: made["facts"][key]["fills"][name] for key in facts for name in made["facts"][key]["fills"]}
        for change in found.values():
            old |= change["changes"]
        changes = {name: value for name, value in changes.items() if old.get(name) != value} or changes
        again = {key: [row.words] for key in made["facts"] if set(made["facts"][key]["fills"]) & set(changes)}
        how = (
            base[known]
            if known is not None
            else {"when": [f"CONFIRM:{name}" for name in changes], "onset_ms": NEW_WINDOW}
        )
        name = known or f"change_{row.of}"[:40]
        found[name if name not in found else f"{name[:37]}_{len(found) + 1}"] = {
            **how,
            "changes": changes,
            "say": [row.words],
            "again": again,
        }
    made["corrections"] = found
    if not found:
        made.pop("corrections")
    made["temporal_dynamics"] = "D1_MIDCALL_CHANGE" if found else made.get("temporal_dynamics", "D0_STATIC")


def _backchannels(made: Data, said: Sequence[Utterance]) -> None:
    base = made.pop("backchannels", {})
    rows = _of(said, "backchannel")
    if not rows:
        return
    by_place: dict[str, list[Utterance]] = {}
    for row in rows:
        by_place.setdefault(row.of, []).append(row)
    made["backchannels"] = {}
    for number, (place, group) in enumerate(by_place.items(), 1):
        kind, _, name = place.partition(":")
        when = {"tool_call": name} if kind == "CALL" else {"agent_act": place}
        known = next((back for back in base.values() if back["when"] == when), None)
        window = known["onset_ms"] if known is not None else LISTENING_WINDOW
        made["backchannels"][f"listening_{number}"] = {"when": when, "onset_ms": window, "say": _texts(group)}


def _approvals(made: Data, said: Sequence[Utterance]) -> None:
    rows = _of(said, "approval")
    given = made.get("approval", [])
    approvals = [given] if isinstance(given, dict) else list(given)
    if rows and not approvals:
        raise UserError(
            f"turn {rows[0].turn}: approves, and nothing needs approval in {made['id']}; give the turn another role."
        )
    for index, approval in enumerate(approvals):
        mine = rows[index : index + 1] if len(approvals) > 1 else rows
        if mine:
            approval["say"] = _texts(mine)
    if approvals:
        made["approval"] = approvals[0] if len(approvals) == 1 else approvals


def _outcome(made: Data, review: Review) -> None:
    fields = made["artifact"]["fields"]
    unknown = next((name for name in review.outcome if name not in fields), None)
    if unknown is not None:
        raise UserError(
            f"outcome: there is no field {unknown!r} in {made['artifact']['id']}; there are {', '.join(fields)}."
        )
    wanted = made["outcome"]["fields"]
    if any(
        clip.role == "approval" for clip in review.clips
    ):  # what the approved commit sets, also where the call did not get that far
        for tool in made["tools"].values():
            review = review.model_copy(update={"outcome": {**tool.get("sets", {}), **review.outcome}})
    made["outcome"]["fields"] = {name: value for name, value in review.outcome.items() if name in wanted} | {
        name: value for name, value in review.outcome.items() if name not in wanted and value is not None
    }

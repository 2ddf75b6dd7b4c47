"""What a person said in a session, taken for a scenario: which utterance does what in the call, as the timeline lets one guess.

A guess is a proposal: keys that the person pressed are certain, the agent's question before an utterance and what was written after it are good
signs. A person reviews every one. In here: pure functions of the folded session and its workflow, the same for the live screen (role tags) and
for a finished recording. Deliberately not in here: sound, and what becomes of the takes (``scenario``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from apex_tui.timeline.state import State, Turn
from apex_tui.workflow.model import Workflow

Role = Literal["opening", "answer", "correction", "approval", "backchannel", "yes", "nudge", "goodbye", "more", "drop"]
"""``yes``: confirms what was read back. ``nudge``: asks a silent agent. ``more``: goes on with the utterance before it. ``drop``: is not kept."""
ROLES: tuple[Role, ...] = (
    "opening", "answer", "correction", "approval", "backchannel", "yes", "nudge", "goodbye", "more", "drop",
)  # fmt: skip
NEEDS_OF: tuple[Role, ...] = ("answer", "correction", "backchannel")
"""Roles that say of what: the fact that is told, the field that is corrected, what the sound of listening follows."""

BACKCHANNEL_MS = 800.0
"""A sound of listening is no longer than this; longer ones claim the floor."""
BACKCHANNEL_WORDS = 3


@dataclass(frozen=True, slots=True)
class Take:
    """One utterance and what it is taken for. ``role`` None: nothing tells. Times are media ms of the voice.

    ``of``: the fact's name (answer), the field's (correction), or what it follows (backchannel: ``CALL:tool`` or an act). ``says``: field ->
    value that the work shows for it. ``why``: the sign, in a few words.
    """

    turn: int
    onset_ms: float
    offset_ms: float | None
    words: str
    role: Role | None
    of: str = ""
    says: tuple[tuple[str, Any], ...] = ()
    why: str = ""


def role_words(role: str | None, of: str = "") -> str:
    """The role for people: ``answer to dates``."""
    match role:
        case None | "":
            return "not decided"
        case "answer":
            return f"answer to {of or '?'}"
        case "correction":
            return f"correction of {of or '?'}"
        case "backchannel":
            return "back-channel"
        case "more":
            return "goes on"
        case "drop":
            return "not kept"
    return role


def takes(state: State, workflow: Workflow | None) -> tuple[Take, ...]:
    """Every utterance of the session so far with its proposed role, in the order in which they were said."""
    turns = sorted(state.turns, key=lambda turn: turn.onset_ms)
    found: list[Take] = []
    for index, turn in enumerate(turns):
        until = turns[index + 1].onset_ms if index + 1 < len(turns) else float("inf")
        found.append(_take(state, workflow, turn, until, found))
    return tuple(found)


_QUESTIONS = ("ASK", "MISREAD", "CONFIRM", "REQUEST_APPROVAL")
"""Acts of the agent that an utterance may answer."""


def _take(state: State, workflow: Workflow | None, turn: Turn, until: float, before: Sequence[Take]) -> Take:
    role, of, why = _role(state, workflow, turn, until, before)
    says: dict[str, Any] = {}
    if role in ("answer", "correction", "opening"):
        names = fields_of(workflow, of) if role == "answer" else None
        says = _written(state, turn.onset_ms, until, names)
    if role == "correction":
        says = _corrected(state, workflow, turn, until)
    return Take(turn.number, turn.onset_ms, turn.offset_ms, turn.words, role, of, tuple(says.items()), why)


def _role(
    state: State, workflow: Workflow | None, turn: Turn, until: float, before: Sequence[Take]
) -> tuple[Role | None, str, str]:
    by_key = _by_key(turn)
    if by_key is not None:
        return by_key
    if turn.echo_suspect:
        return "drop", "", "it sounds like the loudspeaker"
    kept = [take for take in before if take.role != "drop"]
    if turn.claimed is False:
        return "backchannel", _preceding(state, turn.onset_ms), "only mm-hm, by its words or a key"
    if not kept:
        return "opening", "", "the first thing that is said"
    if _short(turn):
        return "backchannel", _preceding(state, turn.onset_ms), "short, while the agent speaks"
    if until == float("inf") and _done(state, turn.onset_ms):
        return "goodbye", "", "the last thing that is said, after the work was done"
    last = kept[-1]
    if (
        last.role in ("opening", "answer", "more")
        and last is before[-1]  # what lies between and is not kept would be heard in it
        and last.offset_ms is not None
        and not _agent_between(state, last.offset_ms, turn.onset_ms)
    ):
        return "more", "", "the agent said nothing in between"
    asked = _asked(state, turn.onset_ms)
    if asked is not None and asked[0] == "REQUEST_APPROVAL":
        return "approval", "", "the agent had asked for approval; no key said so"
    if asked is not None and asked[0] in ("ASK", "MISREAD"):
        return "answer", _fact_of(workflow, asked[1]), "the agent had asked for it"
    written = list(_written(state, turn.onset_ms, until, None))
    told = next((name for name in written if workflow is None or _told(workflow, name)), None)
    if told is not None:
        return "answer", _fact_of(workflow, told), f"{told} was written after it"
    if asked is not None:
        return "yes", "", "the agent had read it back"
    return None, "", "nothing tells"


def _by_key(turn: Turn) -> tuple[Role, str, str] | None:
    """What a key said of it: certain."""
    for decision in reversed(turn.decided):
        match decision.what:
            case "retake":
                return "drop", "", "you said it again"
            case "approve":
                return "approval", "", "by key"
            case "corrected":
                return "correction", (decision.field or "").partition(".")[2], "by key"
    undone = [decision.what for decision in turn.decided if decision.what not in _WHICH_SOUND]
    if undone:
        return "drop", "", f"a key said {undone[-1]}: a scenario approves, or corrects"
    return None


_WHICH_SOUND = ("listening", "interruption")
"""Keys that say what a sound was, not what it did."""


def _done(state: State, at_ms: float) -> bool:
    """Whether the work was done by then: a commit went through, or the form was ready for review."""
    committed = any(at <= at_ms and fact.decision == "AUTHORIZED" for _, at, fact in state.decisions)
    versions = (version for held in state.artifacts.values() for version in held.versions)
    return committed or any(v.at_ms <= at_ms and v.lifecycle in ("READY_FOR_REVIEW", "COMMITTED") for v in versions)


def _short(turn: Turn) -> bool:
    return (
        turn.floor == "BARGE_IN"
        and turn.claimed is None
        and turn.offset_ms is not None
        and turn.offset_ms - turn.onset_ms <= BACKCHANNEL_MS
        and len(turn.words.split()) <= BACKCHANNEL_WORDS
    )


def _agent_between(state: State, from_ms: float, to_ms: float) -> bool:
    """Whether the agent sounded between two moments."""
    return any(
        start < to_ms and (end is None or end > from_ms)
        for reply in state.replies.values()
        for start, end in reply.speech
    )


def _asked(state: State, onset_ms: float) -> tuple[str, str] | None:
    """(act, field) of the newest reply that asked for or read back something before this moment; a question outweighs a confirmation."""
    acts = [act for act in state.acts if act.at_ms <= onset_ms and act.key.partition(":")[0] in _QUESTIONS]
    if not acts:
        return None
    newest = [act for act in acts if act.reply == acts[-1].reply]
    found = next((act for act in reversed(newest) if not act.key.startswith("CONFIRM")), newest[-1])
    name, _, field = found.key.partition(":")
    return name, field


def _preceding(state: State, onset_ms: float) -> str:
    """What a sound of listening follows: the newest tool call, else the newest act."""
    call = next((c for c in reversed(list(state.calls.values())) if c.called_ms <= onset_ms), None)
    act = next((a for a in reversed(state.acts) if a.at_ms <= onset_ms), None)
    if call is not None and (act is None or call.called_ms >= act.at_ms):
        return f"CALL:{call.name}"
    return act.key if act is not None else ""


def _fact_of(workflow: Workflow | None, name: str) -> str:
    """What a recipe calls the fact that tells a field: the plan of its answer names it."""
    if workflow is None:
        return name
    for flow_state in workflow.flow.states.values():
        for step in flow_state.transitions:
            plan = step.do.plan_id if step.do is not None and step.do.act == "ANSWER" else None
            if step.when.agent_act == f"ASK:{name}" and plan is not None and plan.startswith("ans_"):
                return plan.removeprefix("ans_").partition("_after_")[0]
    return name


def fields_of(workflow: Workflow | None, fact: str) -> set[str]:
    """Every field or topic that the answer with this name tells."""
    names = {fact}
    for flow_state in workflow.flow.states.values() if workflow is not None else ():
        for step in flow_state.transitions:
            if step.do is not None and step.do.plan_id == f"ans_{fact}":
                names.update(step.do.facts)
    return names


def _told(workflow: Workflow, name: str) -> bool:
    """Whether only the caller knows a field."""
    return any((fact.field or "").partition(".")[2] == name for fact in workflow.facts)


def _written(state: State, from_ms: float, until_ms: float, names: set[str] | None) -> dict[str, Any]:
    """Field -> value that tools wrote between two moments (of ``names``, when given: whenever they were written first after the one)."""
    found: dict[str, Any] = {}
    for artifact in state.artifacts.values():
        for version in artifact.versions:
            if version.at_ms <= from_ms or (names is None and version.at_ms >= until_ms):
                continue
            for change in version.changes:
                if change.field in version.fields and (names is None or change.field in names):
                    found.setdefault(change.field, version.fields[change.field])
    return found


def _corrected(state: State, workflow: Workflow | None, turn: Turn, until: float) -> dict[str, Any]:
    """Field -> value of a correction: as the person typed it, else as it was written next; and what else was told and written then."""
    names = {(d.field or "").partition(".")[2]: d.value for d in turn.decided if d.what == "corrected"}
    later = _written(state, turn.onset_ms, float("inf"), set(names))
    said = {
        name: later[name] if value is None or str(later.get(name)) == str(value) else value
        for name, value in names.items()
        if value is not None or name in later
    }
    also = _written(state, turn.onset_ms, until, None)
    return {name: value for name, value in also.items() if workflow is not None and _told(workflow, name)} | said

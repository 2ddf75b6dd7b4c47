"""A workflow's reference solution laid open for changing it: which turn does what, with which tools, about which fields.

Pure: every change gives a new solution. Deliberately not in here: which changes are made (``faults``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from apex_tui.workflow.forms import Kind, forms, spoken
from apex_tui.workflow.forms import states as stated
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.outcome_model import ReferenceTurn, Step
from apex_tui.workflow.part import Grader, value_key
from apex_tui.workflow.work_model import FieldSpec, ToolSpec

_KINDS: dict[Grader, Kind] = {"normalized_date": "date", "numeric_tolerance": "number", "normalized_phone": "phone"}
StepChange = Callable[[Step], Iterable[Step]]


@dataclass(frozen=True, slots=True)
class Corrected:
    """A field that the caller corrects last, the value before, and the one after."""

    name: str
    old: Any
    new: Any


@dataclass(frozen=True, slots=True)
class Solution:
    """The turns of a workflow's reference, and what the workflow says about them."""

    workflow: Workflow
    turns: tuple[ReferenceTurn, ...]

    @classmethod
    def of(cls, workflow: Workflow) -> Solution:
        """The reference solution as it is."""
        return cls(workflow, workflow.reference.turns)

    def planted(self) -> Workflow:
        """The workflow with these turns as its reference."""
        return self.workflow.model_copy(
            update={"reference": self.workflow.reference.model_copy(update={"turns": self.turns})}
        )

    # --- the workflow ---------------------------------------------------------------------------------------------------------------

    def tool(self, handler: str) -> ToolSpec | None:
        """The first tool of that handler."""
        return next((tool for tool in self.workflow.tools if tool.handler == handler), None)

    @property
    def required_lookup(self) -> ToolSpec | None:
        """The lookup that the outcome needs."""
        needed = {p.args.get("tool") for p in self.workflow.gold.required_actions if p.kind == "tool_called"}
        return next((t for t in self.workflow.tools if t.handler == "get_entity" and t.name in needed), None)

    @property
    def correction(self) -> int | None:
        """Index of the turn that takes in the last correction; None: the caller corrects nothing, or nothing is committed after it."""
        if self.approval is None:
            return None
        kinds = {event.id for event in self.workflow.events if event.type == "MID_SPEECH_CORRECTION"}
        found = [index for index, turn in enumerate(self.turns) if turn.after in kinds]
        return found[-1] if found else None

    @property
    def read_back(self) -> int | None:
        """Index of the turn before the last correction: it reads back what is then changed."""
        if self.approval is None:
            return None
        kinds = {event.id for event in self.workflow.events if event.type == "MID_SPEECH_CORRECTION"}
        found = [index for index, turn in enumerate(self.turns) if turn.after in kinds]
        return found[-1] - 1 if found and found[-1] > 0 else None

    @property
    def interrupted(self) -> int | None:
        """Index of the turn that the caller breaks into: of corrections in a row, the later ones wait for the answer to the first."""
        kinds = {event.id for event in self.workflow.events if event.type == "MID_SPEECH_CORRECTION"}
        turn = self.read_back
        while turn is not None and turn > 0 and self.turns[turn].after in kinds:
            turn -= 1
        return turn

    @property
    def approval(self) -> int | None:
        """Index of the turn that commits, and so ends the work; a commit on the way ends nothing."""
        return next((i for i, turn in enumerate(self.turns) if any(self.commits(step) for step in turn.steps)), None)

    def commits(self, step: Step) -> bool:
        """Whether a step is the commit that ends the work."""
        tool = self.workflow.tool(step.call or "")
        return tool is not None and tool.commits and not tool.effect.get("keeps_open")

    @property
    def corrected(self) -> tuple[Corrected, ...]:
        """The fields that the last correction changes."""
        turn = self.correction
        if turn is None:
            return ()
        words = self.workflow.wording(self.turns[turn].after or "")
        told = words.variants[0].expressed_fact_ids if words is not None and words.variants else ()
        found = []
        for fact in (self.workflow.fact(name) for name in told):
            before = self.workflow.fact(fact.supersedes) if fact is not None and fact.supersedes else None
            if fact is not None and before is not None and fact.field is not None:
                found.append(Corrected(fact.field.partition(".")[2], before.value, fact.value))
        return tuple(found)

    @property
    def dependents(self) -> tuple[str, ...]:
        """The fields that follow from the corrected ones, in the order in which they are written."""
        changed = {field.name for field in self.corrected}
        return tuple(name for name in self.written(self.correction) if name not in changed)

    def critical(self, name: str) -> bool:
        """Whether a field is an amount, a date or an identifier that has to be confirmed."""
        return any(field.critical for field in self._fields() if field.name == name)

    @property
    def set_by_commit(self) -> tuple[str, ...]:
        """Fields of the outcome that only the commit writes."""
        return tuple(
            name for tool in self.workflow.tools if tool.commits for name in tool.effect.get("set_fields") or {}
        )

    @property
    def looked_up(self) -> str | None:
        """The last field of the read-back's turn that only a lookup can tell, and that no correction changes."""
        told = {fact.field.partition(".")[2] for fact in self.workflow.facts if fact.field}
        fields = [name for name in self.written(self.read_back) if name not in told and name not in self.dependents]
        return fields[-1] if fields else None

    def compares(self, names: Iterable[str]) -> bool:
        """Whether the target state looks at one of these fields, or at a column of the records that is named like it."""
        gold = self.workflow.gold.terminal_state
        looked_at = {p.args.get("field") for p in gold}
        looked_at |= {
            path.rpartition(".")[2] for p in gold if (path := str(p.args.get("path", ""))).startswith("records.")
        }
        return bool(looked_at & set(names))

    def last_words(self) -> str:
        """What the reference says when it asks for the approval that is given."""
        asking = self.correction if self.correction is not None else self.read_back
        said = [step.say or "" for step in (self.turns[asking].steps if asking is not None else ())]
        return " ".join(words for words in said if words)

    def states(self, name: str, value: Any) -> bool:
        """Whether those words state a value of a field."""
        known = self.workflow.observer.forms.get(name, {}).get(value_key(value), ())
        kinds = [_KINDS[field.grader] for field in self._fields() if field.name == name and field.grader in _KINDS]
        # A number may be an amount: both are graded alike, and said differently.
        said: tuple[Kind, ...] = ("number", "money") if kinds == ["number"] else (kinds[0] if kinds else "text",)
        words = self.last_words()
        found = [*known, *(form for kind in said for form in (*forms(kind, value), spoken(kind, value)))]
        return any(stated(words, form) for form in found)

    def _fields(self) -> Iterator[FieldSpec]:
        for artifact in self.workflow.artifacts.values():
            yield from artifact.shape.fields if artifact.shape is not None else ()

    def spare(self, clip: str) -> Step | None:
        """A line of no turn."""
        return next((step for step in self.workflow.reference.spare if step.clip == clip), None)

    # --- the turns --------------------------------------------------------------------------------------------------------------------

    def written(self, turn: int | None) -> dict[str, Any]:
        """Fields that the updates of a turn write, with their values."""
        found: dict[str, Any] = {}
        for step in self.turns[turn].steps if turn is not None else ():
            if self.is_update(step):
                found.update(step.args.get("fields", {}))
        return found

    def is_update(self, step: Step) -> bool:
        """Whether a step writes fields."""
        tool = self.workflow.tool(step.call or "")
        return tool is not None and tool.handler == "update_artifact"

    def update(self, fields: dict[str, Any]) -> Step:
        """A step that writes these fields."""
        tools = [tool for tool in self.workflow.tools if tool.handler == "update_artifact"]
        fits = [tool for tool in tools if not tool.effect.get("fields") or set(fields) <= set(tool.effect["fields"])]
        return Step(call=(fits or tools)[0].name, args={"fields": fields})

    def with_steps(self, turn: int, steps: Sequence[Step]) -> Solution:
        """The solution with other steps in one turn."""
        changed = self.turns[turn].model_copy(update={"steps": tuple(steps)})
        return replace(self, turns=(*self.turns[:turn], changed, *self.turns[turn + 1 :]))

    def mapped(self, turn: int, change: StepChange) -> Solution:
        """The solution with every step of a turn changed: into none, one or several."""
        return self.with_steps(turn, [new for step in self.turns[turn].steps for new in change(step)])

    def everywhere(self, change: StepChange) -> Solution:
        """`mapped` over all turns."""
        solution = self
        for turn in range(len(self.turns)):
            solution = solution.mapped(turn, change)
        return solution

"""The reference solution of a compiled recipe: what a good agent says and calls, as reactions to what it has heard.

In here: the derivation alone. It asks for one fact after the other, writes each answer at once, looks up what the author names, computes, reads
back, takes corrections, asks for approval and commits. Deliberately not in here: timing, and how an agent tells what it heard.
"""

from __future__ import annotations

import re
from typing import Any

from apex_tui.workflow.caller_side import answer_plan
from apex_tui.workflow.forms import spoken
from apex_tui.workflow.model import Reference, ReferenceTurn, Step, value_key
from apex_tui.workflow.recipe import Recipe, RecipeStep
from apex_tui.workflow.rules import PLACEHOLDER
from apex_tui.workflow.stages import computed_fields, dependents, stages

FILLER = "One moment, please. I'm on it."
SPARE_FILLER = "agent.filler"
SPARE_REQUEST = "agent.bare_request"
SPARE_SUPERSEDED = "agent.confirm_superseded"
SPARE_TOO_EARLY = "agent.too_early"
"""Clips of the spare lines."""

_LAST_SENTENCE = re.compile(r"[^.!?]+[.!?]\s*$")

_SENTENCE = re.compile(r"(?:^|(?<=[.!?] ))[a-z]")


def reference(recipe: Recipe) -> Reference:
    """Return the solution: one turn per plan that the agent may hear."""
    author = _Author(recipe)
    asked = [key for key in recipe.facts if key not in recipe.caller.opening.reveals]
    turns = [author.opening(asked[0])]
    for key, following in zip(asked, [*asked[1:], None], strict=True):
        turns.append(author.answered(key, following))
    turns += [author.corrected(number) for number in range(1, len(recipe.corrections) + 1)]
    turns.append(author.approved())
    return Reference(turns=tuple(turns), agent_voice=recipe.agent.voice, spare=author.spare())


class _Author:
    """Writes the turns; ``stage`` is the number of corrections heard so far."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.stages = stages(recipe)
        (self.update_tool,) = recipe.tools_of("update")
        (self.ask_tool,) = recipe.tools_of("approval")

    def opening(self, first: str) -> ReferenceTurn:
        told = [name for key in self.recipe.caller.opening.reveals for name in self.recipe.facts[key].fills]
        line = self._line(f"ask_{first}", f"{self.recipe.agent.opening} {self.recipe.facts[first].ask}", 0)
        return ReferenceTurn(after="open", steps=(line, *self._update(told, 0)))

    def answered(self, key: str, following: str | None) -> ReferenceTurn:
        fact = self.recipe.facts[key]
        steps = self._update(list(fact.fills), 0)
        if following is not None:
            extra, words = self._extra(f"{key}_note", fact.then, 0)
            steps += extra
            line = self._line(f"ask_{following}", " ".join((*words, self.recipe.facts[following].ask)), 0)
            # Words that need no result come first: the caller hears an answer at once, and the form is written while it is spoken.
            ordered = (*steps, line) if extra else (line, *steps)
            return ReferenceTurn(after=answer_plan(self.recipe, key, 0), steps=ordered)
        extra, words = self._extra(f"{key}_note", (*fact.then, *self.recipe.agent.before_read_back), 0)
        if words:
            extra.append(self._line(f"{key}_last_note", " ".join(words), 0))
        steps += extra + self._update(list(computed_fields(self.recipe)), 0)
        steps += self._read_back("read_back", 0)
        return ReferenceTurn(after=answer_plan(self.recipe, key, 0), steps=tuple(steps))

    def corrected(self, stage: int) -> ReferenceTurn:
        key = list(self.recipe.corrections)[stage - 1]
        change = self.recipe.corrections[key]
        steps = self._update(list(change.changes), stage)
        extra, words = self._extra(f"{key}_note", change.then, stage)
        if words:
            extra.append(self._line(f"{key}_last_note", " ".join(words), stage))
        follow = {other for name in change.changes for other in dependents(self.recipe, name)}
        steps += extra + self._update([name for name in computed_fields(self.recipe) if name in follow], stage)
        steps += self._read_back(f"after_{key}", stage)
        return ReferenceTurn(after=key, steps=tuple(steps))

    def approved(self) -> ReferenceTurn:
        commit = Step(call=self.recipe.approval.action, args={"target_id": self.recipe.artifact.id})
        closing = self._line("closing", self.recipe.agent.closing, len(self.recipe.corrections))
        return ReferenceTurn(after="approve", steps=(commit, closing), end_call=True)

    def spare(self) -> tuple[Step, ...]:
        """Words to fill a wait, the request for approval without a value, the last confirmation as it would be without the last
        correction, and protected data out of turn.
        """
        found = [Step(say=FILLER, clip=SPARE_FILLER)]
        last, confirm = len(self.recipe.corrections), self.recipe.agent.confirm
        request = _LAST_SENTENCE.search(confirm)
        if request is not None and not PLACEHOLDER.search(request[0]):
            found.append(Step(say=request[0].strip(), clip=SPARE_REQUEST))
        if last:
            found.append(self._line(SPARE_SUPERSEDED.removeprefix("agent."), confirm, last - 1))
        protected = next((n for n, f in self.recipe.artifact.fields.items() if f.protected and f.type == "text"), None)
        if protected is not None and self.recipe.tools_of("identity"):
            found.append(self._line(SPARE_TOO_EARLY.removeprefix("agent."), f"I see {{{protected}}} here.", 0))
        return tuple(found)

    def _read_back(self, name: str, stage: int) -> list[Step]:
        """Reads back and waits while corrections may come; after the last one, asks for approval of what it reads back."""
        if stage < len(self.recipe.corrections):
            return [self._line(name, self.recipe.agent.read_back, stage)]
        ask = Step(call=self.ask_tool, args={"target_id": self.recipe.artifact.id})
        return [ask, self._line(name, self.recipe.agent.confirm, stage)]

    def _update(self, names: list[str], stage: int) -> list[Step]:
        """One call that writes these fields (topics are told, not written); none when there is nothing to write."""
        fields = {name: self.stages[stage][name] for name in names if name in self.recipe.artifact.fields}
        return [Step(call=self.update_tool, args={"fields": fields})] if fields else []

    def _extra(self, name: str, steps: tuple[RecipeStep, ...], stage: int) -> tuple[list[Step], list[str]]:
        """The author's steps, and the words after the last call: they open the line that follows."""
        found: list[Step] = []
        words: list[str] = []
        for step in steps:
            if step.say is not None:
                words.append(step.say)
                continue
            if words:
                found.append(self._line(f"{name}_{len(found) + 1}", " ".join(words), stage))
                words = []
            args = {key: self._filled(value, stage) for key, value in step.args.items()}
            found.append(Step(call=step.call, args=args))
        return found, words

    def _line(self, name: str, text: str, stage: int) -> Step:
        """A spoken step: placeholders filled in, and a capital at the start of each sentence."""
        said = PLACEHOLDER.sub(lambda found: self._spoken(found[1], stage), text).strip()
        return Step(say=_SENTENCE.sub(lambda found: found[0].upper(), said), clip=f"agent.{name}")

    def _spoken(self, name: str, stage: int) -> str:
        topic, value = self.recipe.topic(name), self.stages[stage][name]
        assert topic is not None, f"the rules let {name!r} through"
        return spoken(topic.type, value, topic.said.get(value_key(value), ()))

    def _filled(self, value: Any, stage: int) -> Any:
        if not isinstance(value, str):
            return value
        whole = PLACEHOLDER.fullmatch(value)
        values = self.stages[stage]
        return values[whole[1]] if whole else PLACEHOLDER.sub(lambda found: str(values[found[1]]), value)

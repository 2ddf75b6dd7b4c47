"""The reference solution of a compiled recipe: what a good agent says and calls, as reactions to what it has heard.

In here: the derivation alone. It asks for one fact after the other, writes each answer at once, looks up what the author names, computes, reads
back, takes corrections, asks for approval and commits. Deliberately not in here: timing, and how an agent tells what it heard.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from apex_tui.workflow.caller_side import answer_plan, approval_plan
from apex_tui.workflow.forms import spoken
from apex_tui.workflow.outcome_model import Reference, ReferenceTurn, Step
from apex_tui.workflow.part import value_key
from apex_tui.workflow.recipe import Approval, Recipe, RecipeStep
from apex_tui.workflow.rules import PLACEHOLDER
from apex_tui.workflow.stages import Beat, beats, computed_fields, dependents, in_order, stages

FILLER = "One moment, please. I'm on it."
SPARE_FILLER = "agent.filler"
SPARE_REQUEST = "agent.bare_request"
SPARE_SUPERSEDED = "agent.confirm_superseded"
SPARE_TOO_EARLY = "agent.too_early"
"""Clips of the spare lines."""
AGAIN = "agent.try_again"
"""The clip that says that a call has failed and is made again."""

_LAST_SENTENCE = re.compile(r"[^.!?]+[.!?]\s*$")

_SENTENCE = re.compile(r"(?:^|(?<=[.!?] ))[a-z]")


def reference(recipe: Recipe) -> Reference:
    """Return the solution: one turn per plan that the agent may hear."""
    author = _Author(recipe)
    turns = [author.opening()]
    for index, beat in enumerate(author.beats):
        if beat.kind == "fact" and recipe.facts[beat.key].hedge is not None:
            turns.append(author.hedged(beat))
        if beat.kind == "fact":
            turns.append(author.answered(index))
        elif beat.kind == "correction":
            turns.append(author.corrected(index))
        else:
            turns.append(author.approved(index))
    if recipe.action is None and recipe.agent.confirm:
        turns.append(author.ending())
    turns = [turn.model_copy(update={"steps": author.merged(turn.steps)}) for turn in turns]
    return Reference(turns=tuple(turns), agent_voice=recipe.agent.voice, spare=author.spare())


class _Author:
    """Writes the turns in order. A stage is the number of corrections heard so far."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.stages = stages(recipe)
        self.beats = beats(recipe)
        self.last = len(recipe.corrections)
        self._fails = {name: tool.fails for name, tool in recipe.tools.items()}
        self._written: set[str] = set()
        self._prepared = False

    # --- turns ---------------------------------------------------------------------------------------------------------------------

    def opening(self) -> ReferenceTurn:
        told = [name for key in self.recipe.caller.opening.reveals for name in self.recipe.facts[key].fills]
        first = next(beat for beat in self.beats if beat.kind == "fact")
        line = self._line(f"ask_{first.key}", f"{self.recipe.agent.opening} {self.recipe.facts[first.key].ask}", 0)
        return ReferenceTurn(after="open", steps=(line, *self._update(told, 0)))

    def hedged(self, beat: Beat) -> ReferenceTurn:
        """The first answer told nothing: ask again, better."""
        hedge = self.recipe.facts[beat.key].hedge
        assert hedge is not None
        extra, words = self._extra(f"hedge_{beat.key}_note", hedge.then, beat.stage)
        line = self._line(f"again_{beat.key}", " ".join((*words, hedge.ask)), beat.stage)
        return ReferenceTurn(after=f"hedge_{beat.key}", steps=(*extra, line))

    def answered(self, index: int) -> ReferenceTurn:
        beat = self.beats[index]
        fact = self.recipe.facts[beat.key]
        steps = self._update(list(fact.fills), beat.stage)
        if not self._ends(index):
            extra, words = self._extra(f"{beat.key}_note", fact.then, beat.stage)
            steps += extra
            lead = self._lead(index, words, "")
            # Words that need no result come first: the caller hears an answer at once, and the form is written while it is spoken.
            first = not extra and len(lead) == 1 and not any(step.say for step in steps)
            ordered = (*lead, *steps) if first else (*steps, *lead)
            return ReferenceTurn(after=answer_plan(self.recipe, beat.key, beat.stage), steps=ordered)
        extra, words = self._extra(f"{beat.key}_note", (*fact.then, *self._before_read_back()), beat.stage)
        if words:
            extra.append(self._line(f"{beat.key}_last_note", " ".join(words), beat.stage))
        steps += extra + self._update(self._unwritten(), beat.stage)
        steps += self._read_back("read_back", beat.stage)
        return ReferenceTurn(
            after=answer_plan(self.recipe, beat.key, beat.stage), steps=tuple(steps), end_call=self._over(steps)
        )

    def corrected(self, index: int) -> ReferenceTurn:
        key, stage = self.beats[index].key, self.beats[index].stage + 1
        change = self.recipe.corrections[key]
        steps = self._update(list(change.changes), stage)
        extra, words = self._extra(f"{key}_note", change.then, stage)
        follow = {other for name in change.changes for other in dependents(self.recipe, name)}
        renewed = [name for name in computed_fields(self.recipe) if name in follow & self._written]
        if not self._ends(index):
            steps += extra + self._update(renewed, stage) + self._lead(index, words, f"_after_{key}")
            return ReferenceTurn(after=key, steps=tuple(steps))
        if words:
            extra.append(self._line(f"{key}_last_note", " ".join(words), stage))
        rest, _ = self._extra(f"{key}_before_read_back", self._before_read_back(), stage)
        rest += self._update([*renewed, *self._unwritten()], stage)
        steps += extra + rest + self._read_back(f"after_{key}", stage)
        return ReferenceTurn(after=key, steps=tuple(steps), end_call=self._over(steps))

    def approved(self, index: int) -> ReferenceTurn:
        beat = self.beats[index]
        approval = next(row for row in self.recipe.approval if row.action == beat.key)
        doing = [self._line(f"doing_{beat.key}", approval.doing, beat.stage)] if approval.doing else []
        commit = doing + self._call(beat.key, {"target_id": self.recipe.artifact.id}, beat.stage)
        plan = approval_plan(self.recipe, approval)
        if beat.key == self.recipe.action:
            closing = self._line("closing", self.recipe.agent.closing, self.last)
            return ReferenceTurn(after=plan, steps=(*commit, closing), end_call=True)
        name = f"{beat.key}_note"
        if not self._ends(index):
            extra, words = self._extra(name, approval.then, beat.stage)
            return ReferenceTurn(after=plan, steps=(*commit, *extra, *self._lead(index, words, "")))
        extra, words = self._extra(name, (*approval.then, *self._before_read_back()), beat.stage)
        extra += [self._line(f"{beat.key}_last_note", " ".join(words), beat.stage)] if words else []
        extra += self._update(self._unwritten(), beat.stage) + self._read_back("read_back", beat.stage)
        return ReferenceTurn(after=plan, steps=(*commit, *extra))

    def ending(self) -> ReferenceTurn:
        """Nothing is to be approved: the caller has said that all is right."""
        return ReferenceTurn(after="ack", steps=tuple(self._end()), end_call=True)

    def spare(self) -> tuple[Step, ...]:
        """Words to fill a wait, the request for approval without a value, the last confirmation as it would be without the last
        correction, and protected data out of turn.
        """
        found = [Step(say=FILLER, clip=SPARE_FILLER)]
        confirm = self.recipe.agent.confirm
        request = _LAST_SENTENCE.search(confirm)
        if request is not None and not PLACEHOLDER.search(request[0]):
            found.append(Step(say=request[0].strip(), clip=SPARE_REQUEST))
        if self.last and confirm:
            found.append(self._line(SPARE_SUPERSEDED.removeprefix("agent."), confirm, self.last - 1))
        protected = next((n for n, f in self.recipe.artifact.fields.items() if f.protected and f.type == "text"), None)
        if protected is not None and self.recipe.tools_of("identity"):
            found.append(self._line(SPARE_TOO_EARLY.removeprefix("agent."), f"I see {{{protected}}} here.", 0))
        return tuple(found)

    # --- what a turn leads to ------------------------------------------------------------------------------------------------------

    def _next(self, index: int) -> Beat | None:
        """The next thing that the agent itself goes on to: a fact, or an approval on the way."""
        rest = (beat for beat in self.beats[index + 1 :] if beat.kind != "correction")
        return next((beat for beat in rest if beat.key != self.recipe.action), None)

    def _ends(self, index: int) -> bool:
        return self._next(index) is None

    def _lead(self, index: int, words: list[str], suffix: str) -> list[Step]:
        """The question that the turn ends with; a correction after it interrupts these very words."""
        following = self._next(index)
        assert following is not None
        stage = self.beats[index].stage + (self.beats[index].kind == "correction")
        if following.kind == "fact":
            ask = self.recipe.facts[following.key].ask
            return [self._line(f"ask_{following.key}{suffix}", " ".join((*words, ask)), stage)]
        approval = next(row for row in self.recipe.approval if row.action == following.key)
        line = self._line(f"ask_{following.key}{suffix}", " ".join((*words, approval.ask)), stage)
        return [self._ask(approval), line]

    def _read_back(self, name: str, stage: int) -> list[Step]:
        """Reads back and waits while corrections may come; after the last one, asks for approval of what it reads back."""
        if stage < self.last:
            return [self._line(name, self.recipe.agent.read_back, stage)]
        if not self.recipe.agent.confirm:
            return self._end()
        line = self._line(name, self.recipe.agent.confirm, stage)
        return [self._ask(self.recipe.approval[-1]), line] if self.recipe.action else [line]

    def _end(self) -> list[Step]:
        steps, words = self._extra("ending", self.recipe.agent.ending, self.last)
        closing = self._line("closing", " ".join((*words, self.recipe.agent.closing)), self.last)
        # Handing over ends the call at once: the words come before it.
        gives = steps and steps[-1].call in self.recipe.tools_of("hand_over")
        return [*steps[:-1], closing, steps[-1]] if gives else [*steps, closing]

    def _over(self, steps: list[Step]) -> bool:
        return any(step.call in self.recipe.tools_of("hand_over") for step in steps)

    def _ask(self, approval: Approval) -> Step:
        (tool,) = self.recipe.tools_of("approval")
        args = {"target_id": self.recipe.artifact.id}
        return Step(
            call=tool, args=args if len(self.recipe.approval) == 1 else {"action_type": approval.action, **args}
        )

    # --- steps ---------------------------------------------------------------------------------------------------------------------

    def _before_read_back(self) -> tuple[RecipeStep, ...]:
        """What is looked up before the read-back, once."""
        found = () if self._prepared else self.recipe.agent.before_read_back
        self._prepared = True
        return found

    def _unwritten(self) -> list[str]:
        return [name for name in computed_fields(self.recipe) if name not in self._written]

    def _update(self, names: Iterable[str], stage: int) -> list[Step]:
        """Calls that write these fields, one a tool (topics are told, not written); none when there is nothing to write."""
        ordered = in_order(self.recipe, (name for name in dict.fromkeys(names) if name in self.recipe.artifact.fields))
        fields = {name: self.stages[stage][name] for name in ordered}
        self._written |= fields.keys()
        steps: list[Step] = []
        for name in self.recipe.tools_of("update"):
            mine = self.recipe.tools[name].fields
            written = {key: fields[key] for key in list(fields) if not mine or key in mine}
            fields = {key: value for key, value in fields.items() if key not in written}
            steps += self._call(name, {"fields": written}, stage) if written else []
        return steps

    def merged(self, steps: Iterable[Step]) -> tuple[Step, ...]:
        """Saves of one tool that follow each other, as one call; a tool that writes the whole artifact keeps them apart.

        A call in the background goes out last, with the words that the turn ends with.
        """
        found: list[Step] = []
        for step in sorted(steps, key=lambda step: step.background):
            last = found[-1] if found else None
            tool = self.recipe.tools.get(step.call or "")
            if (
                last is not None
                and tool is not None
                and tool.fields
                and last.call == step.call
                and last.args != step.args
            ):
                found[-1] = Step(call=step.call, args={"fields": {**last.args["fields"], **step.args["fields"]}})
            else:
                found.append(step)
        return tuple(found)

    def _call(self, name: str, args: dict[str, Any], stage: int) -> list[Step]:
        """A call; where the tool is to fail, it says so and calls again."""
        step = Step(call=name, args=args)
        fails, self._fails[name] = self._fails[name], 0
        return [
            part
            for _ in range(fails)
            for part in (step, self._line(AGAIN.removeprefix("agent."), self.recipe.agent.again, stage))
        ] + [step]

    def _extra(self, name: str, steps: tuple[RecipeStep, ...], stage: int) -> tuple[list[Step], list[str]]:
        """The author's steps, and the words after the last call: they open the line that follows."""
        found: list[Step] = []
        words: list[str] = []
        for step in steps:
            if step.call is not None and step.background:
                args = {key: self._filled(value, stage) for key, value in step.args.items()}
                found.append(Step(call=step.call, args=args, background=True))
                continue
            if step.say is not None and step.wait is None:
                words.append(step.say)
                continue
            if words:
                found.append(self._line(f"{name}_{len(found) + 1}", " ".join(words), stage))
                words = []
            if step.wait is not None:
                hold = self._line(f"{name}_wait", step.say, stage) if step.say else Step()
                found.append(hold.model_copy(update={"wait": step.wait}))
                continue
            if step.call is None:
                found += self._update(step.write, stage)
                continue
            args = {key: self._filled(value, stage) for key, value in step.args.items()}
            found += self._call(step.call, args, stage)
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

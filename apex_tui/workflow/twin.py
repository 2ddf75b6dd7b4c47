"""The uncorrected twin of a recipe: the same work for a caller who says the final values at once.

Comparing the two shows what a correction costs. In here: the change of the recipe. Deliberately not in here: compiling it.
"""

from __future__ import annotations

from apex_tui.workflow.caller_side import answer_plan
from apex_tui.workflow.model import UNCORRECTED
from apex_tui.workflow.recipe import Recipe, RecipeFact


def uncorrected(recipe: Recipe) -> Recipe:
    """Return the recipe without corrections: each corrected fact is told with its last value, in the words that told it after that."""
    facts = {key: _final(recipe, key, fact) for key, fact in recipe.facts.items()}
    return recipe.model_copy(
        update={
            "id": f"{recipe.id}{UNCORRECTED}",
            "summary": f"{recipe.title}, for a caller who says the final values at once and corrects nothing.",
            "temporal_dynamics": "D2_DELAYED_EVENT" if recipe.follow_through else "D0_STATIC",
            "facts": facts,
            "corrections": {},
        }
    )


def _final(recipe: Recipe, key: str, fact: RecipeFact) -> RecipeFact:
    touching = [change for change in recipe.corrections.values() if key in change.again]
    if not touching:
        return fact
    fills = dict(fact.fills)
    for change in touching:
        fills |= {name: value for name, value in change.changes.items() if name in fills}
    told = {"fills": fills, "say": touching[-1].again[key], "plan": answer_plan(recipe, key, len(recipe.corrections))}
    return fact.model_copy(update=told)

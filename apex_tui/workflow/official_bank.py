"""Wordings for an official package that ships an empty bank: a few templates per speech act, compiled over the dialogue (section 5.6).

In here: the enumeration of plans, the templates, and the marks that the format puts on a compiled wording. Deliberately not in here: which
variant is spoken. The templates of OPENING_REQUEST, ANSWER, CORRECT and APPROVE are those of the published sample package, word for word; for
the other acts the format names none, and these are ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from apex_tui.workflow.caller_model import Action, CallerFact, Flow, Variant, Wording
from apex_tui.workflow.determinism import stable_key

REALIZER = "template_realizer"
VERSION = "1.0"
_TEMPLATES: dict[str, tuple[str, str]] = {
    "OPENING_REQUEST": ("Hi, {}.", "Hello — {}."),
    "ANSWER": ("{}.", "It's {}."),
    "CORRECT": ("Actually, it's {}.", "No — {}."),
    "APPROVE": ("Yes, go ahead.", "Approved, please proceed."),
    "ASK": ("Could you tell me about {}?", "What about {}?"),
    "CONFIRM": ("Yes, {}.", "That's right, {}."),
    "REVOKE": ("Stop, don't do that.", "Please hold off, I take that back."),
    "DENY": ("No, please don't.", "No, not like that."),
    "CLARIFY": ("I mean {}.", "To be clear, {}."),
    "ACKNOWLEDGE": ("Okay.", "All right."),
    "BACKCHANNEL": ("Mm-hm.", "Uh-huh."),
    "INTENT_SWITCH": ("Something else: {}.", "Let's turn to {}."),
    "END": ("Thanks, goodbye.", "That's all, goodbye."),
}
_WITHOUT_FACTS = {"OPENING_REQUEST": "there", "CONFIRM": "that is right"}
_OTHERWISE = "that"
"""What a template says in place of facts when a plan has none."""


def template_bank(flow: Flow, facts: Iterable[CallerFact]) -> tuple[Wording, ...]:
    """Two wordings for every plan, states in file order, the entry of a state before its transitions."""
    values = {fact.id: str(fact.value) for fact in facts}
    rows: dict[str, Wording] = {}
    for plan, action in _plans(flow):
        rows.setdefault(plan, _wording(plan, action, values))
    return tuple(rows.values())


def _plans(flow: Flow) -> Iterator[tuple[str, Action]]:
    for name, state in flow.states.items():
        for action, where in ((state.on_enter, name), *((t.do, t.next) for t in state.transitions)):
            if action is not None:
                yield action.plan_id or f"{where}:{action.act}", action


def _wording(plan: str, action: Action, values: dict[str, str]) -> Wording:
    said = ", ".join(values[name] for name in action.facts if name in values)
    filled = said or _WITHOUT_FACTS.get(action.act, _OTHERWISE)
    variants = []
    for number, template in enumerate(_TEMPLATES[action.act]):
        text = template.format(filled)
        variants.append(
            Variant(
                variant_id=f"{plan}#v{number + 1}",
                text=text,
                expressed_fact_ids=action.facts,
                compiler={
                    "realizer": REALIZER,
                    "version": VERSION,
                    "seed": number,
                    "prompt_hash": stable_key(action.act, text),
                },
                checksum=stable_key(text),
            )
        )
    return Wording(user_plan_id=plan, speech_act=action.act, variants=tuple(variants))

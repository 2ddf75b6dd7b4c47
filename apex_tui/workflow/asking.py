"""How the same few things are asked for at every desk: a name, and a telephone number.

Deliberately not in here: what only one recipe asks for (``Topic.asked``).
"""

from __future__ import annotations

from apex_tui.workflow.recipe import Topic

_NAME = (
    "full|last|first|family name", "surname", "speaking|talking to|with", "who|who's .. calling|speaking", "who am i", "who is this", "who do i have",
    "what name", "whose name", "name of .. caller", "spell .. name", "what .. call you", "and you are", "name for .. booking|reservation|file|record",
)  # fmt: skip
_PHONE = (
    "phone", "telephone", "mobile", "cell", "contact number|details", "reach|contact|ring|phone|text|call you", "get hold of|you",
    "call you back", "best|good number", "number .. reach|call|ring|text|contact", "callback number",
    "number for .. you|callback|driver|planner|crew", "how .. reach|contact you",
)  # fmt: skip


def commonly_asked(topic: Topic) -> tuple[str, ...]:
    """Ways to ask for a telephone number, or for the name of the person on the phone."""
    if topic.type == "phone":
        return _PHONE
    return _NAME if "your name" in topic.names else ()

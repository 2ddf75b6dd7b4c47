"""``--direct``: what a director does in a run, known in advance, so that it works without a screen and in simulated time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from apex_tui.timeline.errors import UserError

if TYPE_CHECKING:
    from apex_tui.timeline.messages import Run

Directions = Annotated[
    list[str] | None,
    typer.Option("--direct", help="'SECONDS WHAT [UTTERANCE]', such as '12.5 barge-in'; see docs/director.md."),
]
MOST_S = 86_400
_DIRECTION = re.compile(r"\s*(?P<at>\d{1,5}(?:\.\d{1,3})?)s?\s+(?P<what>[a-z_-]+)(?:\s+(?P<plan>\S.*?))?\s*", re.ASCII)
_SPEAK = ("say", "barge_in")


def with_directions(command: Run, texts: list[str]) -> Run:
    """The command with its directions.

    Raises:
        UserError: one cannot be read, or a person calls.
    """
    if not texts:
        return command
    if command.caller == "microphone":
        raise UserError("--direct directs the recorded caller; with --caller microphone you speak for yourself")
    from apex_tui.timeline.caller_facts import Direction
    from apex_tui.timeline.messages import Direct

    known = get_args(Direction)
    directions = []
    for text in texts:
        match = _DIRECTION.fullmatch(text)
        what = match["what"].replace("-", "_") if match is not None else ""
        if match is None or what not in known:
            words = ", ".join(name.replace("_", "-") for name in known)
            raise UserError(f"--direct {text[:80]!r}: write 'SECONDS WHAT [UTTERANCE]'; WHAT is one of {words}")
        plan = match["plan"]
        if (plan is not None and what not in _SPEAK) or (plan is None and what == "say") or len(plan or "") > 200:
            needs = (
                "needs the utterance's name (an unknown one lists those near it)"
                if what == "say"
                else "takes no utterance"
            )
            raise UserError(f"--direct {text[:80]!r}: {match['what']} {needs}")
        if float(match["at"]) > MOST_S:
            raise UserError(f"--direct {text[:80]!r}: a call lasts a day at most; write fewer than {MOST_S} seconds")
        if what == "microphone" and command.virtual:
            raise UserError(
                f"--direct {text[:80]!r}: a person cannot speak in simulated time; leave --virtual or the direction out"
            )
        directions.append(Direct(what=what, plan=plan, at_ms=1000 * float(match["at"]), by="--direct"))
    if len(directions) > 1000:
        raise UserError("--direct: at most 1000 directions")
    return command.model_copy(update={"directions": tuple(directions)})

"""Readings of a recording that lead on from it: the command that runs the same again, and the moment at which it failed. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from apex_tui.timeline.addresses import host_of, is_loopback
from apex_tui.tui.plain import plain

if TYPE_CHECKING:
    from apex_tui.score.verdict import Score
    from apex_tui.timeline.events import Event
    from apex_tui.timeline.messages import Run
    from apex_tui.timeline.state import State

_PARAMETERS = (
    "max_s",
    "model",
    "tool_latency",
    "tool_failures",
    "channel",
    "instructions",
    "url",
    "parts",
    "directions",
)


def run_again(whole: State) -> Run | str:
    """The command for the same workflow, seed and agent, or a sentence that says why there is none."""
    from pydantic import ValidationError

    from apex_tui.timeline.messages import Run

    started = whole.started
    if started is None:
        return "this recording does not hold its start: it cannot be run again"
    if started.caller == "microphone":
        return "a session with a person at the microphone cannot be run again"
    values = {name: started.parameters[name] for name in _PARAMETERS if started.parameters.get(name) is not None}
    connected = whole.connected
    voice = connected is not None and connected.url.startswith(("ws://", "wss://"))
    if "url" not in started.parameters and not started.rehearsal and connected is not None and voice:
        values["url"] = connected.url.partition("?")[0]
    try:
        return Run(workflow=started.workflow, agent=started.agent, seed=started.seed, profile=started.profile, **values)
    except ValidationError as error:
        return f"this recording's parameters cannot be run again: {error.errors()[0]['msg']}"


def asked_first(command: Run) -> str | None:
    """What must be asked before a recording's command is run; None: nothing.

    An address in a recording is the word of whoever made it, and the keys of the agent would go there.
    """
    given = [address for address in (command.url, *command.parts.values()) if address and not is_loopback(address)]
    if not given:
        return None
    hosts = ", ".join(dict.fromkeys(map(host_of, given)))
    return f"Run it where the recording says, with the keys of {plain(command.agent, 40)} sent along? It names {hosts}."


def failing_seq(score: Score) -> int | None:
    """The event at which the first failed check of the first failed gate came to fail; of a drifted field when no check names one.

    That is the last one it rests on: a value that the caller changed later was right when it was written, and wrong when it was submitted.
    """
    for gate in score.gates:
        for check in gate.checks if not gate.passed else ():
            if check.passed is False and check.evidence:
                return max(check.evidence)
    for verdict in score.fields:
        if verdict.passed is False and verdict.evidence:
            return max(verdict.evidence)
    for row in score.work.drift:
        stage = row.first_disagreement
        if stage is not None and row.evidence.get(stage):
            return row.evidence[stage][0]
    return None


def failing_ms(score: Score | None, events: Sequence[Event]) -> float | None:
    """The moment from which a recording shows that event; None: nothing failed, nobody was judged, or nothing points at a moment."""
    from apex_tui.tui.search import noted_ms  # not before a session is open: it loads every event

    judged = score is not None and score.validity == "scored" and not score.success
    seq = failing_seq(score) if score is not None and judged else None
    return None if seq is None else noted_ms(events, seq)

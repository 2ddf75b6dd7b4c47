"""Names for rehearsal agents: presets of manners, and ``key=value`` parameters, as in ``rehearsal:slow-to-yield`` or ``rehearsal:stop=130``.

Pure. Deliberately not in here: what a manner does, and what a fault does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from apex_tui.agents.rehearsal.manner import Manner
from apex_tui.timeline.errors import UserError

NAME = "rehearsal"


@dataclass(frozen=True, slots=True)
class Preset:
    """A named manner and one line about it."""

    about: str
    changes: Mapping[str, Any] = field(default_factory=dict)


PRESETS: dict[str, Preset] = {
    "prompt": Preset("yields 130 ms and answers 300 ms after the caller", {"stop": 130, "answer": 300}),
    "slow-to-yield": Preset("speaks on for 900 ms when it is interrupted", {"stop": 900}),
    "never-yields": Preset("says its line to the end, whoever speaks", {"stop": "never"}),
    "slow-to-answer": Preset("answers 2.5 s after the caller", {"answer": 2500}),
    "early-starter": Preset("answers 200 ms before the caller is done", {"answer": -200}),
    "leading-silence": Preset("begins every reply with 500 ms of silence", {"leading": 500}),
    "bursty": Preset("sends audio 20 times as fast as it plays", {"burst": 20}),
    "real-time-audio": Preset("sends audio as fast as it plays", {"burst": 1}),
    "resumes": Preset("stops, and goes on 500 ms later while the caller speaks", {"resume": 500}),
    "stale-bursts": Preset("lets three short bursts out after a stop", {"stale": 3}),
    "talks-over": Preset("begins to speak 600 ms into the caller's turns", {"over": 600}),
    "yields-to-backchannels": Preset("stops when the caller says mm-hm", {"backchannels": "yes"}),
    "cuts-into-pauses": Preset("takes a pause of the caller for the end of the turn", {"cut_in": 300}),
    "filler": Preset("fills the wait for a slow tool with words", {"filler": 300}),
    "hold-music": Preset("types audibly for 1.5 s before it speaks", {"noise": 1500}),
}  # fmt: skip

KEYS: dict[str, str] = {
    "stop": "caller's onset to the agent's last audible sample, in ms, or never",
    "detect": "caller's onset to the agent's own signal, in ms",
    "answer": "caller's last audible sample to the answer's audio, in ms; negative: an early start",
    "leading": "silence at the start of every reply, in ms",
    "noise": "typing before the words of every reply, in ms",
    "burst": "how many times faster than it plays audio is sent",
    "filler": "a call runs so long, in ms: words fill the wait",
    "resume": "its stop to going on, in ms",
    "stale": "short bursts after a stop",
    "over": "onset of the caller's turn to words over it, in ms",
    "cut_in": "begin of the caller's pause to words into it, in ms",
    "backchannels": "yes: it stops at mm-hm",
    "fault": "a planted fault by name",
}
"""Every parameter, with what it means."""

_FIELDS = {
    "stop": "stop_ms", "detect": "detect_ms", "answer": "answer_ms", "leading": "leading_ms", "noise": "noise_ms", "burst": "burst",
    "filler": "filler_ms", "resume": "resume_ms", "stale": "stale_bursts", "over": "talk_over_ms", "cut_in": "cut_in_ms",
}  # fmt: skip
_FOREKNOWN_BELOW_MS = 100.0
"""The ears alone need up to 60 ms; what is stated below this is true only for an agent that knows the onset."""


@dataclass(frozen=True, slots=True)
class Character:
    """What a name asks for: the manner, and the planted fault, if any."""

    manner: Manner
    fault: str | None = None


def is_rehearsal(name: str) -> bool:
    """Whether the name is one of the rehearsal agent."""
    return name == NAME or name.startswith(f"{NAME}:")


def parse(name: str) -> Character:
    """The character of ``rehearsal``, ``rehearsal:<preset>`` or ``rehearsal:<preset>,key=value,...``.

    Raises ``UserError``: an unknown preset or parameter, or a value that it cannot have.
    """
    _, _, rest = name.partition(":")
    given: dict[str, str] = {}
    for part in [part.strip() for part in rest.split(",") if part.strip()]:
        key, equals, value = part.partition("=")
        if equals:
            if key not in KEYS:
                raise UserError(f"--agent {name}: there is no parameter {key!r}; there are: {', '.join(KEYS)}.")
            given[key] = value.strip()
        elif part in PRESETS:
            given.update({key: str(value) for key, value in PRESETS[part].changes.items()})
        else:
            known = ", ".join(PRESETS)
            raise UserError(
                f"--agent {name}: there is no preset {part!r}; there are: {known}; or parameters such as stop=130."
            )
    fault = given.pop("fault", None)
    return Character(_manner(name, given), fault)


def _manner(name: str, given: Mapping[str, str]) -> Manner:
    if "stop" in given and "detect" in given:
        raise UserError(f"--agent {name}: give stop or detect: the client stops playing at the agent's own signal.")
    changes: dict[str, Any] = {}
    for key, value in given.items():
        if key == "backchannels":
            changes["yields_to_backchannels"] = _yes(name, value)
        elif key == "stop" and value == "never":
            changes["yields"] = False
        else:
            changes[_FIELDS[key]] = _number(name, key, value)
    # What is stated has to be true at the sample: no gap in the line may stand in for a stop.
    changes["steady"] = "stop" in given
    changes["foreknown"] = any(
        changes.get(name, _FOREKNOWN_BELOW_MS) < _FOREKNOWN_BELOW_MS for name in ("stop_ms", "detect_ms", "answer_ms")
    )
    try:
        return dataclasses.replace(Manner(), **changes)
    except ValueError as error:
        raise UserError(f"--agent {name}: {str(error).replace('manner.', '')}.") from None


def _number(name: str, key: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise UserError(f"--agent {name}: {key} is {KEYS[key]}; {value!r} is no number.") from None


def _yes(name: str, value: str) -> bool:
    if value not in ("yes", "no"):
        raise UserError(f"--agent {name}: backchannels is yes or no, not {value!r}.")
    return value == "yes"

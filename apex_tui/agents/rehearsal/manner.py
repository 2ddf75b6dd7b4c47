"""How a rehearsal agent behaves in time: the nominal values that the instrument's own numbers are held against.

Pure data and its validation. Deliberately not in here: what is said or called.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Manner:
    """Times in ms of loop time, counted from the true moment (of the caller's sound, not of our noticing it)."""

    detect_ms: float = 90.0
    """Caller's onset -> ``speech_started``; never before the ears could know, unless ``foreknown``."""
    stop_ms: float = 0.0
    """``speech_started`` -> the running response is cancelled."""
    yields: bool = True
    """False: it speaks on, and says nothing of hearing the caller until its line is over."""
    foreknown: bool = False
    """It takes the onset from the hint before it is audible: only so can a delay below the ears' own (about 35 ms) be true."""
    endpoint_ms: float = 300.0
    """Silence after the hinted end of the caller's turn -> the turn is over. Authored pauses do not end a turn."""
    unhinted_endpoint_ms: float = 700.0
    """The same for a turn without a hint, from the heard offset."""
    answer_ms: float = 250.0
    """Turn over -> first audio."""
    think_ms: float = 120.0
    """A response was asked for after a tool result -> its first content."""
    burst: float = 4.0
    """How many times faster than it plays audio is sent."""
    delta_ms: float = 100.0
    """Audio in one delta."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool):
                continue
            if not math.isfinite(value) or value < 0:
                raise ValueError(f"manner.{field.name} must be 0 or more, not {value}")
        if self.burst <= 0 or self.delta_ms < 1:
            raise ValueError("manner.burst must be above 0, and manner.delta_ms at least 1")

    def as_dict(self) -> dict[str, Any]:
        """For a report, or for a child process."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Manner:
        """The manner of ``as_dict``. Raises ``ValueError`` on an unknown name or a wrong value."""
        known = {field.name: bool if isinstance(field.default, bool) else float for field in dataclasses.fields(cls)}
        for name, value in values.items():
            if name not in known:
                raise ValueError(f"manner.{name} is unknown; known are {', '.join(known)}")
            if isinstance(value, bool) != (known[name] is bool) or not isinstance(value, int | float):
                raise ValueError(f"manner.{name} must be {'true or false' if known[name] is bool else 'a number'}")
        return cls(**values)

"""How a rehearsal agent behaves in time: the nominal values that the instrument's own numbers are held against.

Pure data and its validation. Deliberately not in here: what is said or called (``brain``), names and spellings (``presets``).
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

FADE_MS = 3.0
"""The client fades for 5 ms when it lets go of the floor; what it plays of them is audible for about this long."""


@dataclass(frozen=True, slots=True)
class Manner:
    """Times in ms of loop time, counted from the true moment (of the caller's sound, not of our noticing it).

    The nominal value is the truth: ``stop_ms`` 130 means that the last audible sample of the agent, as the client plays it, lies 130 ms after
    the first audible sample of the caller; ``answer_ms`` 600 that the answer's audio begins 600 ms after the caller's last audible sample.
    """

    detect_ms: float = 90.0
    """Caller's onset -> ``speech_started``; never before the ears could know, unless ``foreknown``."""
    stop_ms: float | None = None
    """Caller's onset -> the agent's last audible sample. None: as soon as it has noticed. Since a client lets go of the floor at
    ``speech_started``, an agent that speaks at the onset sends it at this time, and ``detect_ms`` counts only when it is silent."""
    yields: bool = True
    """False: it never stops, and says nothing of hearing the caller until its line is over."""
    foreknown: bool = False
    """It takes onset and end from the hint before they are audible: only so can a delay below the ears' own (about 35 ms), or an early
    start, be true."""
    endpoint_ms: float = 300.0
    """Silence after the hinted end of the caller's turn -> the turn is over. Authored pauses do not end a turn."""
    unhinted_endpoint_ms: float = 700.0
    """The same for a turn without a hint, from the heard offset."""
    answer_ms: float | None = None
    """Caller's last audible sample -> first sample of the answer's audio, before ``leading_ms`` of silence. Negative: an early start. Words
    that have to wait for a tool come as soon as they can. None: ``endpoint_ms`` and then ``react_ms``."""
    react_ms: float = 250.0
    """Turn over -> first audio, or the first call."""
    think_ms: float = 120.0
    """A response was asked for after a tool result -> its first content."""
    leading_ms: float | None = None
    """Silence at the start of every spoken reply. None: the little that the clip itself has."""
    noise_ms: float = 0.0
    """Sound that is no speech (typing), after the leading silence and before the words of every reply; its last 300 ms are silent."""
    steady: bool = False
    """Every gap inside a line is hummed through, so that any moment of it is audible: a stop can be true at the sample only there."""
    burst: float = 4.0
    """How many times faster than it plays audio is sent; below 2 the first 200 ms go out at once, as a cushion."""
    delta_ms: float = 100.0
    """Audio in one delta."""
    filler_ms: float | None = None
    """A call that has run for so long -> it fills the wait with the filler line, once a call. None: silence."""
    resume_ms: float | None = None
    """Its stop -> it goes on with what it was saying, while the caller still speaks. None: it stays silent."""
    stale_bursts: int = 0
    """Short bursts (150 ms) that still come out after a stop, 300 ms apart."""
    talk_over_ms: float | None = None
    """Onset of a caller's turn -> it says its filler line over it, where the turn is long enough. None: never."""
    cut_in_ms: float | None = None
    """Begin of an authored pause inside the caller's turn -> it takes the pause for the end and speaks. None: never."""
    yields_to_backchannels: bool = False
    """It stops at "mm-hm" as at any other words, and then says its line again."""

    finishes_calls: bool = False
    """It runs the tool of a reply that was cut off."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is None or isinstance(value, bool):
                continue
            least = -5000.0 if field.name == "answer_ms" else 0.0
            if not math.isfinite(value) or not least <= value <= 120_000:
                raise ValueError(f"manner.{field.name} must be {least:g} or more and at most 120000, not {value}")
        if not 1 <= self.burst <= 50 or not 1 <= self.delta_ms <= 1000:
            raise ValueError("manner.burst must be from 1 to 50, and manner.delta_ms from 1 to 1000")
        if self.stale_bursts != int(self.stale_bursts) or self.stale_bursts > 10:
            raise ValueError("manner.stale_bursts must be a whole number up to 10")
        if self.noise_ms and self.noise_ms < 500:
            raise ValueError(
                "manner.noise_ms must be 0, or at least 500: sound, and 300 ms of silence before the words"
            )
        if (self.answer_ms or 0.0) < 0 and not self.foreknown:
            raise ValueError("manner.answer_ms may only be negative when the agent is foreknown")

    def announce_ms(self, speaking: bool) -> float:
        """Onset -> ``speech_started``; ``speaking``: the agent is audible at the onset."""
        return self.stop_ms - FADE_MS if speaking and self.stop_ms is not None else self.detect_ms

    @property
    def exact(self) -> bool:
        """Whether lines begin at their first sound: the clips' own few ms of silence would be added to what is stated."""
        return self.steady or self.answer_ms is not None or self.leading_ms is not None

    def as_dict(self) -> dict[str, Any]:
        """For a report, or for a child process."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Manner:
        """The manner of ``as_dict``. Raises ``ValueError`` on an unknown name or a wrong value."""
        fields = {field.name: field for field in dataclasses.fields(cls)}
        for name, value in values.items():
            if name not in fields:
                raise ValueError(f"manner.{name} is unknown; known are {', '.join(fields)}")
            default = fields[name].default
            if value is None and "None" in str(fields[name].type):
                continue
            if isinstance(value, bool) != isinstance(default, bool) or not isinstance(value, int | float):
                raise ValueError(
                    f"manner.{name} must be {'true or false' if isinstance(default, bool) else 'a number'}"
                )
        return cls(**values)

"""The common shape of everything on the timeline.

A *fact* is what happened (one class for each event type, with its own fields). An *event* is a fact in its envelope: sequence number,
media time, wall time, actor and causes. Facts are immutable and refuse unknown fields, so a log that a newer version wrote is noticed.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, NonNegativeFloat

SCHEMA_VERSION = 1
"""Version of the event log and of the session's files. Readers refuse a higher one."""

Actor = Literal["caller", "agent", "environment", "harness", "operator"]
"""Who did it: the caller, the agent under test, the workbench, the instrument itself, or the person at the keyboard."""

Ms = NonNegativeFloat
"""A position on the media clock, in ms since frame 0."""

Json = dict[str, Any]
"""A JSON object from outside (tool arguments, results, field values)."""


class Fact(BaseModel):
    """One thing that happened. ``type`` is the event type; ``actor`` says who usually does it."""

    # Built when first used: fifty schemas cost a tenth of a second, and no process needs them all.
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null", defer_build=True)
    actor: ClassVar[Actor] = "harness"
    type: str


class Message(BaseModel):
    """A message between the engine and the screen that is never stored (meters, commands, answers)."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    type: str

"""What every part of a workflow has in common."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Grader = Literal[
    "exact", "casefold_exact", "normalized_phone", "normalized_date", "normalized_address", "enum", "numeric_tolerance", "set_exact",
    "set_f1", "set_precision", "set_recall", "ordered_list", "interval_overlap", "semantic", "claim_atoms",
]  # fmt: skip
Value = str | int | float | bool | None


def value_key(value: object) -> str:
    """Return a value as the key of ``Observer.forms``: numbers without a trailing ``.0`` (500.0 -> "500"), text as it is."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


class Part(BaseModel):
    """A frozen part of a workflow; an unknown key is an error."""

    # Built when first used: a session needs the schemas of one format, not of both.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

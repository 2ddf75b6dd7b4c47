"""Whether the person at this machine agreed to being recorded: asked once, kept in the state folder, and named in each of their sessions.

The words are numbered: when they change, the question is asked again. Deliberately not in here: asking (the screen).
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import platformdirs

from apex_tui.store.files import write_json
from apex_tui.timeline.errors import UserError

WORDS_NUMBER = 1
WORDS = (
    "Your voice is sent to the agent that you call, and recorded: the session with its sound stays on this machine until you erase it "
    "(apex-tui erase). Clips for scenarios are made only when you say so."
)
"""What is agreed to."""


def consent_path() -> Path:
    """Where it is kept."""
    return Path(platformdirs.user_state_dir("apex-tui", appauthor=False)) / "consent.json"


def load_consent(path: Path | None = None) -> str | None:
    """When the present words were agreed to, as a clause for people; None: not yet."""
    try:
        record = json.loads((path or consent_path()).read_text(encoding="utf-8"))
        number, utc = record.get("words"), record.get("agreed_utc")
    except (OSError, ValueError, AttributeError, RecursionError):
        return None
    if number != WORDS_NUMBER or not isinstance(utc, str) or not 0 < len(utc) <= 40:
        return None
    return f"being recorded and kept on the own machine (words {number}), {utc}"


def save_consent(path: Path | None = None) -> Path:
    """Remember that the present words were agreed to now; returns where.

    Raises:
        UserError: the disk refuses.
    """
    target = path or consent_path()
    utc = datetime.now(tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")  # noqa: TID251 - the date of an agreement
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_json(target, {"words": WORDS_NUMBER, "agreed_utc": utc, "text": WORDS}, durable=True)
    except OSError as error:
        raise UserError(
            f"{target} cannot be written ({error.strerror or error}): name another place in XDG_STATE_HOME"
        ) from error
    return target

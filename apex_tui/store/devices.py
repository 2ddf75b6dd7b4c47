"""Which microphone and loudspeaker a person chose, remembered by name in the state folder: numbers change with every plug.

Deliberately not in here: whether they are there now (``audio.portaudio``).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import platformdirs

from apex_tui.store.files import write_json
from apex_tui.timeline.errors import UserError

MAX_NAME = 300


@dataclass(frozen=True, slots=True)
class DeviceChoice:
    """Names as PortAudio gives them, None: the system's default. ``headphones``: the microphone cannot hear the loudspeaker."""

    microphone: str | None = None
    speaker: str | None = None
    headphones: bool = False


def choice_path() -> Path:
    """Where the choice is kept."""
    return Path(platformdirs.user_state_dir("apex-tui", appauthor=False)) / "devices.json"


def load_choice(path: Path | None = None) -> DeviceChoice:
    """The remembered choice; the system's defaults when there is none or it cannot be read."""
    try:
        record = json.loads((path or choice_path()).read_text(encoding="utf-8"))
        names = [record.get(side) for side in ("microphone", "speaker")]
        microphone, speaker = (name[:MAX_NAME] if isinstance(name, str) and name else None for name in names)
        return DeviceChoice(microphone, speaker, record.get("headphones") is True)
    except (OSError, ValueError, AttributeError, RecursionError):
        return DeviceChoice()


def save_choice(choice: DeviceChoice, path: Path | None = None) -> Path:
    """Remember a choice; returns where.

    Raises:
        UserError: the disk refuses.
    """
    target = path or choice_path()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_json(target, asdict(choice), durable=False)
    except OSError as error:
        raise UserError(
            f"{target} cannot be written ({error.strerror or error}): name another place in XDG_STATE_HOME"
        ) from error
    return target

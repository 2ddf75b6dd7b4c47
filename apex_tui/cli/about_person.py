"""Options of ``apex-tui run`` for a person at the microphone, and what they make of the engine's command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from apex_tui.timeline.errors import UserError

if TYPE_CHECKING:
    from apex_tui.timeline.messages import Run

Caller = Annotated[str, typer.Option(help="Who calls: bank (the recorded caller) or microphone (you).")]
MicrophoneName = Annotated[
    str | None, typer.Option("--microphone", "-m", help="Name, part of it, or number; see 'devices list'.")
]
SpeakerName = Annotated[str | None, typer.Option("--speaker", "-s", help="The same for the loudspeaker.")]
WithHeadphones = Annotated[
    bool | None,
    typer.Option("--headphones/--loudspeaker", help="Whether the microphone cannot hear what is played."),
]
Echo = Annotated[str, typer.Option(help="Against echo: auto, cancel (extra 'mic'), gate (no interrupting) or none.")]


def with_person(
    command: Run, caller: str, microphone: str | None, speaker: str | None, headphones: bool | None, echo: str
) -> Run:
    """The command with who calls, and on which devices.

    Raises:
        UserError: an option has a value that it cannot have, or a person is to speak in simulated time.
    """
    from pydantic import ValidationError

    from apex_tui.timeline.messages import Run

    values: dict[str, Any] = {
        **command.model_dump(),
        "caller": caller,
        "microphone": microphone,
        "speaker": speaker,
        "headphones": headphones,
        "echo": echo,
    }
    try:
        made = Run.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise UserError(f"--{first['loc'][0]} {first['input']!r}: {first['msg'].lower()}") from error
    if made.caller == "microphone" and made.virtual:
        raise UserError("--caller microphone: a person cannot speak in simulated time; leave --virtual out")
    return made


def need_the_screen(command: Run) -> None:
    """A person's keys are on the screen: without one nothing could be approved.

    Raises:
        UserError: a person was to call without a screen.
    """
    if any(direct.what == "microphone" for direct in command.directions):
        raise UserError(
            "--direct with microphone needs the screen, in a terminal: nobody is heard without one that says so; "
            "leave --headless, --json and --plain out"
        )
    if command.caller == "microphone":
        raise UserError(
            "--caller microphone needs the screen, in a terminal: its keys approve, deny, take back and hang up; "
            "leave --headless, --json and --plain out"
        )

"""Opens what a session is heard and spoken with: the loudspeaker, and for a person microphone, remedy against echo and speech detector.
Everything that may load a library happens here, before the first frame.
"""

from __future__ import annotations

from typing import Any

from apex_tui.agents.rehearsal.presets import is_rehearsal
from apex_tui.audio.echo import open_echo
from apex_tui.audio.microphone import open_microphone
from apex_tui.audio.portaudio import NoDeviceError
from apex_tui.audio.sinks import Sink, open_sink
from apex_tui.audio.turns import TurnFinder, find_vad
from apex_tui.engine.person import Person
from apex_tui.engine.speech import Speech, load_speech
from apex_tui.store.consent import load_consent
from apex_tui.store.devices import load_choice
from apex_tui.store.meta import MICROPHONE, SessionMeta
from apex_tui.timeline.errors import UserError
from apex_tui.timeline.messages import Run
from apex_tui.workflow.model import Workflow


def open_loudspeaker(command: Run) -> tuple[Sink, str]:
    """The loudspeaker and a sentence about it; a person hears only the agent, not their own voice."""
    wanted = command.speaker or load_choice().speaker
    return open_sink(command.sound, wanted, alone=command.caller == "microphone")


def speech_for(command: Run, workflow: Workflow) -> Speech:
    """What may be spoken. A person brings their own words; only the rehearsal agent's lines are needed then."""
    if command.caller == "bank":
        return load_speech(workflow, command.seed, rehearsal=is_rehearsal(command.agent))
    if not is_rehearsal(command.agent):
        return Speech("microphone", {}, {}, {})
    lines = load_speech(workflow, command.seed).agent
    return Speech("microphone", {}, lines, {})


def open_person(command: Run) -> Person:
    """The person at this machine's microphone.

    Raises:
        UserError: no microphone can be opened, or time is simulated.
    """
    if command.virtual:
        raise UserError("--caller microphone: a person cannot speak in simulated time; leave --virtual out")
    choice = load_choice()
    headphones = choice.headphones if command.headphones is None else command.headphones
    try:
        microphone = open_microphone(command.microphone or choice.microphone)
    except NoDeviceError as error:
        raise UserError(f"no microphone: {error}") from error
    echo, banner = open_echo(command.echo, headphones)
    return Person(microphone, echo, TurnFinder(find_vad()), banner, load_consent())


def with_person(meta: SessionMeta, person: Person | None) -> SessionMeta:
    """How a person is heard, among the parameters, and the label that keeps such a session apart."""
    if person is None:
        return meta
    parameters = {**meta.parameters, "person": parameters_of(person)}
    return meta.model_copy(update={"parameters": parameters, "labels": (*meta.labels, MICROPHONE)})


def parameters_of(person: Person) -> dict[str, Any]:
    """What a session stores about how the person was heard."""
    return {
        "microphone": person.microphone.description,
        "rate_hz": getattr(person.microphone, "rate", None),
        "echo": person.echo.kind,
        "speech_confirmed_by": person.turns.confirmed_by,
        **({"consent": person.consent} if person.consent is not None else {}),
    }

"""Opens what a session is heard and spoken with: the loudspeaker, and for a person microphone, remedy against echo and speech detector.
Everything that may load a library happens here, before the first frame.
"""

from __future__ import annotations

import asyncio
from typing import Any

from apex_tui.agents.rehearsal.presets import is_rehearsal
from apex_tui.agents.seam import Agent
from apex_tui.audio.echo import open_echo
from apex_tui.audio.microphone import open_microphone
from apex_tui.audio.portaudio import NoDeviceError
from apex_tui.audio.sinks import Sink, open_sink
from apex_tui.audio.turns import TurnFinder, find_vad
from apex_tui.engine.director import PersonDoor
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


class DeviceDoor:
    """Lets a person in during a bank session, and out again: devices are opened and closed in a thread, because both take longer than a frame."""

    def __init__(self, command: Run, barred: str | None = None) -> None:
        self._command, self._barred = command, barred

    @property
    def barred(self) -> str | None:
        """Why nobody can speak here; asked anew, because a person may agree while the call goes on."""
        if self._barred is not None or load_consent() is not None:
            return self._barred
        return "nobody at this machine has agreed to being recorded; the screen asks (D, then m)"

    async def open(self) -> Person:
        """The person at this machine's microphone."""
        return await asyncio.to_thread(open_person, self._command)

    async def close(self, person: Person) -> None:
        """Release the microphone."""
        await asyncio.to_thread(person.microphone.close)


class StandIn:
    """A door behind which a given person stands, whatever the time is."""

    barred: str | None = None

    def __init__(self, person: Person) -> None:
        self._person = person

    async def open(self) -> Person:
        """That person."""
        return self._person

    async def close(self, person: Person) -> None:
        """Release the microphone."""
        person.microphone.close()


def door_for(command: Run, agent: Agent, by_button: bool, person: Person | None) -> PersonDoor:
    """How a person may be let in to a bank session, or why not."""
    if person is not None:
        return StandIn(person)
    if command.virtual:
        return DeviceDoor(command, "a person cannot speak in simulated time")
    if not agent.capabilities.audio_in:
        return DeviceDoor(command, "this agent reads, it cannot hear a person")
    if by_button:
        return DeviceDoor(command, "this agent listens by push-to-talk, whose button only the recorded caller has")
    return DeviceDoor(command)


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

"""One session from a `Run` command to a folder with a verdict: loads, connects, conducts, scores, and cleans up whatever happens."""

from __future__ import annotations

import asyncio
import gc
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from apex_tui.agents.instructions import build_instructions
from apex_tui.agents.keys import hide
from apex_tui.agents.registry import known_secrets, make_agent
from apex_tui.agents.rehearsal.presets import is_rehearsal
from apex_tui.agents.seam import Agent, AgentSetup, Ready
from apex_tui.audio.channel import Channel, parse_channel
from apex_tui.audio.recording import LaneWriter
from apex_tui.audio.sinks import NullSink, Sink
from apex_tui.caller.directed import DirectedPolicy
from apex_tui.caller.human import HumanPolicy
from apex_tui.engine.caller_channel import make_channel, with_channel
from apex_tui.engine.conductor import Conductor
from apex_tui.engine.control import Control
from apex_tui.engine.director import PersonDoor
from apex_tui.engine.opening import opening_meta
from apex_tui.engine.own_tools import Asked, OwnTools, asked_for, own_tools
from apex_tui.engine.pacing import stored_pacing
from apex_tui.engine.person import Person
from apex_tui.engine.person_devices import door_for, open_loudspeaker, open_person, speech_for, with_person
from apex_tui.engine.speech import Speech
from apex_tui.engine.wiring import Listener, Wiring
from apex_tui.score.gold import asks_nothing
from apex_tui.store.layout import SessionFolder, create, session_name, sessions_root
from apex_tui.store.meta import CLEAN, VIRTUAL_UTC, SessionMeta, labels_of
from apex_tui.store.wire import WireLog
from apex_tui.timeline.agent_facts import AgentConnected
from apex_tui.timeline.caller_facts import DirectorActed
from apex_tui.timeline.errors import EXIT_FAILED, EXIT_INVALID, EXIT_OK, ApexError, RecordingError, UserError
from apex_tui.timeline.events import Event, prepare_facts
from apex_tui.timeline.log import TimelineWriter
from apex_tui.timeline.messages import AnyNotice, Meters, Opened, Run, Scored
from apex_tui.timeline.session_facts import (
    INVALID_OUTCOMES,
    ClockBasis,
    SessionClock,
    SessionEnded,
    SessionStarted,
)
from apex_tui.timeline.work_facts import ArtifactVersion
from apex_tui.workbench.schemas import tool_schemas
from apex_tui.workbench.workbench import Workbench
from apex_tui.workflow.library import find_workflow
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.predicates import predicates_of, unjudgeable
from apex_tui.workflow.snapshot import to_json
from apex_tui.workflow.utterances import know_plans

if TYPE_CHECKING:
    from apex_tui.score.verdict import Score


@dataclass(frozen=True, slots=True)
class Result:
    """What a session left behind."""

    folder: Path
    score: Score

    @property
    def exit_code(self) -> int:
        """0 succeeded, 1 the workflow failed, 3 the session judges nobody."""
        if self.score.validity != "scored":
            return EXIT_INVALID
        return EXIT_OK if self.score.success else EXIT_FAILED


Notify = Callable[[Event | AnyNotice], None]


async def run_session(
    command: Run,
    notify: Notify,
    control: Control | None = None,
    *,
    meters: bool = False,
    workflow: Workflow | None = None,
    person: Person | None = None,
    agent: Agent | None = None,
    speech: Speech | None = None,
    door: PersonDoor | None = None,
) -> Result:
    """Run one session to its end and score it.

    Args:
        command: what to run.
        notify: gets every event as it is written, and every notice.
        control: lets the operator end or mark it.
        meters: whether level meters are wanted (a screen watches).
        workflow: stands in for the one that the command names.
        person: stands in for the microphone that the command names; in a bank session for the one that a director opens.
        door: stands in for how a director lets a person in.
        agent: stands in for the one that the command names.
        speech: stands in for the bank's.

    Raises:
        UserError: nothing was run: unknown workflow or agent, missing clips, unreachable agent ...
    """
    control = control or Control()
    workflow = workflow or find_workflow(command.workflow)
    spec = parse_channel(command.channel)
    _fit_to_run(command, workflow)
    asked = asked_for(command, workflow)
    profile_file = Path(command.profile_file) if command.profile_file is not None else None
    with ThreadPoolExecutor(1, thread_name_prefix="speech") as aside:  # decoding leaves the interpreter free
        decoded = aside.submit(lambda: speech or speech_for(command, workflow))
        secrets = (*known_secrets(profile_file), *asked.secrets)
        prepare_facts()
        speech = decoded.result()
    channel, babble_sha256 = make_channel(spec, workflow, command.seed, speech)
    utc = VIRTUAL_UTC if command.virtual else datetime.fromtimestamp(_now_utc(), tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    parent = Path(command.out) if command.out else sessions_root()
    instructions, tools = build_instructions(asked.offered, command.instructions), tool_schemas(asked.offered)
    sink, sound, person = _open_devices(command, person)
    basis: ClockBasis = "simulated" if command.virtual else sink.clock_basis
    folder = create(parent, session_name(utc, workflow.id, command.agent, command.seed))
    wire = WireLog(folder.wire, secrets=secrets, start_s=asyncio.get_running_loop().time())
    try:
        agent = agent or make_agent(
            command.agent,
            url=command.url,
            model=command.model,
            workflow=workflow,
            lines=speech.agent,
            virtual=command.virtual,
            wire=wire,
            log_path=folder.path / "agent.log",
            profile_file=profile_file,
            parts=command.parts,
        )
        calling = person if command.caller == "microphone" else None
        meta = opening_meta(command, workflow, agent, speech, folder, utc, basis, sound, (instructions, tools))
        meta = with_person(asked.beside(with_channel(meta, channel, babble_sha256)), calling)
        async with own_tools(asked, workflow.title, instructions, tools) as own:
            session = _Session(
                command, workflow, agent, speech, channel, folder, meta, utc, sink, notify, control, meters, wire,
                secrets, asked, own, person, door,
            )  # fmt: skip
            return await session.run(AgentSetup(instructions, tools if own.on_wire else ()))
    except ApexError as error:
        _discard(folder)  # the session never began: the user gets the sentence, not an empty recording
        raise type(error)(hide(str(error), secrets)) from None
    finally:
        sink.close()
        if person is not None and command.caller == "microphone":
            person.microphone.close()
        wire.close()


def _fit_to_run(command: Run, workflow: Workflow) -> None:
    """Refuse what the command names and the workflow does not have, and what could not be judged or rehearsed."""
    for name in (*command.tool_latency, *command.tool_failures):
        if workflow.tool(name) is None:
            raise UserError(f"{workflow.id} has no tool {name!r}; it has: {', '.join(t.name for t in workflow.tools)}.")
    if asks_nothing(workflow):
        raise UserError(f"{workflow.id} has no gold outcome, so nothing could be judged; write its grading first.")
    for row in predicates_of(workflow.gold):  # a call that nobody can judge is not made
        wrong = unjudgeable(row)
        if wrong is not None:
            place = "grading/gold.yaml" if workflow.source == "official" else "its gold outcome"
            raise UserError(f"{workflow.id} could not be judged: {wrong} Correct {place}.")
    if is_rehearsal(command.agent) and not workflow.reference.turns:
        raise UserError(
            f"{workflow.id} has no reference solution, so there is nothing to rehearse; run it with another agent."
        )
    know_plans(workflow, command.seed, [direct.plan for direct in command.directions if direct.plan is not None])


def _open_devices(command: Run, person: Person | None) -> tuple[Sink, str, Person | None]:
    """The loudspeaker, what there is to say of it, and who speaks at the microphone when the command names it."""
    sink, sound = (NullSink(), "no sound: simulated time") if command.virtual else open_loudspeaker(command)
    if command.caller == "microphone" and person is None:
        try:
            person = open_person(command)
        except ApexError:
            sink.close()
            raise
    return sink, sound, person


def _discard(folder: SessionFolder) -> None:
    """Remove a folder in which nothing was recorded; one with a timeline is kept whatever happened."""
    if not folder.events.exists():
        shutil.rmtree(folder.path, ignore_errors=True)


def _now_utc() -> float:
    return datetime.now(tz=UTC).timestamp()  # noqa: TID251 - the one place where wall time enters: it anchors session.clock


@dataclass(slots=True)
class _Session:
    command: Run
    workflow: Workflow
    agent: Agent
    speech: Speech
    channel: Channel
    folder: SessionFolder
    meta: SessionMeta
    utc: str
    sink: Sink
    notify: Notify
    control: Control
    meters: bool
    wire: WireLog
    secrets: tuple[str, ...]
    asked: Asked
    own: OwnTools
    person: Person | None = None
    door: PersonDoor | None = None
    events: list[Event] = field(default_factory=list)
    by_button: bool = False
    """The agent's own turn detection is off: push-to-talk."""

    async def run(self, setup: AgentSetup) -> Result:
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(
            1, thread_name_prefix="opening"
        ) as aside:  # the disk and the agent are waited for together
            kept = aside.submit(self._keep_opening)
            ready = hide(await self.agent.open(setup), self.secrets)
        self.by_button = ready.accepted.get("mode") == "push_to_talk"
        folder = self.folder.path
        self.notify(Opened(session=folder.name, folder=str(folder), sound=self.meta.sound, tools=self.own.url))
        gc.freeze()
        gc.disable()  # a full collection holds the interpreter for tens of ms: none while frames are paced
        wiring = Wiring(lambda media, learn: self._writer(loop.time, media, learn), loop.time)
        try:
            kept.result()
            ended = await self._conduct(wiring, ready)
        finally:
            await self.agent.close()
            wiring.close()
            gc.enable()
            gc.unfreeze()
        return self._finish(ended)

    def _keep_opening(self) -> None:
        self.folder.write_workflow(to_json(self.workflow))
        self.folder.write_meta(self.meta)

    def _writer(self, clock: Callable[[], float], media: Callable[[], float], learn: Listener) -> TimelineWriter:
        def each(event: Event) -> None:
            self.events.append(event)
            self.notify(event)
            if isinstance(event.fact, ArtifactVersion):
                self._keep(event.fact)
            elif isinstance(event.fact, DirectorActed):
                self._label(event.fact)
            learn(event)

        return TimelineWriter(self.folder.events, clock, media, each)

    def _keep(self, version: ArtifactVersion) -> None:
        content = version.model_dump(mode="json", exclude={"type"})
        try:
            self.folder.write_artifact(version.artifact, version.version, content)
        except RecordingError as error:  # raised here, it would cost the tool its result and the agent its verdict
            if self.control.conductor is not None:
                self.control.conductor.stop("infrastructure", str(error))

    def _label(self, fact: DirectorActed) -> None:
        """At once, so that a session that is cut off later is not taken for an ordinary one."""
        meta = self.meta.directed(fact)
        if meta != self.meta:
            self.meta = meta
            self.folder.write_meta(meta, durable=False)

    async def _conduct(self, wiring: Wiring, ready: Ready) -> SessionEnded:
        workbench = Workbench(
            self.asked.offered,
            self.command.seed,
            self.command.profile,
            self.command.tool_latency,
            self.command.tool_failures,
            self.folder.records,
            {tool.name for tool in self.workflow.tools} - {tool.name for tool in self.asked.offered.tools},
        )
        timed = _within(self.workflow, self.command.budget_s)
        calling = self.person if self.command.caller == "microphone" else None
        policy = (DirectedPolicy if calling is None else HumanPolicy)(timed, self.command.seed)
        recording = LaneWriter(self.folder.audio)
        send_meters: Callable[[Meters], None] | None = self.notify if self.meters else None
        conductor = Conductor(
            timed, self.agent, self.speech.caller, policy, workbench, wiring, recording, self.sink, send_meters,
            self.command.max_s, self.channel, self.control.backlog, self.secrets,
            calling, self.door or door_for(self.command, self.agent, self.by_button, self.person), self.command.directions,
        )  # fmt: skip
        self.control.stand(conductor, wiring)
        if self.control.stop_reason is not None:
            conductor.stop("operator", self.control.stop_reason)
        begin = partial(self.own.begin, conductor, wiring, workbench, policy)
        try:
            return await conductor.run(lambda: self._opening(wiring, workbench, ready, begin))
        finally:
            recording.close()
            await self.own.end()
            workbench.close()

    def _opening(self, wiring: Wiring, workbench: Workbench, ready: Ready, begin: Callable[[], None]) -> None:
        meta = self.meta
        started = wiring.emit(
            SessionStarted(
                session=self.folder.path.name,
                workflow=self.workflow.id,
                workflow_version=self.workflow.version,
                workflow_digest=meta.workflow_digest,
                title=self.workflow.title,
                agent=self.agent.name,
                rehearsal=self.agent.rehearsal,
                seed=self.command.seed,
                profile=self.command.profile,
                caller=self.speech.kind,
                clock_basis=meta.clock_basis,
                virtual=self.command.virtual,
                parameters=meta.parameters,
            )
        )
        wiring.emit(SessionClock(utc=self.utc), (started,))
        wiring.emit(
            AgentConnected(
                family=self.agent.family,
                url=meta.agent_url,
                model=ready.model,
                capabilities={**asdict(self.agent.capabilities), **self.own.capabilities},
                accepted=dict(ready.accepted),
                instructions_sha256=meta.instructions_sha256,
                tools_sha256=meta.tools_sha256,
            ),
            (started,),
        )
        wiring.emit_all(workbench.opening(), (started,))
        begin()

    def _finish(self, ended: SessionEnded) -> Result:
        from apex_tui.score.judge import score_log  # nobody waits for it before the call is over

        score = score_log(self.events, self.workflow)
        content = score.model_dump(mode="json")
        self.folder.write_score(content)
        spec = self.channel.spec
        channel = CLEAN if spec.clean else str(spec)
        known = labels_of(
            self.agent.rehearsal, ended.timing_degraded, ended.outcome, channel, self.by_button, self.meta.caller
        )
        labels = list(dict.fromkeys((*self.meta.labels, *known)))
        labels += [f"invalid: {ended.outcome}"] if ended.outcome in INVALID_OUTCOMES else []
        ended_utc = (
            self.utc
            if self.command.virtual
            else datetime.fromtimestamp(_now_utc(), tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        )
        self.folder.write_meta(
            self.meta.model_copy(
                update={
                    "ended_utc": ended_utc,
                    "outcome": ended.outcome,
                    "caller_sha256": ended.caller_sha256,
                    "agent_sha256": ended.agent_sha256,
                    "caller_clean_sha256": ended.caller_clean_sha256,
                    "pacing": stored_pacing(ended),
                    "labels": tuple(labels),
                }
            )
        )
        self.notify(Scored(folder=str(self.folder.path), score=content))
        return Result(self.folder.path, score)


def _within(workflow: Workflow, budget_s: float | None) -> Workflow:
    """The workflow as it is run under a smaller time budget; what is stored stays the workflow itself."""
    smaller = budget_s is not None and budget_s < workflow.time_budget_s
    return workflow.model_copy(update={"time_budget_s": budget_s}) if smaller else workflow

"""A small recorded session on disk, as an engine leaves it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from apex_tui.store.layout import SessionFolder, create
from apex_tui.store.meta import SessionMeta
from apex_tui.timeline.agent_facts import AgentConnected
from apex_tui.timeline.events import AnyFact
from apex_tui.timeline.log import TimelineWriter
from apex_tui.timeline.session_facts import OperatorMarked, SessionClock, SessionEnded, SessionStarted
from apex_tui.workflow.caller_model import Flow
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.outcome_model import Gold
from apex_tui.workflow.snapshot import digest, to_json

WORKFLOW = Workflow(
    id="toy", title="A toy", source="recipe", archetype="form", flow=Flow(states={"START": {"terminal": True}}), gold=Gold()
)  # fmt: skip
STARTED = SessionStarted(
    session="s1", workflow="toy", workflow_version="1.0.0", workflow_digest=digest(WORKFLOW), title="A toy", agent="rehearsal", rehearsal=True,
    seed=7, profile="strict", caller="bank", clock_basis="simulated", virtual=True, parameters={"max_s": 60},
)  # fmt: skip
CLOCK = SessionClock(utc="2030-02-03T04:05:06Z")
CONNECTED = AgentConnected(
    family="scripted", url="ws://user:pw@127.0.0.1:9/v1?key=abc", instructions_sha256="i" * 64, tools_sha256="t" * 64
)
ENDED = SessionEnded(
    outcome="operator", reason="stop", frames=100, late_p50_ms=1, late_p99_ms=12, late_max_ms=30, over_20ms=2, dropped=0,
    timing_degraded=True, caller_sha256="c" * 64, agent_sha256="a" * 64,
)  # fmt: skip
FACTS: tuple[AnyFact, ...] = (STARTED, CLOCK, CONNECTED, OperatorMarked(note="here"), ENDED)


def meta(**changes: Any) -> SessionMeta:
    base = SessionMeta(**STARTED.model_dump(exclude={"type"}), started_utc=CLOCK.utc, sound="no device")
    return base.completed(**changes)


def make(parent: Path, name: str = "one", facts: Iterable[AnyFact] = FACTS, **changes: Any) -> SessionFolder:
    folder = create(parent, name)
    folder.write_meta(meta(**changes))
    folder.write_workflow(to_json(WORKFLOW))
    writer = TimelineWriter(folder.events, lambda: 0.0, lambda: 0.0)
    for fact in facts:
        writer.emit(fact)
    writer.close()
    return folder

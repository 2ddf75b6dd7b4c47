"""The fold of work facts: tools, artifact versions, knowledge and world."""

from __future__ import annotations

from bisect import bisect_left

from apex_tui.timeline import work_facts as w
from apex_tui.timeline.events import Event
from apex_tui.timeline.fold_base import Areas, Handlers, Memory, add_mark, areas, new_row, own_row
from apex_tui.timeline.state import Artifact, Call, Mark, State, Version

_TOOLS = areas("tools", "lanes")
_SEARCHED = areas("tools")
_ARTIFACT = areas("artifact")
_WRITTEN = areas("artifact", "tools", "lanes")
_WORLD = areas("events")


def _called(state: State, memory: Memory, event: Event, fact: w.ToolCalled) -> Areas:
    if fact.call in state.calls:
        return memory.ignore()
    call = Call(
        id=fact.call,
        number=len(state.calls) + 1,
        seq=event.seq,
        name=fact.name,
        arguments=fact.arguments,
        called_ms=event.media_ms,
        reply=fact.reply,
        after_interruption=fact.after_interruption,
        state="refused" if fact.error is not None else "running",
        error=fact.error,
        source=fact.source,
    )
    state.calls[fact.call] = new_row(memory, call)
    label = fact.name if fact.error is None else f"{fact.name} ✗"
    memory.tool_marks[fact.call] = add_mark(state, memory, Mark(event.seq, event.media_ms, "T", label))
    if fact.error is None:
        memory.running.add(fact.call)
    return _TOOLS


def _mounted(state: State, memory: Memory, event: Event, fact: w.ToolsMounted) -> Areas:
    state.mounted.append((event.seq, event.media_ms, fact))
    return _SEARCHED


def _finished(state: State, memory: Memory, event: Event, fact: w.ToolFinished) -> Areas:
    known = state.calls.get(fact.call)
    if known is None or known.finished_ms is not None:
        return memory.ignore()
    call = own_row(memory, state.calls, fact.call)
    if call.state == "running":  # one that was refused at the door stays refused
        call.state = "done" if fact.ok else "failed"
    memory.running.discard(fact.call)
    call.finished_ms, call.latency_ms = event.media_ms, fact.latency_ms
    call.result = fact.result
    call.error = fact.error if fact.error is not None else call.error
    call.decision = fact.decision if fact.decision is not None else call.decision
    label = f"{call.name} {'✓' if call.state == 'done' else '✗'}"
    own_row(memory, state.marks, memory.tool_marks[fact.call]).label = label
    return _TOOLS


def _cancelled(state: State, memory: Memory, event: Event, fact: w.ToolCancelled) -> Areas:
    known = state.calls.get(fact.call)
    if known is None or known.finished_ms is not None:
        return memory.ignore()
    call = own_row(memory, state.calls, fact.call)
    memory.running.discard(fact.call)
    call.state, call.finished_ms, call.error = "cancelled", event.media_ms, fact.reason
    own_row(memory, state.marks, memory.tool_marks[fact.call]).label = f"{call.name} ✗"
    return _TOOLS


def _artifact(state: State, memory: Memory, name: str) -> Artifact:
    """The artifact of that name, to be changed."""
    if name not in state.artifacts:
        state.artifacts[name] = new_row(memory, Artifact(name))
    return own_row(memory, state.artifacts, name)


def _place(versions: list[Version], number: int) -> int | None:
    """Where a version belongs; None: it is there already. Nearly all come in order."""
    if not versions or versions[-1].number < number:
        return len(versions)
    place = bisect_left(versions, number, key=lambda v: v.number)
    return None if versions[place].number == number else place


def _version(state: State, memory: Memory, event: Event, fact: w.ArtifactVersion) -> Areas:
    artifact = _artifact(state, memory, fact.artifact)
    place = _place(artifact.versions, fact.version)
    if place is None:
        return memory.ignore()
    version = Version(
        artifact=fact.artifact,
        number=fact.version,
        seq=event.seq,
        at_ms=event.media_ms,
        digest=fact.digest,
        author=fact.author,
        call=fact.call,
        lifecycle=fact.lifecycle,
        fields=fact.fields,
        changes=fact.changes,
        source=fact.source,
        since_ms=fact.since_ms,
    )
    artifact.versions.insert(place, version)
    if artifact.current is version:
        artifact.stale = dict(fact.stale)
    if fact.author == "agent" and fact.source is None and memory.running - {fact.call}:
        state.writes_during_call += 1
    add_mark(state, memory, Mark(event.seq, event.media_ms, "v", f"v{fact.version}"))
    if fact.call is not None and fact.call in state.calls:
        own_row(memory, state.calls, fact.call).version = fact.version
    return _WRITTEN


def _stale(state: State, memory: Memory, event: Event, fact: w.ArtifactStale) -> Areas:
    artifact = _artifact(state, memory, fact.artifact)
    current = artifact.current
    if current is not None and fact.version < current.number:
        return memory.ignore()  # it speaks of a version that has been replaced
    artifact.stale = dict(fact.fields)
    return _ARTIFACT


def _world(state: State, memory: Memory, event: Event, fact: w.WorldChanged) -> Areas:
    state.world[fact.path] = fact.new
    return _WORLD


def _searched(state: State, memory: Memory, event: Event, fact: w.KnowledgeSearched) -> Areas:
    state.searches.append((fact.call, fact.query, fact.hits))
    return _SEARCHED


HANDLERS: Handlers = {
    w.ToolCalled: _called,
    w.ToolsMounted: _mounted,
    w.ToolFinished: _finished,
    w.ToolCancelled: _cancelled,
    w.ArtifactVersion: _version,
    w.ArtifactStale: _stale,
    w.WorldChanged: _world,
    w.KnowledgeSearched: _searched,
}

"""Events as plain lines of text: for pipes, logs and screen readers. No cursor motion, no colour."""

from __future__ import annotations

from apex_tui.cli.text import clean
from apex_tui.timeline import agent_facts as a
from apex_tui.timeline import caller_facts as c
from apex_tui.timeline import session_facts as s
from apex_tui.timeline import work_facts as w
from apex_tui.timeline.events import Event


def clock(media_ms: float) -> str:
    """``01:02.345``."""
    minutes, rest = divmod(media_ms / 1000, 60)
    return f"{int(minutes):02d}:{rest:06.3f}"


def line_for(event: Event) -> str | None:
    """The line for an event; None for events that a reader would only skip."""
    said = _said(event)
    return None if said is None else f"{clock(event.media_ms)}  {clean(said)}"


def _said(event: Event) -> str | None:
    fact = event.fact
    match fact:
        case s.SessionStarted():
            label = " · rehearsal (scripted)" if fact.rehearsal else ""
            return f"session  {fact.workflow} against {fact.agent}{label}, seed {fact.seed}, {fact.profile}"
        case s.SessionEnded():
            return f"session  ended: {fact.outcome} ({fact.reason}); frames late p99 {fact.late_p99_ms} ms"
        case s.SessionErased():
            return f"erased   the caller's voice and words, {fact.utc}"
        case s.SessionWarning():
            return f"warning  {fact.message}"
        case c.CallerTurnStarted(detected=True):
            return "caller   speaks"
        case c.PersonDecided():
            return f"person   {fact.what} {fact.field or fact.action or ''} by key"
        case c.DirectorActed():
            return f"director {fact.what.replace('_', ' ')} {fact.plan or fact.device or ''}".rstrip() + f" ({fact.by})"
        case c.CallerTurnStarted():
            return f"caller   {fact.text}"
        case a.ReplyClosed(how="silent", heard=""):
            return None
        case a.ReplyClosed():
            cut = (
                ""
                if fact.how != "flushed"
                else f"  [cut: {len(fact.heard.split())} of {len(fact.text.split())} words heard]"
            )
            return f"agent    {fact.heard.strip()}{cut}"
        case a.BargeInClosed():
            delay = "—" if fact.stop_delay_ms is None else f"{fact.stop_delay_ms:.0f} ms"
            return f"barge-in {fact.barge_in}: {fact.stop_kind} {delay}"
        case a.ResponseMeasured() if fact.first_audible_ms is not None:
            return f"answer   after {fact.first_audible_ms:.0f} ms (first audible)"
        case a.AgentError():
            return f"error    {fact.kind}: {fact.message}"
    return _work(event)


def _work(event: Event) -> str | None:
    match event.fact:
        case w.ToolCalled() as fact:
            over = "" if fact.source == "wire" else " over MCP"
            return f"tool     {fact.name} {fact.arguments}{over}" + (f" refused: {fact.error}" if fact.error else "")
        case w.ToolsMounted() as fact:
            return f"tools    {fact.tools} mounted by {fact.client}"
        case w.ToolFinished() as fact:
            return f"tool     {fact.name} {'ok' if fact.ok else 'failed: ' + str(fact.error)} after {fact.latency_ms:.0f} ms"
        case w.ToolCancelled() as fact:
            return f"tool     {fact.name} cancelled: {fact.reason}"
        case w.ArtifactVersion() as fact:
            changes = ", ".join(f"{x.field}: {x.old!r} → {x.new!r}" for x in fact.changes if x.kind != "same")
            changes = changes or "changed no field"
            seen = "" if fact.source is None else f"  (seen: {fact.source})"
            return f"artifact {fact.artifact} v{fact.version} {fact.lifecycle}  {changes}{seen}"
        case w.ArtifactStale() as fact:
            return f"artifact {fact.artifact} v{fact.version}: stale {', '.join(fact.fields)}"
        case w.ApprovalRequested() as fact:
            return f"approval asked for {fact.action} on {fact.target} v{fact.version}"
        case w.ApprovalGranted() as fact:
            return f"approval given for {fact.action} on {fact.target} v{fact.version}"
        case w.ApprovalRevoked() as fact:
            return f"approval of {fact.action} taken back"
        case w.ApprovalStale() as fact:
            return f"approval covers v{fact.covers}, the artifact is v{fact.now}: {', '.join(fact.differs)} differ"
        case w.CommitDecided() as fact:
            return f"commit   {fact.action} {fact.decision} at {fact.at}"
    return None

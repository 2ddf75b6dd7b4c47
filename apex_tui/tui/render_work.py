"""Panes 2, 3 and 4: artifact versions, authority, tools. Pure functions from the state to lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from rich.text import Text

from apex_tui.timeline.state import Approval, Artifact, Request, State, Version
from apex_tui.timeline.work_facts import FieldChange
from apex_tui.tui.compare import MISSING, Comparison
from apex_tui.tui.figures import authority, current_of, decision_word, differing, recent_calls
from apex_tui.tui.lines import Part, ends, hanging, pad, row, teach, wrap
from apex_tui.tui.plain import arguments, compact, plain
from apex_tui.tui.words import CALL_WORDS, at, millis, seconds

if TYPE_CHECKING:
    from apex_tui.score.verdict_work import Drift

_GLYPHS = {"added": ("+", "good"), "changed": ("~", "warn"), "removed": ("-", "bad"), "same": (" ", "quiet")}
_NAME_CELLS = 22
RAIL = ""
"""Stands for a field on an artifact's version rail."""
Owned = tuple[Text, str, str | None]
"""A line of pane 2, whose artifact it tells of, and which field of it: `RAIL` on the version rail, None for words about neither."""


def artifact_rows(
    state: State,
    width: int,
    diff: bool = False,
    primary: str | None = None,
    drift: Mapping[str, Drift] | None = None,
    compare: Callable[[Artifact], Comparison | None] | None = None,
) -> list[Owned]:
    """Every artifact: version rail, then its fields with ``~ + -``, old -> new, a drift mark and a stale mark with its cause.

    ``diff`` leaves only what the newest version changed; ``compare`` makes the two sides that are shown instead of the fields.
    """
    found = sorted(state.artifacts.values(), key=lambda a: (a.id != primary, not a.versions))
    if not any(a.versions for a in found):
        taught = teach(
            width,
            "No artifact was written yet.",
            "Each write makes a new version; changed fields show old -> new.",
        )
        return [(line, "", None) for line in taught]
    rows: list[Owned] = []
    for artifact in found:
        if artifact.versions:
            if rows:
                rows.append((Text(""), "", None))
            rows.append((rail(state, artifact, width), artifact.id, RAIL))
            sides = compare(artifact) if compare is not None else None
            if sides is not None:
                rows += ((line, artifact.id, field) for line, field in _comparison(sides, width))
            else:
                rows += ((line, artifact.id, field) for line, field in _fields(artifact, width, diff, drift or {}))
    return rows


def _comparison(sides: Comparison, width: int) -> list[tuple[Text, str | None]]:
    """``v2 against final v4``, then a line per differing field: ``~ end_date  05-20 -> 05-14``."""
    if sides.problem:
        return [(line, None) for line in wrap(row((sides.problem, "warn")), width)]
    head = row(("compare ", "quiet"), (sides.left, "struck"), (" -> ", "warn"), (sides.right, "strong"))
    lines: list[tuple[Text, str | None]] = [(head, None)]
    if not sides.rows:
        lines.append((row(("✓ no field differs", "good")), None))
    column = min(_NAME_CELLS, max((len(plain(r.field, 60)) for r in sides.rows), default=0) + 1)
    for difference in sides.rows:
        kind = "added" if difference.left is MISSING else "removed" if difference.right is MISSING else "changed"
        glyph, role = _GLYPHS[kind]
        lead = row((f"{glyph} ", role), pad(plain(difference.field, 60), column), " ")
        left = "(none)" if difference.left is MISSING else compact(difference.left)
        right = "(none)" if difference.right is MISSING else compact(difference.right)
        told = hanging(lead, row(left, (" -> ", "warn"), (right, "strong")), width)
        lines += ((line, difference.field) for line in told)
    return lines


def _fields(artifact: Artifact, width: int, diff: bool, drift: Mapping[str, Drift]) -> list[tuple[Text, str | None]]:
    version = artifact.versions[-1]
    lines: list[tuple[Text, str | None]] = []
    changes = {c.field: c for c in version.changes if c.kind != "same"}
    names = [*version.fields, *(n for n, c in changes.items() if c.kind == "removed" and n not in version.fields)]
    column = min(_NAME_CELLS, max((len(plain(n, 60)) for n in names), default=0) + 1)
    for name in names:
        change = changes.get(name)
        drifted = drift.get(f"{artifact.id}.{name}")
        if drifted is not None and drifted.first_disagreement is None:
            drifted = None
        if diff and change is None and name not in artifact.stale and drifted is None:
            continue
        told = _field(name, version, change, artifact.stale.get(name), drifted, column, width)
        lines += ((line, name) for line in told)
    if diff and not changes:
        lines.append((row((f"v{version.number} changed no field", "quiet")), None))
    return lines


def rail(state: State, artifact: Artifact, width: int) -> Text:
    """``v2 ─ v3 ─[v4]  leave_form · 02:09.11 · by T2``; older versions give way to ``…``."""
    version = artifact.versions[-1]
    call = state.calls.get(version.call or "")
    by = call.label if call is not None else version.author if version.source is None else "probe"
    right = f" {at(version.at_ms)} by {by}"
    title = f"{plain(artifact.id, 40)} {version.lifecycle.lower().replace('_', ' ')}"
    room = max(6, width - len(right) - len(title) - 2)
    numbers = [f"v{v.number}" for v in artifact.versions[:-1]]
    shown: list[str] = []
    used = len(f"[v{version.number}]")
    for number in reversed(numbers):
        if used + len(number) + 3 > room - (2 if len(shown) + 1 < len(numbers) else 0):
            shown.append("…")
            break
        shown.append(number)
        used += len(number) + 3
    older = " ─ ".join(reversed(shown))
    parts: list[Part] = [(f"{older} ─" if older else "", "quiet"), (f"[v{version.number}]", "strong"), f"  {title}"]
    return ends(row(*parts), row((right, "quiet")), width)


def _field(
    name: str,
    version: Version,
    change: FieldChange | None,
    stale: str | None,
    drifted: Drift | None,
    column: int,
    width: int,
) -> list[Text]:
    glyph, role = _GLYPHS[change.kind if change else "same"]
    lead = row((f"{glyph} ", role), (pad(plain(name, 60), column), "" if change else "quiet"), " ")
    body = _value(version.fields.get(name), change)
    if drifted is not None:
        body.append(f"  ≠ drift: {drift_words(drifted)}", "bad")
    if stale is not None:
        body.append("  ▲ stale: ", "bad")
        body.append(plain(stale, 200), "bad")
    return hanging(lead, body, width)


_STAGE_WORDS = {
    "heard": "misheard as",
    "claimed": "agent said",
    "artifact": "caller said",
    "approved": "approved as",
    "committed": "committed as",
}


def drift_words(drift: Drift) -> str:
    """``agent said 2026-12-18 (caller said 2026-12-16)``: where the value first came apart."""
    stage = drift.first_disagreement
    found = {"heard": drift.heard, "claimed": drift.claimed, "approved": drift.approved, "committed": drift.committed}
    said = compact(drift.said, 40)
    if stage is None or stage == "artifact":
        return f"caller said {said}"
    return f"{_STAGE_WORDS[stage]} {compact(found[stage], 40)} (caller said {said})"


def _value(value: Any, change: FieldChange | None) -> Text:
    if change is None:
        return row((compact(value), "quiet"))
    if change.kind == "added":
        return row((compact(change.new), "good"))
    if change.kind == "removed":
        return row((compact(change.old), "struck"), (" removed", "bad"))
    return row(compact(change.old), (" -> ", "warn"), (compact(change.new), "strong"))


def authority_lines(state: State, width: int) -> list[Text]:
    """The pending request or the approval and what it covers, what differs, refused commits, and the history."""
    if not state.requests and not state.approvals and not state.decisions:
        return teach(
            width,
            "No approval was asked for.",
            "An approval covers the version that was read back; a later write makes it stale.",
        )
    now = authority(state)
    lines = [row((str(now.word), now.word.role), f"  {now.short}")]
    approval, request = now.approval, now.request
    about: Approval | Request | None = request if now.approval is None else now.approval
    if about is not None:
        lines += _entry("action", f"{plain(about.action, 60)}({plain(about.target, 60)})", width)
    if approval is not None:
        lines += _approval_entries(state, approval, width)
    elif request is not None and request.version is not None:
        lines += _entry("reads back", f"v{request.version}, asked {at(request.at_ms)}", width)
    if now.decision is not None and now.decision.why:
        lines += _entry("refused", plain(now.decision.why, 300), width, "bad")
    lines += _history(state, width)
    return lines


def _entry(label: str, text: str, width: int, role: str = "") -> list[Text]:
    return hanging(row((f"  {label:<11}", "quiet")), row((text, role)), width)


def _approval_entries(state: State, approval: Approval, width: int) -> list[Text]:
    lines: list[Text] = []
    version = current_of(state, approval)
    if approval.version is not None:
        now = f", artifact is v{version.number}" if version is not None else ""
        lines += _entry("covers", f"v{approval.version}{now}, given {at(approval.granted_ms)}", width)
    if approval.flags:
        lines += _entry("flags", ", ".join(plain(f, 40) for f in approval.flags), width, "warn")
    if approval.state == "stale":
        lines += _entry("differs", ", ".join(differing(state, approval)) or "content", width, "warn")
        lines += _entry("next", "the agent must ask again before it commits", width)
    if approval.state == "bound":
        lines += _entry("next", "a commit of exactly this version is allowed once", width)
    return lines


def _history(state: State, width: int) -> list[Text]:
    rows: list[tuple[int, Text]] = []
    for request in state.requests.values():
        covers = f" v{request.version}" if request.version is not None else ""
        rows.append(
            (request.seq, row(at(request.at_ms), f" asked {plain(request.action, 60)}{covers}: {request.state}"))
        )
    for approval in state.approvals.values():
        covers = f" v{approval.version}" if approval.version is not None else ""
        ended = f", {approval.state}" + (f" {at(approval.ended_ms)}" if approval.ended_ms is not None else "")
        rows.append((approval.seq, row(at(approval.granted_ms), f" given {plain(approval.action, 60)}{covers}{ended}")))
    for seq, ms, decided in state.decisions:
        word = decision_word(decided.decision, state.calls.get(decided.call))
        where = f"at {'the call' if decided.at == 'call' else decided.at}"
        rows.append((seq, row(at(ms), f" commit {plain(decided.action, 60)} {where}: ", (str(word), word.role))))
    rows.sort(key=lambda r: -r[0])
    lines = [row(("  history", "quiet"))] if rows else []
    for _, text in rows:
        lines += wrap(Text.assemble("  ", text), width, indent=4)
    return lines


def _where_tools_are(state: State) -> str:
    at = state.connected.capabilities.get("tools_at") if state.connected is not None else None
    if at is None:
        return "Running tools count up here; a result names the version it wrote."
    client = plain(state.mounted[-1][2].client, 60) if state.mounted else "nobody yet"
    return f"Served over MCP at {plain(at, 80)}, mounted by {client}."


def tool_lines(state: State, now_ms: float, width: int, most: int = 40) -> list[Text]:
    """The newest ``most`` tool calls, newest first: running ones with their elapsed time, finished ones with latency, version or error."""
    if not state.calls:
        return teach(width, "No tool was called yet.", _where_tools_are(state))
    lines: list[Text] = []
    for call in recent_calls(state)[:most]:
        word = CALL_WORDS[call.state]
        running = call.state == "running"
        latency = f"running {seconds(now_ms - call.called_ms)}" if running else millis(call.latency_ms)
        wrote = f" -> v{call.version}" if call.version is not None else ""
        right = row((f" {latency}", "warn" if running else ""), (f"  {at(call.called_ms)}{wrote}", "quiet"))
        shown = word.glyph if call.state in ("done", "running") else str(word)
        left = row(
            (f"{call.label} ", "strong"), (f"{shown} ", word.role), plain(call.name, 60),
            (" mcp" if call.source == "mcp" else "", "quiet"),
            (f" {arguments(call.arguments)}", "quiet"),
        )  # fmt: skip
        lines.append(ends(left, right, width))
        if call.decision is not None and call.decision != "AUTHORIZED":
            decided = decision_word(call.decision, call)
            lines.append(row(("   └ ", "quiet"), (str(decided), decided.role)))
        if call.error:
            lines += hanging(row(("   └ ", "quiet")), row((plain(call.error, 300), "bad")), width)
    if len(state.calls) > most:
        lines.append(row((f"… {len(state.calls) - most} older calls: scroll down", "quiet")))
    counts = [c.state for c in state.calls.values()]
    total = f"{len(counts)} call{'s' if len(counts) != 1 else ''}"
    rest = (
        f"{counts.count('failed')} failed · {counts.count('refused')} refused · {counts.count('cancelled')} cancelled"
    )
    lines += wrap(row((f"{total} · {rest}", "quiet")), width, indent=2)
    return lines

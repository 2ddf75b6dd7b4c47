"""What the screens say about a state at one moment: who speaks since when, what the approval covers, which numbers stand.

Pure readings of the fold's `State`; nothing is decided here (the engine decided it, the log says it) and nothing is styled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from apex_tui.timeline.state import Approval, Artifact, BargeIn, Call, Reply, Request, State, Version
from apex_tui.tui.plain import compact, plain
from apex_tui.tui.words import BEFORE_KEY, DECISION_WORDS, Word, median_of, seconds

if TYPE_CHECKING:
    from apex_tui.timeline.agent_facts import BargeInClosed, ResponseMeasured
    from apex_tui.timeline.work_facts import CommitDecided, Decision

_ACTS = {"CORRECT": "correction", "REVOKE": "revocation", "ASK": "question", "APPROVE": "approval", "DENY": "refusal"}


RECENT = 200
"""Turns and replies that can bear on the present: band and lanes are drawn 20 times a second, and a session may hold thousands."""


def recent_replies(state: State) -> list[Reply]:
    """The newest replies, oldest first."""
    return [state.replies[name] for name in state.reply_order[-RECENT:]]


@dataclass(frozen=True, slots=True)
class Speaker:
    """State of one side of the floor. ``since_ms``: how long it has lasted, None when it never changed."""

    word: Word
    since_ms: float | None


def agent_speaker(state: State, now_ms: float) -> Speaker:
    """The agent: speaking (from played audio), thinking (a reply is open, nothing audible yet), silent, or unknown."""
    stretches = [s for reply in recent_replies(state) for s in reply.speech]
    open_since = [start for start, end in stretches if end is None]
    if state.agent_speaking:
        start = max(open_since, default=None)
        return Speaker(Word("►", "SPEAKING", "good"), None if start is None else max(0.0, now_ms - start))
    last = max((end for _, end in stretches if end is not None), default=None)
    since = None if last is None else max(0.0, now_ms - last)
    if state.connected is None or (state.closed is not None and state.ended is None):
        return Speaker(Word("?", "unknown" if state.connected is None else "gone", "warn"), since)
    newest = state.replies[state.reply_order[-1]] if state.reply_order else None
    if newest is not None and newest.closed is None and newest.status is None and not newest.speech and not state.ended:
        return Speaker(Word("…", "thinking", "warn"), max(0.0, now_ms - newest.started_ms))
    return Speaker(Word("■", "silent", "quiet"), since)


def caller_speaker(state: State, now_ms: float) -> Speaker:
    """The caller: speaking or silent."""
    if state.caller_speaking and state.turns:
        return Speaker(Word("►", "SPEAKING", "good"), max(0.0, now_ms - state.turns[-1].onset_ms))
    last = max((t.offset_ms for t in state.turns[-RECENT:] if t.offset_ms is not None), default=None)
    return Speaker(Word("■", "silent", "quiet"), None if last is None else max(0.0, now_ms - last))


def why_silent(state: State, now_ms: float, short: bool = False) -> tuple[str, str | None]:
    """Why the caller says nothing now, and the plan that comes next (None: not known). ``short``: in few words."""
    waits = state.waits
    if state.ended is not None:
        return "the session is over", None
    if waits is None:
        by_hand = state.started is not None and state.started.caller == "microphone"
        return "a person at the microphone" if by_hand else "nothing said about it yet", None
    following = plain(waits.next_plan, 60) if waits.next_plan else None
    left = "" if waits.until_ms is None else f" {seconds(max(0.0, waits.until_ms - now_ms))} left"
    words = {
        "speaking": "speaking",
        "listening": "listening" if short else "listening to the agent",
        "gap": f"natural gap{left}",
        "patience": f"patience{left}",
        "awaits_answer": f"{'awaits an answer to its' if short else 'waits for the answer to its'} {_awaited(state)}",
        "tool_running": "a tool is running",
        "barge_armed": "about to interrupt",
        "held": "held back by the director",
        "person": "a person has the call",
        "done": "has said all",
    }
    return words[waits.why], following


def _awaited(state: State) -> str:
    if not state.turns:
        return "turn"
    return _ACTS.get(state.turns[-1].act, "turn")


def last_stop(state: State) -> BargeIn | None:
    """The newest barge-in whose observation has ended; else the newest one; else None."""
    rows = list(state.barge_ins.values())
    closed = [b for b in rows if b.closed is not None]
    found = closed or rows
    return found[-1] if found else None


def observed_stops(state: State) -> list[BargeInClosed]:
    """The barge-ins that stand in shares and delays, as in the verdict: over speech, watched to the end, no echo of the loudspeaker, and no
    stall of ours in it.
    """
    watched = [c for c in overlaps(state) if c.stop_kind not in ("censored", "invalid")]
    return [c for c in watched if not _stalled(state, c, {})]


def _stalled(state: State, fact: BargeInClosed | ResponseMeasured, ends: dict[int, float]) -> bool:
    if not state.stalls:
        return False
    from apex_tui.score.stalls import across_stall  # brings the models, for which no first paint waits

    return across_stall(fact, state.stalls, ends)


def overlaps(state: State) -> list[BargeInClosed]:
    """The barge-ins over speech that are no echo of the loudspeaker, once they are over."""
    ended = [b.closed for b in state.barge_ins.values() if b.closed is not None]
    return [c for c in ended if c.kind == "overlap" and not c.echo_suspect]


def stop_delays(state: State) -> list[float]:
    """Stop delays of the barge-ins that yielded, in ms, oldest first."""
    stops = observed_stops(state)
    return [s.stop_delay_ms for s in stops if s.stop_kind == "yielded" and s.stop_delay_ms is not None]


@dataclass(frozen=True, slots=True)
class Answers:
    """First audible ms of every answered caller turn, and the medians (None without any); answers that needed a tool are kept apart."""

    plain: list[float]
    after_tool: list[float]
    median: float | None
    median_after_tool: float | None


def answers(state: State) -> Answers:
    """The answers so far, as in the verdict without those across a stall of ours."""
    rows, length = state.responses, (len(state.responses), len(state.stalls))
    # The lists only grow, and the cache holds one: the same list of the same length says the same.
    if _answered[0] is not rows or _answered[1] != length:
        ends = {turn.number: turn.ends_ms for turn in state.turns} if state.stalls else {}
        counted = [r for r in rows if not _stalled(state, r, ends)]
        without = [r.first_audible_ms for r in counted if not r.after_tool and r.first_audible_ms is not None]
        after = [r.first_audible_ms for r in counted if r.after_tool and r.first_audible_ms is not None]
        _answered[:] = [rows, length, Answers(without, after, median_of(without), median_of(after))]
    known: Answers = _answered[2]
    return known


_answered: list[Any] = [None, (0, 0), None]
"""The responses that were read last, how many they and the stalls were, and what they came to."""


def median_answer(state: State) -> tuple[float | None, int, bool]:
    """Median of the answers in ms, their number, and whether it is of answers that needed a tool (when there are no others)."""
    found = answers(state)
    if not found.plain and found.after_tool:
        return found.median_after_tool, len(found.after_tool), True
    return found.median, len(found.plain), False


def barge_of(state: State, reply: Reply) -> BargeIn | None:
    """The barge-in that cut a reply, or None."""
    if reply.barge_in is not None:
        return state.barge_ins.get(reply.barge_in)
    return next((b for b in state.barge_ins.values() if b.reply == reply.id), None)


def unheard(reply: Reply) -> str:
    """The end of a closed reply that was written and never heard; empty when all was heard or nothing is known."""
    if reply.closed is None or reply.heard is None or reply.closed == "played":
        return ""
    return reply.text[len(reply.heard) :] if reply.text.startswith(reply.heard) else ""


def version_of(artifact: Artifact | None, number: int | None) -> Version | None:
    """One version of an artifact by its number."""
    if artifact is None or number is None:
        return None
    return next((v for v in reversed(artifact.versions) if v.number == number), None)


@dataclass(frozen=True, slots=True)
class Authority:
    """The one approval that matters now. ``short`` fits a tab or a band; ``detail`` names the differing fields."""

    word: Word
    short: str
    detail: str
    request: Request | None = None
    approval: Approval | None = None
    decision: CommitDecided | None = None


def decision_word(decision: Decision, call: Call | None) -> Word:
    """What the guard said of a commit; one that only came before the person's key is nobody's fault."""
    return BEFORE_KEY if call is not None and call.before_key is not None else DECISION_WORDS[decision]


def refusals(state: State) -> int:
    """Commits that were refused at the call, without those that only came before the person's key."""
    early = {call.id for call in state.calls.values() if call.before_key is not None}
    at_call = [d for _, _, d in state.decisions if d.decision != "AUTHORIZED" and d.at == "call"]
    return sum(1 for decided in at_call if decided.call not in early)


def authority(state: State) -> Authority:
    """What the newest request, approval or refused commit says: pending, bound, stale, used, revoked, not given, or none."""
    request = max(state.requests.values(), key=lambda r: r.seq, default=None)
    approval = max(state.approvals.values(), key=lambda a: a.seq, default=None)
    refused = next((d for d in reversed(state.decisions) if d[2].decision != "AUTHORIZED"), None)
    newest = max(request.seq if request else -1, approval.seq if approval else -1)
    if refused is not None and refused[0] > newest:
        word = DECISION_WORDS[refused[2].decision]
        return Authority(word, "commit refused", plain(refused[2].why, 200), request, approval, refused[2])
    if request is not None and (approval is None or request.seq > approval.seq):
        return _of_request(request, approval)
    if approval is not None:
        return _of_approval(state, approval, request)
    return Authority(Word("-", "none", "quiet"), "not asked yet", "")


def _of_request(request: Request, approval: Approval | None) -> Authority:
    covers = f"v{request.version}" if request.version is not None else ""
    words = {
        "pending": Word("…", "PENDING", "warn"),
        "granted": Word("✓", "GRANTED", "good"),
        "denied": Word("✗", "DENIED", "bad"),
        "revoked": Word("✗", "REVOKED", "bad"),
    }
    detail = {
        "pending": "asked, not answered yet",
        "denied": "the caller refused",
        "revoked": "the caller took it back",
    }
    return Authority(words[request.state], covers, detail.get(request.state, ""), request, approval)


def _of_approval(state: State, approval: Approval, request: Request | None) -> Authority:
    covers = f"v{approval.version}" if approval.version is not None else ""
    if approval.state == "stale":
        now = current_of(state, approval)
        short = f"v{approval.version}≠v{now.number}" if now is not None else covers
        return Authority(Word("✗", "STALE", "bad"), short, ", ".join(differing(state, approval)), request, approval)
    words = {
        "bound": Word("✓", "BOUND", "good"),
        "used": Word("●", "USED", "quiet"),
        "revoked": Word("✗", "REVOKED", "bad"),
    }
    detail = {"used": "consumed by its commit", "revoked": "the caller took it back"}.get(approval.state, "")
    if approval.flags:
        detail = ", ".join([*(plain(f, 40) for f in approval.flags), *([detail] if detail else [])])
    return Authority(words[approval.state], covers, detail, request, approval)


def current_of(state: State, approval: Approval) -> Version | None:
    """The newest version of the artifact that an approval covers."""
    artifact = state.artifacts.get(approval.artifact or "")
    return artifact.current if artifact else None


def differing(state: State, approval: Approval) -> list[str]:
    """The fields in which the artifact now differs from what was approved: ``end_date 05-16≠05-14``."""
    artifact = state.artifacts.get(approval.artifact or "")
    covered, now = version_of(artifact, approval.version), current_of(state, approval)
    shown: list[str] = []
    for name in approval.differs:
        label = plain(name, 60)
        if covered is None or now is None:
            shown.append(label)
            continue
        shown.append(f"{label} {compact(covered.fields.get(name), 40)}≠{compact(now.fields.get(name), 40)}")
    return shown


def recent_calls(state: State) -> list[Call]:
    """Tool calls, newest first."""
    return list(reversed(state.calls.values()))

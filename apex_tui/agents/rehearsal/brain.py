"""What the rehearsal agent says and calls: the reference solution, moved on by what it hears.

A reference turn belongs to the plan that it comes after; turns without one are taken in file order, one per caller turn. One
response of the agent is some words and then at most one call, whose result it waits for.

Pure; deliberately not in here: time, audio, the protocol.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from apex_tui.workflow.outcome_model import ReferenceTurn, Step

NUDGE = "nudge"
"""The plan with which a caller breaks a silence ("What do you need from me?")."""

OVERRIDES = frozenset({"CORRECT", "REVOKE", "DENY", "INTENT_SWITCH", "END"})
"""Acts after which nothing of the turn that they cut off may be done any more."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What one response holds: the lines in order, then the call, if any."""

    says: tuple[Step, ...] = ()
    call: Step | None = None


class RehearsalBrain:
    """Follows the reference turns.

    ``outstanding``   a call whose result has not come yet, or a step that waits for the result of one in the background
    ``refused``       names of calls whose results said ``"ok": false``, in order. It goes on all the same: what to do about a
                      refusal is the reference's business, and this brain never makes anything up.
    """

    def __init__(self, turns: Sequence[ReferenceTurn]) -> None:
        self.outstanding: Step | None = None
        self.refused: list[str] = []
        self._turns = tuple(turns)
        self._unused = list(range(len(self._turns)))
        self._heard: dict[str, int] = {}
        self._running: deque[Step] = deque()
        self._queued: deque[ReferenceTurn] = deque()
        self._dropped: tuple[Step, ...] = ()
        self._last: Step | None = None
        self._reply: tuple[Step, ...] = ()
        self._called: Step | None = None
        self._background = {
            step.call: step for turn in self._turns for step in turn.steps if step.call and step.background
        }
        self._running_behind: set[str] = set()
        self._arrived: set[str] = set()
        self._opens_turn = False
        self._spoke = self._spoke_before = self._cut_speech = False
        self._cut_line: Step | None = None

    @property
    def has_more(self) -> bool:
        """Whether there is something to say or call now."""
        return self.outstanding is None and bool(self._running or self._queued)

    def heard(self, plan: str | None, act: str = "") -> None:
        """The caller's turn is over. ``plan`` is None when nobody said which it was: then the next turn in file order.

        A back-channel changes nothing, unless the agent stopped for it: then it says the line again. An unknown plan has nothing of
        its own: what it cut off is resumed, and so it is after a nudge, once the last line was repeated. Somebody who says two
        things in a row wants both done: turns that were not begun are kept, and of one that had only called so far the calls are
        resumed, unless the caller overrides.
        """
        cut, self._cut_line = self._cut_line, None
        if act == "BACKCHANNEL":
            dropped, self._dropped = self._dropped, ()
            self._resume(dropped if cut is None else (cut, *dropped))
            return
        turn = self._turn_for(plan)
        dropped, self._dropped = self._dropped, ()
        if turn is not None:
            if self._cut_speech or act in OVERRIDES:
                dropped = ()
            self._resume(tuple(step for step in dropped if step.call or step.wait))
            self._queued.append(turn)
            return
        if plan == NUDGE and self._last is not None and not self.has_more:
            dropped = (self._last, *(step for step in dropped if step is not self._last))
        self._resume(dropped)

    def interrupted(self, *, unheard: bool = False, unsent: bool = False, audible: bool = False) -> None:
        """The caller took the floor: the rest of the running turn is dropped, also when a call's result is still to come.

        ``unheard``: nothing of the last reply was sent; a turn that had not begun otherwise is kept for later, since the caller
        only went on talking. ``unsent``: its call was not sent yet. ``audible``: its last line was cut off.
        """
        self._cut_line = self._last if audible and not unheard else None
        if self._called is not None and self._called.background and (unsent or unheard):
            self._running_behind.discard(self._called.call or "")
        kept = self._called if unsent else self.outstanding
        call = (kept,) if kept is not None and (unsent or kept.wait) else ()
        rest = (*(self._reply if unheard else call), *self._running)
        self._running.clear()
        if unheard and self._opens_turn:
            self._running.extend(rest)
        elif rest:
            self._dropped = rest
            self._cut_speech = self._spoke_before if unheard else self._spoke
        self._reply = ()
        self.outstanding = None

    def next_reply(self) -> Reply:
        """Take what the next response holds; empty when there is nothing to say, or a call's result is still to come."""
        if not self.has_more:
            self._reply, self._called = (), None
            return Reply()
        self._opens_turn = not self._running
        self._spoke_before = self._spoke = self._spoke and not self._opens_turn
        taken: list[Step] = []
        self._called = None
        while self.has_more and self._called is None:
            if not self._running:
                self._running.extend(self._queued.popleft().steps)
                continue
            step = self._running.popleft()
            if step.wait is not None and step.wait in self._arrived:
                continue
            taken.append(step)
            if step.say:
                self._last = step
                self._spoke = True
            if step.wait is not None:
                self._wait(step.wait, step)
            elif step.call and step.background:
                self._called = step
                self._running_behind.add(step.call)
            elif step.call:
                self._called = self.outstanding = step
        self._reply = tuple(taken)
        return Reply(tuple(step for step in taken if step.say), self._called)

    def _wait(self, name: str, step: Step) -> None:
        """Wait for a call in the background; one that was cut off before it went out is made now."""
        if name in self._running_behind:
            self.outstanding = step
        elif name in self._background:
            self._called = self.outstanding = self._background[name].model_copy(update={"background": False})

    def arrived(self, name: str, result: Any) -> None:
        """The result of a call in the background came; whoever waits for it goes on."""
        self._running_behind.discard(name)
        self._arrived.add(name)
        if self.outstanding is not None and self.outstanding.wait == name:
            self.outstanding = None
        if isinstance(result, dict) and result.get("ok") is False:
            self.refused.append(name)

    def returned(self, result: Any) -> None:
        """The result of the outstanding call came."""
        step, self.outstanding = self.outstanding, None
        if step is not None and step.call is not None and isinstance(result, dict) and result.get("ok") is False:
            self.refused.append(step.call)

    def _resume(self, steps: tuple[Step, ...]) -> None:
        if steps:
            self._queued.append(ReferenceTurn(steps=steps))

    def _turn_for(self, plan: str | None) -> ReferenceTurn | None:
        if plan is None:
            return self._take(self._unused)
        named = [index for index, turn in enumerate(self._turns) if turn.after == plan]
        if not named:
            return None if plan == NUDGE else self._take([i for i in self._unused if self._turns[i].after is None])
        time = self._heard.get(plan, 0)
        self._heard[plan] = time + 1
        index = named[min(time, len(named) - 1)]
        if index in self._unused:
            self._unused.remove(index)
        return self._turns[index]

    def _take(self, choice: list[int]) -> ReferenceTurn | None:
        if not choice:
            return None
        index = choice[0]
        self._unused.remove(index)
        return self._turns[index]

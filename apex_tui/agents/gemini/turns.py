"""Whose words and audio belong to which reply: the service names no items, so replies are cut from its turns here.

    content          opens a reply (``turn-1``, ``turn-2`` ...); its one item has the same name
    generationComplete, a blocking call, turnComplete     end it; without any words yet, the first only says that its sound is complete
    interrupted      ends it as cancelled; what still comes of that turn is dropped until turnComplete
    words            may come before their audio or after their turn: they wait for the next reply when the caller spoke since, else they
                     belong to the last one

Pure book-keeping; deliberately not in here: messages and calls.
"""

from __future__ import annotations

from apex_tui.agents.realtime.door import MAX_TEXT
from apex_tui.agents.seam import AgentAudio, AgentEvent, AgentText, ReplyBegun, ReplyEnded
from apex_tui.timeline.agent_facts import ReplyStatus


class Turns:
    """The replies of one session. ``late``: pieces dropped after an interruption. ``in_turn``: between the first content and turnComplete."""

    def __init__(self) -> None:
        self.late = 0
        self.in_turn = False
        self.cut = False
        self.reply: str | None = None
        self._last: str | None = None
        self._count = 0
        self._caller_spoke = False
        self._held = ""
        self._worded = self._complete = False  # the open reply has words; all its sound is there

    def begin(self, after_tool: bool) -> list[AgentEvent]:
        """Open a reply unless one is open."""
        self.in_turn = True
        if self.reply is not None and not self._complete:
            return []
        events = self.end("completed")
        self._count += 1
        self.reply = self._last = f"turn-{self._count}"
        self._caller_spoke = False
        events.append(ReplyBegun(self.reply, after_tool))
        self._worded = bool(self._held)
        if self._held:
            events.append(AgentText(self.reply, self.reply, self._held))
            self._held = ""
        return events

    def audio(self, pcm: bytes) -> list[AgentEvent]:
        """Samples of the open reply."""
        assert self.reply is not None
        return [AgentAudio(self.reply, self.reply, pcm)] if pcm else []

    def words(self, text: str) -> list[AgentEvent]:
        """Words of the agent, wherever they belong."""
        if self.reply is not None:
            self._worded = True
            return [AgentText(self.reply, self.reply, text)]
        if self._last is not None and not self._caller_spoke:
            return [AgentText(self._last, self._last, text)]
        self._held = (self._held + text)[:MAX_TEXT]
        return []

    def caller_spoke(self) -> None:
        """Words from now on that find no reply open belong to the next."""
        if self.reply is None and not self.in_turn:
            self._caller_spoke = True

    def complete(self) -> list[AgentEvent]:
        """All sound of the open reply is there. Words lag behind it: one that has none yet stays open for them until its turn is over."""
        if self._worded:
            return self.end("completed")
        self._complete = self.reply is not None
        return []

    def end(self, status: ReplyStatus, reason: str = "") -> list[AgentEvent]:
        """End the open reply, if one is."""
        reply, self.reply = self.reply, None
        if self._complete and status == "incomplete":
            status, reason = "completed", ""
        self._complete = False
        return [ReplyEnded(reply, status, reason)] if reply is not None else []

    def interrupted(self) -> bool:
        """Note an interruption of this turn; False when it was known."""
        known, self.cut = self.cut, True
        return not known

    def turn_over(self) -> None:
        """The turn is over: what comes next is new."""
        self.in_turn = self.cut = False

    @property
    def last(self) -> str | None:
        """The open reply, else the last one."""
        return self.reply or self._last

"""The agent that writes, as the seam wants it.

Each caller turn reaches it as text, at the turn's last audible sample (the caller's own frames are the clock). A turn that comes
while an answer is being written interrupts it: the stream is closed, the words so far stand. While a call is open, the API allows
no question, so what the caller says meanwhile is told with the results. A back-channel is no turn.

Deliberately not in here: sound, and whether the answer was good.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress

from apex_tui.agents.outbox import Outbox
from apex_tui.agents.realtime import door
from apex_tui.agents.seam import (
    AgentSetup,
    AgentText,
    Capabilities,
    Closed,
    Hint,
    ProviderError,
    Ready,
    ReplyBegun,
    ReplyEnded,
    Stamped,
    ToolRequest,
    UsageReported,
)
from apex_tui.agents.text.conversation import Conversation
from apex_tui.agents.text.endpoint import Refused
from apex_tui.agents.text.model import Model
from apex_tui.agents.text.pieces import Call, Over, Trouble, Usage, Words

CAPABILITIES = Capabilities(
    server_vad=False,
    cancel=True,
    truncate=False,
    reports_interruption=False,
    user_transcript=False,
    audio_in=False,
    audio_out=False,
)
MOST_CUTS = 3
"""Answers in a row that were cut inside a call: a fourth would be cut as well."""

CUT = "the answer ended before these arguments were complete ({reason}); the call was not run: make it again, shorter"


def tool_request(call: Call, reply: str, reason: str) -> ToolRequest:
    """A call as the engine runs it; one that was cut, or cannot be read, carries the reason instead of arguments."""
    arguments, why = door.parse_arguments(call.arguments)
    if call.cut:
        arguments, why = None, CUT.format(reason=reason or "incomplete")
    return ToolRequest(call.call_id, call.name, arguments, reply, why)


class TextAgent:
    """An agent of the text families; see ``seam.Agent`` for the methods."""

    capabilities = CAPABILITIES
    rehearsal = False

    def __init__(self, model: Model, *, name: str) -> None:
        self.name = name
        self.family = f"text-{model.profile.family}"
        self.url = model.endpoint.url
        self._model = model
        self._setup = AgentSetup("")
        self._talk = Conversation()
        self._out = Outbox()
        self._hints: deque[Hint] = deque()
        self._samples = 0
        self._replies = 0
        self._cuts = 0
        self._open_reply: str | None = None
        self._task: asyncio.Task[None] | None = None
        self._ended = False

    async def open(self, setup: AgentSetup) -> Ready:
        """See that the endpoint answers. Raises ``UserError`` when nothing does, or the key is refused."""
        try:
            await self._model.endpoint.probe()
        except BaseException:
            await self._model.endpoint.close()
            raise
        self._setup = setup
        accepted = {"turns": "as text, at their end", "tools": [tool["name"] for tool in setup.tools]}
        return Ready(accepted, self._model.profile.model)

    def events(self) -> AsyncIterator[Stamped]:
        """Everything the agent does after ``open``; ends after ``Closed``."""
        return self._out.events()

    def send_audio(self, pcm: bytes) -> None:
        """The caller's next frame: only its length counts, which lets the planned turns come due."""
        self._samples += len(pcm) // 2
        while self._hints and self._hints[0].end <= self._samples:
            self.send_text(self._hints.popleft().text)

    def send_hint(self, hint: Hint) -> None:
        """A turn is planned; it is told when it has been said."""
        if hint.act != "BACKCHANNEL":
            self._hints.append(hint)

    def send_text(self, words: str) -> None:
        """A caller turn. An answer that is being written ends here."""
        self._talk.said(words)
        if self._task is not None:
            self._task.cancel()
        else:
            self._next()

    def send_tool_result(self, call_id: str, output: str) -> None:
        """The result of a call; the model is asked on when all have come."""
        if self._talk.answered(call_id, output) and self._task is None:
            self._next()

    def truncate(self, item: str, audio_end_ms: int) -> None:
        """There is no audio to cut."""

    async def close(self) -> None:
        """End the session; never raises."""
        self._end(Closed(None, "", clean=True))
        task = self._task
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task
        with suppress(Exception):
            await self._model.endpoint.close()

    # --- one answer -------------------------------------------------------------------------------------------------------------------

    def _next(self) -> None:
        if self._ended or self._task is not None or not self._talk.owes_reply:
            return
        self._replies += 1
        self._task = asyncio.get_running_loop().create_task(self._answer(f"reply_{self._replies}"), name="text reply")
        self._task.add_done_callback(self._answered)

    def _answered(self, task: asyncio.Task[None]) -> None:
        self._task = None
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._out.say(ProviderError("text_agent", f"{type(error).__name__} while reading the answer", fatal=True))
        self._next()

    async def _answer(self, reply: str) -> None:
        after_tool = self._talk.after_tool
        entries = self._talk.begin()
        self._open_reply = reply
        self._out.say(ReplyBegun(reply, after_tool))
        said: list[str] = []
        calls: list[Call] = []
        try:
            async with aclosing(self._model.answer(self._setup, entries, reply)) as pieces:
                async for at, piece in pieces:
                    match piece:
                        case Words(text=words):
                            said.append(words)
                            self._out.say(AgentText(reply, reply, words), at)
                        case Call():
                            calls.append(piece)
                        case Over():
                            self._over(reply, "".join(said), calls, piece, at)
                        case Usage(counts=counts):
                            self._out.say(UsageReported(counts, "agent", reply), at)
                        case Trouble(kind=kind, message=message):
                            why = self._model.endpoint.masked(message)
                            self._out.say(ProviderError(kind, why), at)
        except asyncio.CancelledError:
            self._cut_off("".join(said), ReplyEnded(reply, "cancelled", "the caller went on"))
            raise
        except Refused as error:
            self._cut_off("".join(said), ReplyEnded(reply, "failed", str(error)))
            # A stream that broke after its first words may work the next time; one that never began was tried enough.
            fatal = error.stalled or not said
            self._out.say(ProviderError(error.kind, str(error), fatal=fatal))

    def _cut_off(self, said: str, ended: ReplyEnded) -> None:
        """The answer ended before its end; the words so far stand, its calls are never run."""
        if self._open_reply is not None:
            self._open_reply = None
            self._talk.spoke(said)
            self._out.say(ended)

    def _over(self, reply: str, said: str, calls: list[Call], over: Over, at: float) -> None:
        self._open_reply = None
        if over.status == "failed":
            calls.clear()
        self._talk.spoke(said, tuple(calls))
        if said:
            self._out.say(AgentText(reply, reply, said, final=True), at)
        for call in calls:
            self._out.say(tool_request(call, reply, over.reason), at)
        self._out.say(ReplyEnded(reply, over.status, over.reason), at)
        self._cuts = self._cuts + 1 if any(call.cut for call in calls) else 0
        if self._cuts == MOST_CUTS:
            why = f"the model's answer was cut off {MOST_CUTS} times in a row ({over.reason}); allow it more tokens"
            self._out.say(ProviderError("answers_cut", why, fatal=True), at)

    def _end(self, closed: Closed) -> None:
        self._ended = True
        self._out.end(closed)

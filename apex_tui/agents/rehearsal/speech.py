"""One response of the rehearsal agent as it is sent: lines word by word with their audio, then a call, or cut off anywhere.

Pure: ``poll(now)`` gives the messages that are due. Deliberately not in here: when a response begins, and what it holds.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from apex_tui.agents.rehearsal.manner import Manner
from apex_tui.agents.rehearsal.messages import Json, Messages, call_item, message_item, response
from apex_tui.agents.rehearsal.sounds import Line
from apex_tui.audio.frames import RATE, pcm_bytes, to_samples

ARGUMENT_CHUNK = 24
"""Characters of a call's arguments in one delta."""

CUSHION_MS = 200.0
"""Sent at once when audio is otherwise sent about as fast as it plays: a late message must not leave a gap."""
CUSHION_BELOW = 2.0

_SLACK_S = 1e-9
"""Sums of floating-point delays may fall short of the moment that they mean."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call."""

    name: str
    arguments: Json


@dataclass(slots=True)
class _Open:
    """The message item that is being spoken."""

    item: str
    index: int
    said: str = ""


class SpokenResponse:
    """A response that begins to be heard at ``begin`` (loop time, s).

    ``sent``      samples of audio sent so far, by item
    ``call_id``   of its call, once that was sent
    ``begun``     something of it was sent
    ``over``      everything was sent, or it was cancelled
    """

    def __init__(
        self, messages: Messages, lines: Sequence[Line], call: Call | None, begin: float, manner: Manner
    ) -> None:
        self.id = messages.new_id("resp")
        self.sent: dict[str, int] = {}
        self.call_id: str | None = None
        self.begun = False
        self.over = False
        self.plays_until = begin
        self._messages = messages
        self._manner = manner
        self._out: list[str] = []
        self._output: list[Json] = []
        self._open: _Open | None = None
        self._unsent = call
        self._script = self._speak(tuple(lines), call, begin)
        self._due: float | None = begin

    def created(self) -> list[str]:
        """The announcement."""
        return [self._messages.event("response.created", response=response(self.id, "in_progress", []))]

    def next_due(self) -> float | None:
        """When ``poll`` has the next message; None when it is over."""
        return self._due

    def poll(self, now: float) -> list[str]:
        """What is due by ``now``."""
        while self._due is not None and self._due <= now + _SLACK_S:
            self._due = next(self._script, None)
        out, self._out = self._out, []
        return out

    def cancel(self, reason: str, *, call_too: bool = False) -> list[str]:
        """Stop here (``turn_detected`` or ``client_cancelled``): what was begun is closed as incomplete.

        ``call_too``: its call is sent all the same, as by a service whose tools run ahead of its voice.
        """
        if self.over:
            return []
        if self._open is not None:
            self._close_message(self._open, "incomplete")
        if call_too and self._unsent is not None and self.call_id is None:
            self._call(len(self._output), self._unsent)
        self._finish("cancelled", {"type": "cancelled", "reason": reason})
        out, self._out = self._out, []
        return out

    def _emit(self, kind: str, **fields: object) -> None:
        self._out.append(self._messages.event(kind, **fields))

    def _speak(self, lines: tuple[Line, ...], call: Call | None, begin: float) -> Generator[float, None, None]:
        """Yields the moments at which something more is to be sent."""
        self.begun = True
        at = begin
        for index, line in enumerate(lines):
            at = yield from self._say(index, line, at)
        if call is not None:
            self._call(len(lines), call)
        self._finish("completed", None)

    def _say(self, index: int, line: Line, at: float) -> Generator[float, None, float]:
        opened = self._open_message(index)
        self.plays_until = max(self.plays_until, at) + len(line.pcm) / RATE
        raw = pcm_bytes(line.pcm)
        words = line.text.split(" ") if line.text else []
        spoken = 0
        step, silent = 2 * to_samples(self._manner.delta_ms), 2 * line.lead
        cushion = 2 * to_samples(CUSHION_MS) if index == 0 and self._manner.burst < CUSHION_BELOW else 0
        for start in range(0, len(raw), step):
            if start > cushion:
                at += self._manner.delta_ms / 1000 / self._manner.burst
                yield at
            piece = raw[start : start + step]
            # Text runs ahead of sound: a word goes out with the delta in which it begins.
            reach = -(-len(words) * max(0, start + len(piece) - silent) // max(1, len(raw) - silent))
            if reach > spoken:
                self._words(opened, words[spoken:reach], first=spoken == 0)
                spoken = reach
            encoded = base64.b64encode(piece).decode("ascii")
            self._out.append(self._messages.audio_delta(self.id, opened.item, index, encoded))
            self.sent[opened.item] = self.sent.get(opened.item, 0) + len(piece) // 2
        if spoken < len(words):
            self._words(opened, words[spoken:], first=spoken == 0)
        self._close_message(opened, "completed")
        return at

    def _open_message(self, index: int) -> _Open:
        item = self._messages.new_id("item")
        self._open = _Open(item, index)
        begun = message_item(item, "in_progress", None)
        self._emit("response.output_item.added", response_id=self.id, output_index=index, item=begun)
        self._emit("conversation.item.added", previous_item_id=None, item=begun)
        part = {"type": "audio", "transcript": ""}
        self._emit("response.content_part.added", **self._place(self._open), part=part)
        return self._open

    def _words(self, opened: _Open, words: Sequence[str], first: bool) -> None:
        delta = ("" if first else " ") + " ".join(words)
        opened.said += delta
        self._emit("response.output_audio_transcript.delta", **self._place(opened), delta=delta)

    def _close_message(self, opened: _Open, status: str) -> None:
        place = self._place(opened)
        self._emit("response.output_audio.done", **place)
        self._emit("response.output_audio_transcript.done", **place, transcript=opened.said)
        self._emit("response.content_part.done", **place, part={"type": "audio", "transcript": opened.said})
        self._close_item(opened.index, message_item(opened.item, status, opened.said))
        self._open = None

    def _close_item(self, index: int, item: Json) -> None:
        self._output.append(item)
        self._emit("response.output_item.done", response_id=self.id, output_index=index, item=item)
        self._emit("conversation.item.done", previous_item_id=None, item=item)

    def _call(self, index: int, call: Call) -> None:
        item, call_id = self._messages.new_id("item"), self._messages.new_id("call")
        begun = call_item(item, "in_progress", call_id, call.name, "")
        self._emit("response.output_item.added", response_id=self.id, output_index=index, item=begun)
        self._emit("conversation.item.added", previous_item_id=None, item=begun)
        arguments = json.dumps(call.arguments, separators=(",", ":"), ensure_ascii=False)
        place = {"response_id": self.id, "item_id": item, "output_index": index, "call_id": call_id}
        for start in range(0, len(arguments), ARGUMENT_CHUNK):
            chunk = arguments[start : start + ARGUMENT_CHUNK]
            self._emit("response.function_call_arguments.delta", **place, delta=chunk)
        self._emit("response.function_call_arguments.done", **place, name=call.name, arguments=arguments)
        self.call_id = call_id
        self._close_item(index, call_item(item, "completed", call_id, call.name, arguments))

    def _finish(self, status: str, details: Json | None) -> None:
        self.over = True
        self._due = None
        self._emit("response.done", response=response(self.id, status, self._output, details))

    def _place(self, opened: _Open) -> dict[str, object]:
        return {"response_id": self.id, "item_id": opened.item, "output_index": opened.index, "content_index": 0}

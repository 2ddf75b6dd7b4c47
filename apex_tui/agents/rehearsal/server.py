"""The rehearsal server: the server side of the GA realtime protocol around ears, brain and speech, without I/O.

``open`` and ``receive`` take what happens, ``poll(now)`` gives what has become due, ``next_deadline`` says when to ask. Times are
loop time in seconds. Messages and their order are those of the real service; only ``rehearsal.hint`` is our own.

Deliberately not in here: sockets and timers (``link``), and features that the reference solution does not need.
"""

from __future__ import annotations

import binascii
import json
from collections.abc import Callable, Mapping
from typing import Any

from apex_tui.agents.realtime import door
from apex_tui.agents.realtime.door import ident, items, obj, text
from apex_tui.agents.rehearsal.brain import RehearsalBrain
from apex_tui.agents.rehearsal.ears import Ears, Heard, Turn
from apex_tui.agents.rehearsal.hints import read_hint
from apex_tui.agents.rehearsal.manner import Manner
from apex_tui.agents.rehearsal.messages import Messages, user_item
from apex_tui.agents.rehearsal.sounds import Line, prepared
from apex_tui.agents.rehearsal.speech import Call
from apex_tui.agents.rehearsal.voice import Voice
from apex_tui.audio.frames import RATE, Pcm, pcm_from_bytes, silence, to_ms
from apex_tui.audio.tones import tone_speech
from apex_tui.timeline.errors import UserError
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.outcome_model import Step
from apex_tui.workflow.reference_side import SPARE_FILLER

MODEL = "rehearsal"
MAX_APPEND = 15 * 1024 * 1024
_APPEND = '{"type":"input_audio_buffer.append","event_id":"evt_'
_SESSION_KEYS = frozenset(
    {
        "type", "output_modalities", "instructions", "audio", "tools", "tool_choice", "parallel_tool_calls", "reasoning",
        "max_output_tokens", "truncation", "model", "tracing", "include", "prompt",
    }
)  # fmt: skip


def _append_of(raw: str) -> dict[str, Any] | None:
    """The message when it is audio as our own client writes it, else None: fifty come a second, and need no parser."""
    if not raw.startswith(_APPEND) or not raw.endswith('"}'):
        return None
    number, _, audio = raw[len(_APPEND) : -2].partition('","audio":"')
    if not number.isdecimal() or '"' in audio or "\\" in audio or not audio.isprintable():
        return None
    return {"type": "input_audio_buffer.append", "event_id": f"evt_{number}", "audio": audio}


def _read(output: str) -> Any:
    """A tool's result; None when it is no JSON."""
    try:
        return json.loads(output)
    except (ValueError, RecursionError):
        return None


class RehearsalServer:
    """One session. ``lines``: samples of every clip that the reference speaks (24 kHz mono).

    A line without a clip (a package that ships no audio) is a tone of the right length. Raises ``UserError`` when a clip of the
    reference is missing from ``lines``.
    """

    def __init__(self, workflow: Workflow, lines: Mapping[str, Pcm], manner: Manner | None = None) -> None:
        self.manner = manner if manner is not None else Manner()
        self.brain = RehearsalBrain(workflow.reference.turns)
        self._lines = lines
        self._voice = workflow.reference.agent_voice
        self._check_lines(workflow)
        self._messages = Messages()
        self._speech = Voice(self._messages, self.manner)
        self._ears = Ears(self.manner, self._speech.speaks_at)
        self._prepared: dict[str, Pcm] = {}
        spare = (step for step in workflow.reference.spare if step.clip == SPARE_FILLER and step.clip in lines)
        self._filler: Step | None = next(spare, None)
        self._session: dict[str, Any] = {
            "type": "realtime",
            "object": "realtime.session",
            "id": "sess_1",
            "model": MODEL,
        }
        self._answer_when_free = False
        self._answer_at: float | None = None
        self._fill_at: float | None = None
        self._answered: set[str] = set()  # ids of calls whose results came
        self._behind_next: str | None = None  # the tool that the running reply calls in the background
        self._behind: dict[str, str] = {}  # ids of calls that run in the background, and their tools
        self._item: str | None = None  # of the caller's open turn
        self._last_item: str | None = None
        self._out: list[str] = []
        self._last_encoded, self._last_pcm = "", silence(0)
        self._handlers: dict[str, Callable[[dict[str, Any], str | None, float], None]] = {
            "session.update": self._update,
            "input_audio_buffer.append": self._append,
            "input_audio_buffer.clear": self._clear,
            "input_audio_buffer.commit": self._commit,
            "conversation.item.create": self._create_item,
            "conversation.item.truncate": self._truncate,
            "response.create": self._create_response,
            "response.cancel": self._cancel,
            "rehearsal.hint": self._hint,
        }

    def _check_lines(self, workflow: Workflow) -> None:
        for turn in workflow.reference.turns:
            for step in turn.steps:
                if step.clip is not None and step.say and step.clip not in self._lines:
                    raise UserError(
                        f"workflow {workflow.id}: the rehearsal agent's line {step.clip!r} has no clip; render the speech bank."
                    )

    # --- in and out -------------------------------------------------------------------------------------------------------------------

    def open(self, now: float) -> list[str]:
        """The client connected."""
        del now
        self._emit("session.created", session=self._session)
        return self._drain()

    def receive(self, raw: str | bytes, now: float) -> list[str]:
        """A client event arrived; returns what is answered at once (including anything else that is due)."""
        try:
            if isinstance(raw, bytes):
                raise door.Unreadable("events are text messages, not binary ones")
            message = _append_of(raw) or door.parse_message(raw)
        except door.Unreadable as error:
            self._error("invalid_json", f"Invalid event: {error}.", None)
            return self._drain()
        cause = ident(message.get("event_id")) or None
        handler = self._handlers.get(message["type"])
        if handler is None:
            self._error("invalid_value", f"Invalid value: '{text(message['type'])[:80]}'.", cause, "type")
        else:
            handler(message, cause, now)
        return self.poll(now)

    def poll(self, now: float) -> list[str]:
        """Everything that is due by ``now``, in order."""
        for heard in self._ears.poll(now):
            self._heard_something(heard, now)
        speech = self._speech
        if (later := speech.later_due()) is not None and later <= now:
            self._out += speech.say_later()
        if self._fill_at is not None and self._fill_at <= now:
            self._fill_at = None
            if self.brain.outstanding is not None:
                self._put_in(now)
        self._speak(now)
        if self._answer_when_free and speech.running is None and speech.plays_until <= now:
            self._answer_when_free = False
            if self.brain.has_more:
                self._begin(now, self.manner.react_ms)
        return self._drain()

    def next_deadline(self) -> float | None:
        """When ``poll`` has something, or None."""
        speech = self._speech
        waiting = [self._ears.next_due(), self._fill_at, speech.later_due()]
        if speech.running is not None:
            waiting.append(speech.running.next_due())
        elif self._answer_when_free:
            waiting.append(speech.plays_until)
        return min((due for due in waiting if due is not None), default=None)

    def _emit(self, kind: str, **fields: Any) -> None:
        self._out.append(self._messages.event(kind, **fields))

    def _error(self, code: str, why: str, cause: str | None, param: str | None = None) -> None:
        self._out.append(self._messages.error(code, why, cause, param))

    def _drain(self) -> list[str]:
        out, self._out = self._out, []
        return out

    # --- the caller -------------------------------------------------------------------------------------------------------------------

    def _append(self, message: dict[str, Any], cause: str | None, now: float) -> None:
        encoded = message.get("audio")
        if not isinstance(encoded, str) or len(encoded) > MAX_APPEND:
            self._error("invalid_value", "Invalid 'audio': base64 text of at most 15 MiB is expected.", cause, "audio")
            return
        if encoded != self._last_encoded:  # silence comes again and again
            try:
                self._last_pcm = pcm_from_bytes(binascii.a2b_base64(encoded))
            except (binascii.Error, ValueError):
                self._error("invalid_value", "Invalid 'audio': not base64 of whole 16-bit samples.", cause, "audio")
                return
            self._last_encoded = encoded
        self._ears.feed(self._last_pcm, now)

    def _hint(self, message: dict[str, Any], cause: str | None, now: float) -> None:
        del now
        hint = read_hint(message)
        if hint is None:
            self._error("invalid_value", "Invalid rehearsal.hint.", cause)
        else:
            self._ears.hint(hint)

    def _heard_something(self, heard: Heard, now: float) -> None:
        match heard.kind:
            case "began":
                self._began(heard.turn, now)
            case "ended":
                self._ended(heard, now)
            case "over" | "pause":
                self._put_in(now)
            case "on":
                self._let_go(heard.sample, now)

    def _began(self, turn: Turn, now: float) -> None:
        speech = self._speech
        if not self.manner.yields and (speech.running is not None or now < speech.plays_until):
            return  # it speaks on, and will answer the turn when its line is over
        self._announce(turn.onset)
        running = None if speech.aside else speech.running
        calls_on = self.manner.finishes_calls and running is not None and running.begun
        self.brain.interrupted(
            unheard=running is not None and not running.begun,
            unsent=running is not None and running.call_id is None and not calls_on,
            audible=now < speech.plays_until and not speech.aside,
        )
        self._answer_when_free, self._answer_at, self._fill_at = False, None, None
        speech.silenced(now)
        self._out += speech.stop(now, "turn_detected", call_too=calls_on)

    def _put_in(self, now: float) -> None:
        """Say the filler line, which answers nothing, unless something is being said."""
        speech = self._speech
        if self._filler is not None and speech.running is None and speech.plays_until <= now:
            self._out += speech.begin([self._line(self._filler)], None, now, aside=True)

    def _let_go(self, sample: int, now: float) -> None:
        """The caller goes on after the agent took a pause for the end: what it put in is broken off."""
        speech = self._speech
        if self._item is not None and (speech.running is not None or now < speech.plays_until):
            self._announce(sample)
            speech.silenced(now)
            self._out += speech.stop(now, "turn_detected")

    def _announce(self, sample: int) -> None:
        """The caller is heard from this sample on."""
        self._item = self._messages.new_id("item")
        start = max(0, round(to_ms(sample) - self._prefix_ms()))
        self._emit("input_audio_buffer.speech_started", audio_start_ms=start, item_id=self._item)

    def _prefix_ms(self) -> float:
        detection = obj(obj(obj(self._session.get("audio")).get("input")).get("turn_detection"))
        stated = door.number(detection.get("prefix_padding_ms"))
        return 300.0 if stated is None else stated

    def _ended(self, heard: Heard, now: float) -> None:
        item = self._item
        if item is None:
            item = self._messages.new_id("item")
        else:
            stopped = round(to_ms(heard.sample))
            self._emit("input_audio_buffer.speech_stopped", audio_end_ms=stopped, item_id=item)
        self._item = None
        self._emit("input_audio_buffer.committed", item_id=item, previous_item_id=self._last_item)
        self._add_item(user_item(item, None))
        hint = heard.turn.hint
        if hint is not None:
            self._emit(
                "conversation.item.input_audio_transcription.completed",
                item_id=item,
                content_index=0,
                transcript=hint.text,
                usage={"type": "duration", "seconds": (heard.sample - heard.turn.onset) / RATE},
            )
        self._take_turn(heard.turn, now)

    # --- responses --------------------------------------------------------------------------------------------------------------------

    def _take_turn(self, turn: Turn, now: float) -> None:
        """The caller's turn is taken as over: what answers it begins, or waits until the agent is free."""
        hint, speech = turn.hint, self._speech
        self.brain.heard(hint.plan if hint is not None else None, hint.act if hint is not None else "")
        if self.manner.answer_ms is not None and hint is not None:
            self._answer_at = self._ears.at(hint.end) + self.manner.answer_ms / 1000
        if speech.running is not None or (not self.manner.yields and now < speech.plays_until):
            self._answer_when_free = True
        elif self.brain.has_more:
            self._begin(now, 0.0 if self._answer_at is not None else self.manner.react_ms)

    def _begin(self, now: float, delay_ms: float) -> None:
        """Begin what the brain says next; words after a turn come when the manner answers, where they can."""
        reply = self.brain.next_reply()
        at = now + delay_ms / 1000
        if reply.says and self._answer_at is not None:
            at, self._answer_at = max(at, self._answer_at), None
        call = Call(reply.call.call, reply.call.args) if reply.call is not None and reply.call.call else None
        self._behind_next = reply.call.call if reply.call is not None and reply.call.background else None
        self._out += self._speech.begin([self._line(step) for step in reply.says], call, at)

    def _line(self, step: Step) -> Line:
        return Line(step.say or "", self._sound(step))

    def _sound(self, step: Step) -> Pcm:
        name = step.clip if step.clip is not None else step.say or ""
        if name not in self._prepared:
            raw = self._lines[step.clip] if step.clip is not None else tone_speech(step.say or "", self._voice)
            self._prepared[name] = prepared(raw, self.manner)
        return self._prepared[name]

    def _speak(self, now: float) -> None:
        """Send what is due of the running response; a call that goes out may have its wait filled."""
        known = len(self._speech.calls)
        self._out += self._speech.speak(now)
        if len(self._speech.calls) == known:
            return
        if self._behind_next is not None:
            self._behind[self._speech.calls[-1]] = self._behind_next
        elif self.manner.filler_ms is not None:
            self._fill_at = now + self.manner.filler_ms / 1000

    def _create_response(self, message: dict[str, Any], cause: str | None, now: float) -> None:
        del message
        self._speak(now)
        running = self._speech.running
        if running is not None:
            why = f"Conversation already has an active response in progress: {running.id}. Wait until it is finished."
            self._error("conversation_already_has_active_response", why, cause)
        elif self.brain.outstanding is not None:
            self._error("function_call_output_pending", "A function call of the conversation has no output yet.", cause)
        else:
            self._begin(now, self.manner.think_ms)

    def _cancel(self, message: dict[str, Any], cause: str | None, now: float) -> None:
        self._speak(now)
        named, running = message.get("response_id"), self._speech.running
        if running is None or (named is not None and named != running.id):
            self._error("response_cancel_not_active", "Cancellation failed: no active response found", cause)
        else:
            aside = self._speech.aside
            self._out += self._speech.stop(now, "client_cancelled")
            if not aside:
                self.brain.interrupted()

    # --- the conversation -------------------------------------------------------------------------------------------------------------

    def _add_item(self, item: dict[str, Any]) -> None:
        self._emit("conversation.item.added", previous_item_id=self._last_item, item=item)
        self._emit("conversation.item.done", previous_item_id=self._last_item, item=item)
        self._last_item = item["id"]

    def _create_item(self, message: dict[str, Any], cause: str | None, now: float) -> None:
        self._speak(now)
        item = obj(message.get("item"))
        kind = item.get("type")
        name = ident(item.get("id")) or self._messages.new_id("item")
        if kind == "function_call_output":
            call_id = ident(item.get("call_id"))
            if call_id not in self._speech.calls:
                self._error(
                    "invalid_value", f"No function call with call_id '{call_id}' exists.", cause, "item.call_id"
                )
                return
            output = text(item.get("output"))
            self._add_item({"id": name, "type": kind, "call_id": call_id, "output": output, "status": "completed"})
            if call_id not in self._answered:
                self._answered.add(call_id)
                self._take_result(call_id, output)
        elif kind == "message" and item.get("role") in ("user", "system"):
            self._add_item({**item, "id": name, "status": "completed"})
        else:
            self._error("invalid_value", "Invalid 'item'.", cause, "item")

    def _take_result(self, call_id: str, output: str) -> None:
        """Only the result of a call that the brain knows moves it on; others belong to turns that were cut off."""
        behind = self._behind.pop(call_id, None)
        if behind is not None:
            self.brain.arrived(behind, _read(output))
            return
        if call_id != self._speech.calls[-1] or self.brain.outstanding is None:
            return
        self._fill_at = None
        self.brain.returned(_read(output))

    def _truncate(self, message: dict[str, Any], cause: str | None, now: float) -> None:
        self._speak(now)
        item = ident(message.get("item_id"))
        end = door.number(message.get("audio_end_ms"))
        sent = self._speech.samples.get(item)
        if not sent or not end or end < 0:
            self._error("invalid_value", "Only model output audio messages can be truncated", cause, "item_id")
        elif end > to_ms(sent):
            why = f"Audio content of {round(to_ms(sent))} ms is already shorter than {round(end)} ms"
            self._error("invalid_value", why, cause, "audio_end_ms")
        else:
            self._speech.samples[item] = round(end * 24)
            self._emit("conversation.item.truncated", item_id=item, content_index=0, audio_end_ms=round(end))

    def _update(self, message: dict[str, Any], cause: str | None, now: float) -> None:
        del now
        session = obj(message.get("session"))
        unknown = sorted(set(session) - _SESSION_KEYS)
        if session.get("type") != "realtime":
            self._error(
                "missing_required_parameter", "Missing required parameter: 'session.type'.", cause, "session.type"
            )
        elif unknown:
            name = f"session.{text(unknown[0])[:80]}"
            self._error("unknown_parameter", f"Unknown parameter: '{name}'.", cause, name)
        elif any(tool.get("type") != "function" or not ident(tool.get("name")) for tool in items(session.get("tools"))):
            self._error("missing_required_parameter", "Missing required parameter: 'session.tools[0].name'.", cause)
        else:
            self._session.update(session)
            self._emit("session.updated", session=self._session)

    def _clear(self, message: dict[str, Any], cause: str | None, now: float) -> None:
        del message, cause, now
        self._emit("input_audio_buffer.cleared")

    def _commit(self, message: dict[str, Any], cause: str | None, now: float) -> None:
        del message, now
        why = "Error committing input audio buffer: the buffer is too small. Turns are committed by the server."
        self._error("input_audio_buffer_commit_empty", why, cause)

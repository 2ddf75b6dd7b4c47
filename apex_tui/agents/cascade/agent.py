"""The cascade as the seam wants it.

The caller's sound is cut into turns by energy; a turn is transcribed, the model is asked, and each sentence of its answer is spoken
as soon as it is whole. Sound of the caller while it speaks (or while what it sent still plays) stops it at once. How long each part
took goes out as ``StageDone``. Deliberately not in here: the parts' protocols (``parts``, the text model).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress

from apex_tui.agents.cascade.parts import SpeechToText, TextToSpeech
from apex_tui.agents.cascade.profile import CascadeProfile
from apex_tui.agents.cascade.sentences import SentenceCutter
from apex_tui.agents.cascade.spoken import Sentence, Spoken
from apex_tui.agents.outbox import Outbox
from apex_tui.agents.resample import Resampler
from apex_tui.agents.seam import (
    AgentAudio,
    AgentSetup,
    AgentText,
    Capabilities,
    Closed,
    Hint,
    ProviderError,
    Ready,
    ReplyBegun,
    ReplyEnded,
    SpeechStarted,
    SpeechStopped,
    StageDone,
    Stamped,
    UsageReported,
    UserTranscript,
)
from apex_tui.agents.text.agent import MOST_CUTS, tool_request
from apex_tui.agents.text.conversation import Conversation, Entry
from apex_tui.agents.text.endpoint import Endpoint, Refused
from apex_tui.agents.text.model import Model
from apex_tui.agents.text.pieces import Call, Over, Trouble, Usage, Words
from apex_tui.agents.turns import TurnBegan, TurnDetector, TurnEnded
from apex_tui.audio.frames import RATE, pcm_from_bytes, to_ms

MOST_FAILURES = 2
"""Transcripts, or answers, that fail in a row: one may be chance, two are an endpoint that does not work, which is no judgement on the agent."""
MOST_TURNS = 8
"""Caller turns that may wait for their transcript; more means that it never comes."""


class CascadeAgent:
    """An agent of three endpoints; see ``seam.Agent`` for the methods."""

    family = "cascade"
    rehearsal = False
    capabilities = Capabilities(server_vad=False, cancel=True, truncate=True, reports_interruption=True)

    def __init__(
        self, profile: CascadeProfile, ears: SpeechToText, model: Model, voice: TextToSpeech, *, name: str = "cascade"
    ) -> None:
        self.name = name
        self.url = model.endpoint.url
        self._profile, self._ears, self._model, self._voice = profile, ears, model, voice
        self._turns = TurnDetector(profile.silence_ms, profile.prefix_ms)
        self._setup = AgentSetup("")
        self._talk = Conversation()
        self._out = Outbox()
        self._replies = self._items = self._cuts = 0
        self._deaf = self._mute = 0  # transcripts and answers that failed in a row
        self._spoken: list[Spoken] = []  # the answers that may still be playing, oldest first
        self._open_reply: str | None = None
        self._task: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None
        self._unheard: list[TurnEnded] = []
        self._closing = self._wrote = False

    async def open(self, setup: AgentSetup) -> Ready:
        """See that all three endpoints answer. Raises ``UserError`` when one does not, or refuses its key."""
        self._setup = setup
        try:
            for endpoint in {id(e): e for e in self._endpoints()}.values():
                await endpoint.probe()
        except BaseException:
            await self.close()
            raise
        profile = self._profile
        models = (profile.stt_model, profile.llm_model, profile.tts_model)
        accepted = {
            "turn_detection": {"type": "local_energy", "silence_duration_ms": profile.silence_ms},
            "output_format": {"type": "audio/pcm", "rate": profile.tts_rate},
            "voice": profile.tts_voice,
            "parts": [f"{model} at {e.url}" for model, e in zip(models, self._endpoints(), strict=True)],
            "tools": [tool["name"] for tool in setup.tools],
        }
        return Ready(accepted, profile.llm_model)

    def events(self) -> AsyncIterator[Stamped]:
        """Everything the agent does after ``open``; ends after ``Closed``."""
        return self._out.events()

    def send_audio(self, pcm: bytes) -> None:
        """The caller's next frame."""
        for turn in self._turns.feed(pcm_from_bytes(pcm)):
            if isinstance(turn, TurnBegan):
                self._began(turn)
            else:
                self._ended(turn)

    def send_hint(self, hint: Hint) -> None:
        """Not taken: the cascade hears for itself."""

    def send_text(self, words: str) -> None:
        """A caller turn in writing, for a check without sound."""
        self._talk.said(words)
        self._next()

    def send_tool_result(self, call_id: str, output: str) -> None:
        """The result of a call; the model is asked on when all have come and the answer was spoken."""
        if self._talk.answered(call_id, output):
            self._next()

    def truncate(self, item: str, audio_end_ms: int) -> None:
        """What was heard of an item: the model is told that much, and no more."""
        for spoken in self._spoken:
            heard = spoken.heard_of(item, audio_end_ms)
            if heard is not None and spoken.entry is not None:
                spoken.entry.text = heard

    async def close(self) -> None:
        """End the session; never raises."""
        self._closing = True
        self._out.end(Closed(None, "", clean=True))
        for task in (self._task, self._listening):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await task
        for endpoint in self._endpoints():
            with suppress(Exception):
                await endpoint.close()

    # --- the caller -------------------------------------------------------------------------------------------------------------------

    def _began(self, turn: TurnBegan) -> None:
        """Sound of the caller: whatever is said or still plays stops here."""
        self._out.say(SpeechStarted("client_energy", to_ms(turn.onset)))
        for spoken in self._spoken:
            sounds = spoken.reply == self._open_reply or spoken.ends > self._turns.samples
            if sounds and spoken.entry is not None:
                spoken.entry.text = spoken.heard_until(self._turns.samples)
        if self._task is not None:
            self._task.cancel()

    def _ended(self, turn: TurnEnded) -> None:
        now = asyncio.get_running_loop().time()
        self._out.say(SpeechStopped("client_energy", to_ms(turn.end)))
        self._out.say(StageDone("endpoint", now - (self._turns.samples - turn.end) / RATE, now))
        if to_ms(turn.end - turn.onset) < self._profile.shortest_ms:
            self._next()
            return
        self._unheard.append(turn)
        if len(self._unheard) > MOST_TURNS:
            self._unheard.pop(0)
            self._out.say(ProviderError("backpressure", "transcripts come too slowly: a caller turn was dropped"))
        self._listen()

    def _listen(self) -> None:
        if self._listening is None and self._unheard and not self._closing:
            loop = asyncio.get_running_loop()
            self._listening = loop.create_task(self._transcribe(self._unheard.pop(0)), name="cascade ears")
            self._listening.add_done_callback(self._listened)

    async def _transcribe(self, turn: TurnEnded) -> None:
        loop = asyncio.get_running_loop()
        self._items += 1
        item, began = f"turn_{self._items}", loop.time()
        try:
            words = await self._ears.transcribe(turn.pcm)
        except Refused as error:
            self._deaf += 1
            fatal = error.stalled or not error.again or self._deaf == MOST_FAILURES
            self._out.say(UserTranscript(item, "", final=True))
            self._out.say(ProviderError(error.kind, f"no transcript of the caller: {error}", fatal=fatal))
            return
        self._deaf = 0
        self._out.say(StageDone("stt", began, loop.time()))
        self._out.say(UserTranscript(item, words, final=True))
        if words:
            self._talk.said(words)

    def _listened(self, task: asyncio.Task[None]) -> None:
        self._listening = None
        self._failed(task)
        self._listen()
        self._next()

    # --- one answer -------------------------------------------------------------------------------------------------------------------

    def _next(self) -> None:
        """Ask the model when it owes an answer, and nobody speaks or is still to be understood."""
        busy = self._task is not None or self._listening is not None or self._turns.talking
        if self._closing or busy or not self._talk.owes_reply:
            return
        self._replies += 1
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(self._answer(f"reply_{self._replies}"), name="cascade reply")
        self._task.add_done_callback(self._answered)

    def _answered(self, task: asyncio.Task[None]) -> None:
        self._task = None
        self._failed(task)
        self._next()

    def _failed(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._out.say(ProviderError("cascade", f"{type(error).__name__} inside the cascade", fatal=True))

    async def _answer(self, reply: str) -> None:
        after_tool = self._talk.after_tool
        entries = self._talk.begin()
        plays = [before for before in self._spoken if before.ends > self._turns.samples]
        spoken = Spoken(reply, ends=max((before.ends for before in plays), default=0))
        self._spoken, self._open_reply = [*plays, spoken], reply
        self._wrote = False
        self._out.say(ReplyBegun(reply, after_tool))
        sentences: asyncio.Queue[str | None] = asyncio.Queue()
        speaking = asyncio.get_running_loop().create_task(self._speak(spoken, sentences), name="cascade voice")
        try:
            over = await self._write(spoken, entries, sentences)
            sentences.put_nowait(None)
            await speaking
            self._mute = 0
            self._end(ReplyEnded(reply, over.status, over.reason))
        except asyncio.CancelledError:
            if spoken.entry is None:
                spoken.entry = self._talk.spoke(spoken.heard_until(self._turns.samples))
            self._end(ReplyEnded(reply, "cancelled", "the caller spoke"))
            raise
        except Refused as error:
            if spoken.entry is None:
                spoken.entry = self._talk.spoke(spoken.text)
            self._end(ReplyEnded(reply, "failed", str(error)))
            # As for a text agent: a stream that broke may work the next time; a model that never began was asked often enough.
            self._mute += 1
            fatal = error.stalled or not error.again or not self._wrote or self._mute == MOST_FAILURES
            self._out.say(ProviderError(error.kind, str(error), fatal=fatal))
        finally:
            speaking.cancel()
            with suppress(asyncio.CancelledError, Refused):
                await speaking

    def _end(self, ended: ReplyEnded) -> None:
        if self._open_reply == ended.reply:
            self._open_reply = None
            self._out.say(ended)

    async def _write(self, spoken: Spoken, entries: tuple[Entry, ...], sentences: asyncio.Queue[str | None]) -> Over:
        """Pass the model's sentences on as they become whole; its calls go out at the end of the answer."""
        loop, reply = asyncio.get_running_loop(), spoken.reply
        began, cutter, spoke = loop.time(), SentenceCutter(), False
        said: list[str] = []
        calls: list[Call] = []
        over = Over("failed", "the stream ended early")
        async with aclosing(self._model.answer(self._setup, entries, reply)) as pieces:
            async for at, piece in pieces:
                match piece:
                    case Words(text=words):
                        said.append(words)
                        self._wrote = True
                        for sentence in cutter.feed(words):
                            if not spoke:
                                self._out.say(StageDone("llm", began, at, reply))
                                spoke = True
                            sentences.put_nowait(self._model.endpoint.masked(sentence))
                    case Call():
                        calls.append(piece)
                    case Usage(counts=counts):
                        self._out.say(UsageReported(counts, "agent", reply), at)
                    case Trouble(kind=kind, message=message):
                        self._out.say(ProviderError(kind, self._model.endpoint.masked(message)), at)
                    case Over():
                        over = piece
                        rest = cutter.rest()
                        if not spoke:
                            self._out.say(StageDone("llm", began, at, reply))
                        if rest:
                            sentences.put_nowait(self._model.endpoint.masked(rest))
                        spoken.entry = self._talk.spoke("".join(said), tuple(calls))
                        for call in calls:
                            self._out.say(tool_request(call, reply, over.reason), at)
        self._cuts = self._cuts + 1 if any(call.cut for call in calls) else 0
        if self._cuts == MOST_CUTS:
            why = f"the model's answer was cut off {MOST_CUTS} times in a row ({over.reason}); allow it more tokens"
            self._out.say(ProviderError("answers_cut", why, fatal=True))
        return over

    async def _speak(self, spoken: Spoken, sentences: asyncio.Queue[str | None]) -> None:
        """Speak sentence by sentence, each as an item of its own, so that what was heard is known to the sentence."""
        while (words := await sentences.get()) is not None:
            sentence = Sentence(f"{spoken.reply}_{len(spoken.sentences) + 1}", words)
            spoken.sentences.append(sentence)
            self._out.say(AgentText(spoken.reply, sentence.item, words, final=True))
            await self._say(spoken, sentence)

    async def _say(self, spoken: Spoken, sentence: Sentence) -> None:
        loop = asyncio.get_running_loop()
        began, rates = loop.time(), Resampler(self._profile.tts_rate, RATE)
        first = True
        async with aclosing(self._voice.speak(sentence.text)) as pieces:
            async for piece in pieces:
                if first and len(spoken.sentences) == 1:
                    self._out.say(StageDone("tts", began, loop.time(), spoken.reply))
                first = False
                self._send(spoken, sentence, rates.feed(piece))
        self._send(spoken, sentence, rates.finish())

    def _send(self, spoken: Spoken, sentence: Sentence, pcm: bytes) -> None:
        if pcm:
            spoken.sent(sentence, len(pcm) // 2, self._turns.samples)
            self._out.say(AgentAudio(spoken.reply, sentence.item, pcm))

    def _endpoints(self) -> tuple[Endpoint, Endpoint, Endpoint]:
        return (self._ears.endpoint, self._model.endpoint, self._voice.endpoint)

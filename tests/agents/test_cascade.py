"""The cascade: turn detection, sentences, what was heard, and the whole over real sockets."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import numpy as np
import pytest
from agent_kit import SETUP, tone
from http_peer import Answer, Chunk, HttpPeer, Request, chat_calls, chat_chunk, chat_words
from hypothesis import given
from hypothesis import strategies as st
from live_kit import conduct
from peers.model_peer import ModelPeer
from text_kit import Talk, made, talking

from apex_tui.agents.cascade.parts import wav
from apex_tui.agents.cascade.sentences import LONGEST, SentenceCutter
from apex_tui.agents.cascade.spoken import Sentence, Spoken
from apex_tui.agents.seam import (
    AgentAudio,
    AgentText,
    ProviderError,
    ReplyBegun,
    ReplyEnded,
    SpeechStarted,
    SpeechStopped,
    StageDone,
    ToolRequest,
    UserTranscript,
)
from apex_tui.agents.turns import LONGEST as LONGEST_TURN
from apex_tui.agents.turns import TurnBegan, TurnDetector, TurnEnded
from apex_tui.audio.frames import RATE, Pcm, pcm_bytes, silence, to_samples
from apex_tui.timeline.errors import UserError

# --- turns ----------------------------------------------------------------------------------------------------------------------------


def lane(*parts: Pcm | float) -> Pcm:
    return np.concatenate([silence(to_samples(1000 * part)) if isinstance(part, float) else part for part in parts])


def feed(detector: TurnDetector, pcm: Pcm, size: int = 480) -> list[TurnBegan | TurnEnded]:
    return [turn for start in range(0, len(pcm), size) for turn in detector.feed(pcm[start : start + size])]


def test_a_turn_ends_after_the_silence_and_a_pause_does_not_end_it() -> None:
    detector = TurnDetector(silence_ms=500, prefix_ms=300)
    spoken = lane(1.0, tone(0.4), 0.4, tone(0.4), 0.48)
    (began,) = feed(detector, spoken)
    assert isinstance(began, TurnBegan)
    assert began.onset == pytest.approx(RATE, abs=to_samples(10))
    assert detector.talking
    (ended,) = feed(detector, silence(to_samples(60)))
    assert isinstance(ended, TurnEnded)
    assert ended.onset == began.onset
    assert ended.end == pytest.approx(2.2 * RATE, abs=to_samples(10))
    assert len(ended.pcm) == pytest.approx(to_samples(300 + 1200 + 200), abs=to_samples(20))
    assert not detector.talking


@given(size=st.sampled_from([77, 480, 960, 5000]))
def test_how_the_sound_is_cut_moves_no_turn(size: int) -> None:
    turns = feed(TurnDetector(), lane(0.5, tone(0.3), 1.0, tone(0.5), 1.0), size)
    edges = [turn.onset if isinstance(turn, TurnBegan) else turn.end for turn in turns]
    assert edges == pytest.approx([to_samples(ms) for ms in (500, 800, 1800, 2300)], abs=to_samples(10))


def test_an_endless_sound_is_handed_over() -> None:
    turns = feed(TurnDetector(), tone(LONGEST_TURN / RATE + 2), 24_000)
    assert [type(turn) for turn in turns] == [TurnBegan, TurnEnded]


# --- sentences ------------------------------------------------------------------------------------------------------------------------


def test_a_sentence_is_spoken_as_soon_as_it_is_whole() -> None:
    cutter = SentenceCutter()
    assert cutter.feed("Thank you, Mr. Smith") == []
    assert cutter.feed(". That is 3.5 days, e.g. Monday") == ["Thank you, Mr. Smith."]
    assert cutter.feed(" to Thursday! Is") == ["That is 3.5 days, e.g. Monday to Thursday!"]
    assert cutter.feed(" it right?") == []
    assert cutter.rest() == "Is it right?"


def test_a_short_sentence_waits_for_the_next_and_a_long_one_is_cut() -> None:
    cutter = SentenceCutter()
    assert cutter.feed("Yes. It is noted. ") == ["Yes. It is noted."]
    long = "word " * 100
    pieces = cutter.feed(long)
    assert all(len(piece) <= LONGEST for piece in pieces)
    assert " ".join([*pieces, cutter.rest()]).split() == long.split()


@given(st.lists(st.text(alphabet="ab .?!,\n", max_size=12), max_size=12))
def test_no_word_is_lost_between_sentences(words: list[str]) -> None:
    cutter = SentenceCutter()
    out = [sentence for word in words for sentence in cutter.feed(word)]
    out.append(cutter.rest())
    assert "".join("".join(out).split()) == "".join("".join(words).split())


def test_what_was_heard_is_whole_words_of_the_sentences_that_played() -> None:
    spoken = Spoken("r", [Sentence("a", "One two.", 1000), Sentence("b", "three four five", 1500)], ends=3000)
    assert spoken.heard_until(400) == ""
    assert spoken.heard_until(1000) == "One"
    assert spoken.heard_until(1500) == "One two."
    assert spoken.heard_until(2600) == "One two. three four"
    assert spoken.heard_until(9000) == "One two. three four five"
    assert spoken.heard_of("b", 1000 * 750 / RATE) == "One two. three"
    assert spoken.heard_of("nobody", 1) is None


def test_what_is_sent_plays_after_what_still_does() -> None:
    spoken, sentence = Spoken("r", ends=700), Sentence("a", "One two.")
    spoken.sent(sentence, 100, now=500)
    assert spoken.ends == 800
    spoken.sent(sentence, 100, now=1000)  # it had run dry
    assert (spoken.ends, sentence.samples) == (1100, 200)


def test_of_two_answers_that_wait_to_be_heard_the_model_is_told_what_was_heard_of_each() -> None:
    peer = ModelPeer("chat", cascade=True)
    peer.answer("This is one long sentence of ten words in all.", calls=(("c1", "update_form", "{}"),))
    peer.answer("It is noted.")
    peer.answer("Yes?")
    peer.voice = [[pcm_bytes(tone(4.0))], [pcm_bytes(tone(1.0))]]

    async def play(peer: ModelPeer) -> None:
        peer.caller("Please note it.")
        await asyncio.sleep(3.4)  # half a second to say it, half a second of silence; 2.4 of 4 seconds are heard
        peer.caller("Wait.")

    conduct(peer, play, seconds=5.5)
    assert peer.told(1, "assistant") == ["This is one long sentence of ten words in all."]
    assert peer.told(2, "assistant") == ["This is one long sentence"]
    assert peer.faults == []


def test_a_turn_is_sent_as_a_wav_file() -> None:
    raw = wav(tone(0.1))
    assert raw[:4] == b"RIFF"
    assert raw.endswith(pcm_bytes(tone(0.1)))


# --- the whole ------------------------------------------------------------------------------------------------------------------------

pytestmark = pytest.mark.realtime


class Parts:
    """A server that is all three parts: turns are transcribed as told, answers come from a list, each word is 200 ms of tone."""

    def __init__(self, heard: list[str], answers: list[list[Chunk]], speech: list[Chunk] | None = None) -> None:
        self.heard, self.answers, self.speech = heard, answers, speech
        self.peer = HttpPeer(self.script)

    def script(self, request: Request) -> Answer:
        if request.path == "/audio/transcriptions":
            assert b"RIFF" in request.body
            return Answer([json.dumps({"text": self.heard.pop(0)}).encode()], kind="application/json")
        if request.path == "/audio/speech":
            if self.speech is not None:
                return Answer(list(self.speech), kind="audio/pcm")
            sound = pcm_bytes(tone(0.2 * len(request.json()["input"].split())))
            return Answer([sound[:4801], sound[4801:]], kind="audio/pcm")
        return Answer(self.answers.pop(0))

    def asked(self, path: str) -> list[Request]:
        return [request for request in self.peer.requests if request.path == path]


def turn(talk: Talk, seconds: float = 0.4) -> None:
    """A caller turn and the silence that ends it."""
    talk.hear(lane(0.2, tone(seconds, 330.0), 0.6))


async def test_a_turn_goes_through_all_three_parts_sentence_by_sentence() -> None:
    parts = Parts(["I want leave."], [chat_words("Of course, ", "I can help. Which", " day?")])
    async with talking("cascade", parts.peer) as talk:
        turn(talk)
        await talk.count(ReplyEnded, 1)
        assert talk.of(UserTranscript) == [UserTranscript("turn_1", "I want leave.", final=True)]
        assert talk.of(ReplyBegun) == [ReplyBegun("reply_1", after_tool=False)]
        assert [(text.item, text.text) for text in talk.of(AgentText)] == [
            ("reply_1_1", "Of course, I can help."),
            ("reply_1_2", "Which day?"),
        ]
        sound: dict[str, bytes] = {}
        for audio in talk.of(AgentAudio):
            sound[audio.item] = sound.get(audio.item, b"") + audio.pcm
        assert sound == {"reply_1_1": pcm_bytes(tone(1.0)), "reply_1_2": pcm_bytes(tone(0.4))}, "an odd byte is carried"
        assert talk.of(ReplyEnded) == [ReplyEnded("reply_1", "completed")]
        assert [stage.stage for stage in talk.of(StageDone)] == ["endpoint", "stt", "llm", "tts"]
        assert all(stage.ended >= stage.began for stage in talk.of(StageDone))
        endpoint = talk.of(StageDone)[0]
        assert endpoint.ended - endpoint.began == pytest.approx(0.5, abs=0.03)
        (started,) = talk.of(SpeechStarted)
        (stopped,) = talk.of(SpeechStopped)
        assert (started.source, started.audio_ms) == ("client_energy", pytest.approx(200, abs=10))
        assert stopped.audio_ms == pytest.approx(600, abs=10)


async def test_the_first_sentence_is_spoken_while_the_model_still_writes() -> None:
    parts = Parts(["Hi."], [[chat_chunk({"content": "Hello, I am listening. And"}), 5.0]])
    async with talking("cascade", parts.peer) as talk:
        turn(talk)
        await talk.count(AgentAudio, 1)
        assert not talk.of(ReplyEnded)


async def test_sound_of_the_caller_stops_it_and_the_model_is_told_what_was_heard() -> None:
    answer = "One two three four five six seven eight nine ten."
    parts = Parts(["Count.", "Stop."], [chat_words(answer), chat_words("Stopped, as you wished.")])
    async with talking("cascade", parts.peer) as talk:
        turn(talk)
        await talk.count(ReplyEnded, 1)
        talk.hear(
            lane(0.8)
        )  # with the silence before the turn five of ten words: complete at the agent, and still playing
        turn(talk)
        await talk.count(ReplyEnded, 2)
        assert len(talk.of(SpeechStarted)) == 2
    told = parts.asked("/chat/completions")[1].json()["messages"]
    assert told[2] == {"role": "assistant", "content": "One two three four five"}


async def test_what_the_player_says_was_heard_counts_more_than_the_agents_own_clock() -> None:
    answer = "One two three four five six seven eight nine ten."
    parts = Parts(["Count.", "Stop."], [chat_words(answer), chat_words("Stopped, as you wished.")])
    async with talking("cascade", parts.peer) as talk:
        turn(talk)
        await talk.count(ReplyEnded, 1)
        talk.hear(lane(1.0, tone(0.1, 330.0)))
        await talk.count(SpeechStarted, 2)
        talk.agent.truncate("reply_1_1", 630)
        talk.hear(lane(tone(0.2, 330.0), 0.6))
        await talk.count(ReplyEnded, 2)
    told = parts.asked("/chat/completions")[1].json()["messages"]
    assert told[2]["content"] == "One two three"


async def test_a_barge_in_while_it_writes_cancels_the_reply_and_runs_no_call() -> None:
    slow = [chat_chunk({"content": "So that is the fourteenth. And"}), 5.0, *chat_calls(("c1", "submit", "{}"))]
    parts = Parts(["The fourteenth.", "No."], [slow, chat_words("All right then.")])
    async with talking("cascade", parts.peer) as talk:
        turn(talk)
        await talk.count(AgentAudio, 2)
        turn(talk)
        await talk.count(ReplyEnded, 2)
        assert talk.of(ReplyEnded)[0] == ReplyEnded("reply_1", "cancelled", "the caller spoke")
        assert not talk.of(ToolRequest)
        await talk.until(lambda: parts.peer.left_early == 1)


async def test_calls_and_their_results_go_through_the_model() -> None:
    parts = Parts(["Submit."], [chat_calls(("c1", "submit", "{}")), chat_words("It is submitted.")])
    async with talking("cascade", parts.peer) as talk:
        talk.answers = {"submit": '{"ok": true}'}
        turn(talk)
        await talk.count(ReplyEnded, 2)
        assert talk.of(ReplyBegun)[1] == ReplyBegun("reply_2", after_tool=True)
        assert talk.of(ToolRequest) == [ToolRequest("c1", "submit", {}, "reply_1")]
        assert len(talk.of(AgentAudio)) > 0


async def test_a_click_and_an_empty_transcript_are_no_turns() -> None:
    parts = Parts(["", ""], [])
    async with talking("cascade", parts.peer) as talk:
        turn(talk, 0.03)
        assert len(talk.of(UserTranscript)) == 0
        turn(talk)
        await talk.count(UserTranscript, 1)
        await asyncio.sleep(0.02)
        assert not talk.of(ReplyBegun)
        assert len(parts.asked("/audio/transcriptions")) == 1


async def test_a_voice_that_sends_files_is_refused() -> None:
    parts = Parts(["Hi."], [chat_words("Hello, I can hear you.")], speech=[wav(tone(0.1))])
    async with talking("cascade", parts.peer) as talk:
        turn(talk)
        (error,) = await talk.count(ProviderError, 1)
        assert (error.kind, error.fatal) == ("not_pcm", True)
        assert talk.of(ReplyEnded)[0].status == "failed"


@pytest.mark.parametrize(("path", "lost"), [("/audio/transcriptions", 2), ("/audio/speech", 0)])
async def test_a_part_that_fails_once_costs_a_turn_and_twice_in_a_row_ends_the_session(path: str, lost: int) -> None:
    class Broken(Parts):
        def script(self, request: Request) -> Answer:
            if request.path != path:
                return super().script(request)
            return Answer([json.dumps({"error": {"code": "down", "message": "no"}}).encode()], 500, "application/json")

    parts = Broken(["One.", "Two."], [chat_words("Hello, I can hear you."), chat_words("Hello again to you.")])
    async with talking("cascade", parts.peer) as talk:
        turn(talk)
        (first,) = await talk.count(ProviderError, 1)
        turn(talk)
        await talk.count(ProviderError, 2)
        assert [(error.kind, error.fatal) for error in talk.of(ProviderError)] == [("down", False), ("down", True)]
        assert first.message.endswith("answered 500: no")
        assert [heard.text for heard in talk.of(UserTranscript)] == (["", ""] if lost else ["One.", "Two."])


async def test_each_part_has_its_own_address_and_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STT_KEY", "stt-key-0123456789")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other-0123456789")
    (tmp_path / "a.toml").write_text('[cascade]\nstt_key = "STT_KEY"\nllm_model = "mine"\ntts_rate = 16000\n')
    ears, rest = Parts(["Hi."], []), Parts([], [chat_words("Hello, I can hear you.")])
    async with ears.peer.running(), rest.peer.running():
        addresses = {"stt": ears.peer.url, "llm": rest.peer.url, "tts": rest.peer.url}
        agent = made("cascade", None, parts=addresses, profile_file=tmp_path / "a.toml", model=None)
        ready = await agent.open(SETUP)
        talk = Talk(agent)
        turn(talk)
        await talk.count(ReplyEnded, 1)
        samples = sum(len(audio.pcm) // 2 for audio in talk.of(AgentAudio))
        await talk.end()
    assert ready.model == "mine"
    assert ready.accepted["turn_detection"]["type"] == "local_energy"
    assert ears.peer.requests[0].headers["authorization"] == "Bearer stt-key-0123456789"
    assert rest.peer.requests[0].headers["authorization"] == "Bearer sk-other-0123456789"
    assert samples == pytest.approx(5 * 0.2 * RATE * 24 / 16, abs=4)


def test_a_part_without_an_address_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('[cascade]\nurl = ""\n')
    with pytest.raises(UserError, match="needs an address: give one such as --llm http://"):
        made("cascade", None, parts={"stt": "http://127.0.0.1:1/v1"}, profile_file=tmp_path / "a.toml")
    with pytest.raises(UserError, match="parts of a cascade; the agent chat has none"):
        made("chat", "http://127.0.0.1:1/v1", parts={"stt": "http://127.0.0.1:1/v1"})

"""Sound, speech and sentences of an answer; stages; silences that sound does not end; what was declared against what was heard."""

from __future__ import annotations

from typing import TypeVar

import pytest
from score_logs import Log
from test_score_floor_meter import recorded

from apex_tui.score.consistency import disagreements
from apex_tui.score.floor import measure
from apex_tui.score.floor_numbers import chance_silences, during_calls, floor_of, latency_of
from apex_tui.score.sentences import first_sentence, has_sentence
from apex_tui.timeline import agent_facts as a

T = TypeVar("T")
TEXT = "Sure. Your form is ready now. Shall I submit it for you?"


def facts(log: Log, kind: type[T]) -> list[T]:
    assert disagreements(recorded(log.events)) == []
    return [m.fact for m in measure(log.events) if isinstance(m.fact, kind)]


def said(log: Log, at: float, text: str = TEXT, audio_ms: float | None = 0.0, final: bool = True) -> None:
    log.add(at, a.AgentSaid(reply="r1", item="ir1", text=text, final=final, audio_ms=audio_ms))


def answer(sounds: list[tuple[float, float]], words_at: float = 0.0, text: str = TEXT, played: float = 3450) -> Log:
    """A turn that ends at 3000, and a reply played from ``played`` on that sounds in these stretches."""
    log = Log()
    log.start()
    log.caller(1, 1000, 3000)
    log.caller_ends(1, 3000)
    log.add(3300, a.AgentNoticed(what="speech_stopped", source="server_vad"))
    log.add(3320, a.ReplyStarted(reply="r1"))
    log.add(played, a.AudioArrived(reply="r1", item="ir1"))
    said(log, played + words_at / 4, text, words_at)
    for number, (on, off) in enumerate(sounds):
        log.on(on, "r1", on - played if number == 0 else None)
        log.off(off, "r1")
    end = sounds[-1][1]
    log.generated(end, "r1", ms=end - played)
    fact = a.ReplyClosed(
        reply="r1", how="played", played_ms=end - played, generated_ms=end - played, text=text, heard=text
    )
    log.add(end + 20, fact)
    log.end(end + 2000)
    return log


def test_speech_begins_with_the_first_sound_when_the_words_do() -> None:
    (detail,) = facts(answer([(3500, 4000), (4400, 6000), (6300, 8000)]), a.ResponseDetailed)
    assert (detail.first_speech_ms, detail.first_speakable_ms) == (500.0, 450.0)
    # 28 of 55 characters: about 5800; the pause that begins at 6000 is nearest.
    assert (detail.first_sentence_ms, detail.first_sentence_estimated) == (3000.0, True)


@pytest.mark.parametrize(
    ("sounds", "words_at", "speech"),
    [
        ([(3500, 4300), (4700, 7000)], 1200.0, 1700.0),  # 800 ms of typing, then speech
        ([(3500, 7000)], 1200.0, None),  # the typing runs into the speech: it cannot be told
        ([(3500, 7000)], 300.0, 500.0),  # words that are a little behind their sound
        ([(3500, 3700), (4200, 4300), (4700, 7000)], 1200.0, 1700.0),
    ],
)
def test_sound_before_the_words_is_no_speech(
    sounds: list[tuple[float, float]], words_at: float, speech: float | None
) -> None:
    (detail,) = facts(answer(sounds, words_at), a.ResponseDetailed)
    assert detail.first_speech_ms == speech
    (response,) = facts(answer(sounds, words_at), a.ResponseMeasured)
    assert response.first_audible_ms == 500.0


def test_a_reply_of_one_sentence_ends_exactly() -> None:
    (detail,) = facts(answer([(3500, 4000), (4400, 6000)], text="Your form is ready now."), a.ResponseDetailed)
    assert (detail.first_sentence_ms, detail.first_sentence_estimated) == (3000.0, False)


def test_a_sentence_end_without_a_pause_near_it_is_absent() -> None:
    (detail,) = facts(answer([(3500, 9000)]), a.ResponseDetailed)
    assert detail.first_sentence_ms is None


def test_a_short_pause_inside_a_stretch_can_part_sentences() -> None:
    log = answer([(3500, 8000)])
    at = next(i for i, e in enumerate(log.events) if isinstance(e.fact, a.AgentSpeechEnded))
    tail, log.events = log.events[at:], log.events[:at]
    log.add(6000, a.AgentPaused(reply="r1", from_ms=5800, to_ms=6010))
    for event in tail:
        log.add(event.media_ms, event.fact)
    (detail,) = facts(log, a.ResponseDetailed)
    assert (detail.first_sentence_ms, detail.first_sentence_estimated) == (2800.0, True)


def test_stages_add_up_to_the_first_audible_sample() -> None:
    (detail,) = facts(answer([(3500, 8000)]), a.ResponseDetailed)
    assert [(s.name, s.source, s.ms) for s in detail.stages] == [
        ("endpoint", "provider", 300.0),
        ("begin", "provider", 20.0),
        ("first_byte", "client", 130.0),
        ("lead", "client", 50.0),
    ]


def test_what_no_signal_explains_is_unexplained() -> None:
    log = answer([(3500, 8000)])
    log.events = [e for e in log.events if not isinstance(e.fact, a.AgentNoticed)]
    events, log.events = log.events, []
    for event in events:
        log.add(event.media_ms, event.fact)
    (detail,) = facts(log, a.ResponseDetailed)
    assert [(s.name, s.ms) for s in detail.stages] == [("unexplained", 320.0), ("first_byte", 130.0), ("lead", 50.0)]
    latency = latency_of(measure(log.events), None, log.events)
    assert latency.stages["unexplained"].values == (320.0,)
    assert latency.first_speech_ms.values == (500.0,)


def test_hold_music_ends_no_silence() -> None:
    music = answer([(3500, 7500), (8000, 9500)], words_at=4400)
    (silence,) = facts(music, a.SilenceMeasured)
    assert (silence.from_ms, silence.to_ms, silence.kind) == (3000.0, 8000.0, "dead_air")
    assert facts(answer([(3500, 7500), (8000, 9500)]), a.SilenceMeasured) == []


@pytest.mark.parametrize("words_at", [2500, 6700], ids=["when all sound had arrived", "when the reply was over"])
def test_an_agent_that_writes_down_what_it_has_said_was_not_silent(words_at: float) -> None:
    log = Log()
    log.start()
    for number in (1, 2):
        begun, reply = 8000.0 * number, f"r{number}"
        words = a.AgentSaid(reply=reply, item=reply, text=TEXT, final=True, audio_ms=5000)
        log.caller(number, begun, begun + 1000)
        log.caller_ends(number, begun + 1000)
        log.reply(begun + 1500, reply)
        log.on(begun + 1600, reply)
        if words_at < 6600:
            log.add(begun + words_at, words)
        log.generated(begun + 2510, reply, ms=5000)
        log.off(begun + 6600, reply)
        closed = {"reply": reply, "how": "played", "played_ms": 5000, "generated_ms": 5000, "text": "", "heard": ""}
        log.add(begun + 6620, a.ReplyClosed.model_validate(closed))
        if words_at > 6600:
            log.add(begun + words_at, words)
    log.end(25_000)
    assert facts(log, a.SilenceMeasured) == []


@pytest.mark.parametrize(
    ("text", "whole", "found"),
    [
        ("It costs 5.", False, False),  # digits may follow
        ("It costs 5.", True, True),
        ("It costs 5.20 now", True, False),
        ("Is it right?", False, True),
        ("Hello Dr. Stone", True, False),
        ("One. Two", False, True),
    ],
)
def test_complete_sentences(text: str, whole: bool, found: bool) -> None:
    assert has_sentence(text, whole=whole) is found


def test_a_sentence_of_fewer_than_three_words_is_passed_over() -> None:
    assert first_sentence(TEXT) == "Sure. Your form is ready now."
    assert first_sentence("Sure. Yes.") is None
    assert first_sentence("one moment please") == "one moment please"


# --- declared against audible --------------------------------------------------------------------------------------------------------


def base() -> Log:
    log = Log()
    log.start()
    log.caller(1, 1000, 3000, pauses=((2000, 2600),))
    return log


@pytest.mark.parametrize(
    ("what", "at", "declared"),
    [
        ("speech_started", 1090, None),
        ("speech_started", 960, None),  # told in advance
        ("speech_started", 3900, None),  # late, but it was there
        ("speech_started", 4200, "heard the caller"),
        ("speech_stopped", 1500, "the caller stopped"),
        ("speech_stopped", 2300, None),  # the caller did pause
        ("speech_stopped", 3300, None),
    ],
)
def test_signals_about_the_caller(what: str, at: float, declared: str | None) -> None:
    log = base() if at > 1000 else Log()
    if at <= 1000:
        log.start()
    signal = a.AgentNoticed.model_validate({"what": what, "source": "server_vad"})
    if at < 3000:
        log.add(at, signal)
    if not any(e.type == "caller.turn_started" for e in log.events):
        log.caller(1, 1000, 3000)
    log.caller_ends(1, 3000)
    if at >= 3000:
        log.add(at, signal)
    log.end(8000)
    assert [f.declared for f in facts(log, a.StateDisagreed)] == ([] if declared is None else [declared])


def test_words_that_made_no_sound_are_named() -> None:
    log = base()
    log.caller_ends(1, 3000)
    log.add(3320, a.ReplyStarted(reply="r1"))
    said(log, 3400)
    log.generated(3500, "r1", ms=0)
    log.closed(3520, "r1", "silent", text=TEXT)
    log.end(8000)
    (found,) = facts(log, a.StateDisagreed)
    assert (found.declared, found.audible, found.reply) == ("spoke 12 words", "nothing was heard", "r1")
    floor = floor_of(log.events, measure(log.events), 8000)
    assert [d.reply for d in floor.disagreements] == ["r1"]
    assert floor.disagreements[0].evidence


@pytest.mark.parametrize(("off", "count"), [(4250.0, 0), (5500.0, 1)])
def test_a_cancelled_reply_that_sounds_on_is_named(off: float, count: int) -> None:
    log = base()
    log.caller_ends(1, 3000)
    log.reply(3300, "r1")
    log.on(3500, "r1")
    log.generated(4000, "r1", "cancelled")
    log.off(off, "r1")
    log.end(8000)
    assert [f.audible for f in facts(log, a.StateDisagreed)] == ["the reply sounded on"] * count


# --- overlap, chance, work during calls ----------------------------------------------------------------------------------------------


def test_talking_over_is_counted_beside_the_one_cut_in_of_a_turn() -> None:
    log = Log()
    log.start()
    log.caller(1, 1000, 9000)
    for number, (on, off) in enumerate([(2000, 3500), (4500, 6000), (7000, 7200)]):
        log.reply(on, f"r{number}")
        log.on(on, f"r{number}")
        log.off(off, f"r{number}")
        log.closed(off + 280, f"r{number}", text="let me stop you there")
    log.caller_ends(1, 9000)
    log.end(12000)
    assert [(f.kind, f.overlap_ms) for f in facts(log, a.CutIn)] == [("cut_in", 1500.0), ("talk_over", 1500.0)]
    assert floor_of(log.events, measure(log.events), 12000).talk_overs == 1


def test_chance_counts_moments_at_which_nobody_interrupted() -> None:
    log = Log()
    log.start()
    log.on(1000, "r1")
    log.off(4100, "r1")
    log.end(20000)
    # onsets at 1500, 2000 ... 4000: silent within 2 s from 2500 on
    assert chance_silences(log.events, 20000) == [False, False, True, True, True, True]
    log = Log()
    log.start()
    log.on(1000, "r1")
    log.caller(1, 2000, 3000)
    log.caller_ends(1, 3000)
    log.off(4100, "r1")
    assert chance_silences(log.events, 20000) == []


def test_bounds_stand_in_for_a_share_that_nothing_proves() -> None:
    log = Log()
    log.start()
    log.add(
        0,
        a.AgentConnected(
            family="f", url="u", capabilities={"reports_interruption": False}, instructions_sha256="", tools_sha256=""
        ),
    )
    log.reply(900, "r1")
    log.on(1000, "r1")
    log.caller(1, 3000, 4500)
    log.off(3300, "r1")
    log.caller_ends(1, 4500)
    log.end(9000)
    floor = floor_of(log.events, measure(log.events), 9000)
    assert (floor.yielded_share, floor.yielded_low, floor.yielded_high) == (None, 0.0, 1.0)


@pytest.mark.parametrize(("tells_end", "kind"), [(True, "natural_end"), (False, "unattributed")])
def test_where_only_silence_ends_a_reply_no_stop_is_a_natural_end(tells_end: bool, kind: str) -> None:
    log = Log()
    log.start()
    log.add(
        0,
        a.AgentConnected(
            family="f", url="u", capabilities={"tells_end": tells_end}, instructions_sha256="", tools_sha256=""
        ),
    )
    log.reply(900, "r1")
    log.on(1000, "r1")
    log.caller(1, 3000, 4500)
    log.off(3300, "r1")
    log.generated(4100, "r1")  # 800 ms of silence later
    log.closed(4120, "r1", "played")
    log.caller_ends(1, 4500)
    log.end(9000)
    (closed,) = [m.fact for m in measure(log.events) if isinstance(m.fact, a.BargeInClosed)]
    assert (closed.stop_kind, closed.stop_delay_ms) == (kind, 300.0)


def test_questions_and_writes_while_a_call_runs() -> None:
    log = Log()
    log.start()
    log.act(50, "ASK:end_date")
    log.tool(100, "t1", "search")
    log.act(150, "ASK:end_date")
    log.version(160, 1, {}, call="t1")
    log.version(170, 2, {}, call="t2")
    log.tool_done(200, "t1", "search")
    log.version(210, 3, {}, call="t3")
    assert during_calls(log.events) == (1, 1)


def test_a_tools_first_end_counts_whatever_is_reported_later() -> None:
    log = Log()
    log.start()
    log.caller(1, 1000, 2000)
    log.caller_ends(1, 2000)
    log.tool(1100, "t1", "search")
    log.tool_done(1500, "t1", "search")
    log.tool_done(6000, "t1", "search", ok=False)
    log.end(7000)
    assert [f.kind for f in facts(log, a.SilenceMeasured)] == ["dead_air"]


def test_late_audio_is_summed_over_replies() -> None:
    log = Log()
    log.start()
    for at, reply, ms in ((1000, "r1", 20.0), (2000, "r1", 60.0), (2000, "r2", 40.0)):
        log.add(at, a.LateDropped(reply=reply, dropped_ms=ms))
    assert floor_of(log.events, [], 3000).late_dropped_ms == 100.0

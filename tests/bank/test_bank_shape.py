import numpy as np
import pytest
from bank_clips import speak, tone
from hypothesis import given
from hypothesis import strategies as st

from apex_tui.audio.edges import audible_edges
from apex_tui.audio.frames import RATE, silence, to_samples
from apex_tui.bank import shape
from apex_tui.bank.marks import parse_speech, plain_words


def test_pause_marks_split_the_text() -> None:
    speech = parse_speech("five hundred <pause 2.0s>  fifty-five <pause 0.5s> please")
    assert speech.parts == ("five hundred", "fifty-five", "please")
    assert speech.pauses_s == (2.0, 0.5)
    assert plain_words("a <pause 1s> b") == "a b"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("one <pause 2s", "unknown mark"),
        ("one <pauze 2.0s> two", "unknown mark"),
        ("one <pause 2.0> two", "unknown mark"),
        ("<pause 2.0s> two", "words must surround"),
        ("one <pause 2.0s>", "words must surround"),
        ("one <pause 1s> <pause 1s> two", "words must surround"),
        ("...", "no words"),
        ("one <pause 0.1s> two", "outside"),
        ("one <pause 99s> two", "outside"),
    ],
)
def test_bad_marks_are_told(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_speech(text)


words = (
    st.text("abcdefg 123", min_size=1).filter(lambda text: text.strip() != "").map(lambda text: " ".join(text.split()))
)


@given(st.lists(words, min_size=1, max_size=5), st.data())
def test_marks_round_trip(parts: list[str], data: st.DataObject) -> None:
    pauses = [data.draw(st.integers(3, 300)) / 10 for _ in parts[1:]]
    text = parts[0] + "".join(f" <pause {pause}s> {part}" for pause, part in zip(pauses, parts[1:], strict=True))
    speech = parse_speech(text)
    assert speech.parts == tuple(parts)
    assert speech.pauses_s == tuple(pauses)


def test_level_of_a_tone_ignores_pauses() -> None:
    assert shape.active_level_db(tone(1000, -20.0)) == pytest.approx(-20.0, abs=0.1)
    with_pause = np.concatenate([tone(1000, -20.0), silence(RATE * 3), tone(1000, -20.0)])
    assert shape.active_level_db(with_pause) == pytest.approx(-20.0, abs=0.1)
    assert shape.active_level_db(silence(RATE)) == -120.0
    assert shape.active_level_db(silence(10)) == -120.0


@given(st.floats(-50.0, -7.0))
def test_every_level_becomes_the_target(level: float) -> None:
    matched = shape.match_level(tone(500, level))
    assert shape.active_level_db(matched) == pytest.approx(shape.TARGET_DB, abs=0.2)


def test_gain_stops_below_the_peak_limit() -> None:
    clicks = tone(1000, -40.0)
    clicks[::480] = 20_000
    assert np.max(np.abs(shape.match_level(clicks, -10.0).astype(int))) <= shape.PEAK_LIMIT
    with pytest.raises(ValueError, match="no audible speech"):
        shape.match_level(silence(RATE))


def test_trim_keeps_30_ms_before_and_60_after_the_words_and_ends_at_zero() -> None:
    spoken = speak("one two three", "am_michael")
    onset, offset = shape.spoken_edges(spoken)
    cut = shape.trim(spoken)
    assert len(cut) == offset - onset + to_samples(90)
    assert cut[0] == 0
    assert cut[-1] == 0
    assert audible_edges(cut)[0] == pytest.approx(to_samples(30), abs=to_samples(12))
    assert audible_edges(cut)[1] == pytest.approx(len(cut) - to_samples(60), abs=to_samples(12))


def test_breath_after_the_last_word_is_not_part_of_the_clip() -> None:
    breath = tone(120, -58.0)
    spoken = np.concatenate([silence(to_samples(100)), tone(400, -20.0), breath, silence(to_samples(300))])
    cut = shape.trim(spoken)
    assert len(cut) == pytest.approx(to_samples(400 + 90), abs=to_samples(12))


def test_trim_at_the_very_start_does_not_wrap() -> None:
    cut = shape.trim(tone(300))
    assert len(cut) <= to_samples(300 + 90)
    assert not cut[: to_samples(20)].any()


@pytest.mark.parametrize("pause_s", [0.4, 1.0, 2.5])
def test_the_audible_gap_has_the_authored_length(pause_s: float) -> None:
    parts = [shape.trim(speak("one two", "x")), shape.trim(speak("three", "x"))]
    joined, middles = shape.join(parts, [pause_s])
    found = shape.measure(joined, middles)
    ((start, end),) = found.pauses
    assert (end - start) / RATE == pytest.approx(pause_s, abs=0.015)
    assert not joined[len(parts[0]) : len(parts[0]) + to_samples(pause_s * 1000 - 90)].any()
    assert found.value_end == found.offset


def test_the_value_can_end_before_a_pause() -> None:
    parts = [shape.trim(speak("one", "x"))] * 3
    joined, middles = shape.join(parts, [0.5, 0.6])
    assert shape.measure(joined, middles, 0).value_end == shape.measure(joined, middles).pauses[0][0]
    assert shape.measure(joined, middles, 1).value_end == shape.measure(joined, middles).pauses[1][0]
    assert shape.measure(joined, middles, 2).value_end == shape.measure(joined, middles).offset


def test_a_pause_that_is_not_silent_is_an_error() -> None:
    with pytest.raises(ValueError, match="is not silent"):
        shape.measure(tone(1000), [to_samples(500)])
    with pytest.raises(ValueError, match="no audible speech"):
        shape.measure(silence(RATE), [])


def test_join_wants_one_pause_fewer_than_parts() -> None:
    with pytest.raises(ValueError, match="2 parts need 1 pauses"):
        shape.join([tone(100), tone(100)], [])


def test_clean_speech_has_no_suspicious_edge() -> None:
    assert shape.suspicious_edge(speak("one two three", "x")) is None


def test_noise_after_the_last_word_is_suspicious() -> None:
    rng = np.random.default_rng(1)
    noise = np.rint(rng.normal(0, 32768 * 10 ** (-58 / 20), to_samples(500))).astype(np.int16)
    spoken = speak("one two three", "x")[: -to_samples(300)]
    why = shape.suspicious_edge(np.concatenate([spoken, noise, silence(RATE)]))
    assert why is not None
    assert "after the last word" in why
    why = shape.suspicious_edge(np.concatenate([silence(RATE), noise, speak("one", "x")[to_samples(300) :]]))
    assert why is not None
    assert "before the first word" in why


def test_a_lonely_click_at_the_end_is_suspicious() -> None:
    spoken = np.concatenate([speak("one two", "x"), tone(25), silence(RATE)])
    why = shape.suspicious_edge(spoken)
    assert why is not None
    assert "burst" in why


def test_silence_is_suspicious() -> None:
    assert shape.suspicious_edge(silence(RATE)) == "no audible speech"

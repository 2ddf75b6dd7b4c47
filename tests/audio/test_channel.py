from __future__ import annotations

import hashlib
import math
import random
import time
import timeit
import warnings
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apex_tui.audio.babble import LOOP, babble, paced
from apex_tui.audio.channel import Channel, ChannelSpec, Loss, parse_channel
from apex_tui.audio.edges import segments
from apex_tui.audio.frames import FRAME_SAMPLES, Pcm, level_db, silence, to_samples
from apex_tui.audio.loss import PacketLoss
from apex_tui.audio.telephone import UNIT, Telephone, companded, decode_table, encode_table, high_pass, low_pass
from apex_tui.timeline.errors import UserError

EVERY = (
    "clean",
    "telephone",
    "babble:snr=10",
    "loss:rate=0.03,burst=3",
    "loss:rate=0.2,burst=2,conceal=repeat",
    "babble:snr=5+telephone+loss:rate=0.1,burst=4",
)


def noise(samples: int, seed: int = 1, loud: int = 4000) -> Pcm:
    """Whole-number noise that is the same on every machine."""
    rng = random.Random(seed)
    return np.asarray([rng.randint(-loud, loud) for _ in range(samples)], dtype=np.int16)


@cache
def voices() -> list[Pcm]:
    """Three of the babble's voices; made when a test needs them, as every process that runs tests reads this file."""
    return [noise(48_000, 10 + n, 1500 + 100 * n) for n in range(3)]


SPEECH = np.concatenate([silence(4800), noise(9600, 5), silence(2400), noise(2400, 6), silence(9600)])


def sent(spec: str, pcm: Pcm = SPEECH, seed: object = 1) -> Pcm:
    channel = Channel(parse_channel(spec), ("test", seed), voices())
    return through(channel, pcm)


def through(channel: Channel | Telephone, pcm: Pcm) -> Pcm:
    frames = [channel.send(pcm[at : at + FRAME_SAMPLES]) for at in range(0, len(pcm), FRAME_SAMPLES)]
    return np.concatenate(frames)


def tone(hz: float, ms: float = 400) -> Pcm:
    times = np.arange(to_samples(ms)) / 24_000
    return np.asarray(np.rint(8000 * np.sin(2 * math.pi * hz * times)), dtype=np.int16)


# --- what may be written -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "spelling"),
    [
        ("clean", "clean"),
        ("telephone", "telephone"),
        ("babble", "babble:snr=10"),
        ("babble:snr=-2.50", "babble:snr=-2.5"),
        ("loss", "loss:rate=0.03,burst=3"),
        ("loss:burst=2 , rate=0.1,conceal=repeat", "loss:rate=0.1,burst=2,conceal=repeat"),
        ("loss+telephone + babble:snr=20", "babble:snr=20+telephone+loss:rate=0.03,burst=3"),
    ],
)
def test_a_channel_has_one_spelling(text: str, spelling: str) -> None:
    assert str(parse_channel(text)) == spelling
    assert parse_channel(spelling) == parse_channel(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "there is no channel ''"),
        ("fog", "there is no channel 'fog'; write clean, telephone"),
        ("clean+telephone", "clean stands alone: leave it out"),
        ("telephone+telephone", "telephone stands twice"),
        ("telephone:hz=3400", "telephone has no option 'hz'; it takes none"),
        ("babble:db=3", "babble has no option 'db'; it takes snr"),
        ("babble:snr=loud", "babble snr='loud' must be a number from -10 to 60"),
        ("babble:snr=nan", "must be a number"),
        ("babble:snr=3,snr=4", "babble has snr twice"),
        ("loss:rate=0.9", "loss rate='0.9' must be a number from 0.001 to 0.5"),
        ("loss:burst=0.5", "loss burst='0.5' must be a number from 1 to 50"),
        ("loss:conceal=magic", "loss conceal='magic' must be silence or repeat"),
        ("telephone" + "+" * 300, "longer than 200 characters"),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(text: str, words: str) -> None:
    with pytest.raises(UserError) as error:
        parse_channel(text)
    assert words in str(error.value)
    assert str(error.value).startswith("--channel: ")


@given(st.text(max_size=60))
def test_any_text_is_a_channel_or_a_users_mistake(text: str) -> None:
    try:
        spec = parse_channel(text)
    except UserError:
        return
    assert parse_channel(str(spec)) == spec


# --- all channels ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", EVERY)
def test_the_same_seed_gives_the_same_bytes(spec: str) -> None:
    once = sent(spec)
    assert once.dtype == np.int16
    assert len(once) == len(SPEECH)
    assert sent(spec).tobytes() == once.tobytes()
    depends_on_seed = "babble" in spec or "loss" in spec
    other = any(sent(spec, seed=seed).tobytes() != once.tobytes() for seed in range(2, 8))
    assert other == depends_on_seed


@pytest.mark.parametrize(
    ("spec", "digest"),
    [
        ("telephone", "466c5e14494c6f89"),
        ("babble:snr=5+telephone+loss:rate=0.1,burst=4", "ac8cb38c441a3b53"),
    ],
)
def test_the_bytes_are_the_same_on_every_machine(spec: str, digest: str) -> None:
    assert hashlib.sha256(sent(spec).tobytes()).hexdigest()[:16] == digest


def test_what_was_spoken_before_the_channel_has_its_digest() -> None:
    channel = Channel(parse_channel("babble+telephone+loss"), (1,), voices())
    through(channel, SPEECH)
    assert channel.clean_sha256 == hashlib.sha256(SPEECH.tobytes()).hexdigest()


def test_a_clean_channel_is_no_channel() -> None:
    channel = Channel(ChannelSpec(), ())
    frame = noise(FRAME_SAMPLES)
    assert channel.send(frame) is frame
    assert channel.lost_packets is None


def test_frames_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="frames of 480 samples, not 100"):
        Channel(ChannelSpec(), ()).send(silence(100))


@pytest.mark.parametrize("spec", ["telephone", "loss:rate=0.001,burst=1"])
def test_silence_stays_digital_silence(spec: str) -> None:
    assert not sent(spec, silence(4800)).any()


def test_noise_moves_no_frame_of_the_caller_and_adds_up() -> None:
    background = sent("babble:snr=10", silence(len(SPEECH)))
    assert (sent("babble:snr=10") == np.clip(SPEECH.astype(int) + background, -32768, 32767)).all()


# --- telephone ---------------------------------------------------------------------------------------------------------------------------


def test_mu_law_is_the_standards() -> None:
    decode, encode = decode_table(), encode_table()
    assert [int(decode[code]) for code in (0xFF, 0x7F, 0x80, 0x00, 0xFE, 0xF0)] == [0, 0, 32124, -32124, 8, 120]
    assert [int(encode[sample & 0xFFFF]) for sample in (0, 32767, -32768, 8, -8)] == [0xFF, 0x80, 0x00, 0xFE, 0x7E]
    again = encode[decode.astype(np.int64) & 0xFFFF]
    assert [code for code in range(256) if again[code] != code] == [0x7F]  # minus zero comes back as zero


def test_mu_law_agrees_with_the_standard_librarys_for_every_sample() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        audioop = pytest.importorskip("audioop")
    every = np.arange(-32768, 32768).astype(np.int16)
    codes = audioop.lin2ulaw(every.tobytes(), 2)
    assert encode_table()[every.astype(np.int64) & 0xFFFF].tobytes() == codes
    far = np.frombuffer(audioop.ulaw2lin(codes, 2), dtype=np.int16)
    assert (companded()[every.astype(np.int64) & 0xFFFF] == far).all()


@pytest.mark.parametrize(
    ("hz", "low_db", "high_db"),
    [(100, -120, -35), (300, -3.5, -1.5), (500, -0.5, 0.5), (1000, -0.5, 0.5), (3000, -0.5, 0.5), (3350, -1, 0.5),
     (4300, -120, -35), (6000, -120, -40), (9000, -120, -40)],
)  # fmt: skip
def test_the_band_is_a_telephones(hz: float, low_db: float, high_db: float) -> None:
    into, out = tone(hz), through(Telephone(), tone(hz))
    steady = slice(2400, 7200)
    assert low_db <= level_db(out[steady]) - level_db(into[steady]) <= high_db


def whole_run(pcm: Pcm) -> Pcm:
    """The same line in one go, by the book: filter, every third sample, filter, codec, zeros in between, filter."""

    def rounded(units: np.ndarray[tuple[int], np.dtype[np.float64]]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.clip(np.floor(units / UNIT + 0.5), -32768, 32767)

    narrow = rounded(np.convolve(pcm.astype(np.float64), low_pass())[: len(pcm)][::3])
    coded = rounded(np.convolve(narrow, high_pass())[: len(narrow)]).astype(np.int64)
    wide = np.zeros(len(pcm))
    wide[::3] = companded()[coded & 0xFFFF]
    return rounded(3 * np.convolve(wide, low_pass())[: len(pcm)]).astype(np.int16)


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 12), st.integers(0, 10_000), st.sampled_from([30, 3000, 32_767]))
def test_frame_by_frame_is_the_whole_run(frames: int, seed: int, loud: int) -> None:
    pcm = noise(frames * FRAME_SAMPLES, seed, loud)
    assert through(Telephone(), pcm).tobytes() == whole_run(pcm).tobytes()


def test_the_line_falls_silent_again_and_starts_anew() -> None:
    line = Telephone()
    through(line, noise(960))
    rest = through(line, silence(4800))
    assert rest[:200].any()
    assert not rest[960:].any()
    again = noise(960, 7)
    assert through(line, again).tobytes() == through(Telephone(), again).tobytes()


def test_the_line_adds_no_delay_worth_the_name() -> None:
    out = through(Telephone(), SPEECH).astype(np.float64)
    lags = range(-48, 49)
    best = max(lags, key=lambda lag: float(np.dot(np.roll(SPEECH.astype(np.float64), lag), out)))
    assert 0 <= best <= to_samples(1.5)
    for clean, heard in zip(segments(SPEECH), segments(out.astype(np.int16)), strict=True):
        assert abs(heard[0] - clean[0]) <= to_samples(5)
        assert abs(heard[1] - clean[1]) <= to_samples(10)


# --- babble ------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [-33.0, -23.0, -50.0])
def test_babble_has_the_wanted_level(level: float) -> None:
    loop = babble(voices(), level, random.Random(3))
    assert loop.shape == (LOOP // FRAME_SAMPLES, FRAME_SAMPLES)
    assert level_db(loop.astype(np.int16).reshape(-1)) == pytest.approx(level, abs=0.05)


def test_the_snr_refers_to_the_callers_speech() -> None:
    quiet = Channel(parse_channel("babble:snr=12"), (1,), voices(), speech_db=-20.0)
    heard = through(quiet, silence(LOOP))
    assert level_db(heard) == pytest.approx(-32.0, abs=0.05)
    assert through(quiet, silence(4800)).tobytes() == heard[:4800].tobytes()  # the loop comes round


def test_several_talk_at_once() -> None:
    """One voice with gaps would fall silent often; six do not."""
    voice = np.concatenate([noise(12_000, 3), silence(12_000)])
    loop = babble([voice], -30.0, random.Random(1)).astype(np.int16)
    assert sum(not frame.any() for frame in loop) < len(loop) // 10
    levels = [level_db(loop[at : at + 5].reshape(-1)) for at in range(0, len(loop), 5)]
    assert max(levels) - min(levels) < 30


def test_pace_changes_length_and_pitch() -> None:
    slow = paced(tone(1000), 0.5)
    assert len(slow) == pytest.approx(2 * len(tone(1000)), abs=2)
    spectrum = np.abs(np.fft.rfft(slow[:4800].astype(np.float64)))
    assert int(np.argmax(spectrum)) * 24_000 / 4800 == pytest.approx(500, abs=5)


@pytest.mark.parametrize("voices", [[], [silence(2400)]])
def test_babble_needs_voices(voices: list[Pcm]) -> None:
    with pytest.raises(ValueError, match="needs clips"):
        Channel(parse_channel("babble"), (1,), voices)


# --- loss --------------------------------------------------------------------------------------------------------------------------------


def runs(rate: float, burst: float, seed: int, frames: int = 20_000) -> list[int]:
    """Lengths of the runs of lost packets."""
    network = PacketLoss(rate, burst, "silence", random.Random(seed))
    frame = noise(FRAME_SAMPLES)
    found, now = [], 0
    for _ in range(frames):
        if network.send(frame).any():
            found += [now] if now else []
            now = 0
        else:
            now += 1
    assert network.lost == sum(found) + now
    return found


@pytest.mark.parametrize(("rate", "burst"), [(0.03, 3), (0.1, 1), (0.2, 5)])
def test_loss_has_its_rate_and_its_bursts(rate: float, burst: float) -> None:
    found = runs(rate, burst, 4)
    assert sum(found) / 20_000 == pytest.approx(rate, rel=0.2)
    assert sum(found) / len(found) == pytest.approx(burst, rel=0.15)
    if burst == 1:
        assert set(found) == {1}


def test_what_is_lost_does_not_depend_on_what_is_said() -> None:
    spec = ChannelSpec(loss=Loss(0.3, 2.0))
    one, two = Channel(spec, (1,)), Channel(spec, (1,))
    lost = [(one.send(noise(480, n)).any(), two.send(noise(480, n + 500, 99)).any()) for n in range(60)]
    assert all(a == b for a, b in lost)
    assert one.lost_packets == two.lost_packets == sum(not a for a, _ in lost)
    assert one.lost_packets


def test_concealment_repeats_and_fades() -> None:
    network = PacketLoss(0.5, 50.0, "repeat", random.Random(3))
    frames = [noise(FRAME_SAMPLES, n, 8000) for n in range(300)]
    out = [network.send(frame) for frame in frames]
    lost = [n for n in range(1, 300) if out[n] is not frames[n]]
    first = next(n for n in lost if out[n - 1] is frames[n - 1] and {n + 1, n + 20} <= set(lost))
    arrived = frames[first - 1].astype(np.float64)
    assert (out[first] == np.trunc(arrived / 2)).all()
    assert (out[first + 1] == np.trunc(np.trunc(arrived / 2) / 2)).all()
    assert not out[first + 20].any()


def test_a_frame_is_cheap() -> None:
    channel = Channel(parse_channel("babble+telephone+loss"), (1,), voices())
    frame = noise(FRAME_SAMPLES)
    best = min(timeit.repeat(lambda: channel.send(frame), timer=time.process_time, number=50, repeat=12)) / 50
    assert best < 600e-6  # about 55 us on a quiet core; the frame lasts 20 ms

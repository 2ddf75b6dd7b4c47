"""A person's speech beside a recipe: files from elsewhere are checked at the door, and go out again as they came."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import soundfile

from apex_tui.audio.frames import RATE
from apex_tui.audio.tones import tone_speech
from apex_tui.bank.importing import LIST_NAME, take
from apex_tui.bank.own import NewClip, add_clips, decoded, read_own, remove_clips, shaped
from apex_tui.bank.recognise import recogniser
from apex_tui.bank.shape import active_level_db
from apex_tui.cli.commands import main
from apex_tui.engine.speech import load_speech
from apex_tui.timeline.errors import BankError, UserError
from apex_tui.trials.campaign_inputs import speech_inputs
from apex_tui.workflow.library import find_workflow

DAY_OFF = Path(__file__).parents[1] / "data" / "day-off.yaml"
LINES = ("Hi, a day off.", "A day off, hi.", "December fourteenth.")


def sound(seconds: float = 1.0, rate: int = 44_100, peak: float = 0.05, lead_s: float = 0.3) -> Any:
    """A voice-like tone with quiet around it, as a float array."""
    tone = peak * np.sin(2 * np.pi * 180 * np.arange(int(seconds * rate)) / rate)
    around = np.zeros(int(lead_s * rate))
    return np.concatenate([around, tone, around])


def listed(folder: Path, *rows: tuple[str, str]) -> Path:
    path = folder / "list.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("file", "text"), *rows])
    return path


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "day-off.yaml"
    path.write_text(DAY_OFF.read_text(encoding="utf-8"), encoding="utf-8")
    return path


def test_files_become_clips_at_the_banks_rate_level_and_edges(tmp_path: Path, recipe: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.stack([sound(), sound()], axis=1), 44_100, subtype="PCM_24")
    soundfile.write(tmp_path / "b.flac", sound(0.8, 16_000), 16_000)
    path = listed(tmp_path, ("a.wav", LINES[0]), ("b.flac", LINES[1]))
    assert main(["bank", "import", str(path), "--for", str(recipe)]) == 0
    speech = recipe.with_suffix(".speech")
    first, second = read_own(speech).clips
    assert (first.imported, first.text, second.imported) == ("a.wav", LINES[0], "b.flac")
    pcm = decoded(speech, first)
    assert active_level_db(pcm) == pytest.approx(-23, abs=0.1)
    assert (first.offset - first.onset) / RATE == pytest.approx(1.0, abs=0.02)
    assert first.onset / RATE == pytest.approx(0.030, abs=0.006)
    heard = load_speech(find_workflow(str(recipe)), 1)
    assert heard.kind == "recorded"
    [chosen] = [clip for name, clip in heard.caller.items() if name.startswith("open")]
    assert chosen.sha256 in (first.pcm_sha256, second.pcm_sha256)


def test_lines_without_a_clip_and_clips_without_a_line_are_told(
    tmp_path: Path, recipe: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    soundfile.write(tmp_path / "a.wav", sound(), 44_100)
    main(["bank", "import", str(listed(tmp_path, ("a.wav", "Nobody says that."))), "--for", str(recipe)])
    told = capsys.readouterr().err
    assert "no line of day-off says: Nobody says that." in told
    assert "lines of the caller without a clip: open.v1, open.v2, ans_day.v1" in told


def spoil(kind: str) -> tuple[Any, int]:
    match kind:
        case "clipped":
            return np.clip(sound(peak=3.0), -1, 1), 44_100
        case "clipped left":
            return np.stack([np.clip(sound(peak=3.0), -1, 1), sound()], axis=1), 44_100
        case "quiet":
            return sound(peak=0.001), 44_100
        case "long":
            return sound(61, 8_000), 8_000
        case "silent":
            return np.zeros(44_100), 44_100
        case "slow":
            return sound(1, 4_000), 4_000
        case _:
            return np.tile(sound()[:, None], (1, 3)), 44_100


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("clipped", "cut off at full scale in"),
        ("clipped left", "cut off at full scale in"),
        ("quiet", r"too quiet \(nothing above -60 dBFS; at least -45\)"),
        ("long", "takes 61.60 s, and a clip takes 0.1 to 60 s"),
        ("silent", r"too quiet \(nothing above -60 dBFS"),
        ("slow", "4000 Hz is outside"),
        ("channels", "has 3 channels"),
    ],
)
def test_a_file_that_cannot_be_a_clip_is_refused_and_nothing_is_taken(
    tmp_path: Path, recipe: Path, kind: str, sentence: str
) -> None:
    soundfile.write(tmp_path / "good.wav", sound(0.3), 44_100)
    samples, rate = spoil(kind)
    soundfile.write(tmp_path / "bad.wav", samples, rate)
    path = listed(tmp_path, ("good.wav", LINES[0]), ("bad.wav", LINES[1]))
    with pytest.raises(UserError, match=f"nothing was imported: bad.wav: {sentence}"):
        take(path)
    assert main(["bank", "import", str(path), "--for", str(recipe)]) == 2
    assert not recipe.with_suffix(".speech").exists()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("text\nHello.\n", "must name the columns file, text"),
        ("file,text\n../../etc/hosts,Hello.\n", "leads out of the list's folder"),
        ("file,text\nnone.wav,Hello.\n", r"none\.wav: cannot be (read|decoded)"),
        ("file,text\na.wav,\n", r"row 2: text: missing"),
        ("file,text,role\na.wav,Hello.,boss\n", r"row 2: role"),
        ("file,text,turns\na.wav,Hello.,one\n", r"row 2: turns"),
        ("file,text\na.wav,Hello <cough>.\n", "row 2: text: unknown mark"),
        ("file,text\na.wav,Hello.\nb.wav,hello.\n", "two files say 'caller: hello.'"),
    ],
)
def test_a_list_that_does_not_fit_is_told_by_its_row(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "list.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=sentence):
        take(path)


def test_what_is_exported_can_be_imported_again(tmp_path: Path, recipe: Path) -> None:
    speech = recipe.with_suffix(".speech")
    add_clips(speech, [NewClip(text, shaped(tone_speech(text, "me")), act="opening") for text in LINES])
    out = tmp_path / "out"
    assert main(["bank", "export", str(recipe), "--out", str(out)]) == 0
    again = take(out / LIST_NAME)
    assert [(row.clip.text, row.clip.act) for row in again] == [(text, "opening") for text in LINES]
    for row, clip in zip(again, read_own(speech).clips, strict=True):
        assert row.seconds == pytest.approx(clip.samples / RATE, abs=0.01)
    assert main(["bank", "export", str(recipe), "--out", str(out)]) == 2


def test_a_clip_that_went_out_and_came_back_is_still_of_its_session(tmp_path: Path, recipe: Path) -> None:
    speech = recipe.with_suffix(".speech")
    sounds = [shaped(tone_speech(text, "me")) for text in LINES]
    add_clips(
        speech,
        [
            NewClip(LINES[0], sounds[0], session="call-1", turn=3, also=(4, 5)),
            NewClip(LINES[1], sounds[1], session="call-1", turn=6),
            NewClip(LINES[2], sounds[2], imported="elsewhere.wav"),
        ],
    )
    out = tmp_path / "out"
    assert main(["bank", "export", str(recipe), "--out", str(out)]) == 0
    assert main(["bank", "import", str(out / LIST_NAME), "--for", str(recipe)]) == 0
    where = [(clip.session, clip.turn, clip.also) for clip in read_own(speech).clips]
    assert sorted(where, key=str) == [
        ("call-1", 3, (4, 5)),
        ("call-1", 6, ()),
        (None, None, ()),
    ]  # `erase call-1` finds them


def test_a_clip_replaces_the_one_with_its_words_and_goes_when_it_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "x.speech"
    add_clips(folder, [NewClip("Hello there.", shaped(tone_speech("Hello there.", "one")))])
    kept = add_clips(folder, [NewClip("hello  THERE.", shaped(tone_speech("Hello there you.", "two")))])
    assert [clip.text for clip in kept.clips] == ["hello  THERE."]
    assert sorted(path.suffix for path in folder.iterdir()) == [".flac", ".json"]
    assert remove_clips(folder, kept.clips).clips == ()
    assert [path.name for path in folder.iterdir()] == ["manifest.json"]
    (folder / "manifest.json").write_text('{"clips": 3}', encoding="utf-8")
    with pytest.raises(BankError, match=r"manifest\.json: clips"):
        read_own(folder)


def test_a_clip_that_cannot_be_used_leaves_no_file_behind(tmp_path: Path) -> None:
    folder = tmp_path / "x.speech"
    add_clips(folder, [NewClip(LINES[0], shaped(tone_speech(LINES[0], "one")))])
    before = sorted(folder.iterdir())
    with pytest.raises(BankError, match="nothing in it is audible"):
        add_clips(
            folder,
            [NewClip(LINES[1], shaped(tone_speech(LINES[1], "one"))), NewClip("Hm.", np.zeros(24_000, dtype=np.int16))],
        )
    with pytest.raises(BankError, match="take some of the clips out"):
        add_clips(folder, [NewClip("x" * 5000, shaped(tone_speech(LINES[1], "one")))])
    assert sorted(folder.iterdir()) == before


def test_a_campaign_runs_again_when_a_clip_was_recorded_anew(recipe: Path) -> None:
    speech = recipe.with_suffix(".speech")
    add_clips(speech, [NewClip(LINES[0], shaped(tone_speech(LINES[0], "one")))])
    first = speech_inputs(find_workflow(str(recipe)))
    assert first == speech_inputs(find_workflow(str(recipe)))
    add_clips(speech, [NewClip(LINES[0], shaped(tone_speech(LINES[0], "two")))])
    assert first != speech_inputs(find_workflow(str(recipe)))


def test_our_own_workflows_take_no_foreign_speech(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bank", "import", "x.csv", "--for", "leave-request"]) == 2
    assert "is one of our workflows, and speaks from the bank" in capsys.readouterr().err


def test_a_recogniser_hears_16_khz_and_says_plain_words() -> None:
    heard: list[Any] = []

    class Model:
        def transcribe(self, audio: Any, **_how: Any) -> tuple[list[Any], None]:
            heard.append(audio)
            return [SimpleNamespace(text=" The  fourteenth"), SimpleNamespace(text=" please. ")], None

    hear = recogniser(lambda _folder: Model(), lambda: Path("weights"))
    assert hear(tone_speech("one two three", "v")) == "The fourteenth please."
    assert heard[0].dtype == np.float32
    assert len(heard[0]) == pytest.approx(0.96 * 16_000, abs=2)
    assert 0.09 < float(np.max(np.abs(heard[0]))) < 0.11


def test_a_wav_that_was_cut_and_a_pipe_are_refused(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", sound(), 44_100)
    whole = (tmp_path / "a.wav").read_bytes()
    (tmp_path / "a.wav").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match=r"a\.wav: is cut: it holds \d+ of \d+ bytes of sound"):
        take(listed(tmp_path, ("a.wav", LINES[0])))
    (tmp_path / "a.wav").unlink()
    os.mkfifo(tmp_path / "a.wav")
    with pytest.raises(UserError, match=r"a\.wav: is no regular file"):
        take(listed(tmp_path, ("a.wav", LINES[0])))
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(UserError, match=r"pipe\.csv: is no regular file"):
        take(tmp_path / "pipe.csv")


def test_clips_are_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "x.speech").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BankError, match="is a link"):
        add_clips(tmp_path / "x.speech", [NewClip(LINES[0], tone_speech(LINES[0], "am_adam"), "caller", "")])
    assert not list((tmp_path / "elsewhere").iterdir())

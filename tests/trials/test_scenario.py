"""A recorded call becomes a scenario: guesses, review, recipe and clips, and a replay that is the same every time."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from recorded_kit import WORDS, Called, call, day_off, script, voice
from shared_sessions import shared

from apex_tui.audio.frames import Pcm, to_samples
from apex_tui.audio.recording import read_lanes
from apex_tui.audio.tones import tone_speech
from apex_tui.bank.own import decoded, read_own
from apex_tui.cli.commands import main
from apex_tui.engine.headless import run_headless
from apex_tui.store.recording import Recording, open_recording
from apex_tui.timeline.errors import BankError, UserError
from apex_tui.timeline.messages import Run
from apex_tui.trials.check import Finding, tasks_of
from apex_tui.trials.scenario import _clip, build, draft, replayed
from apex_tui.workflow.check import check
from apex_tui.workflow.compile import compile_text
from apex_tui.workflow.library import find_workflow, list_own
from apex_tui.workflow.review import Review, read_review, values_of, write_review
from apex_tui.workflow.takes import Take


def _call(out: Path) -> Called:
    return call(out, compile_text(day_off(), "day-off.yaml"), script())


@pytest.fixture(scope="module")
def recording() -> Recording:
    return open_recording(shared("recorded-call", _call).result.folder)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own place, with the recipe that was open."""
    monkeypatch.setenv("APEX_TUI_WORKFLOWS", str(tmp_path))
    (tmp_path / "day-off").mkdir()
    (tmp_path / "day-off" / "day-off.yaml").write_text(day_off(), encoding="utf-8")
    return tmp_path


def reviewed(recording: Recording, **changes: object) -> Review:
    """The draft with the words that a recogniser would hear."""
    said = iter(WORDS)

    def hear(pcm: Pcm) -> str:
        assert len(pcm) > 20_000
        return next(said)

    return Review.model_validate({**draft(recording, hear).model_dump(), **changes})


def test_what_was_said_is_proposed_with_its_role_its_values_and_its_edges(recording: Recording, place: Path) -> None:
    review = reviewed(recording)
    assert [(clip.role, clip.of) for clip in review.clips] == [
        ("opening", ""), ("answer", "day"), ("correction", "day"), ("approval", ""), ("goodbye", ""),
    ]  # fmt: skip
    assert [clip.says for clip in review.clips[1:3]] == [{"day": "2026-12-14"}, {"day": "2026-12-15"}]
    assert review.outcome == {"day": "2026-12-15", "status": "submitted"}
    assert (review.base, review.id, review.faults()) == ("day-off", "day-off-recorded", [])
    lane, _ = read_lanes(recording.folder.path / "audio.wav")
    for clip, words in zip(review.clips, WORDS, strict=True):
        # Where the recording itself has this very sound, without any detector.
        sound = voice(words)
        near = lane[to_samples(clip.from_ms - 12) : to_samples(clip.from_ms + 12) + len(sound)].astype(np.float64)
        at = int(np.argmax(np.correlate(near, sound.astype(np.float64), "valid")))
        true_ms = clip.from_ms - 12 + at / 24
        assert clip.from_ms == pytest.approx(true_ms, abs=10)
        assert clip.to_ms == pytest.approx(true_ms + len(sound) / 24, abs=10)


def test_a_recorded_scenario_passes_its_checks_and_replays_the_same(recording: Recording, place: Path) -> None:
    built = build(reviewed(recording), recording)
    assert built.recipe == place / "day-off-recorded" / "day-off-recorded.yaml"
    workflow = find_workflow("day-off-recorded")
    assert [card.id for card in list_own()] == ["day-off", "day-off-recorded"]
    assert check(workflow) == []
    spoken = tasks_of(workflow, ())[1]()
    assert [finding.detail for finding in spoken] == ["6 of 10 lines are the person's own, 4 by tones"]
    again = replayed(workflow, times=2)
    assert again.ok, again.detail
    # Nobody recorded how the caller confirms and asks: that is said, never hidden.
    assert built.stand_ins == {"ack.v1": "tones", "ack.v2": "tones", "nudge.v1": "tones", "nudge.v2": "tones"}


def test_the_caller_of_a_replay_is_the_persons_own_sound(recording: Recording, place: Path) -> None:
    built = build(reviewed(recording), recording)
    command = Run(workflow="day-off-recorded", virtual=True, sound="none", out=str(place / "s"))
    result = run_headless(command, lambda _item: None)
    session = open_recording(result.folder)
    assert session.meta.caller == "recorded"
    lane, _ = read_lanes(result.folder / "audio.wav")
    speech = built.recipe.with_suffix(".speech")
    spoken = lane.tobytes()
    for clip in read_own(speech).clips:
        pcm = decoded(speech, clip)
        assert clip.pcm_sha256 in session.meta.clips.values()
        assert pcm[clip.onset : clip.offset].tobytes() in spoken
        assert clip.session == recording.meta.session
        assert clip.level_db == pytest.approx(-23, abs=0.6)
    assert session.meta.seed == 1


def test_a_damaged_clip_ends_no_session_in_silence(recording: Recording, place: Path) -> None:
    built = build(reviewed(recording), recording)
    file = next(built.recipe.with_suffix(".speech").glob("*.flac"))
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(BankError, match=r"\.flac: is not the file that was recorded"):
        run_headless(Run(workflow="day-off-recorded", virtual=True, out=str(place / "s")), lambda _item: None)


def test_a_skeleton_is_made_of_what_the_session_shows(recording: Recording, place: Path) -> None:
    built = build(reviewed(recording, base="skeleton", id="fresh"), recording)
    workflow = find_workflow(str(built.recipe))
    assert check(workflow) == []
    assert {fact.id: fact.value for fact in workflow.facts} == {"day": "2026-12-14", "day_v2": "2026-12-15"}
    assert workflow.autonomy.approval_required_for == ("submit_form",)


def test_a_review_goes_through_a_file_and_its_faults_are_named(
    recording: Recording, place: Path, tmp_path: Path
) -> None:
    path = tmp_path / "review.yaml"
    review = draft(recording)
    write_review(path, review)
    assert read_review(path) == review
    with pytest.raises(UserError, match="is there already"):
        write_review(path, review)
    with pytest.raises(UserError, match="turn 1: no words yet; write what is said, drop it, or let a recogniser"):
        build(review, recording)
    path.write_text(path.read_text(encoding="utf-8").replace("role: goodbye", "role: farewell"), encoding="utf-8")
    with pytest.raises(UserError, match=r"review\.yaml:\d+: clips\.4\.role"):
        read_review(path)
    over = [
        *review.clips[:2],
        *(c.model_copy(update={"role": r}) for c, r in zip(review.clips[2:4], ("drop", "more"), strict=True)),
    ]
    told = review.model_copy(update={"clips": tuple(over)}).faults()
    assert "turn 4: goes on over turn 3, which is not kept and would be heard in it; give it another role" in told
    dropped = [clip.model_copy(update={"role": "drop"}) for clip in review.clips]
    assert review.model_copy(update={"clips": tuple(dropped)}).faults() == [
        "there is no opening: one utterance must begin the call"
    ]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"id": "leave-request"}, "id: leave-request is one of our workflows"),
        ({"base": "no-such"}, "base: 'no-such' is no recipe"),
        ({"outcome": {"nothing": 1}}, "outcome: there is no field 'nothing' in form"),
    ],
)
def test_a_review_that_does_not_fit_is_refused(
    recording: Recording, place: Path, changes: dict[str, object], sentence: str
) -> None:
    with pytest.raises(UserError, match=sentence):
        build(reviewed(recording, **changes), recording)
    assert [path.name for path in place.iterdir()] == ["day-off"]


def test_another_session_does_not_overwrite_a_scenario(recording: Recording, place: Path) -> None:
    build(reviewed(recording), recording)
    other = reviewed(recording, session="another-session", id="day-off-recorded")
    with pytest.raises(UserError, match="was not made of this session"):
        build(other, recording)


def test_a_scenario_that_is_made_again_keeps_nothing_of_what_was_dropped_since(
    recording: Recording, place: Path
) -> None:
    review = reviewed(recording)
    speech = build(review, recording).recipe.with_suffix(".speech")
    clips = list(review.clips)
    clips[1] = clips[1].model_copy(update={"words": "December the fourteenth."})
    clips[4] = clips[4].model_copy(update={"role": "drop"})
    build(review.model_copy(update={"clips": tuple(clips)}), recording)
    assert {clip.text for clip in read_own(speech).clips} == {WORDS[0], "December the fourteenth.", WORDS[2], WORDS[3]}
    assert len(list(speech.glob("*.flac"))) == 4
    like = review.model_copy(update={"session": recording.meta.session[:-1]})  # a name that the other one begins with
    with pytest.raises(UserError, match="was not made of this session"):
        build(like, recording)


def test_what_an_agent_writes_without_measure_is_cut_to_what_a_review_holds(recording: Recording, place: Path) -> None:
    loud = Take(1, 100.0, 900.0, "word " * 3000, "answer", "CALL:" + "x" * 200, (), "y" * 900)
    clip = _clip(loud, tone_speech("a few words", "me"), lambda _ms: 0.0, None)
    assert (len(clip.words), len(clip.of), len(clip.why)) == (4000, 200, 400)


def test_what_is_typed_or_titled_stays_what_it_is(recording: Recording, place: Path, tmp_path: Path) -> None:
    assert values_of("name = nan, seats = 2, phone = 0142, left = inf, share = 0.5, ok = true, none =") == {
        "name": "nan", "seats": 2, "phone": "0142", "left": "inf", "share": 0.5, "ok": True, "none": None,
    }  # fmt: skip
    review = reviewed(recording, title="A call\nspeech: rendered\n#")
    built = build(review, recording)
    assert find_workflow(str(built.recipe)).title == review.title  # a line of it is no key of the recipe
    write_review(tmp_path / "r.yaml", review.model_copy(update={"session": "a\nbase: b"}))
    assert read_review(tmp_path / "r.yaml").base == "day-off"
    clips = (review.clips[0].model_copy(update={"from_ms": 9e6, "to_ms": 9.001e6}), *review.clips[1:])
    with pytest.raises(BankError, match="turn 1: "):
        build(review.model_copy(update={"clips": clips}), recording)


def test_the_command_drafts_builds_and_checks(
    recording: Recording,
    place: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("apex_tui.trials.check.check_workflow", lambda _workflow: [Finding("seen", True, "elsewhere")])
    folder, file = str(recording.folder.path), tmp_path / "review.yaml"
    assert main(["scenario", folder, "--accept"]) == 2
    assert "no words yet" in capsys.readouterr().err
    assert main(["scenario", folder, "--draft", str(file), "--id", "mine"]) == 0
    data = yaml.safe_load(file.read_text(encoding="utf-8"))
    for clip, words in zip(data["clips"], WORDS, strict=True):
        clip["words"] = words
    data["clips"][4]["role"] = "drop"
    file.write_text(yaml.safe_dump(data), encoding="utf-8")
    assert main(["scenario", folder, "--review", str(file), "--times", "1"]) == 0
    told = capsys.readouterr()
    assert str(place / "mine" / "mine.yaml") in told.out
    assert "nobody recorded close.v1: tones stand in for it" in told.err
    assert "✓ replayed 1 times: the same every time" in told.err
    assert main(["scenario", folder, "--review", str(file), "--accept"]) == 2


def test_a_recording_that_was_cut_off_is_said_to_be(recording: Recording, place: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(recording.folder.path, tmp_path / "cut"))
    (folder / "audio.wav").write_bytes((folder / "audio.wav").read_bytes()[:1000])
    with pytest.raises(UserError, match="turn 1 of the caller lies beyond the end of the recorded sound"):
        draft(open_recording(folder))


def test_only_a_persons_session_can_be_a_scenario(place: Path) -> None:
    assert main(["scenario", str(Path("sessions/examples").resolve()), "--accept"]) == 2

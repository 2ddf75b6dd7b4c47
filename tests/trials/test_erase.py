"""Erasing a person: the voice is silence, the words are gone, a tombstone says so, and the verdict is the same."""

from __future__ import annotations

import dataclasses
import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest
from recorded_kit import WORDS, Called, call, day_off, script
from shared_sessions import shared

from apex_tui.audio.frames import to_samples
from apex_tui.audio.recording import read_lanes
from apex_tui.bank.own import read_own
from apex_tui.cli.commands import main
from apex_tui.score.judge import score_folder
from apex_tui.store.erase import erase
from apex_tui.store.recording import Recording, open_recording
from apex_tui.timeline.agent_facts import AgentHeardCaller
from apex_tui.timeline.caller_facts import PersonDecided
from apex_tui.timeline.errors import RecordingError, UserError
from apex_tui.timeline.events import Event, to_line
from apex_tui.timeline.session_facts import OperatorMarked, SessionErased
from apex_tui.trials.scenario import build, draft
from apex_tui.workflow.compile import compile_text

UTC = "2026-11-30T08:00:00Z"
SECRETS = ("Ada Lovelace", "the fourteenth", "2026-12-15")


def _call(out: Path) -> Called:
    return call(out, compile_text(day_off(), "day-off.yaml"), script())


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    """The recorded call as an agent that transcribes would leave it, in a folder of its own."""
    source = shared("recorded-call", _call).result.folder
    folder = Path(shutil.copytree(source, tmp_path / source.name))
    events = open_recording(folder).events
    out: list[Event] = []
    for event in events:
        out.append(event)
        if event.type == "caller.turn_ended":
            words = "It is Ada Lovelace." if event.fact.turn == 1 else "I mean the fourteenth."  # type: ignore[union-attr]
            heard = AgentHeardCaller(item=f"i{event.fact.turn}", text=words, final=True)  # type: ignore[union-attr]
            out.append(Event(0, event.media_ms, event.wall_ns, heard, "agent"))
            out.append(Event(0, event.media_ms, event.wall_ns, OperatorMarked(note="Ada Lovelace said"), "operator"))
    shift = {event.seq: number for number, event in enumerate(out) if event in events}
    lines = [
        to_line(Event(number, e.media_ms, e.wall_ns, e.fact, e.actor, tuple(shift[c] for c in e.causes)))
        for number, e in enumerate(out)
    ]
    (folder / "events.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "wire.jsonl").write_text('{"raw": "Ada Lovelace"}\n', encoding="utf-8")
    return open_recording(folder)


def held(folder: Path, *names: str) -> str:
    return "".join((folder / name).read_text(encoding="utf-8") for name in names)


def test_voice_and_words_are_gone_and_the_verdict_stays(recording: Recording) -> None:
    folder = recording.folder.path
    before = score_folder(folder)
    caller, agent = read_lanes(folder / "audio.wav")
    done = erase(recording, UTC)
    silent, same = read_lanes(folder / "audio.wav")
    assert not silent.any()
    assert np.array_equal(same, agent)
    assert done.silenced_s == pytest.approx(len(caller) / 24_000, abs=0.1)
    after = open_recording(folder)
    assert after.problem is None
    text = held(folder, "events.jsonl", "wire.jsonl")
    assert "Ada" not in text
    assert "fourteenth" not in "".join(line for line in text.splitlines() if '"agent.heard_caller"' in line)
    stone = after.events[-1].fact
    assert isinstance(stone, SessionErased)
    assert (stone.utc, stone.turns) == (UTC, ())
    assert stone.caller_sha256 == hashlib.sha256(caller.astype("<i2").tobytes()).hexdigest()
    assert stone.texts == done.texts == 11  # five transcripts, five notes, one typed value
    assert "the caller was erased" in after.meta.labels
    assert score_folder(folder) == before
    assert next(e.fact.value for e in after.events if isinstance(e.fact, PersonDecided)) == "[erased]"


def test_one_turn_can_be_erased_alone_and_twice_is_once(recording: Recording) -> None:
    folder = recording.folder.path
    caller, _ = read_lanes(folder / "audio.wav")
    erase(recording, UTC, (1,))
    left, _ = read_lanes(folder / "audio.wav")
    assert not left[to_samples(600) : to_samples(2900)].any()
    assert np.array_equal(left[to_samples(3500) :], caller[to_samples(3500) :])
    text = held(folder, "events.jsonl")
    assert "It is Ada" not in text
    assert "I mean the fourteenth." in text
    again = open_recording(folder)
    assert erase(again, UTC, (1,)).texts == 0
    assert [e.type for e in open_recording(folder).events[-3:]] == ["session.ended", "session.erased", "session.erased"]
    with pytest.raises(UserError, match="there is no turn 9 of the caller; there are 1, 2, 3, 4, 5"):
        erase(again, UTC, (9,))


def test_the_command_asks_and_takes_the_clips_along(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "own"
    (place / "day-off").mkdir(parents=True)
    (place / "day-off" / "day-off.yaml").write_text(day_off(), encoding="utf-8")
    monkeypatch.setenv("APEX_TUI_WORKFLOWS", str(place))
    monkeypatch.setenv("APEX_TUI_SESSIONS", str(tmp_path / "sessions"))
    review = draft(recording)
    clips = tuple(c.model_copy(update={"words": words}) for c, words in zip(review.clips, WORDS, strict=True))
    went_on = clips[4].model_copy(update={"role": "more"})  # the goodbye goes on with the approval
    joined = build(review.model_copy(update={"clips": (*clips[:4], went_on), "id": "joined"}), recording)
    built = build(review.model_copy(update={"clips": clips}), recording)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    begun = tmp_path / "state" / "apex-tui" / "reviews" / f"{recording.folder.name}.yaml"
    begun.parent.mkdir(parents=True)
    begun.write_text("words: Ada", encoding="utf-8")
    another = begun.with_name(f"{recording.folder.name}-2.yaml")
    another.write_text("words: Bob", encoding="utf-8")
    folder = str(recording.folder.path)
    assert main(["erase", folder]) == 2
    assert "removes 9 clips; it cannot be undone: add --yes" in capsys.readouterr().err
    assert main(["erase", folder, "--turn", "2", "--yes"]) == 0
    assert [clip.turn for clip in read_own(built.recipe.with_suffix(".speech")).clips] == [1, 3, 4, 5]
    assert "the words in" in capsys.readouterr().err
    assert main(["erase", folder, "--turn", "5", "--yes"]) == 0
    assert [clip.turn for clip in read_own(joined.recipe.with_suffix(".speech")).clips] == [1, 3]
    assert main(["erase", folder, "--scenarios", "--yes"]) == 0
    assert not built.recipe.exists()
    assert not begun.exists()
    assert another.exists()  # of another session, whose name begins with this one's
    assert main(["scenario", folder, "--accept"]) == 2
    assert "was erased from it" in capsys.readouterr().err
    assert [path.name for path in place.iterdir()] == ["day-off"]


def test_sessions_beside_the_erased_one_that_replayed_its_scenario_are_named(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where `--out` put both, and only those of this scenario."""
    (tmp_path / "own" / "day-off").mkdir(parents=True)
    (tmp_path / "own" / "day-off" / "day-off.yaml").write_text(day_off(), encoding="utf-8")
    monkeypatch.setenv("APEX_TUI_WORKFLOWS", str(tmp_path / "own"))
    monkeypatch.setenv("APEX_TUI_SESSIONS", str(tmp_path / "sessions"))
    review = draft(recording)
    clips = tuple(c.model_copy(update={"words": words}) for c, words in zip(review.clips, WORDS, strict=True))
    build(review.model_copy(update={"clips": clips, "id": "replayed"}), recording)
    beside = recording.folder.path.parent / "20260101T000000Z-replayed-rehearsal-1"
    shutil.copytree(recording.folder.path, beside)
    meta = open_recording(beside)
    meta.folder.write_meta(
        meta.meta.model_copy(update={"workflow": "replayed", "session": beside.name, "caller": "recorded"})
    )
    assert main(["erase", str(recording.folder.path), "--yes"]) == 0
    told = capsys.readouterr().err
    assert f"the voice in {beside}, which replayed a scenario of it: erase it too" in told
    assert told.count("which replayed a scenario of it") == 1
    assert "in its workflow.json" not in told
    assert main(["erase", str(beside), "--yes"]) == 0
    assert "the words of the scenario in its workflow.json" in capsys.readouterr().err


def test_somebody_who_took_over_a_recorded_caller_can_be_erased_too(recording: Recording) -> None:
    directed = dataclasses.replace(recording, meta=recording.meta.completed(caller="bank"))
    assert erase(directed, UTC).texts == 11


def test_a_synthetic_caller_is_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    example = next(Path("sessions/examples").resolve().glob("*/session.json")).parent
    assert main(["erase", str(example), "--yes"]) == 2
    assert "there is nobody to erase" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["audio.wav", "wire.jsonl", "events.jsonl"])
def test_what_lies_behind_a_link_is_left_as_it_is(recording: Recording, tmp_path: Path, name: str) -> None:
    elsewhere, own = tmp_path / "elsewhere", recording.folder.path / name
    own.rename(elsewhere)
    own.symlink_to(elsewhere)
    before = elsewhere.read_bytes()
    with pytest.raises(RecordingError, match=f"{name}: is a link"):
        erase(recording, UTC)
    assert elsewhere.read_bytes() == before


def test_a_link_in_the_place_of_a_draft_is_not_written_through(recording: Recording, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine", encoding="utf-8")
    drafts = [recording.folder.path / f"{name}.new" for name in ("session.json", "events.jsonl", "wire.jsonl")]
    for draft_file in drafts:
        draft_file.symlink_to(mine)
    erase(recording, UTC)
    assert mine.read_text(encoding="utf-8") == "mine"
    assert open_recording(recording.folder.path).problem is None
    assert not any(draft_file.is_symlink() for draft_file in drafts)


def test_a_scenario_beside_others_is_removed_alone(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "own"
    (place / "mine").mkdir(parents=True)
    (place / "mine" / "day-off.yaml").write_text(day_off(), encoding="utf-8")
    monkeypatch.setenv("APEX_TUI_WORKFLOWS", str(place))
    monkeypatch.setenv("APEX_TUI_SESSIONS", str(tmp_path / "sessions"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    review = draft(recording)
    clips = tuple(c.model_copy(update={"words": words}) for c, words in zip(review.clips, WORDS, strict=True))
    built = build(review.model_copy(update={"clips": clips}), recording)
    speech = built.recipe.with_suffix(".speech")
    for made in (built.recipe, speech):
        made.rename(place / "mine" / made.name)
    assert main(["erase", str(recording.folder.path), "--scenarios", "--yes"]) == 0
    assert [path.name for path in (place / "mine").iterdir()] == ["day-off.yaml"]

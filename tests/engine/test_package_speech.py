"""The speech that an official package ships: spoken by its own clips, and refused when they are not what the index says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import soundfile

from apex_tui.audio.clips import pcm_digest
from apex_tui.audio.frames import RATE
from apex_tui.audio.tones import tone_speech
from apex_tui.engine.speech import load_speech
from apex_tui.timeline.errors import BankError
from apex_tui.trials.official_layout_package import export_package
from apex_tui.workflow.library import find_workflow
from apex_tui.workflow.lines import choose_variant
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.official import read_package
from apex_tui.workflow.official_recovery import CLOSING, NUDGE, OUR_CLOSINGS, OUR_NUDGE


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """An exported recipe with a clip for every wording."""
    folder, _ = export_package(find_workflow("leave-request"), tmp_path)
    write_clips(folder, read_package(folder))
    return folder


def write_clips(folder: Path, workflow: Workflow) -> None:
    place = folder / "user" / "audio"
    place.mkdir()
    rows = []
    for wording in workflow.wordings:
        for variant in wording.variants:
            pcm = tone_speech(variant.text, "somebody")
            kind = {"recovery.closing": "closing", "recovery.nudge": "nudge"}.get(wording.user_plan_id, "variant")
            name = variant.variant_id.replace("#", "_").replace(":", "_") + ".flac"
            if kind == "closing":
                name = f"_closing_{int(variant.variant_id[-1]) - 1}.flac"
            soundfile.write(place / name, pcm, RATE, subtype="PCM_16")
            rows.append(
                {
                    "file": name, "kind": kind, "user_plan_id": wording.user_plan_id, "variant_id": variant.variant_id,
                    "text": variant.text, "voice": "af_heart", "sample_rate": RATE, "num_samples": len(pcm),
                    "pcm16_sha256": pcm_digest(pcm), "word_timestamps": [{"word": "a", "start_ms": 0, "end_ms": 320}],
                }
            )  # fmt: skip
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (place / "index.jsonl").write_text(text, encoding="utf-8")


def change(folder: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    path = folder / "user" / "audio" / "index.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    edit(rows[0])
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def test_a_package_speaks_with_its_own_clips(package: Path) -> None:
    workflow = read_package(package)
    speech = load_speech(workflow, 1)
    assert speech.kind == "package"
    assert len(speech.caller) == len({wording.user_plan_id for wording in workflow.wordings})
    variant, clip = next(iter(speech.caller.items()))
    text = next(v.text for w in workflow.wordings for v in w.variants if v.variant_id == variant)
    assert clip.sha256 == pcm_digest(tone_speech(text, "somebody"))
    assert 0 <= clip.onset < clip.offset <= len(clip.pcm)


def test_closing_lines_and_nudge_are_those_of_the_index(package: Path) -> None:
    index = package / "user" / "audio" / "index.jsonl"
    index.write_text(
        index.read_text(encoding="utf-8").replace(OUR_NUDGE, "Theirs.").replace(OUR_CLOSINGS[3], "Their last."),
        encoding="utf-8",
    )
    workflow = read_package(package)
    lines = {plan: workflow.wording(plan) for plan in (CLOSING, NUDGE)}
    assert [v.text for w in lines.values() if w for v in w.variants] == [*OUR_CLOSINGS[:3], "Their last.", "Theirs."]
    assert [choose_variant(workflow, seed, CLOSING).variant_id[-1] for seed in (1, 3, 4)] == ["2", "4", "1"]
    rows = [json.loads(line) for line in index.read_text(encoding="utf-8").splitlines()]
    index.write_text("".join(json.dumps(row) + "\n" for row in rows if row["kind"] == "variant"))
    assert read_package(package).wording(CLOSING) is None, "no clip, no words"


def test_a_package_without_speech_gets_tones(package: Path) -> None:
    (package / "user" / "audio" / "index.jsonl").unlink()
    assert load_speech(read_package(package), 1).kind == "tones"


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda row: row.update(pcm16_sha256="0" * 64), "its samples are not those of the index"),
        (lambda row: row.update(num_samples=5), "the index says 5"),
        (lambda row: row.update(sample_rate=16000), "at 16000 Hz"),
        (lambda row: row.update(file="../../task.yaml"), "leads out of user/audio"),
        (lambda row: row.update(file="none.flac"), "cannot be read"),
        (lambda row: row.pop("text"), "index.jsonl:1: text: field required"),
    ],
)
def test_a_clip_that_is_not_what_the_index_says_stops_the_session(
    package: Path, edit: Callable[[dict[str, Any]], None], told: str
) -> None:
    workflow = read_package(package)
    wording = workflow.wordings[0]
    only_one = workflow.model_copy(
        update={"wordings": (wording.model_copy(update={"variants": wording.variants[:1]}), *workflow.wordings[1:])}
    )
    change(package, edit)
    with pytest.raises(BankError, match=r"index|flac") as error:
        load_speech(only_one, 1)
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_words_without_a_clip_are_named(package: Path) -> None:
    workflow = read_package(package)
    change(package, lambda row: row.update(text="something else"))
    wording = workflow.wordings[0]
    first = wording.model_copy(update={"variants": wording.variants[:1]})
    with pytest.raises(BankError, match="there is no clip for the words"):
        load_speech(workflow.model_copy(update={"wordings": (first, *workflow.wordings[1:])}), 1)

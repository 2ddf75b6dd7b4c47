import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from bank_clips import SPECS, encode, make_bank, tone

from apex_tui.audio.frames import RATE
from apex_tui.bank.bank import SpeechBank, find_bank_root, verify
from apex_tui.bank.manifest import Clip, load_manifest
from apex_tui.timeline.errors import BankError

AMOUNT = "ans_amount.v1"
HINT = "`apex-tui bank render toy`"


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    """A freshly made bank of two clips for the workflow `toy`."""
    return make_bank(tmp_path / "toy")


def edit(bank: Path, change: Callable[[dict[str, Any]], None]) -> None:
    path = bank / "manifest.json"
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def fault(bank: Path, **options: Any) -> str:
    """The one sentence with which opening the amount clip fails."""
    with pytest.raises(BankError) as caught:
        SpeechBank.open(bank, SPECS, [AMOUNT], **options)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    assert str(bank) in sentence
    return sentence


def test_an_opened_clip_is_what_lies_on_disk(bank: Path) -> None:
    clip = SpeechBank.open(bank, SPECS, [AMOUNT]).clip(AMOUNT)
    decoded, rate = soundfile.read(bank / clip.meta.file, dtype="int16")
    assert rate == RATE
    assert np.array_equal(clip.pcm, decoded)
    assert clip.meta.samples == len(decoded)
    assert clip.meta.facts == ("amount",)
    assert not clip.pcm.flags.writeable


def test_only_the_clips_that_can_be_chosen_are_decoded(bank: Path) -> None:
    (bank / "agent.ask.opus").write_bytes(b"broken")
    opened = SpeechBank.open(bank, SPECS, [AMOUNT])
    assert opened.ids == (AMOUNT,)
    with pytest.raises(BankError, match="was not opened"):
        opened.clip("agent.ask")


def test_facts_come_from_the_workflow_not_from_the_manifest(bank: Path) -> None:
    specs = (SPECS[0], SPECS[1].model_copy(update={"facts": ("amount", "currency")}))
    assert SpeechBank.open(bank, specs, [AMOUNT]).clip(AMOUNT).meta.facts == ("amount", "currency")


def test_missing_file(bank: Path) -> None:
    (bank / f"{AMOUNT}.opus").unlink()
    sentence = fault(bank)
    assert f"{AMOUNT}.opus" in sentence
    assert "missing" in sentence
    assert HINT in sentence


def test_missing_bank_and_missing_clip(bank: Path, tmp_path: Path) -> None:
    edit(bank, lambda m: m["clips"].pop())
    assert "is missing" in fault(bank)
    with pytest.raises(
        BankError,
        match=r"empty has no speech; make it with `apex-tui bank render empty`, .*`apex-tui bank import`, .*--tones`\)\.$",
    ):
        SpeechBank.open(tmp_path / "empty", SPECS, [AMOUNT])


@pytest.mark.parametrize("left", [0, 1, 100, 0.5, 0.99])
def test_cut_file(bank: Path, left: float) -> None:
    path = bank / f"{AMOUNT}.opus"
    whole = path.read_bytes()
    size = int(left * len(whole)) if 0 < left < 1 else int(left)
    path.write_bytes(whole[:size])
    sentence = fault(bank)
    assert f"cut or altered, {size} bytes" in sentence
    assert HINT in sentence


def test_one_altered_byte(bank: Path) -> None:
    path = bank / f"{AMOUNT}.opus"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert "cut or altered" in fault(bank)


def test_a_foreign_file_with_the_right_digest_cannot_be_decoded(bank: Path) -> None:
    (bank / f"{AMOUNT}.opus").write_bytes(b"no audio at all")
    digest = hashlib.sha256(b"no audio at all").hexdigest()
    edit(bank, lambda m: m["clips"][1].update(file_sha256=digest))
    sentence = fault(bank)
    assert "cannot be decoded" in sentence
    assert HINT in sentence


def test_changed_text_or_voice_is_out_of_date(bank: Path) -> None:
    for update in ({"text": "six hundred <pause 1.0s> fifty five"}, {"voice": "bf_emma"}):
        specs = (SPECS[0], SPECS[1].model_copy(update=update))
        with pytest.raises(BankError, match="out of date, its text or voice has changed") as caught:
            SpeechBank.open(bank, specs, [AMOUNT])
        assert HINT in str(caught.value)


def test_right_file_but_other_pcm_needs_consent(bank: Path) -> None:
    edit(bank, lambda m: m["clips"][1].update(pcm_sha256="0" * 64))
    assert "install soundfile==0.14.0" in fault(bank)
    opened = SpeechBank.open(bank, SPECS, [AMOUNT, "agent.ask"], allow_other_pcm=True)
    assert opened.altered == (AMOUNT,)
    assert len(opened.clip(AMOUNT).pcm) == opened.clip(AMOUNT).meta.samples


def test_another_length_stays_an_error_with_consent(bank: Path) -> None:
    edit(bank, lambda m: m["clips"][1].update(samples=m["clips"][1]["samples"] + 1))
    assert re.search(r"decodes to \d+ samples, not \d+", fault(bank, allow_other_pcm=True))


def test_an_id_outside_the_workflow(bank: Path) -> None:
    with pytest.raises(BankError, match="'nobody' is none of the workflow's"):
        SpeechBank.open(bank, SPECS, ["nobody"])
    with pytest.raises(BankError, match="asked for twice"):
        SpeechBank.open(bank, (*SPECS, SPECS[0]), [AMOUNT])


def test_verify_finds_nothing_in_a_good_bank(bank: Path) -> None:
    assert verify(bank, SPECS) == []


def test_verify_names_every_fault(bank: Path) -> None:
    (bank / "agent.ask.opus").unlink()
    (bank / "stray.opus").write_bytes(b"x")
    new = SPECS[1].model_copy(update={"id": "new.v1"})
    findings = {finding.file: finding.problem for finding in verify(bank, (SPECS[0], new))}
    assert "missing" in findings["agent.ask.opus"]
    assert "'new.v1' is missing" in findings["manifest.json"]
    assert "none of the workflow's" in findings[f"{AMOUNT}.opus"]
    assert "not in the manifest" in findings["stray.opus"]
    assert len(findings) == 4


@pytest.mark.parametrize("field", ["onset", "offset", "value_end"])
def test_verify_measures_edges_again(bank: Path, field: str) -> None:
    def shift(document: dict[str, Any]) -> None:
        clip = document["clips"][1]
        clip[field] -= 120
        if field == "offset":
            clip["value_end"] -= 120

    edit(bank, shift)
    (finding,) = verify(bank, SPECS)
    assert finding.file == f"{AMOUNT}.opus"
    assert "edges measured as" in finding.problem


def test_verify_measures_pauses_and_level_again(bank: Path) -> None:
    edit(bank, lambda m: m["clips"][1].update(level_db=-22.0))
    (finding,) = verify(bank, SPECS)
    assert "level measured as" in finding.problem

    def shift(document: dict[str, Any]) -> None:
        document["clips"][1]["pauses"][0][0] += 120

    edit(bank, shift)
    (finding,) = verify(bank, SPECS)
    assert "edges measured as" in finding.problem


def test_verify_compares_every_field_with_the_workflow(bank: Path) -> None:
    specs = (SPECS[0], SPECS[1].model_copy(update={"facts": ()}))
    (finding,) = verify(bank, specs)
    assert "differ from the workflow's" in finding.problem


def test_verify_of_a_missing_bank_is_a_finding(tmp_path: Path) -> None:
    (finding,) = verify(tmp_path / "toy", SPECS)
    assert "toy has no speech" in finding.problem


def test_the_bank_of_the_checkout_is_found() -> None:
    root = find_bank_root()
    assert root.name == "speech_bank"
    assert root.is_dir()


def test_a_clip_too_large_is_not_read(bank: Path) -> None:
    with (bank / f"{AMOUNT}.opus").open("r+b") as stream:
        stream.truncate(9 * 1024 * 1024)
    assert "larger than" in fault(bank)


def test_positions_are_those_of_the_decoded_tone(tmp_path: Path) -> None:
    bank = make_bank(tmp_path / "toy")
    clip: Clip = load_manifest(bank / "manifest.json").by_id()["agent.ask"]
    # five words of 200 ms with 80 ms between them, 30 ms kept before and 60 ms after
    assert clip.onset == pytest.approx(0.030 * RATE, abs=0.010 * RATE)
    assert clip.offset - clip.onset == pytest.approx(1.320 * RATE, abs=0.015 * RATE)
    assert clip.samples == pytest.approx(1.410 * RATE, abs=0.015 * RATE)


def test_the_digest_of_another_audio_of_the_same_name(bank: Path) -> None:
    encode(tone(900), bank / f"{AMOUNT}.opus", 1)
    assert "cut or altered" in fault(bank)

"""Whether critical values come through: canonical comparison, rows of clips cut apart, and the committed reports."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from bank_clips import SPECS, make_bank

from apex_tui.audio.frames import Pcm
from apex_tui.bank.bank import find_bank_root
from apex_tui.bank.manifest import ClipSpec, load_manifest
from apex_tui.timeline.errors import BankError
from apex_tui.trials import heard_files as files
from apex_tui.trials.heard import apart, compare, critical_values, edits, holds, tally
from apex_tui.workflow.library import find_workflow, list_workflows
from apex_tui.workflow.lines import Line, spoken_lines


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("My tag is T B four one five.", ("tb 415",)),
        ("KX4073, please.", ("kx 4073",)),
        ("The fourteenth of December, for five hundred fifty-five dollars.", ("december 14", "555")),
        ("One moment, I have two dogs.", ()),
        ("I am fine, and I need 30 of them.", ("30",)),
    ],
)
def test_critical_values(text: str, values: tuple[str, ...]) -> None:
    assert critical_values(text) == values


def test_a_single_digit_counts_where_it_is_what_the_caller_tells() -> None:
    assert critical_values("There are three of us.", ["3"]) == ("3",)


@pytest.mark.parametrize(
    ("heard", "there"), [("tb415", True), ("t b 4 15", True), ("tb 4150", False), ("xtb 415", False), ("tv 415", False)]
)
def test_a_value_is_held_as_whole_words_however_they_are_parted(heard: str, there: bool) -> None:
    assert holds(heard.split(), "tb 415") is there


@pytest.mark.parametrize(
    ("words", "missed"),
    [("500. 5523.", ()), ("500 and 5523", ()), ("500, fifty-five thirty-two", ("5523",)), ("", ("500", "5523"))],
)
def test_a_value_with_a_pause_inside_is_heard_in_its_parts(words: str, missed: tuple[str, ...]) -> None:
    line = Line("change_amount.v1", "caller", "Make it five hundred <pause 2.0s> fifty-five twenty-three.", "bf_emma")
    assert compare(find_workflow("payment"), line, words).missed == missed


def test_a_letter_that_a_word_spells_is_that_letter() -> None:
    line = Line("ans_site.v1", "caller", "It's N as in November, two four seven.", "bf_emma")
    heard = compare(find_workflow("payment"), line, "It's end as in November 247.")
    assert (heard.critical, heard.missed, heard.words) == (("n 247",), (), "It's end as in November 247.")
    assert compare(find_workflow("payment"), line, "It's M as in Mike, 247.").missed == ("n 247",)


@pytest.mark.parametrize(
    "words",
    [
        "They sent me one, G-V-As in Victor 13.",
        "Um, yes, here, GV as Invictor 13.",
        "G. V. is in Victor, 13.",
        "G, Viaz in Victor 13.",
        "G, V, as in Victor 13.",
        "It's on GVS invictor 13.",
    ],
)
def test_as_in_is_understood_however_a_recogniser_writes_it(words: str) -> None:
    line = Line("ans_place.v1", "caller", "G, V as in victor, one three.", "bf_emma")
    heard = compare(find_workflow("payment"), line, words)
    assert (heard.critical, heard.missed) == (("gv 13",), ())


@pytest.mark.parametrize(
    ("words", "missed"), [("10-2", ()), ("Ten to two.", ()), ("10-3", ("2",)), ("102", ("10", "2"))]
)
def test_a_time_that_is_said_by_its_distance_to_the_hour(words: str, missed: tuple[str, ...]) -> None:
    workflow = find_workflow("forklift-statement")
    wanted = "ans_impact_time_after_after_the_break.v1"
    line = next(line for line in spoken_lines(workflow) if line.id == wanted)
    assert line.text == "Ten to two."
    assert compare(workflow, line, words).missed == missed


@pytest.mark.parametrize("words", ["MRM is in mic 417", "R, this is in order, 417", "RN 417"])
def test_other_letters_are_not_taken_for_the_right_ones(words: str) -> None:
    line = Line("ans_case.v1", "caller", "It's R, M as in Mike, four one seven.", "bf_emma")
    assert compare(find_workflow("payment"), line, words).missed == ("rm 417",)


def test_word_errors_are_the_least_number_of_changes() -> None:
    assert edits(["a", "b", "c", "d"], ["a", "x", "c"]) == 2
    assert edits([], ["a"]) == 1


def test_a_row_of_clips_is_cut_where_the_words_are_alike() -> None:
    said = ["Yes, that's right.", "It's five hundred fifty-five.", "Okay, my number is four oh seven."]
    heard = "Yes, that's right. It's $555. Okay, my number is 407."
    assert apart(said, heard) == ["Yes, that's right.", "It's $555.", "Okay, my number is 407."]
    assert apart(["Hello."], "hello") == ["hello"]
    assert "".join(apart(["one two", "three"], "something else altogether").copy()) != ""


def bank(root: Path) -> list[Line]:
    day = ClipSpec(id="ans_day.v1", role="caller", text="the third of May", voice="am_michael")
    make_bank(root / "payment", (*SPECS, day))
    clips = load_manifest(root / "payment" / "manifest.json").clips
    return [Line(clip.id, clip.role, clip.text, clip.voice) for clip in clips]


def test_what_was_heard_once_is_kept_and_a_miss_in_a_row_is_heard_alone(tmp_path: Path) -> None:
    lines, rows = bank(tmp_path), list[int]()

    def ears(pcm: Pcm) -> str:
        rows.append(len(pcm))
        return "nothing of the kind"

    first = files.recognise(find_workflow("payment"), lines, tmp_path, ears)
    assert len(rows) > len(lines), "rows first, then every clip alone, since nothing came through"
    assert json.loads(files.report_path(tmp_path, "payment").read_text())["listened"] == files.NOBODY
    rows.clear()
    assert files.recognise(find_workflow("payment"), lines, tmp_path, ears) == first
    assert rows == []
    wrong = [name for name, row in first.clips.items() if row.missed]
    assert files.findings(first)[0].startswith(f"{wrong[0]} says ")
    assert not files.tally_of(first).ok


def test_hard_clips_are_told_apart_and_a_needless_declaration_is_found(tmp_path: Path) -> None:
    lines = bank(tmp_path)
    report = files.recognise(find_workflow("payment"), lines, tmp_path, lambda pcm: "no")
    wrong = next(name for name, row in report.clips.items() if row.missed)
    right = next(name for name, row in report.clips.items() if not row.missed)
    path = files.report_path(tmp_path, "payment")
    content = json.loads(path.read_text())
    content["hard"] = {wrong: "a name and a number in one breath", right: "mumbled on purpose", "gone": "no such clip"}
    path.write_text(json.dumps(content))
    again = files.recognise(find_workflow("payment"), lines, tmp_path, lambda pcm: "no")
    assert again.hard == content["hard"]
    found = files.findings(again)
    assert f"{right} is declared hard, and everything in it comes through" in found
    assert "gone is declared hard, and there is no such clip" in found
    assert not any(line.startswith(f"{wrong} says") for line in found)


def test_a_report_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    path = files.report_path(tmp_path, "payment")
    path.parent.mkdir()
    path.write_text('{"workflow": "payment", "clips": {"a": {}}}')
    with pytest.raises(BankError, match=r"clips\.a\.pcm_sha256"):
        files.read_report(tmp_path, "payment")


def test_the_limits_are_those_that_are_stated() -> None:
    assert tally([], []).ok
    assert np.isclose(files.WINDOW / 24_000, 28)


def test_every_committed_report_speaks_of_the_clips_as_they_are() -> None:
    """98 of 100 critical values come through in clips that are not hard, and at most 5 of 100 are."""
    root = find_bank_root()
    reports = {card.id: report for card in list_workflows() if (report := files.read_report(root, card.id)) is not None}
    assert reports
    for name, report in reports.items():
        digests = {clip.id: clip.pcm_sha256 for clip in load_manifest(root / name / "manifest.json").clips}
        assert files.outdated(report, digests) == [], f"run `apex-tui bank check {name}`"
    assert files.total(reports).ok

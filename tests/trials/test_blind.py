"""Kept calls: somebody who saw only what an agent sees solved the workflow, and typing the same again still solves it. CI replays all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from apex_tui.timeline.errors import UserError
from apex_tui.trials.blind import read, replay, transcripts, written
from apex_tui.workflow.library import list_workflows

KEPT = Path(__file__).resolve().parents[1] / "data" / "blind"


def test_every_kept_call_is_of_a_workflow_says_how_it_was_solved_and_tells_no_reason_of_a_gate() -> None:
    known = {card.id for card in list_workflows()}
    for path in transcripts(KEPT):
        kept = read(path)
        assert (path.stem, kept.workflow in known) == (kept.workflow, True)
        assert kept.solved.startswith(("blind", "not blind")), path
        assert len(kept.typed) > 5
        assert "The work is done." in path.read_text(encoding="utf-8")


def test_a_call_that_is_left_early_is_not_solved(tmp_path: Path) -> None:
    kept = read(KEPT / "lift-plan.txt")
    path = tmp_path / "lift-plan.txt"
    path.write_text(written(kept.workflow, kept.seed, "blind", [f"agent> {line}" for line in kept.typed[:4]]))
    name, found = replay(path)
    assert (name, found.ok) == ("lift-plan", False)
    assert "TS: " in found.detail


@pytest.mark.parametrize("text", ["", "workflow: x\n\n", "workflow: x\nseed: -1\n\n", "seed: 1\n\nagent> hi\n"])
def test_what_is_no_transcript_is_one_sentence(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text(text)
    with pytest.raises(UserError, match=r"play-text --keep"):
        read(path)


def test_what_is_shown_is_not_typed_again(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text(written("payment", 2, "blind", ["caller  Hello.", "agent> /quit  ", "agent> "]))
    assert read(path).typed == ("/quit", "")
    assert transcripts(tmp_path) == [path]
    with pytest.raises(UserError, match=r"no folder of transcripts"):
        transcripts(tmp_path / "none")

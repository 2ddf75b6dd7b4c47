"""The observer against hand-written agent lines: the bars that it must hold, and the table in the docs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from observer_lines import KINDS, AgentLine, Split, agent_lines, count, kind_of, observer, readings, table, wants

from apex_tui.caller.observer import DIRECT, INDIRECT

LEAST_RECALL, LEAST_PRECISION = 0.95, 0.98
LINES = agent_lines()


def of(split: Split) -> list[AgentLine]:
    return [line for line in LINES if line.split == split]


def test_there_are_enough_lines_and_none_twice() -> None:
    sizes = Counter(line.split for line in LINES)
    assert sizes["tuning"] + sizes["held_out"] >= 300
    assert sizes["tuning"] == sizes["held_out"]
    assert sizes["fresh"] + sizes["final"] >= 200
    assert len({line.text.lower() for line in LINES}) == len(LINES)
    for name in ("leave-request", "payment"):
        for split in ("held_out", "final"):
            mine = [line for line in LINES if line.workflow == name and line.split == split]
            assert {kind_of(key) for line in mine for key in line.keys} == set(KINDS)
            assert sum(not line.keys for line in mine) >= len(mine) // 8


@pytest.mark.parametrize("split", ["tuning", "held_out", "fresh", "final"])
def test_recall_and_precision_hold(split: Split) -> None:
    counts = count(of(split))
    assert counts["all"].recall >= LEAST_RECALL, counts
    assert counts["all"].precision >= LEAST_PRECISION, counts


def test_each_kind_of_act_holds_over_all_lines_that_made_no_rule() -> None:
    counts = count([*of("held_out"), *of("fresh"), *of("final")])
    for kind in KINDS:
        assert counts[kind].recall >= LEAST_RECALL, (kind, counts[kind])
        assert counts[kind].precision >= LEAST_PRECISION, (kind, counts[kind])


def test_a_read_back_is_seen_early_but_never_otherwise_than_in_the_whole() -> None:
    early = 0
    for line in LINES[::6]:
        reader, wanted = observer(line.workflow), wants(line.workflow, line.corrected)
        grown: dict[str, int] = {}
        for cut in range(1, len(line.text) + 1):
            for reading in reader.read_words(f"grown {line}", line.text[:cut], False, wanted):
                grown[reading.key] = cut
        for reading in reader.read_words(f"grown {line}", line.text, True, wanted):
            grown[reading.key] = len(line.text)
        assert set(grown) == {reading.key for reading in readings(line)}, line.text
        early += sum(cut < len(line.text) - 5 for key, cut in grown.items() if key.startswith("CONFIRM"))
    assert early > 10


def test_every_reading_has_its_words_and_a_confidence_by_kind_of_evidence() -> None:
    for line in LINES:
        for reading in readings(line):
            assert reading.source == "lexical"
            assert reading.evidence
            assert reading.evidence in line.text
            if reading.key.startswith(("CONFIRM", "MISREAD")):
                assert reading.value
                assert reading.confidence in (1.0, 0.8)
            elif reading.key.startswith("ASK"):
                assert reading.confidence in (DIRECT, INDIRECT)
            else:
                assert reading.confidence == DIRECT


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("The amount is five hundred dollars.", 1.0),
        ("So five hundred dollars.", 0.8),
        ("What is the amount?", DIRECT),
        ("I didn't catch the amount.", INDIRECT),
        ("Shall I schedule it?", DIRECT),
    ],
)
def test_confidence_says_how_sure_the_words_are(text: str, confidence: float) -> None:
    line = AgentLine("payment", "final", False, text, frozenset())
    assert [reading.confidence for reading in readings(line)] == [confidence]


def test_the_docs_show_what_is_measured() -> None:
    docs = (Path(__file__).parents[2] / "docs" / "observer.md").read_text(encoding="utf-8")
    assert "\n".join(table()) in docs

"""The published vectors of the determinism primitives and of the wording choice."""

from __future__ import annotations

import pytest
from sample_package import described_sample

from apex_tui.workflow.determinism import seeded_rng, speech_seed, stable_choice, stable_int, stable_key
from apex_tui.workflow.lines import choose_variant
from apex_tui.workflow.model import Workflow

PLANS = ("open", "ans_emp", "ans_purpose", "ans_cc", "ans_total", "correct_total", "approve_submit")


def test_keys_and_integers() -> None:
    assert stable_key("a") == "27c35e6e9373877f29e562464e46497e"
    assert stable_key("a", "b") == "065ab5741cdfad44687cf119c1eb4ec9"
    assert stable_key("a", 1) == "b4feb303ba68581ff5140f67114e15e6"
    assert stable_int("a", "b") == 457877822436781380


def test_jitter_of_a_tool() -> None:
    assert [seeded_rng(1, "submit_expense", index).randint(-50, 50) for index in range(3)] == [7, -4, -20]


def test_the_seed_of_an_utterance() -> None:
    assert speech_seed("af_bella", "Hi, there.") == 1375901141


def test_nothing_to_choose_from() -> None:
    with pytest.raises(ValueError, match="nothing to choose"):
        stable_choice([], "a")


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Workflow:
    """Two wordings a plan are all that the choice depends on."""
    return described_sample(tmp_path_factory.mktemp("described"))


@pytest.mark.parametrize(
    ("condition", "seed", "numbers"),
    [
        ("C0", 1, "2121222"),
        ("C0", 2, "2111211"),
        ("C0", 3, "2121222"),
        ("C2", 1, "1122222"),
        ("C2", 2, "1122212"),
        ("C2", 3, "2211222"),
    ],
)
def test_variants_of_the_sample(condition: str, seed: int, numbers: str, sample: Workflow) -> None:
    workflow = sample.model_copy(update={"condition": condition})
    assert "".join(choose_variant(workflow, seed, plan).variant_id[-1] for plan in PLANS) == numbers

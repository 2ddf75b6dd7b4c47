"""Pass@k, Reliable@k and the intervals: equal to the closed form, to known values, and to the truth of simulated agents."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apex_tui.trials import stats

COUNTS = st.integers(1, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n)))


@given(COUNTS)
def test_pass_and_reliable_at_k_equal_drawing_every_subset(counts: tuple[int, int, int]) -> None:
    n, c, k = counts
    drawn = list(itertools.combinations([True] * c + [False] * (n - c), k))
    some = Fraction(sum(any(x) for x in drawn), len(drawn))
    every = Fraction(sum(all(x) for x in drawn), len(drawn))
    assert stats.pass_at_k(n, c, k) == pytest.approx(float(some), abs=1e-12)
    assert stats.reliable_at_k(n, c, k) == pytest.approx(float(every), abs=1e-12)


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_at_one_both_are_the_share(counts: tuple[int, int]) -> None:
    n, c = counts
    assert stats.pass_at_k(n, c, 1) == pytest.approx(c / n)
    assert stats.reliable_at_k(n, c, 1) == pytest.approx(c / n)


@given(st.floats(0, 1), st.integers(3, 8))
def test_agents_that_pass_with_a_known_probability_have_the_closed_form_in_the_mean(p: float, n: int) -> None:
    """The estimators are unbiased: their expectation over Binomial(n, p) is 1 - (1 - p)^3 and p^3."""
    chance = [
        float(np.prod([*range(n - c + 1, n + 1)]) / np.prod([*range(1, c + 1)])) * p**c * (1 - p) ** (n - c)
        for c in range(n + 1)
    ]
    some = sum(w * stats.pass_at_k(n, c, 3) for c, w in enumerate(chance))
    every = sum(w * stats.reliable_at_k(n, c, 3) for c, w in enumerate(chance))
    assert some == pytest.approx(1 - (1 - p) ** 3, abs=1e-9)
    assert every == pytest.approx(p**3, abs=1e-9)


@pytest.mark.parametrize(("n", "c", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 4), (3, 1, 0)])
def test_what_cannot_be_is_refused(n: int, c: int, k: int) -> None:
    with pytest.raises(ValueError, match="cannot be"):
        stats.pass_at_k(n, c, k)
    with pytest.raises(ValueError, match="cannot be"):
        stats.reliable_at_k(n, c, k)


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    # Published values of Wilson's interval without continuity correction (Newcombe 1998, table I, and Agresti and Coull).
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (10, 10, 0.7225, 1.0),
    ],
)
def test_wilson_has_its_known_values(hits: int, n: int, low: float, high: float) -> None:
    found = stats.wilson(hits, n)
    assert found is not None
    assert found == pytest.approx((low, high), abs=5e-5)


def test_no_interval_is_shown_below_ten() -> None:
    assert stats.wilson(9, 9) is None
    assert stats.bootstrap_mean([0.5] * 9) is None
    assert stats.wilson(9, 10) is not None
    assert stats.bootstrap_mean([0.5] * 10) is not None


@given(st.lists(st.floats(0, 1), min_size=10, max_size=60))
def test_an_interval_holds_the_mean_and_stays_on_the_scale(values: list[float]) -> None:
    found = stats.bootstrap_mean(values)
    assert found is not None
    assert -1e-9 <= found.low <= sum(values) / len(values) + 1e-9
    assert sum(values) / len(values) - 1e-9 <= found.high <= 1 + 1e-9
    assert stats.bootstrap_mean(values) == found


def test_twenty_equal_workflows_claim_no_certainty() -> None:
    every, none = stats.bootstrap_mean([1.0] * 20), stats.bootstrap_mean([0.0] * 20)
    assert every is not None
    assert none is not None
    assert (every.low, every.high) == pytest.approx((0.8389, 1.0), abs=1e-3)
    assert (none.low, none.high) == pytest.approx((0.0, 0.1611), abs=1e-3)


@pytest.mark.parametrize("kinds", [[0.5], [0.9], [0.95, 0.2]], ids=str)
def test_the_interval_covers_the_truth_from_twenty_workflows_on(kinds: list[float]) -> None:
    rng = np.random.default_rng(3)
    truth = float(np.mean(np.array(kinds) ** 3))
    held = 0
    for _ in range(120):
        passes = rng.binomial(3, rng.choice(kinds, 20))
        found = stats.bootstrap_mean([stats.reliable_at_k(3, int(c), 3) for c in passes])
        assert found is not None
        held += found.low <= truth <= found.high
    assert held / 120 >= 0.9


def test_percentiles_interpolate_between_ranks() -> None:
    assert stats.percentile([4.0, 1.0, 3.0, 2.0], 0.5) == 2.5
    assert stats.percentile([1.0, 2.0, 3.0, 4.0, 5.0], 0.95) == pytest.approx(4.8)
    assert stats.percentile([], 0.5) is None


def test_the_sign_test_is_exact() -> None:
    assert stats.sign_test(8, 1) == pytest.approx(2 * (1 + 9) / 512)
    assert stats.sign_test(3, 3) == 1.0
    assert stats.sign_test(0, 0) is None
    assert stats.sign_test(1100, 1100) == 1.0, "more workflows than a float has powers of two"
    assert stats.sign_test(2000, 0) == 0.0

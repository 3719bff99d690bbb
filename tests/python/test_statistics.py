"""Statistics on samples with known answers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fairwind.statistics import (
    holm,
    jain_index,
    max_min_shares,
    mean_interval,
    paired_difference,
    relative_change,
    relative_difference,
    welch_difference,
)

numbers = st.floats(-1e6, 1e6)


def normal(size: int, seed: int, mean: float = 10.0, deviation: float = 2.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(mean, deviation, size)


def test_the_mean_interval_of_a_worked_example():
    # 2, 4, 4, 4, 5, 5, 7, 9: mean 5, s = sqrt(32 / 7), t(0.975, 7) = 2.364624
    interval = mean_interval([2, 4, 4, 4, 5, 5, 7, 9])
    assert interval.estimate == 5
    assert interval.high - 5 == pytest.approx(2.364624 * math.sqrt(32 / 7) / math.sqrt(8), rel=1e-6)
    assert interval.samples == 8


def test_a_mean_interval_covers_the_truth_as_often_as_it_says():
    covered = 0
    for seed in range(1000):
        interval = mean_interval(normal(5, seed))
        covered += interval.low <= 10 <= interval.high
    # Binomial with p = 0.95: standard deviation 0.7 %; four of them.
    assert covered / 1000 == pytest.approx(0.95, abs=0.028)


def test_one_sample_has_a_mean_but_no_interval():
    interval = mean_interval([3.0])
    assert interval.estimate == 3
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)


def test_equal_samples_have_an_interval_of_no_width():
    interval = mean_interval([0.4257, 0.4257, 0.4257])
    assert interval.low == interval.high == interval.estimate


def test_no_sample_has_no_mean():
    assert math.isnan(mean_interval([math.nan]).estimate)


def test_a_paired_difference_agrees_with_the_t_test():
    a, b = normal(12, 1), normal(12, 2, mean=11)
    difference = paired_difference(a, b)
    reference = stats.ttest_rel(b, a)
    assert difference.p_value == pytest.approx(reference.pvalue)
    interval = reference.confidence_interval(0.95)
    assert (difference.low, difference.high) == pytest.approx((interval.low, interval.high))


def test_pairing_finds_a_small_difference_under_a_large_common_spread():
    common = normal(10, 3, deviation=100)
    a, b = common + normal(10, 4, 0, 0.1), common + normal(10, 5, 1, 0.1)
    assert paired_difference(a, b).p_value < 1e-6
    assert welch_difference(a, b).p_value > 0.5


def test_a_welch_difference_agrees_with_scipy():
    a, b = normal(12, 1), normal(7, 2, mean=12, deviation=6)
    difference = welch_difference(a, b)
    reference = stats.ttest_ind(b, a, equal_var=False)
    assert difference.p_value == pytest.approx(reference.pvalue)
    interval = reference.confidence_interval(0.95)
    assert (difference.low, difference.high) == pytest.approx((interval.low, interval.high))


def test_equal_pairs_differ_by_nothing_with_certainty():
    difference = paired_difference([1, 2, 3], [1, 2, 3])
    assert (difference.estimate, difference.low, difference.high) == (0, 0, 0)
    assert difference.p_value == 1


def test_pairs_that_differ_always_by_the_same_are_certainly_different():
    difference = paired_difference([1, 2, 3], [2, 3, 4])
    assert (difference.low, difference.high, difference.p_value) == (1, 1, 0)


def test_samples_of_different_size_are_no_pairs():
    with pytest.raises(ValueError, match="3 and 2"):
        paired_difference([1, 2, 3], [1, 2])


def test_holm_on_a_worked_example():
    # Sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1, never falling.
    assert holm([0.04, 0.01, 0.03, 0.02]).tolist() == pytest.approx([0.06, 0.04, 0.06, 0.06])


def test_holm_leaves_unknown_values_out():
    adjusted = holm([0.01, math.nan, 0.5])
    assert adjusted[0] == pytest.approx(0.02)
    assert math.isnan(adjusted[1])
    assert adjusted[2] == pytest.approx(0.5)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_never_lowers_a_value_and_keeps_the_order(p_values):
    adjusted = holm(p_values)
    assert (adjusted >= np.asarray(p_values)).all()
    assert (adjusted <= 1).all()
    order = np.argsort(p_values, kind="stable")
    assert (np.diff(adjusted[order]) >= 0).all()


@pytest.mark.parametrize(
    ("demands", "capacity", "shares"),
    [
        ([2, 2.6, 4, 5], 10, [2, 2.6, 2.7, 2.7]),  # the textbook's example
        ([math.inf, 1, math.inf], 10, [4.5, 1, 4.5]),
        ([1, 2], 10, [1, 2]),
        ([math.inf] * 4, 10, [2.5] * 4),
        ([], 10, []),
    ],
)
def test_max_min_shares_leave_the_rest_to_who_asks_for_more(demands, capacity, shares):
    assert max_min_shares(demands, capacity) == pytest.approx(shares)


def test_jains_index_of_known_vectors():
    assert jain_index([5, 5, 5, 5]) == 1
    assert jain_index([1, 0, 0, 0]) == pytest.approx(0.25)
    assert jain_index([1, 2]) == pytest.approx(0.9)
    assert math.isnan(jain_index([0, 0]))


def test_negative_shares_are_refused():
    with pytest.raises(ValueError, match="negative"):
        jain_index([1, -1])


@given(st.lists(st.floats(0, 1e300), min_size=1, max_size=30).filter(lambda x: max(x) > 0))
def test_jains_index_lies_between_one_over_n_and_one(shares):
    assert 1 / len(shares) - 1e-9 <= jain_index(shares) <= 1 + 1e-9


@given(st.lists(st.tuples(numbers, numbers), min_size=2, max_size=20))
def test_swapping_the_samples_turns_a_difference_around(pairs):
    a, b = zip(*pairs, strict=True)
    there, back = paired_difference(a, b), paired_difference(b, a)
    assert there.estimate == pytest.approx(-back.estimate, abs=1e-6)
    assert there.high == pytest.approx(-back.low, rel=1e-6, abs=1e-6)


def test_a_relative_difference_covers_the_true_one_as_often_as_it_says():
    generator = np.random.default_rng(7)
    for is_paired in (True, False):
        covered = 0
        for _ in range(2000):
            common = generator.normal(0, 5, 6)
            a = 100 + common + generator.normal(0, 2, 6)
            b = 110 + (common if is_paired else generator.normal(0, 5, 6))
            b = b + generator.normal(0, 2, 6)
            interval = relative_difference(a, b, is_paired=is_paired)
            covered += interval.low <= 0.1 <= interval.high
        assert covered / 2000 == pytest.approx(0.95, abs=0.015)


def test_a_relative_difference_of_exact_multiples_is_exact():
    a = [1.0, 2.0, 3.0]
    interval = relative_difference(a, [2.0, 4.0, 6.0], is_paired=True)
    assert (interval.estimate, interval.low, interval.high) == (1.0, 1.0, 1.0)


def test_a_relative_change_is_the_interval_of_the_logarithm_of_the_ratio():
    # Means 4 and 2: a ratio of 1/2. Residuals b - a/2 are 1, -1 and 0, so s = 1 and their mean's
    # error is 1/sqrt(3); of the logarithm it is half of that, for the mean of B is 2. t(0.975, 2)
    # = 4.302653.
    change = relative_change([2.0, 4.0, 6.0], [2.0, 1.0, 3.0], is_paired=True)
    factor = math.exp(4.302653 / (2 * math.sqrt(3)))
    assert change.estimate == pytest.approx(-0.5)
    assert change.low == pytest.approx(0.5 / factor - 1, rel=1e-6)
    assert change.high == pytest.approx(0.5 * factor - 1, rel=1e-6)
    assert relative_difference([2.0, 4.0, 6.0], [2.0, 1.0, 3.0], is_paired=True).low < -1


@given(
    st.lists(st.tuples(st.floats(0.1, 1e6), st.just(0.0) | st.floats(1e-6, 1e6)), min_size=2),
    st.booleans(),
)
def test_nothing_falls_by_more_than_all_of_itself(pairs, is_paired):
    a, b = zip(*pairs, strict=True)
    change = relative_change(a, b, is_paired=is_paired)
    # Where B is nothing in every sample, so is its uncertainty.
    assert -1 - 1e-12 <= change.low <= change.estimate + 1e-12
    assert change.estimate <= change.high + 1e-12


def test_there_and_back_are_the_same_way_on_the_scale_of_relative_changes():
    a, b = normal(8, 1, 10.0, 1.0), normal(8, 2, 5.0, 1.0)
    there, back = (relative_change(*sides, is_paired=False) for sides in ((a, b), (b, a)))
    assert (1 + there.low) * (1 + back.high) == pytest.approx(1)


def test_a_relative_change_covers_the_true_one_as_often_as_it_says():
    generator = np.random.default_rng(11)
    for is_paired in (True, False):
        covered = 0
        for _ in range(2000):
            common = generator.normal(0, 5, 6)
            a = 100 + common + generator.normal(0, 2, 6)
            b = 30 + 0.3 * (common if is_paired else generator.normal(0, 5, 6))
            b = b + generator.normal(0, 2, 6)
            change = relative_change(a, b, is_paired=is_paired)
            covered += change.low <= -0.7 <= change.high
        assert covered / 2000 == pytest.approx(0.95, abs=0.015)


def test_of_what_can_be_below_zero_a_relative_change_is_the_relative_difference():
    a, b = [1.0, 2.0, 3.0], [-1.0, 1.0, 0.5]
    change = relative_change(a, b, is_paired=True)
    assert change == relative_difference(a, b, is_paired=True)


def test_nothing_is_relative_to_zero():
    interval = relative_difference([0.0, 0.0], [1.0, 2.0], is_paired=False)
    assert all(map(math.isnan, (interval.estimate, interval.low, interval.high)))


def test_one_sample_tells_a_relative_difference_without_an_interval():
    interval = relative_difference([2.0], [3.0, 3.5], is_paired=False)
    assert interval.estimate == pytest.approx(0.625)
    assert math.isnan(interval.low)

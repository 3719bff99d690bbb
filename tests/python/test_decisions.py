"""Decisions on several effects at once, and while samples are added."""

from __future__ import annotations

import itertools
import math
import sys

import numpy as np
import pytest
from scipy import stats

from fairwind.statistics import (
    EffectVerdict,
    decide,
    decide_in_looks,
    look_alpha,
    next_look,
    paired_difference,
    samples_in_looks,
    samples_to_decide,
    welch_difference,
)
from fairwind.statistics.decisions import DIFFERENT, MOST_SAMPLES, samples_for

MARGIN = (math.log(0.95), math.log(1.05))

EXPERIMENTS = 2000


def contrast_of(differences):
    """Make the paired test of these differences."""
    values = np.asarray(differences, dtype=float)
    return paired_difference(np.zeros(values.size), values)


def spread_around(estimate, deviation, size):
    """Give samples with exactly this mean and standard deviation."""
    values = np.linspace(-1, 1, size)
    return estimate + deviation * values / values.std(ddof=1)


def test_interval_excludes_zero_where_adjusted_p_is_small():
    seed = 11
    sys.stdout.write(f"seed {seed}\n")
    generator = np.random.default_rng(seed)
    seen = set()
    for _ in range(200):
        count = int(generator.integers(1, 8))
        shifts = generator.choice([0, 0.2, 0.6], count)
        tests = [contrast_of(generator.normal(shift, 0.3, 6)) for shift in shifts]
        for one in decide(tests, [MARGIN] * count):
            if one.verdict is not EffectVerdict.NO_DIFFERENCE:
                excludes = one.low > 0 or one.high < 0
                assert excludes == (one.adjusted_p_value < 0.05) == (one.verdict in DIFFERENT)
            seen.add(one.verdict)
    assert {EffectVerdict.MORE, EffectVerdict.UNDECIDED} <= seen


def test_level_pays_for_the_number_of_effects():
    clear, vague = contrast_of(spread_around(2, 0.1, 6)), contrast_of(spread_around(0.1, 0.5, 6))
    first, second, third = decide([vague, clear, vague], [MARGIN] * 3)
    assert second.level == pytest.approx(1 - 0.05 / 3)
    assert first.level == third.level == pytest.approx(1 - 0.05 / 3)
    expected = stats.t.interval(1 - 0.05 / 3, 5, loc=2, scale=0.1 / math.sqrt(6))
    assert (second.low, second.high) == pytest.approx(expected)
    clear_too = contrast_of(spread_around(2, 0.11, 6))
    _, later = decide([clear, clear_too], [MARGIN] * 2)
    assert later.level == pytest.approx(0.95)  # the second of two steps of Holm's


def test_no_difference_needs_the_whole_interval_within_the_margin():
    inside, (narrow,) = contrast_of(spread_around(0.001, 0.02, 8)), [(-0.01, 0.01)]
    assert decide([inside], [MARGIN])[0].verdict is EffectVerdict.NO_DIFFERENCE
    assert decide([inside], [narrow])[0].verdict is EffectVerdict.UNDECIDED
    assert decide([inside], [(math.nan, math.nan)])[0].verdict is EffectVerdict.UNDECIDED


def test_sure_difference_within_the_margin_is_none_that_matters():
    small = contrast_of(spread_around(0.02, 0.01, 9))
    (decision,) = decide([small], [MARGIN])
    assert decision.low > 0
    assert decision.adjusted_p_value < 0.05
    assert decision.verdict is EffectVerdict.NO_DIFFERENCE
    assert decide([small], [(-0.01, 0.01)])[0].verdict is EffectVerdict.MORE


def test_same_values_are_no_difference_in_enough_pairs():
    (few,), (enough,) = (decide([contrast_of([0.0] * size)], [MARGIN]) for size in (5, 6))
    assert (few.verdict, enough.verdict) == ("undecided", "no difference")
    assert few.p_value == 1
    assert math.isnan(few.low)
    without_margin = decide([contrast_of([0.0] * 6)], [(math.nan, math.nan)])
    assert without_margin[0].verdict is EffectVerdict.NO_DIFFERENCE


def look_sizes(first, most):
    """Give the numbers of samples at which one looks, up to a bound."""
    sizes = [first]
    while sizes[-1] < most:
        sizes.append(min(next_look(sizes[-1]), most))
    return sizes


def test_few_pairs_that_are_the_same_do_not_hide_a_later_effect():
    sample = np.concatenate([[0.0] * 3, spread_around(0.4, 0.05, 20)])
    sizes = look_sizes(3, 23)
    (first,) = decide_in_looks(looks_at([sample], sizes[:1]), [[MARGIN]])
    (last,) = decide_in_looks(looks_at([sample], sizes), [[MARGIN]] * len(sizes))
    assert first.verdict is EffectVerdict.UNDECIDED
    assert last.verdict is EffectVerdict.MORE
    assert 0 < last.low < last.high


def test_one_pair_decides_nothing():
    (decision,) = decide([contrast_of([0.0])], [MARGIN])
    assert decision.verdict is EffectVerdict.UNDECIDED
    assert math.isnan(decision.p_value)


def test_equal_differences_are_judged_by_the_sign_test():
    assert decide([contrast_of([0.5] * 5)], [MARGIN])[0].p_value == 2**-4
    (few,), (enough,) = (decide([contrast_of([0.5] * size)], [MARGIN]) for size in (5, 6))
    assert few.verdict is EffectVerdict.UNDECIDED
    assert enough.verdict is EffectVerdict.MORE
    assert math.isnan(enough.low)
    assert samples_to_decide(contrast_of([0.5] * 5), MARGIN, 1) == 6


def test_looks_spend_the_error_rate_and_no_more():
    shares = [look_alpha(number) for number in range(200)]
    assert sum(shares) == pytest.approx(0.05)
    assert all(later < earlier for earlier, later in itertools.pairwise(shares))
    assert look_sizes(3, 40) == [3, 5, 8, 12, 18, 27, 40]


def looks_at(samples, sizes):
    """Make the tests of all effects at each look."""
    return [[contrast_of(sample[:size]) for sample in samples] for size in sizes]


def test_looking_again_keeps_the_error_rate():
    seed, sizes, effects = 20261126, look_sizes(3, 64), 3
    sys.stdout.write(f"seed {seed}\n")
    generator = np.random.default_rng(seed)
    false, false_without_paying = 0, 0
    for _ in range(EXPERIMENTS):
        looks = looks_at(generator.normal(0, 0.2, (effects, sizes[-1])), sizes)
        margins = [[MARGIN] * effects] * len(sizes)
        decisions = decide_in_looks(looks, margins)
        false += any(one.verdict in DIFFERENT for one in decisions)
        false_without_paying += any(
            one.verdict in DIFFERENT for look in looks for one in decide(look, margins[0])
        )
    assert false / EXPERIMENTS <= 0.05
    assert false > 0
    assert false_without_paying / EXPERIMENTS > 0.15  # which is why looks must be paid for


def test_looking_again_seldom_misses_a_difference_of_the_margin():
    seed, sizes = 7, look_sizes(3, 64)
    sys.stdout.write(f"seed {seed}\n")
    generator = np.random.default_rng(seed)
    effects = generator.normal(MARGIN[1] * 1.001, 0.05, (EXPERIMENTS, sizes[-1]))
    found = [decide_in_looks(looks_at([one], sizes), [[MARGIN]] * len(sizes)) for one in effects]
    wrong = sum(one.verdict is EffectVerdict.NO_DIFFERENCE for (one,) in found)
    assert wrong / EXPERIMENTS <= 0.025
    assert sum(one.verdict is EffectVerdict.MORE for (one,) in found) > EXPERIMENTS * 0.8


def seeds_until_decided(sample, first):
    """Run the procedure on one effect, look by look."""
    sizes = []
    for size in look_sizes(first, sample.size):
        sizes.append(size)
        (decision,) = decide_in_looks(looks_at([sample], sizes), [[MARGIN]] * len(sizes))
        if decision.verdict is not EffectVerdict.UNDECIDED:
            return size, decision.verdict
    return sample.size, EffectVerdict.UNDECIDED


@pytest.mark.parametrize(
    ("effect", "deviation"), [(-0.7, 0.2), (-0.3, 0.2), (0.1, 0.05), (0.0, 0.05)]
)
def test_known_effect_is_decided_within_the_planned_seeds(effect, deviation):
    seed, experiments = 3, 300
    sys.stdout.write(f"seed {seed}\n")
    generator = np.random.default_rng(seed)
    planned = samples_in_looks(contrast_of(spread_around(effect, deviation, 3)), MARGIN, 1, [3])
    fixed = samples_to_decide(contrast_of(spread_around(effect, deviation, 3)), MARGIN, 1)
    assert fixed <= planned <= 4 * fixed
    found = [
        seeds_until_decided(generator.normal(effect, deviation, 200), 3) for _ in range(experiments)
    ]
    assert sum(seeds <= planned for seeds, _ in found) / experiments >= 0.8
    expected = EffectVerdict.NO_DIFFERENCE
    if effect:
        expected = EffectVerdict.LESS if effect < 0 else EffectVerdict.MORE
    assert sum(verdict is expected for _, verdict in found) / experiments >= 0.95


def test_decided_effects_stay_decided():
    sample = np.concatenate([spread_around(1.0, 0.05, 5), spread_around(0, 3, 20)])
    sizes = [5, 8, 25]
    early = decide_in_looks(looks_at([sample], sizes[:1]), [[MARGIN]])[0]
    late = decide_in_looks(looks_at([sample], sizes), [[MARGIN]] * 3)[0]
    assert early.verdict is late.verdict is EffectVerdict.MORE
    assert late.low > 0
    assert decide([contrast_of(sample)], [MARGIN])[0].verdict is EffectVerdict.UNDECIDED


def test_later_look_may_find_a_difference_within_the_margin():
    sample = np.concatenate([spread_around(0.03, 0.004, 3), spread_around(0.03, 0.01, 57)])
    sizes = look_sizes(3, 60)
    verdicts = [
        decide_in_looks(looks_at([sample], sizes[:number]), [[MARGIN]] * number)[0].verdict
        for number in range(1, len(sizes) + 1)
    ]
    assert (verdicts[0], verdicts[-1]) == (EffectVerdict.MORE, EffectVerdict.NO_DIFFERENCE)


@pytest.mark.parametrize("spread", [0.1, 0.5, 1.0, 3.0])
def test_planned_samples_have_the_power(spread):
    size = samples_for(spread, 0.975, 0.8)
    fewer, one_more = (
        stats.nct.sf(stats.t.ppf(0.975, n - 1), n - 1, math.sqrt(n) / spread)
        for n in (max(size - 2, 2), size + 1)
    )
    assert fewer < 0.8 < one_more


def test_no_samples_are_planned_where_none_suffice():
    assert samples_for(1e9, 0.975, 0.8) is None
    assert samples_to_decide(contrast_of([0.3]), MARGIN, 1) is None
    assert samples_to_decide(welch_difference([1.0], [2.0, 3.0]), MARGIN, 1) is None
    assert samples_to_decide(contrast_of(spread_around(0.04, 0.1, 9)), MARGIN, 5) <= MOST_SAMPLES

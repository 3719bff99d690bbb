"""Measures of sharing, by hand."""

import math

import pytest

from fairwind.statistics import (
    burden,
    convergence_time,
    delta_fair_time,
    efficiency,
    friendliness,
    harm,
    min_to_max,
    rtt_unfairness_bound,
)


def test_the_smallest_share_over_the_largest():
    assert min_to_max([3.0, 6.0, 4.5]) == 0.5
    assert min_to_max([0.0, 1.0]) == 0
    assert math.isnan(min_to_max([0.0, 0.0]))


def test_efficiency_is_of_all_together():
    assert efficiency([4.0, 5.0], 10.0) == pytest.approx(0.9)
    with pytest.raises(ValueError, match="capacity"):
        efficiency([1.0], 0.0)


def test_friendliness_and_burden_are_ratios():
    assert friendliness(6.0, 4.0) == 1.5
    assert friendliness(6.0, 0.0) == math.inf
    assert math.isnan(friendliness(0.0, 0.0))
    assert burden(4.0, 5.0) == pytest.approx(0.8)


def test_rates_may_differ_as_the_square_of_round_trips():
    assert rtt_unfairness_bound(81.0, 162.0) == 4
    assert rtt_unfairness_bound(162.0, 162.0) == 1


def test_a_flow_has_converged_at_the_end_of_the_first_window_with_its_target():
    starts, rates = [0.0, 1.0, 2.0, 3.0], [1.0, 3.9, 4.0, 2.0]
    assert convergence_time(starts, rates, 1.0, fair_share=5.0) == 3
    assert convergence_time(starts, rates, 1.0, fair_share=5.0, target=0.9) == math.inf


def test_two_flows_are_fair_once_their_shares_differ_by_delta_of_the_sum():
    # Shares of 0.55 and 0.45 differ by a tenth of what both get.
    first, second = [100.0, 70.0, 55.0, 50.0], [1.0, 30.0, 45.0, 50.0]
    assert delta_fair_time([0.0, 2.0, 4.0, 6.0], first, second, 2.0) == 6
    assert delta_fair_time([0.0, 2.0, 4.0, 6.0], first, second, 2.0, delta=0.05) == 8
    assert delta_fair_time([0.0], [0.0], [0.0], 1.0) == math.inf
    with pytest.raises(ValueError, match="delta"):
        delta_fair_time([0.0], [1.0], [1.0], 1.0, delta=0.0)


def test_harm_is_what_a_competitor_takes_of_what_was_had_alone():
    assert harm(10.0, 4.0, more_is_better=True) == pytest.approx(0.6)
    assert harm(0.02, 0.08, more_is_better=False) == pytest.approx(0.75)
    assert harm(5.0, 5.0, more_is_better=True) == 0
    assert harm(4.0, 5.0, more_is_better=True) == pytest.approx(-0.25)
    # Nobody lost anything, alone or beside the other.
    assert harm(0.0, 0.0, more_is_better=False) == 0


def test_windows_must_fit():
    with pytest.raises(ValueError, match="ascend"):
        convergence_time([1.0, 0.0], [1.0, 1.0], 1.0, fair_share=1.0)
    with pytest.raises(ValueError, match="one rate"):
        convergence_time([1.0], [1.0, 1.0], 1.0, fair_share=1.0)

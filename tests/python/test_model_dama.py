"""The start-up over demand-assigned capacity: against printed numbers, small steps, and limits."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate

from fairwind.models import ModelError, ModelWarning
from fairwind.models.dama import (
    DemandAssignedLink,
    Law,
    StartUp,
    allocation_delay,
    approximate_roots,
    as_without_wait,
    as_without_wait_exactly,
    carried_segments,
    completion_time_s,
    doubling_per_rtt,
    equivalent_rtt,
    exact_equivalent_rtt,
    exact_exponent,
    packet_exponent,
    quickest,
    saturation_time_s,
    volume_segments,
    window_segments,
    without_backlog,
)

LINK = DemandAssignedLink()
RTT, FEEDBACK = 0.84, 2.3625
LAWS = list(Law)


def start_up(initial=3.0, multiplier=1.0, ratio=2.8125) -> StartUp:
    return StartUp(RTT, ratio * RTT, 100.0, initial, multiplier)


def printed(values, decimals: int) -> list[str]:
    return [f"{value:.{decimals}f}" for value in np.atleast_1d(values)]


# The numbers of the reconstruction, to all digits that it prints.


def test_the_platform_has_the_inferred_delays():
    assert LINK.allocation_delay_s == pytest.approx(1.5225)
    assert LINK.feedback_delay_s == pytest.approx(FEEDBACK)
    assert LINK.delay_ratio == pytest.approx(2.8125)
    assert LINK.rate_segments_per_second == pytest.approx(100)
    assert LINK.capacity_bits_per_second == 2_112_000
    assert LINK.slot_bytes == pytest.approx(1501.5)


def test_roots_and_exponents_are_as_printed():
    gains = [1, 2, 2.8125, 4, 13.5]
    negative, positive = approximate_roots(gains)
    exact = exact_exponent(gains)
    assert printed(negative, 5) == ["-3.56155", "-4.82843", "-5.78486", "-7.12311", "-17.08073"]
    assert printed(positive, 5) == ["0.56155", "0.82843", "0.97236", "1.12311", "1.58073"]
    assert printed(exact, 5) == ["0.56714", "0.85261", "1.01711", "1.20217", "1.94000"]
    assert printed(100 * (positive / exact - 1), 1) == ["-1.0", "-2.8", "-4.4", "-6.6", "-18.5"]


def test_equivalent_round_trips_are_as_printed():
    approximate = equivalent_rtt(1.0, [1, 1.5, 2, 2.5, 2.8125, 3, 4])
    exact = exact_equivalent_rtt(1.0, [1, 1.5, 2, 2.5, 2.8125, 3, 4])
    assert printed(approximate, 5) == [
        "1.00000", "1.18269", "1.35571", "1.52241", "1.62425", "1.68466", "2.00000",
    ]  # fmt: skip
    assert printed(exact, 4) == [
        "1.0000", "1.1720", "1.3304", "1.4791", "1.5683", "1.6206", "1.8871",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("ratio", "initial", "expected"),
    [
        (1, 3, ["2.90", "4.14", "5.14", "6.23", "9.23"]),
        (2.8125, 3, ["4.36", "6.39", "8.01", "9.65", "12.69"]),
        (2.8125, 1, ["6.81", "8.97", "10.63", "12.30", "15.34"]),
        (2.8125, 10, ["2.08", "3.77", "5.24", "6.81", "9.84"]),
    ],
)
def test_completion_times_of_the_source_are_as_printed(ratio, initial, expected):
    volumes = np.array([20, 50, 100, 200, 500])
    case = start_up(initial, ratio=ratio)
    slide, exact = (completion_time_s(case, volumes, law) for law in (Law.SLIDE, Law.EXACT))
    assert printed(slide, 2) == expected
    above = slide - exact
    if ratio == 1:
        assert np.all((above > 0) & (above < 0.1))
    else:
        assert np.all((above > 0.295) & (above < 0.735))


def test_the_source_is_high_by_a_twentieth_to_a_quarter():
    volumes = np.array([20, 50, 100, 200, 500])
    for initial, worst in ((1, 0.09), (3, 0.092), (10, 0.242)):
        case = start_up(initial)
        exact = completion_time_s(case, volumes)
        high = completion_time_s(case, volumes, Law.SLIDE) / exact - 1
        assert np.all((high > 0.049) & (high < worst))
    assert completion_time_s(start_up(10), 20, Law.SLIDE) == pytest.approx(2.08, abs=0.005)


def test_the_window_of_the_source_is_low_by_29_percent_after_12_seconds():
    slide, exact = (window_segments(start_up(), 12.0, law) for law in (Law.SLIDE, Law.EXACT))
    assert slide / exact - 1 == pytest.approx(-0.29, abs=0.005)


def test_twenty_seconds_carry_what_is_printed():
    def megabytes(case: StartUp) -> str:
        return f"{carried_segments(case, 20.0, Law.SLIDE) * 1500e-6:.2f}"

    assert [megabytes(LINK.start_up(1)), megabytes(LINK.start_up(3))] == ["1.45", "1.85"]
    assert megabytes(LINK.start_up(3).with_constant_allocation()) == "2.37"


def test_multipliers_by_each_criterion_are_as_printed():
    frames = np.array([3, 4, 5, 6]) * 0.273
    ratios = (RTT + allocation_delay(RTT, frames, 0.0)) / RTT
    assert printed(as_without_wait(ratios), 2) == ["3.16", "3.83", "4.78", "6.26"]
    assert printed(doubling_per_rtt(2.8125), 2) == ["4.87"]
    assert printed(as_without_wait_exactly(2.8125), 2) == ["2.80"]
    assert printed(without_backlog(2.8125), 2) == ["3.51"]


# The equation itself.


def by_small_steps(case: StartUp, seconds: float, steps_per_delay: int) -> tuple[float, float]:
    """Integrate window and volume by the trapezoidal rule; the delay is whole steps."""
    rtt, feedback, _, initial, multiplier = (float(value) for value in case.arrays())
    step = feedback / steps_per_delay
    windows, volume = [initial], 0.0
    for now in range(round(seconds / step)):
        seen = now - steps_per_delay
        # Before time 0 there was nothing, up to the instant itself.
        begin = windows[seen] if seen >= 0 else 0.0
        end = windows[seen + 1] if seen + 1 > 0 else 0.0
        windows.append(windows[-1] + step * multiplier / rtt * (begin + end) / 2)
        volume += step / rtt * (windows[-2] + windows[-1]) / 2
    return windows[-1], volume


@pytest.mark.parametrize(("ratio", "multiplier"), [(1.0, 1.0), (2.8125, 1.0), (2.8125, 4.8)])
def test_small_steps_come_nearer_to_the_exact_solution_by_their_square(ratio, multiplier):
    case = start_up(3, multiplier, ratio)
    seconds = 5 * ratio * RTT
    window = float(window_segments(case, seconds))
    volume = float(volume_segments(case, seconds))
    coarse, fine = (by_small_steps(case, seconds, steps) for steps in (64, 128))
    for place, exact in enumerate((window, volume)):
        errors = [abs(found[place] - exact) for found in (coarse, fine)]
        assert errors[0] / exact < 1e-3
        assert math.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.05)


def test_the_first_steps_are_the_polynomials_written_by_hand():
    case = start_up(3, 2.0)
    for time in (0.0, 1.0, 2.3):
        assert window_segments(case, time) == pytest.approx(3)
        assert volume_segments(case, time) == pytest.approx(3 * time / RTT)
    second = 3 * (1 + 2 * (4.0 - FEEDBACK) / RTT)
    assert window_segments(case, 4.0) == pytest.approx(second)
    third = 3 * (1 + 2 * (6 - FEEDBACK) / RTT + (2 * (6 - 2 * FEEDBACK) / RTT) ** 2 / 2)
    assert window_segments(case, 6.0) == pytest.approx(third)
    assert window_segments(case, -0.1) == 0
    assert volume_segments(case, -0.1) == 0


def test_the_exact_growth_settles_at_lamberts_w():
    case = start_up(1, 4.8)
    late = 30 * FEEDBACK
    growth = window_segments(case, late + FEEDBACK) / window_segments(case, late)
    assert math.log(growth) == pytest.approx(float(exact_exponent(2.8125 * 4.8)), rel=1e-9)


def test_roots_and_exponent_solve_their_equations():
    gains = np.array([1e-3, 0.5, 1, 2.8125, 13.5, 1e4])
    for root in approximate_roots(gains):
        left = root**2 / 2 + (1 + gains / 2) * root
        assert left == pytest.approx(gains, rel=1e-9)
    exponent = exact_exponent(gains)
    assert exponent * np.exp(exponent) == pytest.approx(gains, rel=1e-12)


def test_both_roots_begin_at_the_initial_window_and_end_in_the_dominant_one():
    case = start_up(3, 2.0)
    assert window_segments(case, 0.0, Law.TWO_ROOT) == pytest.approx(3)
    both, one = (window_segments(case, 20.0, law) for law in (Law.TWO_ROOT, Law.STRICT))
    assert both == pytest.approx(one, rel=1e-12)


@pytest.mark.parametrize("law", [Law.STRICT, Law.TWO_ROOT, Law.EXACT])
def test_the_volume_is_the_integral_of_the_window(law):
    case = start_up(3, 2.0)
    ends = [0, *(FEEDBACK * turn for turn in (1, 2, 3)), 8.0]
    pieces = [
        integrate.quad(lambda t: float(window_segments(case, t, law)) / RTT, begin, end)[0]
        for begin, end in pairwise(ends)
    ]
    assert volume_segments(case, 8.0, law) == pytest.approx(sum(pieces), rel=1e-9)


def test_the_volume_of_the_source_is_that_of_both_roots_in_the_long_run():
    for multiplier in (1.0, 4.8):
        case = start_up(3, multiplier)
        both, slide = (volume_segments(case, 10.0, law) for law in (Law.TWO_ROOT, Law.SLIDE))
        assert both - slide == pytest.approx(3 * (1 - 1 / multiplier), abs=1e-6)


# Inverses, limits and order.


@pytest.mark.parametrize("law", LAWS)
def test_the_completion_time_inverts_what_is_carried(law):
    case = start_up([[1], [3], [10]], 1.0)
    volumes = np.array([5.0, 20.0, 100.0, 240.0, 1000.0])
    times = completion_time_s(case, volumes, law)
    assert times.shape == (3, 5)
    assert carried_segments(case, times, law) == pytest.approx(
        np.broadcast_to(volumes, (3, 5)), rel=1e-9
    )


@pytest.mark.parametrize("law", LAWS)
def test_the_link_is_full_when_the_window_is_a_round_trip_of_it(law):
    case = start_up([1.0, 3.0, 10.0, 83.0])
    times = saturation_time_s(case, law)
    assert window_segments(case, times, law) == pytest.approx(np.full(4, 84.0), rel=1e-9)


@pytest.mark.parametrize("law", LAWS)
def test_a_first_window_that_fills_the_link_leaves_nothing_to_start_up(law):
    case = start_up([84.0, 200.0])
    assert saturation_time_s(case, law).tolist() == [0, 0]
    assert completion_time_s(case, 50.0, law) == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("law", LAWS)
def test_more_takes_longer_and_none_is_quicker_than_the_link(law):
    volumes = np.array([0.0, 5, 20, 50, 100, 200, 500, 5000])
    times = completion_time_s(start_up(3, [[1], [2], [3], [4.8], [8]]), volumes, law)
    assert np.all(np.diff(times, axis=1) >= 0)
    assert np.all(times >= volumes / 100.0)


def test_a_larger_multiplier_always_helps_by_the_equation_but_not_by_the_approximation():
    volumes = np.array([100.0, 200, 500, 5000])
    case = start_up(3, [[1], [2], [3], [4.8], [8], [16], [100]])
    assert np.all(np.diff(completion_time_s(case, volumes), axis=0) < 0)
    for law in (Law.SLIDE, Law.STRICT, Law.TWO_ROOT):
        steps = np.diff(completion_time_s(case, volumes, law), axis=0)
        assert np.all(steps[:3] < 0)
        assert np.all(steps[3:] > 0)


def test_the_quickest_multiplier_of_the_approximation_has_slower_neighbours():
    best = quickest(start_up(3), [50.0, 100.0, 200.0])
    assert best == pytest.approx([3.7, 5.0, 5.7], abs=0.05)
    volumes = np.array([50.0, 100.0, 200.0])
    least = completion_time_s(start_up(3, best), volumes, Law.SLIDE)
    for factor in (0.98, 1.02):
        beside = completion_time_s(start_up(3, best * factor), volumes, Law.SLIDE)
        assert np.all(beside > least)
    # What the first windows carry needs no requests.
    assert quickest(start_up(10), 20.0) == pytest.approx(1, abs=1e-3)
    with pytest.raises(ModelError, match="no fastest multiplier"):
        quickest(start_up(3), 100.0, Law.EXACT)


@pytest.mark.parametrize("law", LAWS)
def test_a_longer_wait_for_capacity_takes_longer(law):
    ratios = np.array([1.0, 1.5, 2.0, 2.8125, 4.0])
    case = StartUp(RTT, ratios * RTT, 100.0, 3.0)
    assert np.all(np.diff(completion_time_s(case, 100.0, law)) > 0)
    assert np.all(np.diff(equivalent_rtt(RTT, ratios)) > 0)
    assert np.all(np.diff(exact_equivalent_rtt(RTT, ratios)) > 0)


def test_constant_allocation_is_a_feedback_of_one_round_trip():
    constant = start_up([1.0, 3.0], 4.8).with_constant_allocation()
    assert constant.loop_gain == pytest.approx([1, 1])
    assert equivalent_rtt(RTT, 1.0) == pytest.approx(RTT)
    assert exact_equivalent_rtt(RTT, 1.0) == pytest.approx(RTT)


def test_no_multiplier_lets_the_approximation_grow_faster_than_two_per_delay():
    _, growth = approximate_roots([1e3, 1e6, 1e9])
    assert np.all(np.diff(growth) > 0)
    assert growth[-1] == pytest.approx(2, abs=1e-8)
    pole = 2 / (math.sqrt(17) / 2 - 1.5)
    assert f"{pole:.2f}" == "3.56"
    assert as_without_wait([pole * 0.9999, pole, 5.0])[1:].tolist() == [math.inf, math.inf]
    assert as_without_wait(pole * 0.9999) > 1e3
    # The equation itself has no such bound.
    assert exact_exponent(1e9) > 17


def test_each_criterion_does_what_it_says():
    ratio = np.array([1.5, 2.0, 2.8125])
    assert equivalent_rtt(RTT, ratio, as_without_wait(ratio)) == pytest.approx(np.full(3, RTT))
    exactly = as_without_wait_exactly(ratio)
    assert exact_equivalent_rtt(RTT, ratio, exactly) == pytest.approx(np.full(3, RTT))
    per_rtt = np.exp(exact_exponent(ratio * doubling_per_rtt(ratio)) / ratio)
    assert per_rtt == pytest.approx(np.full(3, 2.0))
    enough = without_backlog(ratio)
    assert packet_exponent(ratio, enough) == pytest.approx(ratio * math.log(2))
    assert packet_exponent(ratio, 0.99 * enough) == pytest.approx(np.log(2 * 0.99 * enough))
    for criterion in (as_without_wait, as_without_wait_exactly, without_backlog):
        assert criterion(1.0) == pytest.approx(1.0)


def test_counted_in_packets_the_volume_doubles_per_feedback_delay():
    # Packet-level RBDC over this platform takes 7.79 s for 50 segments and 10.15 s for 100; the
    # model's own growth would double in 1.61 s.
    doubling = FEEDBACK * math.log(2) / packet_exponent(2.8125)
    assert doubling == pytest.approx(10.15 - 7.79, rel=0.01)
    assert math.log(2) * FEEDBACK / exact_exponent(2.8125) == pytest.approx(1.61, abs=0.005)
    assert packet_exponent(2.8125, 0.4) == 0


def test_an_array_of_cases_is_each_case_by_itself():
    case = StartUp([0.5, 0.84], [[1.0], [2.3625]], 100.0, [1.0, 10.0], [[1.0], [4.8]])
    together = completion_time_s(case, 100.0)
    assert together.shape == (2, 2)
    rtt, feedback, rate, initial, multiplier = case.arrays()
    for place in np.ndindex(2, 2):
        alone = StartUp(rtt[place], feedback[place], rate[place], initial[place], multiplier[place])
        assert together[place] == pytest.approx(float(completion_time_s(alone, 100.0)))


# What cannot be meant.


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"frame_s": 0.0}, "frame_s is 0: it must be finite and above zero"),
        ({"rtt_s": math.nan}, "rtt_s is nan"),
        ({"slots": 0}, "slots is 0: it must be a whole number"),
        ({"terminals": 2.5}, "terminals is 2.5"),
        ({"slots": 17, "available_bits_per_second": 7e5}, "18 terminals are guaranteed 44000"),
        ({"available_bits_per_second": 3e6}, "48 slots of 44000 bit/s are 2.112e"),
        ({"available_bits_per_second": 4e4}, "below guaranteed_bits_per_second"),
        ({"guaranteed_bits_per_second": -1.0}, "guaranteed_bits_per_second is -1"),
        ({"request_period_s": -0.1}, "request_period_s is -0.1"),
        ({"segment_bytes": "many"}, "segment_bytes is 'many': a number was expected"),
    ],
)
def test_a_link_that_cannot_be_is_refused_with_a_reason(change, message):
    with pytest.raises(ModelError, match=message):
        DemandAssignedLink(**change)


def test_a_start_up_that_cannot_be_is_refused_with_a_reason():
    with pytest.raises(ModelError, match="feedback_delay_s is below rtt_s"):
        StartUp(0.84, 0.5, 100.0)
    with pytest.raises(ModelError, match="do not fit together: rtt_s \\(2,\\)"):
        StartUp([0.84, 1.0], [2.0, 2.0, 2.0], 100.0)
    with pytest.raises(ModelError, match="initial_window_segments is 0"):
        start_up(0.0)
    with pytest.raises(ModelError, match="volume_segments is -1"):
        completion_time_s(start_up(), [-1.0])
    with pytest.raises(ModelError, match="time_s has a value"):
        window_segments(start_up(), math.inf)
    with pytest.raises(ModelError, match="more than 1000"):
        window_segments(start_up(), 1e4)
    with pytest.raises(ModelError, match=r"delay_ratio is 0\.5: it cannot be below 1"):
        without_backlog(0.5)


def test_requesting_less_than_measured_is_a_warning():
    with pytest.warns(ModelWarning, match="multiplier 0.5 requests less than was measured"):
        case = start_up(3, 0.5)
    assert completion_time_s(case, 100.0) > completion_time_s(start_up(3), 100.0)


def test_a_link_that_is_full_for_long_has_no_window_but_a_volume():
    assert carried_segments(start_up(), 1e6) == pytest.approx(1e8, rel=1e-4)

"""The estimates that count packets, against two simulations of packets and by hand."""

import functools
import math

import numpy as np
import pytest

from fairwind.models import ModelError
from fairwind.models.dama import (
    DemandAssignedLink,
    as_without_wait,
    completion_time_s,
    packet_completion_time_s,
    request_time_s,
    slot_utilisation,
    slow_start_time_s,
    without_backlog,
)
from slotted import simulated

LINK = DemandAssignedLink()
VOLUMES = np.array([20, 50, 100, 200, 500])
MULTIPLIERS = np.array([1, 2, 3, 4, 4.8, 6, 8])

# Of the reconstruction of the source, packet by packet but with no frames to wait for: a terminal
# measures arrivals over the request period and requests k times the rate, rounded up to slots,
# between one slot and 1.2 Mbit/s; initial window 3.
SIMULATED_S = np.array(
    [
        [5.02, 4.25, 4.02, 3.94, 3.89, 3.86, 3.83],
        [7.79, 5.76, 5.23, 5.03, 4.93, 4.88, 4.82],
        [10.15, 7.15, 6.34, 5.99, 5.89, 5.84, 5.77],
        [12.80, 8.42, 7.54, 7.09, 6.93, 6.88, 6.83],
        [16.59, 11.44, 10.54, 10.09, 9.93, 9.88, 9.83],
    ]
)
SIMULATED_USE = np.array(
    [
        [1.00, 1.00, 0.95, 0.83, 0.75, 0.68, 0.57],
        [1.00, 1.00, 0.94, 0.83, 0.73, 0.66, 0.54],
        [1.00, 1.00, 0.97, 0.85, 0.73, 0.66, 0.57],
        [1.00, 1.00, 0.98, 0.91, 0.84, 0.78, 0.71],
        [1.00, 1.00, 0.99, 0.96, 0.93, 0.90, 0.86],
    ]
)


@functools.cache
def slot_by_slot(volume: int, multiplier: float) -> tuple[float, float]:
    return simulated(volume, multiplier, phases=8)


def test_both_simulations_agree_within_seven_percent():
    for place, volume in enumerate(VOLUMES):
        for column, multiplier in enumerate(MULTIPLIERS):
            time, _ = slot_by_slot(int(volume), float(multiplier))
            assert time == pytest.approx(SIMULATED_S[place, column], rel=0.07)


@pytest.mark.parametrize("volume", VOLUMES)
def test_estimates_are_those_of_slots_within_an_eighth(volume):
    for multiplier in MULTIPLIERS:
        time, use = slot_by_slot(int(volume), float(multiplier))
        estimate = packet_completion_time_s(LINK, volume, 3.0, multiplier)
        assert estimate == pytest.approx(time, rel=0.13)
        assert slot_utilisation(LINK, volume, multiplier) == pytest.approx(
            use, abs=0.21 if volume < 100 else 0.1
        )


def test_requests_that_are_replaced_before_a_plan_are_lost():
    # The same sum of periods, which is all that the equation knows.
    seldom, _ = simulated(500, 1.0, 8, (3, 2))
    often, _ = simulated(500, 1.0, 8, (1, 4))
    assert often > 1.15 * seldom


def test_completion_times_are_those_of_packets_within_a_tenth():
    times = packet_completion_time_s(LINK, VOLUMES[:, None], 3.0, MULTIPLIERS)
    off = times / SIMULATED_S - 1
    assert np.all(np.abs(off) < 0.11)
    assert np.all(np.abs(off[:, MULTIPLIERS >= 4]) < 0.05)


def test_the_equation_is_off_by_a_quarter_where_plain_rates_are_requested():
    exact = completion_time_s(LINK.start_up(3.0), VOLUMES) + LINK.rtt_s
    off = exact / SIMULATED_S[:, 0] - 1
    assert min(off) == pytest.approx(-0.23, abs=0.01)
    assert np.all(off < 0)


def test_the_use_of_slots_is_that_of_packets():
    use = slot_utilisation(LINK, VOLUMES[:, None], MULTIPLIERS)
    off = np.abs(use - SIMULATED_USE)
    assert np.all(off < 0.14)
    assert np.all(off[VOLUMES >= 100] < 0.07)


def test_use_falls_with_the_multiplier_and_most_for_small_volumes():
    use = slot_utilisation(LINK, VOLUMES[:, None], MULTIPLIERS)
    assert np.all(np.diff(use, axis=1) <= 0)
    assert np.all(np.diff(use, axis=0) >= -1e-12)
    assert use[:, 0].tolist() == [1, 1, 1, 1, 1]


def test_a_multiplier_above_that_without_backlog_saves_no_time():
    enough = float(without_backlog(LINK.delay_ratio))
    far_more = 2 * float(as_without_wait(LINK.delay_ratio))
    volumes = np.array([50.0, 200.0, 500.0])
    for multiplier in (1.1 * enough, far_more):
        times = packet_completion_time_s(LINK, volumes, 3.0, multiplier)
        assert times == pytest.approx(slow_start_time_s(LINK, volumes, 3.0))


def test_requests_multiply_the_rate_once_per_feedback_delay():
    # 44 kbit/s are 11/3 segments/s, 8.6625 segments in 2.3625 s; then 4 times, then 16 times that.
    floor, turn, rtt = 11 / 3, 2.3625, 0.84
    times = request_time_s(LINK, [0.0, 8.6625, 8.6625 * 5, 8.6625 * 5 + 10], 2.0)
    expected = [rtt, rtt + turn, rtt + 2 * turn, rtt + 2 * turn + 10 / (16 * floor)]
    assert times == pytest.approx(expected)
    # 64 times would be more than the link: 100 segments/s from three delays on.
    assert request_time_s(LINK, 8.6625 * 21 + 500, 2.0) == pytest.approx(rtt + 3 * turn + 5)
    # Half of what is sent, of which there is twice as much: no more than what is guaranteed.
    assert request_time_s(LINK, 110.0, 0.5) == pytest.approx(rtt + 110 / floor)
    assert request_time_s(LINK, 110.0, 0.1) == pytest.approx(rtt + 110 / floor)


def test_slow_start_doubles_per_round_trip_one_allocation_delay_late():
    wait, rtt = 1.5225, 0.84
    assert slow_start_time_s(LINK, [0.0, 3.0, 9.0, 21.0], 3.0) == pytest.approx(
        [wait, wait + rtt, wait + 2 * rtt, wait + 3 * rtt]
    )
    full = 84 / math.log(2)
    late = wait + rtt * math.log2(full / 3) + 50 / 100
    assert slow_start_time_s(LINK, full - 3 + 50, 3.0) == pytest.approx(late)
    assert slow_start_time_s(LINK, 50.0, 200.0) == pytest.approx(wait + 0.5)


def test_the_use_of_slots_by_hand():
    # Twice as much as enough: half is used, until half of the link is sent.
    multiplier = 2 * float(without_backlog(LINK.delay_ratio))
    growing = 84 / math.log(2)
    assert slot_utilisation(LINK, 10.0, multiplier) == pytest.approx(0.5)
    assert slot_utilisation(LINK, growing / 2, multiplier) == pytest.approx(0.5)
    assigned = growing * (1 + math.log(2))
    assert slot_utilisation(LINK, growing, multiplier) == pytest.approx(growing / assigned)
    assert slot_utilisation(LINK, growing + 100, multiplier) == pytest.approx(
        (growing + 100) / (assigned + 100)
    )


def test_without_a_guaranteed_share_the_beginning_is_not_known():
    bare = DemandAssignedLink(guaranteed_bits_per_second=0.0)
    with pytest.raises(ModelError, match="guaranteed_bits_per_second is 0"):
        packet_completion_time_s(bare, 100.0)
    assert slow_start_time_s(bare, 100.0) == slow_start_time_s(LINK, 100.0)

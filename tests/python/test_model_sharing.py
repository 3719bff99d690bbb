"""Transfers that begin with a remembered window: rounds by hand, limits, and simple sums."""

import numpy as np
import pytest

from fairwind.models import ModelError
from fairwind.models.sharing import rounds, speed_up, transfer_time_s
from process import fairwind

SEGMENTS = np.array([5, 10, 20, 40, 80, 200])


def test_rounds_are_those_of_windows_that_double():
    # 1+2+4 = 7 hold 5, 15 hold 10, 31 hold 20, 63 hold 40, 127 hold 80, 255 hold 200.
    assert rounds(SEGMENTS).tolist() == [3, 4, 5, 6, 7, 8]
    # 32 hold 20, 32+64 = 96 hold 80, 224 hold 200.
    assert rounds(SEGMENTS, 32).tolist() == [1, 1, 1, 2, 2, 3]


def test_a_window_filled_to_its_last_segment_is_no_further_round():
    filled = 10 * (2 ** np.arange(1, 40) - 1)
    assert rounds(filled, 10).tolist() == list(range(1, 40))


def test_speed_ups_without_serialisation_are_ratios_of_round_trips():
    # (1+3)/(1+1), 5/2, 6/2, 7/3, 8/3, 9/4
    expected = [2.0, 2.5, 3.0, 7 / 3, 8 / 3, 2.25]
    assert speed_up(SEGMENTS, 32) == pytest.approx(expected)
    assert speed_up(SEGMENTS, 32, rtt_s=0.3) == pytest.approx(expected)


def test_three_segments_of_a_second_each_over_ten_seconds():
    # One window of one: 20 s, the segment, 10 s until two more may leave, and these.
    assert transfer_time_s(3, 1, 10, 1) == pytest.approx(20 + 3 + 10)
    # At once: nothing is waited for.
    assert transfer_time_s(3, 3, 10, 1) == pytest.approx(23)


def test_what_the_receiver_offers_bounds_the_first_flight_only():
    # 8 of a window of 10, then 18, then 36: 26 segments take two rounds, 27 three.
    assert rounds([8, 9, 26, 27, 62, 63], 10, 8).tolist() == [1, 2, 2, 3, 3, 4]
    # 1 s a segment: 8 leave, and 10 + 1 - 8 s pass until the first acknowledgment.
    assert transfer_time_s(20, 10, 10, 1, 8) == pytest.approx(20 + 20 + 3)
    assert rounds(SEGMENTS, 32, 32).tolist() == rounds(SEGMENTS, 32).tolist()


def test_a_call_that_nobody_holds_back_saves_its_own_round_trip_only():
    # A second until the answer, ten more until the first data: else as over a round trip of ten.
    assert transfer_time_s(3, 1, 10, 1, opening_s=1) == pytest.approx(11 + 3 + 10)
    # Windows of 1, 2, 4 and 3 segments against 10: (0 + 4) / (0 + 1).
    assert speed_up(10, 10, opening_s=0) == pytest.approx(4)


def test_on_a_path_without_a_round_trip_nothing_is_gained():
    assert speed_up(SEGMENTS, 32, rtt_s=0, serialisation_s=0.01) == pytest.approx(1)


def test_a_greater_delay_gains_more_and_a_greater_volume_less():
    delays = np.array([[0.02], [0.05], [0.1], [0.2]])
    volumes = np.array([6906, 13_812, 20_718, 27_624])
    gained = speed_up(volumes, 500, delays, 0.00012)
    assert (np.diff(gained, axis=0) > 0).all()
    assert (np.diff(gained, axis=1) < 0).all()


def test_what_cannot_be_is_refused():
    with pytest.raises(ModelError, match="at least 1"):
        rounds(0)
    with pytest.raises(ModelError, match="at least 1"):
        speed_up(10, 0)
    with pytest.raises(ModelError, match="below zero"):
        transfer_time_s(10, 1, -1)


def test_the_command_tells_rounds_times_and_speed_ups(tmp_path):
    code, out, error = fairwind(
        "model", "sharing", "--segments", "40", "--rtt", "100 ms", "--format", "csv", cwd=tmp_path
    )
    assert (code, error) == (0, "")
    heading, row = out.splitlines()
    answer = dict(zip(heading.split(","), map(float, row.split(",")), strict=True))
    assert answer["rounds_initially"] == 6
    assert answer["rounds_remembered"] == 2
    assert answer["initially_s"] == pytest.approx(0.7)
    assert answer["speed_up_ratio"] == pytest.approx(7 / 3)


def test_the_command_tells_times_with_a_call_that_is_not_held_back(tmp_path):
    command = ["model", "sharing", "--segments", "40", "--opening", "20 ms", "--format", "csv"]
    code, out, error = fairwind(*command, cwd=tmp_path)
    assert (code, error) == (0, "")
    heading, row = out.splitlines()
    answer = dict(zip(heading.split(","), map(float, row.split(",")), strict=True))
    assert answer["initially_s"] == pytest.approx(0.62)
    assert answer["remembered_s"] == pytest.approx(0.22)
    assert answer["speed_up_ratio"] == pytest.approx(0.62 / 0.22)


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--remembered", "0", "--remembered is 0: it must be at least 1"),
        ("--remembered", "inf", "--remembered is inf: it must be at least 1, and finite"),
        ("--initial", "0", "--initial is 0: it must be at least 1"),
        ("--rate", "0 bit/s", "--rate is 0 bit/s: it must be above zero"),
        ("--rtt", "0 s", "--rtt is 0 s: it must be above zero"),
        ("--opening", "0 s", "--opening is 0 s: it must be above zero"),
        ("--segment", "0 B", "--segment is 0 B: it must be above zero"),
        ("--rtt", "abc", "--rtt: cannot read the quantity"),
    ],
)
def test_the_command_names_the_option_that_cannot_be(tmp_path, option, value, said):
    code, _, error = fairwind("model", "sharing", option, value, cwd=tmp_path)
    assert code != 0
    assert said in " ".join(error.split())

"""Tests of token buckets with a coarse clock."""

from __future__ import annotations

import pytest
from fairwind_studies.rate_limit_granularity.study import (
    HTB,
    TBF,
    bucket_of,
    expected_ratio,
    whole_packets_ratio,
)

TICK_100_HZ = 10_000_000


def test_closed_form_is_full_bucket_per_tick():
    # 1520 B x 8 x 100 / s = 1.216 Mbit/s
    assert expected_ratio(10e6, 1520, 0.01) == pytest.approx(0.1216)
    assert expected_ratio(1e6, 1520, 0.01) == 1.0
    assert expected_ratio(250e6, 1520, 0.0) == 1.0


@pytest.mark.parametrize(
    ("rate", "burst", "ratio"),
    [
        (1_000_000, 1520, 0.6),  # 1250 B per tick: a packet of 1500 B every second tick
        (10_000_000, 1520, 0.12),  # a packet in every tick: 1.2 Mbit/s
        (10_000_000, 5000, 0.36),  # three packets in every tick: 3.6 Mbit/s
        (1_000_000, 15_000, 1.0),  # nothing is lost
    ],
)
def test_bucket_passes_whole_packets_and_loses_overflow(rate, burst, ratio):
    found = whole_packets_ratio(rate, burst, 1500, TICK_100_HZ, 6000)
    assert found == pytest.approx(ratio, abs=1e-3)


@pytest.mark.parametrize(
    ("rate", "burst", "ratio"),
    [
        (1_000_000, 1520, 1.0),  # 1250 B per tick, and what a packet lacks is owed: nothing is lost
        # 12 500 B per tick fill 1520 B: of those two packets leave, and the next tick pays for both
        (10_000_000, 1520, 0.24),
        # as much, filled to 15 kB: the bucket never is full again
        (10_000_000, 15_000, 1.0),
    ],
)
def test_htb_sends_one_packet_on_credit(rate, burst, ratio):
    found = whole_packets_ratio(rate, burst, 1500, TICK_100_HZ, 6000, HTB)
    assert found == pytest.approx(ratio, abs=1e-3)


def test_bucket_of_htb_is_of_its_class():
    own = {"rate": "5 Mbit/s", "burst_bytes": 1520}
    queue = {"discipline": "htb", "classes": [own], "granularity": "4 ms"}
    assert bucket_of(queue) == (HTB, 5e6, 1520, 0.004)
    tbf = {"discipline": "tbf", **own}
    assert bucket_of(tbf) == (TBF, 5e6, 1520, 0.0)

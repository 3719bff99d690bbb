"""Which cells leave standard TCP the time to reach its steady state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from fairwind.quantities import parse_bits_per_second

from .baseline import RTT_UNFAIRNESS
from .measures import BANDWIDTH, FIXED_RTT_MS, JOINED, LIMIT, NUMBER, RTT

PACKET_BITS = 8 * 1500

WITHIN_S = 300.0
"""Time that most runs are measured for; at 10 Mbit/s it is longer."""

RECOVERIES = 5
"""So many recoveries in that time count as a steady state."""


def recovery_time(bandwidth: str, limit: str, rtt_ms: float, flows: int = 2) -> float:
    """Give how long flows of standard TCP take from a loss that all of them have to the next.

    A window falls to a half and grows by a packet in each round trip (RFC 5681, section 3.1): with
    W packets that is W/2 round trips, which are longer by the wait as soon as the path is full.

    Parameters
    ----------
    limit : str
        The queue, as a share of the bandwidth-delay product, such as "20 % bdp".
    rtt_ms : float
        Round trip without a queue, in ms.
    flows : int
        They share evenly.

    Returns
    -------
    float
        In s.
    """
    queue = float(limit.split()[0]) / 100
    share = parse_bits_per_second(bandwidth) * rtt_ms / 1000 / PACKET_BITS / flows
    window = share * (1 + queue)
    fills_at = max(share, window / 2)
    trips = (fills_at - window / 2) + (window - fills_at) * (fills_at + window) / (2 * share)
    return trips * rtt_ms / 1000


def steady_cells(compared: pl.DataFrame) -> pl.DataFrame:
    """Choose the cells in which standard TCP recovers `RECOVERIES` times in `WITHIN_S`.

    Parameters
    ----------
    compared : DataFrame
        With the columns ``bandwidth`` and ``rtt_ms``, and ``limit`` and ``number`` if it has them;
        without ``bandwidth`` it is returned whole.
    """
    if BANDWIDTH not in compared.columns or compared[BANDWIDTH].null_count():
        return compared
    is_steady = [
        recovery_time(
            row[BANDWIDTH],
            row.get(LIMIT, JOINED),
            _longer_rtt(row),
            int(row.get(NUMBER, 2)),
        )
        <= WITHIN_S / RECOVERIES
        for row in compared.iter_rows(named=True)
    ]
    return compared.filter(pl.Series(is_steady, dtype=pl.Boolean))


def _longer_rtt(row: Mapping[str, Any]) -> float:
    """Give the longer round trip of both flows, which decides."""
    is_fixed_beside = row["measure"] == RTT_UNFAIRNESS.measure
    return float(max(row[RTT], FIXED_RTT_MS) if is_fixed_beside else row[RTT])

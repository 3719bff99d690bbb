"""When a retransmission ends a wait: where the steps of a thin stream's latency are expected."""

from __future__ import annotations

import polars as pl

MINIMUM_VARIANCE_S = 0.2
"""Linux adds at least this much to the smoothed round trip for its time-out."""


def expected_steps(round_trip_s: float, interval_s: float) -> pl.DataFrame:
    """Give the ACK latency of a segment that is lost, by what repairs it.

    A duplicate acknowledgment comes one round trip after each later write, and the repair takes
    one more. The time-out runs from the acknowledgment of the segment before, which comes one
    interval earlier. What was written behind a lost segment waits for it, each an interval less.

    Parameters
    ----------
    round_trip_s : float
        With the queue that is usually met, seconds.
    interval_s : float
        From one write to the next, seconds.

    Returns
    -------
    DataFrame
        ``label``, ``latency_ms``.
    """
    timeout_s = round_trip_s + MINIMUM_VARIANCE_S
    before_s = round_trip_s - interval_s
    repaired_s = 3 * interval_s + 2 * round_trip_s
    steps_s = {
        "not lost": round_trip_s,
        "three behind": repaired_s - 3 * interval_s,
        "two behind": repaired_s - 2 * interval_s,
        "one behind a lost one": repaired_s - interval_s,
        "third duplicate ACK, or time-out": repaired_s,
        "": before_s + timeout_s + round_trip_s,
        "second time-out, linear": before_s + 2 * timeout_s + round_trip_s,
        "second time-out, doubled": before_s + 3 * timeout_s + round_trip_s,
    }
    return pl.DataFrame(
        {"label": list(steps_s), "latency_ms": [1000 * step for step in steps_s.values()]}
    )

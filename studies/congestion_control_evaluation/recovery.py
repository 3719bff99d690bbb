"""How long a window takes from a loss back to what it was."""

from __future__ import annotations

import numpy as np
import polars as pl

from fairwind.results import Results

from .shares import CONTROL, with_places

REGAINED_RATIO = 0.99
"""A window is what it was at this part of it: the next loss may come a few segments earlier."""


def recoveries(results: Results) -> pl.DataFrame:
    """Give the recoveries from losses in congestion avoidance of a run with one flow.

    A loss is where the slow-start threshold changes; one of slow start, where the window was below
    it or there was none, is left out.

    Returns
    -------
    DataFrame
        The axis `CONTROL`, ``losses`` (those that were recovered from), ``before_packets`` (window
        before a loss), ``after_packets``, ``recovery_s`` (medians over losses), ``round_trips``
        (``recovery_s`` by the mean smoothed round trip); nothing where there is no such loss.
    """
    rows = []
    for (control,), run in with_places(results.endpoint).group_by([CONTROL], maintain_order=True):
        found = _recoveries(run.sort("time_s"))
        rows.append({CONTROL: control, "losses": len(found), **_medians(found)})
    return pl.DataFrame(rows, infer_schema_length=None)


def _recoveries(run: pl.DataFrame) -> list[tuple[float, float, float, float]]:
    """Window before and after, time and smoothed round trip of each recovery."""
    time = run["time_s"].to_numpy()
    window = run["cwnd_packets"].to_numpy().astype(float)
    threshold = run["ssthresh_packets"].cast(pl.Int64).fill_null(-1).to_numpy()
    round_trip = run["smoothed_rtt_s"].cast(pl.Float64).to_numpy()
    changes = np.flatnonzero(threshold[1:] != threshold[:-1]) + 1
    found = []
    for previous, loss, end in zip([0, *changes], changes, [*changes[1:], len(time)], strict=False):
        if not 0 <= threshold[loss - 1] <= window[loss - 1]:
            continue  # in slow start
        before = window[previous:loss].max()
        after = window[loss:end].min()
        regained = np.flatnonzero(window[loss:end] >= REGAINED_RATIO * before)
        if regained.size and after < REGAINED_RATIO * before:
            took = time[loss + regained[0]] - time[loss]
            mean = float(np.nanmean(round_trip[loss : loss + regained[0] + 1]))
            found.append((before, after, took, mean))
    return found


def _medians(found: list[tuple[float, float, float, float]]) -> dict[str, float | None]:
    names = ("before_packets", "after_packets", "recovery_s", "round_trip_s")
    if not found:
        return dict.fromkeys((*names, "round_trips"))
    before, after, took, trip = (float(np.median(column)) for column in zip(*found, strict=True))
    return {
        "before_packets": before,
        "after_packets": after,
        "recovery_s": took,
        "round_trip_s": trip,
        "round_trips": took / trip,
    }

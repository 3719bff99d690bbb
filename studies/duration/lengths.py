"""Measures by length of run: against the longest, and how much they scatter."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from fairwind.results import Results
from fairwind.statistics import prediction_half_width, relative_change
from fairwind.studies.streams import VARIANT

MINUTES = "measured_minutes"

MEASURES = {
    "goodput_bits_per_second": "goodput",
    "packet_loss_ratio": "relative loss",
    "ack_latency_mean_s": "ACK latency, mean",
    "ack_latency_p50_s": "ACK latency, median",
    "ack_latency_p99_s": "ACK latency, 99th percentile",
}
"""The measures of table 4.2, by their columns in the groups table."""


def by_length(results: Results) -> pl.DataFrame:
    """Give the groups table with ``measured_minutes``, shortest runs first."""
    minutes = (pl.col("measured_s") / 60).round(2).alias(MINUTES)
    return results.groups.with_columns(minutes).sort(MINUTES, maintain_order=True)


def deviations(results: Results) -> pl.DataFrame:
    """Compare runs of every length with the longest ones, which they are the beginning of.

    Returns
    -------
    DataFrame
        ``variant``, ``group``, ``measure`` (in words), ``measured_minutes``; ``mean`` and
        ``deviation_ratio`` (standard deviation between runs, relative to the mean);
        ``difference_ratio`` with ``low_ratio`` and ``high_ratio``: of the mean over seeds from that
        of the longest runs, relative to it, with 95 % interval; ``single_run_ratio``: 95 % of
        single runs lie within so much of the mean, relative to it.
    """
    return pl.DataFrame(list(_rows(by_length(results))), infer_schema_length=None)


def _rows(runs: pl.DataFrame) -> Iterator[dict[str, Any]]:
    longest = runs.filter(pl.col(MINUTES) == pl.col(MINUTES).max())
    keys = [VARIANT, "group", MINUTES]
    for (variant, group, minutes), part in runs.group_by(keys, maintain_order=True):
        whole = longest.filter((pl.col(VARIANT) == variant) & (pl.col("group") == group))
        pairs = whole.join(part, on="seed", suffix="_short").sort("seed")
        for column, name in MEASURES.items():
            short = pairs[f"{column}_short"].cast(pl.Float64).to_numpy()
            mean = float(np.nanmean(short)) if np.isfinite(short).any() else math.nan
            change = relative_change(pairs[column].to_numpy(), short, is_paired=True)
            yield {
                VARIANT: variant,
                "group": group,
                "measure": name,
                MINUTES: minutes,
                "mean": mean,
                "deviation_ratio": _ratio(_deviation(short), mean),
                "difference_ratio": change.estimate,
                "low_ratio": change.low,
                "high_ratio": change.high,
                "single_run_ratio": _ratio(prediction_half_width(short), mean),
            }


def _deviation(values: np.typing.NDArray[np.float64]) -> float:
    return float(np.std(values, ddof=1)) if values.size > 1 else math.nan


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan

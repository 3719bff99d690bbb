"""What the thin aggregate is due, and what it got of that."""

from __future__ import annotations

import polars as pl

from fairwind.errors import FairwindError
from fairwind.results import Results
from fairwind.statistics import Interval, mean_interval
from fairwind.studies.streams import (
    COUNT,
    VARIANT,
    capacity_bits_per_second,
    offered_bits_per_second,
)


def fair_shares(results: Results) -> pl.DataFrame:
    """Fair share of the thin aggregate for every stream count: min(N * rate, C / 2).

    Returns
    -------
    DataFrame
        ``flows_count``, ``fair_bits_per_second``.
    """
    rows = {}
    for cell in results.manifest.plan.cells:
        count = int(cell.settings["flows.*.count"])
        offered = offered_bits_per_second(cell.experiment)
        if offered is None:
            raise FairwindError(
                "what the thin streams are due is not known: their workload has no mean size and "
                "interval",
                'give the group "thin" a workload of the kind "thin" or "profile"',
            )
        rows[count] = min(count * offered, capacity_bits_per_second(cell.experiment) / 2)
    return pl.DataFrame(
        {COUNT: list(rows), "fair_bits_per_second": list(rows.values())},
        schema={COUNT: pl.Int64, "fair_bits_per_second": pl.Float64},
    )


def share_ratios(results: Results) -> pl.DataFrame:
    """Give the thin aggregate's throughput over its fair share, per panel and variant.

    Returns
    -------
    DataFrame
        ``flows_count``, ``variant``, ``fair_bits_per_second``, ``ratio`` with ``low_ratio`` and
        ``high_ratio`` (95 % interval of the mean over seeds), ``replicates``.
    """
    thin = results.groups.filter(pl.col("group") == "thin").join(
        fair_shares(results), on=COUNT, maintain_order="left"
    )
    ratio = pl.col("throughput_bits_per_second") / pl.col("fair_bits_per_second")
    rows = []
    for (count, variant), part in thin.group_by([COUNT, VARIANT], maintain_order=True):
        interval: Interval = mean_interval(part.select(ratio).to_series().to_numpy())
        rows.append(
            {
                COUNT: count,
                VARIANT: variant,
                "fair_bits_per_second": part["fair_bits_per_second"][0],
                "ratio": interval.estimate,
                "low_ratio": interval.low,
                "high_ratio": interval.high,
                "replicates": interval.samples,
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)

"""What a congestion control does to standard TCP beside it, by what that does to itself: harm."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from fairwind.quantities import parse_seconds
from fairwind.results import Results
from fairwind.statistics import harm

from .shares import (
    BANDWIDTH,
    CONTROL,
    LIMIT,
    PLACE,
    RTT,
    STANDARD,
    with_places,
)

ALONE = "alone"
"""The part, and the label, in which standard TCP has the path for itself."""

VICTIM = "first"
"""The group of standard TCP that is looked at."""


@dataclass(frozen=True)
class Suffering:
    """Something that standard TCP may suffer in.

    Attributes
    ----------
    name : str
        What it is called in figures.
    column : str
        In the table of groups, or what `victims` and `transfers` call it.
    more_is_better : bool
    """

    name: str
    column: str
    more_is_better: bool


OF_STREAMS = (
    Suffering("throughput", "goodput_bits_per_second", more_is_better=True),
    Suffering("latency", "ack_latency_p95_s", more_is_better=False),
    Suffering("loss", "packet_loss_ratio", more_is_better=False),
)
"""Of a flow that always has something to send; its latency is the 95th percentile."""

OF_TRANSFERS = (Suffering("completion time", "completion_time_s", more_is_better=False),)
"""Of transfers: their mean time, at least, where some were not done before the run ended."""


def harms(results: Results) -> pl.DataFrame | None:
    """Give the harm that every congestion control does to standard TCP, and that to itself.

    Returns
    -------
    DataFrame or None
        `CONTROL`, the columns of `PLACE`, ``seed``, ``suffers`` (the name of a `Suffering`) and
        ``harm``, against standard TCP with the path for itself and the same seed; None where it was
        never alone. Minus infinity, which means leave out, where it lost packets alone and none
        beside a newcomer.
    """
    alone, beside = results.part(ALONE), results.part("friendliness")
    frames = []
    if alone is not None and beside is not None:
        own = victims(results).filter(pl.col(CONTROL) == STANDARD)
        both = pl.concat([own, victims(beside)], how="vertical_relaxed")
        frames.append(harm_of(victims(alone), both, OF_STREAMS))
    transferred = results.part("transfers")
    if transferred is not None:
        all_times = transfers(transferred)
        times = all_times.filter(pl.col(CONTROL) == ALONE).drop(CONTROL)
        others = all_times.filter(pl.col(CONTROL) != ALONE)
        frames.append(harm_of(times, others, OF_TRANSFERS))
    there = [frame for frame in frames if frame.height]
    return pl.concat(there) if there else None


def victims(results: Results) -> pl.DataFrame:
    """Give what the first flow of every run had: standard TCP, where it is the one that suffers."""
    is_of_victim = (pl.col("group") == VICTIM) & (pl.col("scope") == "group")
    latencies = results.latencies.filter(is_of_victim & (pl.col("kind") == "ack")).select(
        "cell", "seed", pl.col("p95_s").alias("ack_latency_p95_s")
    )
    groups = results.groups.filter(pl.col("group") == VICTIM)
    known = groups.join(latencies, on=["cell", "seed"], how="left", maintain_order="left")
    frame = with_places(known)
    keys = [name for name in (CONTROL, *PLACE) if name in frame.columns]
    return frame.select(*keys, "seed", *(one.column for one in OF_STREAMS))


def transfers(results: Results) -> pl.DataFrame:
    """Give the mean time that transfers took; who was not done counts to the end of the run."""
    flows = with_places(results.flows.filter(pl.col("group") == VICTIM))
    ends = {cell.index: _seconds(cell.experiment) for cell in results.manifest.plan.cells}
    until = pl.col("cell").replace_strict(ends, return_dtype=pl.Float64) - pl.col("start_s")
    return (
        flows.with_columns(pl.col("completion_time_s").fill_null(until))
        .group_by([CONTROL, *PLACE, "seed"], maintain_order=True)
        .agg(pl.col("completion_time_s").mean())
    )


def harm_of(
    alone: pl.DataFrame, beside: pl.DataFrame, sufferings: tuple[Suffering, ...]
) -> pl.DataFrame:
    """Work out the harm run by run, in the cells that both frames have."""
    keys = [BANDWIDTH, LIMIT, RTT, "seed"]
    pairs = beside.join(alone, on=keys, suffix="_alone", maintain_order="left")
    rows = [
        {name: row[name] for name in (CONTROL, *keys)}
        | {"suffers": one.name, "harm": _harm(row, one)}
        for one in sufferings
        for row in pairs.iter_rows(named=True)
    ]
    schema = {name: pairs.schema[name] for name in (CONTROL, *keys)}
    return pl.DataFrame(rows, schema=schema | {"suffers": pl.String, "harm": pl.Float64})


def _harm(row: Mapping[str, float | None], one: Suffering) -> float:
    alone, beside = row[f"{one.column}_alone"], row[one.column]
    if alone is None or beside is None:
        return math.nan
    return harm(alone, beside, more_is_better=one.more_is_better)


def _seconds(experiment: Mapping[str, object]) -> float:
    """Read how long an experiment lasts."""
    return parse_seconds(str(experiment["duration"]))

"""Shares of two flows, times to converge and to recover, and harm, run by run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from fairwind.errors import FairwindError
from fairwind.quantities import parse_bits_per_second, parse_seconds
from fairwind.results import Results
from fairwind.statistics import (
    convergence_time,
    delta_fair_time,
    efficiency,
    friendliness,
    harm,
    jain_index,
    min_to_max,
)
from fairwind.studies.workloads import end_of_run

CONTROL, BANDWIDTH, LIMIT, RTT = "control", "bandwidth", "limit", "rtt_ms"

PLACE = (BANDWIDTH, LIMIT, RTT)
"""Columns that identify a cell of the source's grid."""

NUMBER = "number"
"""The axis of the number of flows, where there are more than two."""

ALL_PLACES = (*PLACE, NUMBER)

STANDARD = "reno"
"""The label of standard TCP, the baseline of everything."""

FIXED_RTT_MS = 162
"""The first flow's round trip where round trips differ."""

PAYLOAD_RATIO = 1448 / 1500
"""Share of payload in a full packet, with headers of IPv4 and TCP with timestamps."""

COLUMNS = {
    "path_rtt": RTT,
    "rtt": RTT,
    "flows_second_rtt": RTT,
    "path_queue_limit": LIMIT,
}
"""Names of axes in scenarios, and here."""

STARVED_RATIO = 1000.0
"""A flow that gets a thousandth of another one's rate, or less, is starved."""


def shares(results: Results) -> pl.DataFrame:
    """Give the goodput of both flows in every run.

    Returns
    -------
    DataFrame
        The axes (`CONTROL` and those of `PLACE` that the run has), ``seed``, ``first`` and
        ``second`` (goodput, bit/s), ``packets_lost`` (of both), ``fairness`` (the smaller share by
        the larger), ``jain_index``, ``efficiency`` (of what the path carries of payload),
        ``friendliness`` (second by first) and ``advantage`` (the same, but of the shorter round
        trip by the longer, from 1/1000 to 1000).
    """
    first, second = (_of_group(results, name) for name in ("first", "second"))
    keys = [*_axes(first), "seed"]
    pairs = first.join(second, on=keys, suffix="_second", maintain_order="left").select(
        *keys,
        pl.col("goodput_bits_per_second").alias("first"),
        pl.col("goodput_bits_per_second_second").alias("second"),
        (pl.col("packets_lost") + pl.col("packets_lost_second")).alias("packets_lost"),
    )
    measured = [
        {
            "fairness": min_to_max((row["first"], row["second"])),
            "jain_index": jain_index((row["first"], row["second"])),
            "efficiency": _efficiency(row) if BANDWIDTH in row else None,
            "friendliness": friendliness(row["second"], row["first"]),
            "advantage": _advantage(row),
        }
        for row in pairs.iter_rows(named=True)
    ]
    return pl.concat([pairs, pl.DataFrame(measured, infer_schema_length=None)], how="horizontal")


def with_places(frame: pl.DataFrame) -> pl.DataFrame:
    """Call the axes of a table as this study does: round trips as numbers of milliseconds."""
    known = {column: name for column, name in COLUMNS.items() if column in frame.columns}
    renamed = frame.rename(known)
    if RTT not in renamed.columns:
        return renamed
    millis = {text: round(1000 * parse_seconds(text)) for text in renamed[RTT].unique()}
    return renamed.with_columns(pl.col(RTT).replace_strict(millis, return_dtype=pl.Int64))


def payload_capacity(bandwidth: str) -> float:
    """Give the payload rate of a path with full packets, in bit/s."""
    return parse_bits_per_second(bandwidth) * PAYLOAD_RATIO


def part_of(
    results: Results, name: str, read: Callable[[Results], pl.DataFrame]
) -> pl.DataFrame | None:
    """Read something of a further part of the study; None where it has not been run."""
    part = results.part(name)
    return None if part is None else read(part)


def controls(frame: pl.DataFrame) -> list[str]:
    """Give the congestion controls of a frame, in its order."""
    names: list[str] = frame[CONTROL].unique(maintain_order=True).to_list()
    return names


def _of_group(results: Results, group: str) -> pl.DataFrame:
    frame = with_places(results.groups.filter(pl.col("group") == group))
    if CONTROL not in frame.columns:
        raise FairwindError(
            f"the run in {results.folder} has no axis {CONTROL!r}",
            "keep it, and choose congestion controls by --set 'sweep.control=[\"reno\", ...]'",
        )
    return frame


def _axes(frame: pl.DataFrame) -> list[str]:
    names: list[str] = []
    for name in frame.columns:
        if name == "group":
            break
        if name not in ("cell", "replicate", "seed"):
            names.append(name)
    return names


def _efficiency(row: dict[str, float | str]) -> float:
    both = (float(row["first"]), float(row["second"]))
    return efficiency(both, payload_capacity(str(row[BANDWIDTH])))


def _advantage(row: dict[str, float]) -> float:
    second_is_shorter = row.get(RTT, FIXED_RTT_MS) <= FIXED_RTT_MS
    short, long = ("second", "first") if second_is_shorter else ("first", "second")
    ratio = friendliness(row[short], row[long])
    return min(max(ratio, 1 / STARVED_RATIO), STARVED_RATIO)


WINDOW_S = 1.0
"""The short term over which rates are averaged."""

JOINED = "20 % bdp"
"""The queue of the runs in which one flow joins another."""


def joining(results: Results, bandwidth: str | None = None) -> pl.DataFrame:
    """Give the convergence times of the second flow of every run.

    Parameters
    ----------
    results : Results
        With windows of a second; the groups are ``first`` and ``second``.
    bandwidth : str, optional
        That of all cells, where it is no axis.

    Returns
    -------
    DataFrame
        The axes, ``seed``, ``convergence_s`` (80 % of its fair share), ``delta_fair_s`` (both but
        for 10 %), ``observed_s`` (how long the second flow was watched), the first two once more
        with ``observed_s`` in the place of what did not happen, as ``..._capped_s``, and
        ``settled_fairness`` (the smaller goodput by the larger in the last half of that time).
    """
    rows = []
    windows = with_places(results.intervals.filter(pl.col("interval_s") == WINDOW_S))
    starts = results.flows.filter(pl.col("group") == "second")
    axes = [name for name in (CONTROL, BANDWIDTH, LIMIT, RTT) if name in windows.columns]
    flow_starts = {
        (row["cell"], row["seed"]): row["start_s"]
        for row in starts.select("cell", "seed", "start_s").iter_rows(named=True)
    }
    for (cell, seed), run in windows.group_by(["cell", "seed"], maintain_order=True):
        place = {name: run[name][0] for name in axes}
        rate = str(place.setdefault(BANDWIDTH, bandwidth))
        times = _times(run, flow_starts[cell, seed], rate)
        rows.append({**place, "seed": seed, **times})
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(
        pl.min_horizontal(f"{name}_s", "observed_s").alias(f"{name}_capped_s")
        for name in ("convergence", "delta_fair")
    )


def _times(run: pl.DataFrame, start: float, bandwidth: str) -> dict[str, float]:
    """Judge windows since the second flow has started."""
    begun = run.filter(pl.col("start_s") >= start)
    rates = {
        group: begun.filter(pl.col("group") == group).sort("start_s")
        for group in ("first", "second")
    }
    measure = "goodput_bits_per_second"
    first, second = (rates[group][measure].to_numpy() for group in ("first", "second"))
    since = rates["second"]["start_s"].to_numpy() - start
    fair = payload_capacity(bandwidth) / 2
    half = since.size // 2
    return {
        "convergence_s": convergence_time(since, second, WINDOW_S, fair),
        "delta_fair_s": delta_fair_time(since, first, second, WINDOW_S),
        "observed_s": float(since[-1]) + WINDOW_S if since.size else math.nan,
        "settled_fairness": min_to_max((first[half:].sum(), second[half:].sum())),
    }


REGAINED_RATIO = 0.99
"""Recovered share of a window: the next loss may come a few segments earlier."""


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
    """Give the measures of the first flow of every run, the victim: standard TCP."""
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
    until = end_of_run(results) - pl.col("start_s")
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

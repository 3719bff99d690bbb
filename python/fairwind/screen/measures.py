"""Measures of a screening: one number for each seed of a run.

A check's `measure` is a table with ``kind``. Most kinds add up or divide what the run's tables
have; `docs/reference/columns.md` defines the columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from fairwind.errors import FairwindError
from fairwind.quantities import parse_bits_per_second, parse_seconds
from fairwind.results import Results
from fairwind.statistics import convergence_time, jain_index, min_to_max

PAYLOAD_RATIO = 1448 / 1500
"""Share of payload in a full packet, with headers of IPv4 and TCP with timestamps."""

LONGEST_S = 1.0
"""Length of the windows of time that measures between two instants are read from."""

LARGEST_RATIO = 1000.0
"""A flow with a thousandth of another one's rate, or less, is starved: no ratio is larger."""

Values = dict[int, float]
"""One number for each seed; NaN where it is unknown."""

Settings = Mapping[str, Any]


def measured(results: Results, settings: Settings) -> Values:
    """Give a measure of every run.

    Parameters
    ----------
    settings : mapping
        The check's table ``measure``.

    Raises
    ------
    FairwindError
        If there is no such kind, a key is missing, or the run has no such group or column.
    """
    kind = str(settings.get("kind"))
    if kind not in KINDS:
        raise FairwindError(f"there is no measure of kind {kind!r}", f"one of {', '.join(KINDS)}")
    try:
        values = KINDS[kind](results, settings)
    except KeyError as error:
        raise FairwindError(f"the measure {kind!r} needs the key {error}", "set it") from error
    except pl.exceptions.ColumnNotFoundError as error:
        raise FairwindError(
            f"the measure {kind!r} finds no column: {error}", "`fairwind columns` lists all"
        ) from error
    return {seed: values.get(seed, math.nan) for seed in results.manifest.plan.seeds}


def _column(results: Results, settings: Settings) -> Values:
    """Mean of a column over the rows of a table that fit, such as those of a group."""
    frame = results.table(settings["table"])
    for key, value in settings.get("where", {}).items():
        frame = frame.filter(pl.col(key) == value)
    return _by_seed(frame, pl.col(settings["column"]).cast(pl.Float64).mean())


def _utilisation(results: Results, settings: Settings) -> Values:
    """Payload that all groups received over what the link can carry."""
    goodput = results.groups.filter(_of_groups(settings.get("groups")))
    capacity = parse_bits_per_second(settings["rate"]) * PAYLOAD_RATIO
    return _by_seed(goodput, pl.col("goodput_bits_per_second").sum() / capacity)


def _goodput(results: Results, settings: Settings) -> Values:
    """Goodput of a group between two instants, in bit/s."""
    windows = _between(_windows(results), settings).filter(pl.col("group") == settings["group"])
    return _by_seed(windows, pl.col("goodput_bits_per_second").mean())


def _share(results: Results, settings: Settings) -> Values:
    """Goodput of one group, per flow, over that of two groups together: 0.5 is an equal share."""
    ratio = _of_pair(results, settings)
    return {seed: one / (one + other) if one + other else math.nan for seed, (one, other) in ratio}


def _ratio(results: Results, settings: Settings) -> Values:
    """Goodput of one group, per flow, over that of another one, at most 1000."""
    return {
        seed: min(one / other, LARGEST_RATIO) if other else (LARGEST_RATIO if one else math.nan)
        for seed, (one, other) in _of_pair(results, settings)
    }


def _of_pair(results: Results, settings: Settings) -> list[tuple[int, tuple[float, float]]]:
    column = pl.col("goodput_per_flow_bits_per_second").mean()
    one, other = (
        _by_seed(results.groups.filter(pl.col("group") == settings[key]), column)
        for key in ("group", "other")
    )
    return [(seed, (one[seed], other[seed])) for seed in one if seed in other]


def _jain(results: Results, settings: Settings) -> Values:
    """Jain's index of the goodput of all flows of the groups."""
    return _over_flows(results, settings, jain_index)


def _min_to_max(results: Results, settings: Settings) -> Values:
    """Smallest goodput of a flow of the groups over the largest."""
    return _over_flows(results, settings, min_to_max)


def _over_flows(
    results: Results, settings: Settings, index: Callable[[list[float]], float]
) -> Values:
    flows = results.flows.filter(_of_groups(settings.get("groups")))
    return {
        seed: float(index(run["goodput_bits_per_second"].to_list()))
        for (seed,), run in flows.group_by(["seed"])
    }


def _completion(results: Results, settings: Settings) -> Values:
    """Mean time that transfers took; one that was not done counts to the end of the run."""
    flows = results.flows.filter(pl.col("group") == settings["group"])
    end = _duration(results) - pl.col("start_s")
    return _by_seed(flows, pl.col("completion_time_s").fill_null(end).mean())


def _convergence(results: Results, settings: Settings) -> Values:
    """Time from an instant until a group's rate is a share of a fair one, at most until the end.

    The rate is the mean over one second (Li, Leith and Shorten 2007; `convergence_time`).
    """
    start, end = parse_seconds(settings["from"]), _duration(results)
    fair = parse_bits_per_second(settings["rate"]) * PAYLOAD_RATIO
    target = float(settings.get("target", 0.8))
    windows = _windows(results).filter(
        (pl.col("group") == settings["group"]) & (pl.col("start_s") >= start)
    )
    found: Values = {}
    for (seed,), run in windows.group_by(["seed"]):
        run = run.sort("start_s")
        since = run["start_s"].to_numpy() - start
        rates = run["goodput_bits_per_second"].to_numpy()
        time = convergence_time(since, rates, LONGEST_S, fair, target)
        found[int(str(seed))] = min(time, end - start) if math.isfinite(time) else end - start
    return found


def _queue(results: Results, settings: Settings) -> Values:
    """Mean over windows of a column of a queue between two instants, or ``drop ratio``."""
    windows = _between(results.table("queue_intervals"), settings).filter(
        pl.col("queue") == settings.get("queue", "bottleneck")
    )
    column = settings["column"]
    if column == "drop_ratio":
        dropped, accepted = pl.col("drops_packets").sum(), pl.col("enqueued_packets").sum()
        return _by_seed(windows, dropped / pl.max_horizontal(dropped + accepted, 1))
    if column.endswith("_packets"):
        return _by_seed(windows, pl.col(column).sum())
    weights = pl.col("enqueued_packets")
    known = windows.filter(pl.col(column).is_not_null())
    return _by_seed(known, (pl.col(column) * weights).sum() / pl.max_horizontal(weights.sum(), 1))


def _by_seed(frame: pl.DataFrame, expression: pl.Expr) -> Values:
    grouped = frame.group_by("seed").agg(expression.cast(pl.Float64).alias("value"))
    return {
        seed: math.nan if value is None else value
        for seed, value in grouped.select("seed", "value").iter_rows()
    }


def _windows(results: Results) -> pl.DataFrame:
    return results.intervals.filter(pl.col("interval_s") == LONGEST_S).filter(
        pl.col("scope") == "group"
    )


def _between(windows: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    begin, end = (parse_seconds(settings[key]) for key in ("from", "until"))
    return windows.filter((pl.col("start_s") >= begin - 1e-9) & (pl.col("start_s") < end - 1e-9))


def _of_groups(groups: list[str] | None) -> pl.Expr:
    return pl.lit(value=True) if groups is None else pl.col("group").is_in(groups)


def _duration(results: Results) -> float:
    experiment = results.manifest.plan.cells[0].experiment
    return parse_seconds(experiment["duration"])


KINDS: Mapping[str, Callable[[Results, Settings], Values]] = {
    "column": _column,
    "utilisation": _utilisation,
    "goodput": _goodput,
    "share": _share,
    "ratio": _ratio,
    "jain": _jain,
    "min-to-max": _min_to_max,
    "completion-time": _completion,
    "convergence-time": _convergence,
    "queue": _queue,
}
"""Measures by the word ``kind``."""

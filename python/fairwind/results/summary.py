"""Estimates over replicates of the main measures, and their format for people."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from fairwind.html import table
from fairwind.quantities import LATENCIES, RATES, SIZES, Unit, significant, unit_for
from fairwind.results.results import Results
from fairwind.results.tidy import has_answers, one_after_the_other, transfer_times
from fairwind.statistics import mean_interval


@dataclass(frozen=True)
class Estimates:
    """A tidy table of estimates.

    Attributes
    ----------
    frame : DataFrame
        Key columns, then ``measure``, ``mean``, ``low``, ``high`` (95 % interval of the mean over
        replicates, Student's t) and ``replicates``; each in the unit that the measure's name ends
        in.
    keys : tuple of str
        The key columns.
    """

    frame: pl.DataFrame
    keys: tuple[str, ...]

    def _repr_html_(self) -> str:
        """Show the table of `readable` in a notebook."""
        return table(*readable(self))


def summarise(results: Results, measures: Sequence[str] | None = None) -> Estimates:
    """Estimate measures of every cell and group over the replicates.

    Parameters
    ----------
    measures : sequence of str, optional
        Numeric columns of the groups table; the main ones if not given.
    """
    names = list(measures) if measures is not None else GROUPS.measures_in(results.groups)
    return estimate(results.groups, (*results.manifest.plan.axis_columns, "group"), names)


def overview(results: Results) -> dict[Subject, Estimates]:
    """Estimate, of everything that a run measured, what a person looks at first.

    Returns
    -------
    dict
        Estimates by subject, with the axes and the subject's `column` as keys; without subjects
        that the run knows nothing of.
    """
    axes, found = results.manifest.plan.axis_columns, {}
    for subject in SUBJECTS:
        rows = rows_of(results, subject)
        if rows.height:
            found[subject] = estimate(rows, (*axes, subject.column), subject.measures_in(rows))
    return found


def tidy_overview(results: Results) -> pl.DataFrame:
    """Give the overview as one frame: axes, ``table``, ``name``, then as in `Estimates`."""
    frames = [
        estimates.frame.rename({subject.column: "name"}).with_columns(
            pl.lit(subject.table).alias("table")
        )
        for subject, estimates in overview(results).items()
    ]
    axes = results.manifest.plan.axis_columns
    return pl.concat(frames, how="vertical_relaxed").select(
        *axes, "table", pl.all().exclude(*axes, "table")
    )


def estimate(frame: pl.DataFrame, keys: Sequence[str], measures: Sequence[str]) -> Estimates:
    """Estimate the mean of measures for every combination of keys, in order of appearance."""
    rows, measures = [], [*dict.fromkeys(measures)]
    columns = [frame[name].cast(pl.Float64).to_numpy() for name in measures]
    keyed = frame.select(keys).with_row_index("row number")
    for *key, places in keyed.group_by(keys, maintain_order=True).all().iter_rows():
        for measure, values in zip(measures, columns, strict=True):
            found = mean_interval(values[places])
            rows.append([*key, measure, found.estimate, found.low, found.high, found.samples])
    numbers = dict.fromkeys(("mean", "low", "high"), pl.Float64())
    schema = {name: frame.schema[name] for name in keys} | {"measure": pl.String()} | numbers
    schema["replicates"] = pl.Int64()
    estimates = pl.DataFrame(rows, schema=schema, orient="row")
    return Estimates(
        estimates.with_columns(pl.col("mean", "low", "high").fill_nan(None)), tuple(keys)
    )


@dataclass(frozen=True)
class Subject:
    """One kind of thing that is measured.

    Attributes
    ----------
    table : str
        The table that has one row for each, or that these are made of.
    column : str
        The column that names it.
    measures : tuple of str
        The columns that a person looks at first, in this order.
    """

    table: str
    column: str
    measures: tuple[str, ...]

    def measures_in(self, frame: pl.DataFrame) -> list[str]:
        """Give the main measures of which a table knows anything."""
        return [name for name in self.measures if is_known(frame, name)]


def is_known(frame: pl.DataFrame, name: str) -> bool:
    """Return whether a table has a column with any value."""
    return name in frame.columns and frame[name].null_count() < frame.height


GROUPS = Subject(
    "groups",
    "group",
    (
        "goodput_bits_per_second",
        "throughput_bits_per_second",
        "packet_loss_ratio",
        "retransmission_ratio",
        "ack_latency_p50_s",
        "ack_latency_p99_s",
        "delivery_latency_p50_s",
        "delivery_latency_p99_s",
        "response_time_p50_s",
        "response_time_p99_s",
    ),
)
TRANSFERS = Subject(
    "transfers",
    "group",
    (
        "completion_time_s",
        "completion_time_p50_s",
        "completion_time_p90_s",
        "ended_transfers",
        "unfinished_transfers",
    ),
)
"""Made of the flows, by `transfer_times`."""

DELAYS = Subject(
    "delays",
    "group",
    (
        "one_way_variation_p50_s",
        "one_way_variation_p99_s",
        "in_order_delivery_p50_s",
        "in_order_delivery_p99_s",
    ),
)
"""Between two captures: of groups, made of two layers of the table by `delays_of_groups`."""

QUEUES = Subject(
    "queues",
    "queue",
    (
        "drops_packets",
        "backlog_mean_packets",
        "arrival_backlog_p99_packets",
        "sojourn_p50_s",
        "sojourn_p99_s",
    ),
)
FAIRNESS = Subject("fairness", "among", ("jain_index",))

SUBJECTS = (TRANSFERS, GROUPS, DELAYS, QUEUES, FAIRNESS)
"""In the order in which people read them: those who wait for a transfer ask for its time first."""

HARDLY_ANY_PACKETS = 0.005
"""A queue with a smaller mean backlog, and without drops, had no influence."""


def rows_of(results: Results, subject: Subject) -> pl.DataFrame:
    """Give the rows of one subject; none where the run does not have its table.

    Queues that nobody noticed are left out, and so is fairness among one, or among those who do
    not compete: callers and those who answer them, and transfers one after the other.
    """
    if subject is TRANSFERS:
        return transfer_times(results)
    if not results.has_table(subject.table):
        return pl.DataFrame()
    if subject is DELAYS:
        return delays_of_groups(results)
    rows = results.table(subject.table)
    if not rows.width:
        return rows
    match subject.table:
        case "queues":
            drops, backlog = pl.col("drops_packets"), pl.col("backlog_mean_packets")
            matters = (backlog > HARDLY_ANY_PACKETS) | (drops > 0)
            return rows.filter(matters.any().over("queue"))
        case "fairness":
            return _among(results, rows)
        case _:
            return rows


LAYERS = {"network": "one_way_variation", "application": "in_order_delivery"}
"""Layers of the table ``delays`` that are compared, and the measures made of them."""


def delays_of_groups(results: Results) -> pl.DataFrame:
    """Give the variation of packets' delays and of in-order delivery, per group and replicate.

    Both are delays beyond the smallest one of the same flow.
    """
    delays = results.table("delays").filter(scope="group")
    percentiles = [name for name in ("p50", "p99") if f"variation_{name}_s" in delays.columns]
    keys = ["cell", "replicate", "seed", *results.manifest.plan.axis_columns, "group"]
    keys = [name for name in keys if name in delays.columns]
    found = delays.select(keys).unique(maintain_order=True)
    for layer, measure in LAYERS.items():
        columns = {f"{measure}_{name}_s": f"variation_{name}_s" for name in percentiles}
        of_layer = delays.filter(layer=layer).select(*keys, **columns)
        found = found.join(of_layer, on=keys, how="left", nulls_equal=True, maintain_order="left")
    return found


def _among(results: Results, fairness: pl.DataFrame) -> pl.DataFrame:
    """Name the members of a fairness index: all flows, the flows of a group, or the groups."""
    if has_answers(results):
        fairness = fairness.filter(pl.col("scope") == "group")
    in_turn = pl.col("name").is_in(one_after_the_other(results))
    fairness = fairness.filter(~((pl.col("scope") == "group") & in_turn))
    words = (
        pl.when(pl.col("scope") == "group")
        .then(pl.format("flows of {}", "name"))
        .when(pl.col("scope") == "all")
        .then(pl.lit("all flows"))
        .otherwise(pl.lit("groups, per flow"))
    )
    return fairness.filter(pl.col("members") > 1).with_columns(words.alias("among"))


HANDY_UNITS = (("_bits_per_second", "kbit/s", 1e-3), ("_s", "ms", 1e3), ("_ratio", "%", 100.0))
"""Ending of a measure's name, the unit it is shown in by itself, and the factor to it."""

UNITS: Mapping[str, tuple[Unit, ...]] = {
    "_bits_per_second": RATES, "_s": LATENCIES, "_bytes": SIZES
}  # fmt: skip
"""Units that suit the values of a measure, by the ending of its name."""

SAME_RATIO = 1e-9
"""Numbers that differ by a smaller part than this differ by rounding alone."""

WITHOUT_UNIT = ("minimum_to_maximum_ratio", "jain_index")
"""Measures that are shown as the numbers that they are."""


def readable(estimates: Estimates) -> tuple[list[str], list[list[object]]]:
    """Give headers and rows: the keys, then ``mean ± half width`` of every measure.

    The half width is that of the 95 % interval; it is left out where one replicate tells none. Of
    replicates that all gave the same it is said that they did; their spread need not be zero.
    """
    units = scaled_units(estimates.frame.select("measure", "mean").iter_rows())
    rows: dict[tuple[object, ...], list[object]] = {}
    for row in estimates.frame.iter_rows(named=True):
        key = tuple(row[name] for name in estimates.keys)
        rows.setdefault(key, list(key)).append(_estimate(row, units[row["measure"]][1]))
    headers = [*estimates.keys, *(header_of(name, unit) for name, (unit, _) in units.items())]
    return headers, list(rows.values())


def header_of(measure: str, unit: str) -> str:
    """Name a measure and the unit that it is shown in."""
    return f"{title_of(measure)} / {unit}" if unit else title_of(measure)


def scaled_unit(measure: str, values: Iterable[float | None]) -> tuple[str, float]:
    """Give the unit that suits the values of a measure, and the factor to it.

    Parameters
    ----------
    measure : str
        The measure, with its unit at the end.
    values : iterable of float or None
        What is shown together, in that unit.
    """
    units = next((units for ending, units in UNITS.items() if measure.endswith(ending)), None)
    known = [value for value in values if value and math.isfinite(value)]
    if units is None or not known:
        return unit_of(measure)
    unit = unit_for(known, units, digits=4)
    return unit.name, 1 / unit.size


def scaled_units(values: Iterable[tuple[str, float | None]]) -> dict[str, tuple[str, float]]:
    """Give unit and factor of each measure, from all of its values that are shown together."""
    by_measure: dict[str, list[float | None]] = {}
    for measure, value in values:
        by_measure.setdefault(measure, []).append(value)
    return {measure: scaled_unit(measure, those) for measure, those in by_measure.items()}


def with_uncertainty(mean: float, half_width: float) -> str:
    """Write ``mean ± half width`` with as many digits as the half width has two of.

    The mean keeps at most four significant digits, whatever the half width.
    """
    if half_width == 0 or not math.isfinite(half_width):
        return f"{significant(mean)} ± {significant(half_width, 2)}"
    decimals = 1 - math.floor(math.log10(half_width))
    most = 3 - math.floor(math.log10(abs(mean))) if mean else decimals
    decimals = min(decimals, max(most, 0))
    if decimals <= 0:
        return f"{mean:.0f} ± {significant(half_width, 2)}"
    text = f"{half_width:.{decimals}f}"
    # What is not zero does not become it by rounding.
    return f"{mean:.{decimals}f} ± {text if float(text) else significant(half_width, 1)}"


def unit_of(measure: str) -> tuple[str, float]:
    """Give the unit that a measure is shown in, and the factor to it."""
    if measure in WITHOUT_UNIT:
        return "", 1.0
    for ending, unit, scale in HANDY_UNITS:
        if measure.endswith(ending):
            return unit, scale
    return measure.rsplit("_", 1)[-1], 1.0


def title_of(measure: str) -> str:
    """Give a measure's name in words, without its unit."""
    unit, _ = unit_of(measure)
    ending = next((ending for ending, _, _ in HANDY_UNITS if measure.endswith(ending)), f"_{unit}")
    title = measure.removesuffix(ending) if unit else measure.removesuffix("_ratio")
    return title.replace("_", " ")


def _estimate(row: dict[str, object], scale: float) -> str | None:
    mean, high = row["mean"], row["high"]
    if not isinstance(mean, float):
        return None
    if not isinstance(high, float):
        return significant(mean * scale)
    if math.isclose(high, mean, rel_tol=SAME_RATIO, abs_tol=0):
        return f"{significant(mean * scale)} ({row['replicates']} equal)"
    return with_uncertainty(mean * scale, (high - mean) * scale)

"""Comparison of two runs: the difference of every measure, with its uncertainty.

Simulated replicates with the same cell settings and seed saw the same random numbers, so they are
compared in pairs; where the seeds differ, the samples are independent. In real time a seed decides
the pattern of a run, but not what happens to each packet, so runs on the kernel are independent
samples, too.

Estimate, interval and p value of a row come from one t test, so that the interval excludes "no
difference" exactly where p is below 0.05: of the logarithms where every value is above zero, which
gives the ratio of geometric means, and else of the values. Many rows need a correction: Holm (1979)
over all rows that are compared together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fairwind.errors import FairwindError
from fairwind.folder.manifest import Manifest
from fairwind.quantities import percent, percent_interval, significant
from fairwind.results import SUBJECTS, Results, Subject, rows_of
from fairwind.results.summary import header_of, scaled_units
from fairwind.scenario.plan import Axis
from fairwind.statistics import Difference, holm, paired_difference, welch_difference

Floats = NDArray[np.float64]


class Method(StrEnum):
    """What the t test of a row is of."""

    RATIO = "log ratio"
    DIFFERENCE = "difference"


METHOD_IN_WORDS = (
    "each row is one t test: of log(B / A) where all values are above zero, so that B / A - 1 is "
    "the ratio of geometric means, else of B - A; the 95 % interval excludes 0 exactly where "
    "p < 0.05; p (Holm) is corrected for the number of rows"
)
"""How estimate, interval and p value of all rows are found."""


def compare(a: Results, b: Results, measures: Sequence[str] | None = None) -> pl.DataFrame:
    """Compare what two runs measured, cell by cell.

    Parameters
    ----------
    a, b : Results
        Differences are B less A.
    measures : sequence of str, optional
        Numeric columns of the tables of groups, queues or fairness; the main ones if not given.

    Returns
    -------
    DataFrame
        One row per cell settings, thing (``table`` and ``name``: a group, a queue, ...) and
        measure: ``mean_a``, ``mean_b``, ``difference`` (of the means), ``low``, ``high`` (95 %
        interval), all in the unit that the measure's name ends in; ``relative_ratio`` (B over A,
        less 1) with ``relative_low_ratio`` and ``relative_high_ratio``; ``p_value`` (two-sided, of
        no difference), ``holm_p_value`` (the same, corrected for the number of rows), ``method``
        (``log ratio`` or ``difference``), ``pairs`` (0 if compared as independent), ``samples_a``
        and ``samples_b``. Interval and p values are missing where all pairs differ by the same
        amount or ratio, and where one replicate tells of no spread.

    Raises
    ------
    FairwindError
        If the runs have no cell and group in common, or lack a measure.
    """
    return frame_of(contrasts_between(a, b, measures))


def contrasts_between(
    a: Results, b: Results, measures: Sequence[str] | None = None
) -> list[Labelled]:
    """Give the contrasts that `compare` makes a frame of, each with its labels."""
    axes = _shared_axes(a, b)
    tables = [(subject, rows_of(a, subject), rows_of(b, subject)) for subject in SUBJECTS]
    _refuse_unknown(measures or (), tables)
    is_paired = are_paired(a, b)
    rows = [
        row
        for subject, of_a, of_b in tables
        if of_a.width and of_b.width
        for row in _contrasts(subject, axes, (of_a, of_b), measures or (), is_paired=is_paired)
    ]
    if not rows:
        raise FairwindError(
            f"{a.folder} and {b.folder} have no cell and group in common",
            "compare runs of scenarios with the same settings and group names",
        )
    return rows


def compare_by(results: Results, by: str, measures: Sequence[str] | None = None) -> pl.DataFrame:
    """Compare, within one run, every value of an axis with its first one.

    Parameters
    ----------
    by : str
        The axis: its name in the scenario, the last part of it, or its column in the tables.
    measures : sequence of str, optional
        As in `compare`.

    Returns
    -------
    DataFrame
        As `compare` gives it: A is the first value, B the one in the axis's own column, which
        stands behind those of the other axes.

    Raises
    ------
    FairwindError
        If there is no such axis, it has one value only, or a measure is missing.
    """
    return frame_of(contrasts_along(results, by, measures))


def contrasts_along(
    results: Results, by: str, measures: Sequence[str] | None = None
) -> list[Labelled]:
    """Give the contrasts that `compare_by` makes a frame of, each with its labels."""
    axis = axis_named(results, by)
    if len(axis.labels) < 2:
        raise FairwindError(
            f"{axis.name} has one value only, {axis.labels[0]}", "compare along another axis"
        )
    others = [one.column for one in results.manifest.plan.axes if one is not axis]
    reference, *values = axis.values
    split = [(subject, _by_value(rows_of(results, subject), axis)) for subject in SUBJECTS]
    tables = [
        (subject, value, parts[reference], parts[value])
        for value in values
        for subject, parts in split
        if value in parts and reference in parts
    ]
    _refuse_unknown(measures or (), [(subject, a, b) for subject, _, a, b in tables])
    is_paired = not results.manifest.is_real_time
    rows = [
        ({name: labels[name] for name in others} | {axis.column: value} | labels, found)
        for subject, value, a, b in tables
        for labels, found in _contrasts(
            subject, others, (a, b), measures or (), is_paired=is_paired
        )
    ]
    if not rows:
        raise FairwindError(
            f"nothing was measured with {axis.name} = {reference} and another value",
            f"look at failures with `fairwind show {results.folder}`",
        )
    return rows


def comparison(
    a: Results, b: Results | None, *, by: str | None, measures: Sequence[str] | None
) -> pl.DataFrame:
    """Compare two runs, or the values of an axis of one; see `Results.compare`."""
    if (b is None) == (by is None):
        raise FairwindError(
            "a comparison needs another run, or an axis of this one, and not both",
            "compare(other), or compare(by=AXIS)",
        )
    return compare_by(a, by, measures) if by is not None else compare(a, b or a, measures)


def axis_named(results: Results, name: str) -> Axis:
    """Give the axis of a name, of the last part of a name, or of a column.

    Raises
    ------
    FairwindError
        If there is none, or several that end in this.
    """
    axes = results.manifest.plan.axes
    found = [axis for axis in axes if name in (axis.name, axis.column)]
    found = found or [axis for axis in axes if axis.name.endswith(f".{name}")]
    if len(found) == 1:
        return found[0]
    names = ", ".join(axis.name for axis in found or axes)
    if found:
        raise FairwindError(f"several axes of {results.folder} end in {name!r}", f"one of {names}")
    raise FairwindError(
        f"{results.folder} has no axis {name!r}",
        f"there is {names}" if names else "the run has no axis; compare it with another run",
    )


def _by_value(rows: pl.DataFrame, axis: Axis) -> dict[object, pl.DataFrame]:
    """Split a table by the values of an axis."""
    if not rows.width:
        return {}
    return {key[0]: part for key, part in _parts(rows, [axis.column])}


def frame_of(contrasts: Sequence[Labelled]) -> pl.DataFrame:
    """Make a frame of contrasts, with p values that are corrected for their number."""
    rows = [labels | _columns(found) for labels, found in contrasts]
    frame = pl.DataFrame(rows, infer_schema_length=None).with_columns(
        pl.col(pl.Float64).fill_nan(None)
    )
    p_values = frame["p_value"].cast(pl.Float64).fill_null(math.nan).to_numpy()
    corrected = pl.Series("holm_p_value", holm(p_values)).fill_nan(None)
    return frame.insert_column(frame.columns.index("p_value") + 1, corrected)


def are_paired(a: Results, b: Results) -> bool:
    """Return whether replicates of the same seed are pairs: in virtual time only."""
    return not (a.manifest.is_real_time or b.manifest.is_real_time)


def unknown_measures(a: Results, b: Results) -> list[str]:
    """Give the main measures that one of two runs has and the other does not know.

    What nobody watched has no value: a capture at the sender alone tells of no arrivals.
    """
    found = []
    for subject in SUBJECTS:
        of_a, of_b = rows_of(a, subject), rows_of(b, subject)
        if of_a.width and of_b.width:
            known = [
                {name for name in subject.measures if is_known(of, name)} for of in (of_a, of_b)
            ]
            found += [name for name in subject.measures if name in known[0] ^ known[1]]
    return found


def is_known(frame: pl.DataFrame, name: str) -> bool:
    """Return whether a table has a column with any value."""
    return name in frame.columns and frame[name].null_count() < frame.height


def _contrasts(
    subject: Subject,
    axes: list[str],
    frames: tuple[pl.DataFrame, pl.DataFrame],
    measures: Sequence[str],
    *,
    is_paired: bool,
) -> Iterator[Labelled]:
    """Compare one kind of thing in every cell that both tables have."""
    keys = [*axes, subject.column]
    names = [
        name
        for name in measures or subject.measures
        if all(is_known(frame, name) for frame in frames)
    ]
    parts_b = dict(_parts(frames[1], keys))
    for key, part in _parts(frames[0], keys):
        if key not in parts_b:
            continue
        for name in names:
            if not any(is_known(one, name) for one in (part, parts_b[key])):
                continue  # a measure of other groups, as the response time is of requests
            labels = {"table": subject.table, "name": key[-1], "measure": name}
            found = contrast(part, parts_b[key], name, is_paired=is_paired)
            yield dict(zip(axes, key, strict=False)) | labels, found


def _shared_axes(a: Results, b: Results) -> list[str]:
    axes_a = [axis.column for axis in a.manifest.plan.axes]
    axes_b = [axis.column for axis in b.manifest.plan.axes]
    if set(axes_a) != set(axes_b):
        raise FairwindError(
            f"the grids differ: {a.folder} sweeps {', '.join(axes_a) or 'nothing'}, "
            f"{b.folder} sweeps {', '.join(axes_b) or 'nothing'}",
            "compare runs with the same axes",
        )
    return axes_a


def _refuse_unknown(
    measures: Sequence[str], tables: Sequence[tuple[Subject, pl.DataFrame, pl.DataFrame]]
) -> None:
    known = dict.fromkeys(
        name
        for _, of_a, of_b in tables
        for name in of_a.columns
        if name in of_b.columns and of_a.schema[name].is_numeric()
    )
    for name in measures:
        if name not in known:
            raise FairwindError(
                f"both runs need a numeric column {name!r} in a table of groups, queues or "
                "fairness",
                f"there are {', '.join(known)}",
            )
        if not any(
            is_known(of_a, name) and is_known(of_b, name)
            for _, of_a, of_b in tables
            if name in of_a.columns and name in of_b.columns
        ):
            raise FairwindError(
                f"one of the runs has no values of {name!r}: it was not captured there",
                "a capture at the sender shows no arrivals; analyse the captures of both sides",
            )


def _parts(rows: pl.DataFrame, keys: list[str]) -> list[tuple[tuple[object, ...], pl.DataFrame]]:
    return list(rows.group_by(keys, maintain_order=True))


@dataclass(frozen=True)
class Contrast:
    """What a row compares, and its one t test.

    Attributes
    ----------
    method : Method
        What the test is of.
    test : Difference
        Of the logarithms or of the values.
    values : Difference
        Of the values, whatever the test is of.
    least : float
        The relative difference that nothing can fall below: -1, if no value is negative.
    """

    method: Method
    test: Difference
    values: Difference
    least: float

    def relative(self, bound: float) -> float:
        """Give a value on the scale of the test relative to the mean of A; NaN where that is 0."""
        if self.method is Method.RATIO:
            return math.expm1(bound)
        mean = self.values.mean_a
        return math.nan if mean == 0 or math.isnan(mean) else max(bound / abs(mean), self.least)

    def difference(self, bound: float) -> float:
        """Give a value on the scale of the test in the unit of the values."""
        is_ratio = self.method is Method.RATIO
        return self.values.mean_a * math.expm1(bound) if is_ratio else bound

    def bound(self, relative: float) -> float:
        """Give a relative difference above -1 on the scale of the test; NaN where A is zero."""
        if self.method is Method.RATIO:
            return math.log1p(relative)
        return relative * abs(self.values.mean_a) if self.values.mean_a != 0 else math.nan


def contrast(a: pl.DataFrame, b: pl.DataFrame, measure: str, *, is_paired: bool) -> Contrast:
    """Compare one measure of two tables with one row per seed.

    Parameters
    ----------
    a, b : DataFrame
        With the columns ``seed`` and `measure`.
    is_paired : bool
        Whether rows of the same seed are pairs; without common seeds they are independent.
    """
    first, second, is_paired = _samples(a, b, measure, is_paired=is_paired)
    compare = paired_difference if is_paired else welch_difference
    values = compare(first, second)
    is_negative = bool((first < 0).any() or (second < 0).any())
    least = -math.inf if is_negative else -1.0
    if len(first) > 0 and len(second) > 0 and min(first.min(), second.min()) > 0:
        return Contrast(Method.RATIO, compare(np.log(first), np.log(second)), values, least)
    return Contrast(Method.DIFFERENCE, values, values, least)


Labelled = tuple[dict[str, object], Contrast]
"""A contrast behind its labels: values of the axes by column, ``table``, ``name``, ``measure``."""


def _columns(found: Contrast) -> dict[str, float | int | str | None]:
    test, values = found.test, found.values
    has_spread = test.has_spread
    return {
        "mean_a": values.mean_a,
        "mean_b": values.mean_b,
        "difference": values.mean_b - values.mean_a,
        "low": found.difference(test.low) if has_spread else None,
        "high": found.difference(test.high) if has_spread else None,
        "relative_ratio": found.relative(test.estimate),
        "relative_low_ratio": found.relative(test.low) if has_spread else None,
        "relative_high_ratio": found.relative(test.high) if has_spread else None,
        "p_value": test.p_value if has_spread else None,
        "method": found.method.value,
        "pairs": values.samples_a if values.is_paired else 0,
        "samples_a": values.samples_a,
        "samples_b": values.samples_b,
    }


def _samples(
    a: pl.DataFrame, b: pl.DataFrame, measure: str, *, is_paired: bool
) -> tuple[Floats, Floats, bool]:
    """Give the values of both, and whether those of one seed stand at the same place."""
    if is_paired:
        pairs = a.select("seed", pl.col(measure).cast(pl.Float64).alias("a")).join(
            b.select("seed", pl.col(measure).cast(pl.Float64).alias("b")),
            on="seed",
            maintain_order="left",
        )
        if pairs.height:
            known = pairs.fill_nan(None).drop_nulls(["a", "b"])
            return known["a"].to_numpy(), known["b"].to_numpy(), True
    return _numbers(a, measure), _numbers(b, measure), False


def _numbers(frame: pl.DataFrame, measure: str) -> Floats:
    return frame[measure].cast(pl.Float64).fill_nan(None).drop_nulls().to_numpy()


def readable_differences(differences: pl.DataFrame) -> tuple[list[str], list[list[object]]]:
    """Give headers and rows of a table of differences.

    Parameters
    ----------
    differences : DataFrame
        As `fairwind.compare` gives it.
    """
    place = differences.columns.index("table")
    axes = differences.columns[:place]
    headers = [*axes, "of", "measure", "A", "B", "B / A - 1", "95 % interval", "p", "p (Holm)"]
    rows: list[list[object]] = []
    units = scaled_units(
        (row["measure"], row[mean])
        for row in differences.iter_rows(named=True)
        for mean in ("mean_a", "mean_b")
    )
    for row in differences.iter_rows(named=True):
        unit, scale = units[row["measure"]]
        rows.append(
            [
                *(row[axis] for axis in axes),
                row["name"],
                header_of(row["measure"], unit),
                _scaled(row["mean_a"], scale),
                _scaled(row["mean_b"], scale),
                None if row["relative_ratio"] is None else f"{percent(row['relative_ratio'])} %",
                _interval(row, unit, scale),
                _p_value(row["p_value"]),
                _p_value(row["holm_p_value"]),
            ]
        )
    return headers, rows


def _interval(row: dict[str, Any], unit: str, scale: float) -> str | None:
    """Write the interval in per cent, or in the measure's unit where A is zero."""
    if row["relative_ratio"] is not None or row["low"] is None:
        found = percent_interval(row["relative_low_ratio"], row["relative_high_ratio"])
        return f"{found} %" if found else None
    low, high = (significant(row[name] * scale) for name in ("low", "high"))
    return f"[{low}, {high}] {unit}".rstrip()


def _p_value(value: float | None) -> str | None:
    return None if value is None else f"{value:.2g}"


def _scaled(value: float | None, scale: float) -> str | None:
    return None if value is None else significant(value * scale)


MOST_SETTINGS = 8
"""Largest number of keys that are printed; the others are counted."""

ABSENT = "not set"


def head_by(results: Results, by: str) -> list[str]:
    """Describe a comparison along an axis in lines: the run, the values, and the method."""
    axis = axis_named(results, by)
    return [
        f"{results.folder}: {_made_by(results.manifest)}",
        f"A: {axis.name} = {axis.labels[0]}; B: {', '.join(axis.labels[1:])}",
        _method(results, results),
        METHOD_IN_WORDS,
    ]


def head(a: Results, b: Results) -> list[str]:
    """Describe a comparison in lines: the runs, the method, and different scenario keys."""
    return [
        f"A: {a.folder}: {_made_by(a.manifest)}",
        f"B: {b.folder}: {_made_by(b.manifest)}",
        _method(a, b),
        METHOD_IN_WORDS,
        *_settings(a.manifest, b.manifest),
        *_left_out(a, b),
    ]


def _settings(a: Manifest, b: Manifest) -> list[str]:
    if a.is_foreign or b.is_foreign:
        return ["different settings are unknown: a capture does not contain them"]
    changed = changed_settings(a, b)
    parts = [f"  {key}: {first} -> {second}" for key, (first, second) in changed.items()]
    if len(parts) > MOST_SETTINGS:
        parts[MOST_SETTINGS:] = [f"  and {len(parts) - MOST_SETTINGS} more"]
    if not parts:
        return ["the scenarios are the same in all settings"]
    return ["settings that differ, A -> B:", *parts]


def _left_out(a: Results, b: Results) -> list[str]:
    """Name the main measures that one run does not have, as a capture of one side."""
    names = unknown_measures(a, b)
    if not names:
        return []
    return [f"left out, since one of them does not know it: {', '.join(names)}"]


def changed_settings(a: Manifest, b: Manifest) -> dict[str, tuple[str, str]]:
    """Give the keys with different values in cells that both runs have.

    Returns
    -------
    dict
        Key path in the resolved experiment, with the value in A and in B of the first cell in which
        they differ.
    """
    cells_b = {tuple(sorted(cell.settings.items())): cell for cell in b.plan.cells}
    found: dict[str, tuple[str, str]] = {}
    for cell in a.plan.cells:
        other = cells_b.get(tuple(sorted(cell.settings.items())))
        if other is None:
            continue
        first, second = dict(_flat(cell.experiment)), dict(_flat(other.experiment))
        for key in first | second:
            values = first.get(key, ABSENT), second.get(key, ABSENT)
            if values[0] != values[1]:
                found.setdefault(key, values)
    found.pop("name", None)
    found.pop("description", None)
    return found


def _flat(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Write a tree as key paths; the entries of lists go by their names, if they have any."""
    prefix = f"{key}." if key else ""
    match value:
        case dict():
            for name, inner in value.items():
                yield from _flat(inner, f"{prefix}{name}")
        case list() if value and all(isinstance(entry, dict) for entry in value):
            for number, entry in enumerate(value):
                yield from _flat(entry, f"{prefix}{entry.get('name', number)}")
        case list():
            yield key, ", ".join(map(str, value))
        case bool():
            yield key, str(value).lower()
        case _:
            yield key, str(value)


def _made_by(manifest: Manifest) -> str:
    kernel = manifest.versions.get("kernel")
    engine = f"{manifest.engine} {kernel}" if kernel else manifest.engine
    runs = manifest.plan.replicates
    return (
        f"{manifest.plan.name}, {engine}, fairwind {manifest.versions.get('fairwind', '?')}, "
        f"{runs} {'run' if runs == 1 else 'runs'} per cell"
    )


def _method(a: Results, b: Results) -> str:
    if not are_paired(a, b):
        return (
            "runs are compared as independent samples (Welch): in real time a seed does not decide "
            "what happens to each packet"
        )
    shared = set(a.manifest.plan.seeds) & set(b.manifest.plan.seeds)
    if shared:
        return "runs of the same seed are compared in pairs"
    return "runs are compared as independent samples (Welch): they have no seed in common"

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
from enum import StrEnum
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fairwind.errors import FairwindError
from fairwind.folder.manifest import Manifest
from fairwind.results import SUBJECTS, Results, Subject, rows_of
from fairwind.results.summary import significant, title_of, unit_of
from fairwind.statistics import Difference, holm, paired_difference, welch_difference

Floats = NDArray[np.float64]

SAME = 1e-12
"""An interval narrower than this, relative to its estimate, is only rounding."""


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
    axes = _shared_axes(a, b)
    chosen = {name: None for name in measures or ()}
    tables = [(subject, rows_of(a, subject), rows_of(b, subject)) for subject in SUBJECTS]
    _refuse_unknown(list(chosen), tables)
    is_paired = are_paired(a, b)
    rows = [
        row
        for subject, of_a, of_b in tables
        if of_a.width and of_b.width
        for row in _rows(subject, axes, (of_a, of_b), list(chosen), is_paired=is_paired)
    ]
    if not rows:
        raise FairwindError(
            f"{a.folder} and {b.folder} have no cell and group in common",
            "compare runs of scenarios with the same settings and group names",
        )
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


def _rows(
    subject: Subject,
    axes: list[str],
    frames: tuple[pl.DataFrame, pl.DataFrame],
    measures: list[str],
    *,
    is_paired: bool,
) -> Iterator[dict[str, object]]:
    """Compare one kind of thing in every cell that both runs have."""
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
            yield (
                dict(zip(axes, key, strict=False))
                | {"table": subject.table, "name": key[-1], "measure": name}
                | _columns(part, parts_b[key], name, is_paired=is_paired)
            )


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


def _columns(
    a: pl.DataFrame, b: pl.DataFrame, measure: str, *, is_paired: bool
) -> dict[str, float | int | str | None]:
    first, second, is_paired = _samples(a, b, measure, is_paired=is_paired)
    compare = paired_difference if is_paired else welch_difference
    found = compare(first, second)
    is_positive = len(first) > 0 and len(second) > 0 and min(first.min(), second.min()) > 0
    if is_positive:
        method, test = Method.RATIO, compare(np.log(first), np.log(second))
        relative = tuple(math.expm1(x) for x in (test.estimate, test.low, test.high))
        low, high = (found.mean_a * bound for bound in relative[1:])
    else:
        method, test = Method.DIFFERENCE, found
        low, high = found.low, found.high
        is_negative = bool((first < 0).any() or (second < 0).any())
        relative = _relative(found, least=-math.inf if is_negative else -1.0)
    has_spread = _has_spread(test)
    return {
        "mean_a": found.mean_a,
        "mean_b": found.mean_b,
        "difference": found.mean_b - found.mean_a,
        "low": low if has_spread else None,
        "high": high if has_spread else None,
        "relative_ratio": relative[0],
        "relative_low_ratio": relative[1] if has_spread else None,
        "relative_high_ratio": relative[2] if has_spread else None,
        "p_value": test.p_value if has_spread else None,
        "method": method.value,
        "pairs": found.samples_a if found.is_paired else 0,
        "samples_a": found.samples_a,
        "samples_b": found.samples_b,
    }


def _has_spread(test: Difference) -> bool:
    """Whether an interval can be computed.

    Differences that are all the same show a percentile's resolution, not certainty.
    """
    return test.estimate == 0 or test.high - test.low > SAME * abs(test.estimate)


def _relative(found: Difference, least: float) -> tuple[float, float, float]:
    """Give a difference and its interval relative to the mean of A; nothing falls below `least`."""
    if found.mean_a == 0 or math.isnan(found.mean_a):
        return math.nan, math.nan, math.nan
    low, middle, high = (
        max(value / abs(found.mean_a), least) for value in (found.low, found.estimate, found.high)
    )
    return middle, low, high


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
    for row in differences.iter_rows(named=True):
        unit, scale = unit_of(row["measure"])
        rows.append(
            [
                *(row[axis] for axis in axes),
                row["name"],
                f"{title_of(row['measure'])} / {unit}" if unit else title_of(row["measure"]),
                _scaled(row["mean_a"], scale),
                _scaled(row["mean_b"], scale),
                percent(row["relative_ratio"]),
                _interval(row, unit, scale),
                _p_value(row["p_value"]),
                _p_value(row["holm_p_value"]),
            ]
        )
    return headers, rows


def _interval(row: dict[str, Any], unit: str, scale: float) -> str | None:
    """Write the interval in per cent, or in the measure's unit where A is zero."""
    if row["relative_ratio"] is not None or row["low"] is None:
        return interval(row["relative_low_ratio"], row["relative_high_ratio"])
    low, high = (significant(row[name] * scale) for name in ("low", "high"))
    return f"{low} to {high} {unit}".rstrip()


def _p_value(value: float | None) -> str | None:
    return None if value is None else f"{value:.2g}"


def percent(ratio: float | None) -> str | None:
    """Write a relative difference with its sign, such as ``+2.5 %``."""
    return None if ratio is None else f"{_signed(ratio)} %"


def interval(low: float | None, high: float | None) -> str | None:
    """Write the interval of a relative difference, such as ``-0.4 to +5.3 %``."""
    return None if low is None or high is None else f"{_signed(low)} to {_signed(high)} %"


def _signed(ratio: float) -> str:
    """Write a ratio in per cent: one decimal where it is small, none where it is large."""
    value = 100 * ratio
    if abs(value) < 0.05:
        return "0.0"
    return f"{value:+.1f}" if abs(value) < 100 else f"{value:+.0f}"


def _scaled(value: float | None, scale: float) -> str | None:
    return None if value is None else significant(value * scale)


MOST_SETTINGS = 8
"""Largest number of keys that are printed; the others are counted."""

ABSENT = "not set"


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

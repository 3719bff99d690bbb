"""The differences of two runs.

Simulated replicates that share cell settings and seed saw the same random numbers, so they are
compared in pairs; where the seeds differ the samples are compared as independent ones. In real time
a seed decides the pattern of a run, but not what happens to each packet, so a run on the kernel is
compared as an independent sample with whatever it is compared.

Estimate, interval and p value of a row come from one t test, so that the interval excludes "no
difference" exactly where p is below 0.05: of the logarithms where every value is above zero, which
gives the ratio of geometric means, and else of the values. Many rows need a correction: Holm (1979)
over all rows that are compared together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from enum import StrEnum

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fairwind.errors import FairwindError
from fairwind.results import SUBJECTS, Results, Subject, rows_of
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
            "compare runs of scenarios whose grids share settings and group names",
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
                f"one of the runs knows nothing of {name!r}: nobody watched where it is seen",
                "a capture at the sender tells of no arrivals; analyse both sides' captures",
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

    Differences that are all the same tell of a percentile's resolution, not of certainty.
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

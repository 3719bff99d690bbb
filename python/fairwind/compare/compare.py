"""The differences of two runs.

Simulated replicates that share cell settings and seed saw the same random numbers, so they are
compared in pairs; where the seeds differ the samples are compared as independent ones. In real time
a seed decides the pattern of a run, but not what happens to each packet, so a run on the kernel is
compared as an independent sample with whatever it is compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from fairwind.errors import FairwindError
from fairwind.results import SUBJECTS, Results, Subject, rows_of
from fairwind.statistics import (
    Difference,
    Interval,
    paired_difference,
    relative_difference,
    welch_difference,
)


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
        measure: ``mean_a``, ``mean_b``, ``difference``, ``low``, ``high`` (95 % interval), all in
        the unit that the measure's name ends in; ``relative_ratio`` (mean B over mean A, less 1)
        with ``relative_low_ratio`` and ``relative_high_ratio``; ``p_value`` (two-sided, of no
        difference, not corrected for the number of rows), ``pairs`` (0 if compared as independent),
        ``samples_a`` and ``samples_b``. Interval and p value are missing where all pairs differ by
        the same amount, and where one replicate tells of no spread.

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
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(
        pl.col(pl.Float64).fill_nan(None)
    )


def are_paired(a: Results, b: Results) -> bool:
    """Tell whether replicates of the same seed belong together: in virtual time only."""
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
    """Tell whether a table has a column with any value in it."""
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
) -> dict[str, float | int | None]:
    difference, relative = _difference(a, b, measure, is_paired=is_paired)
    # Differences that are all the same tell of a percentile's resolution, not of certainty:
    # there is nothing to compute an interval from.
    has_spread = difference.estimate == 0 or difference.low != difference.high
    return {
        "mean_a": difference.mean_a,
        "mean_b": difference.mean_b,
        "difference": difference.estimate,
        "low": difference.low if has_spread else None,
        "high": difference.high if has_spread else None,
        "relative_ratio": relative.estimate,
        "relative_low_ratio": relative.low if has_spread else None,
        "relative_high_ratio": relative.high if has_spread else None,
        "p_value": difference.p_value if has_spread else None,
        "pairs": difference.samples_a if difference.is_paired else 0,
        "samples_a": difference.samples_a,
        "samples_b": difference.samples_b,
    }


def _difference(
    a: pl.DataFrame, b: pl.DataFrame, measure: str, *, is_paired: bool
) -> tuple[Difference, Interval]:
    if is_paired:
        pairs = a.select("seed", pl.col(measure).cast(pl.Float64).alias("a")).join(
            b.select("seed", pl.col(measure).cast(pl.Float64).alias("b")),
            on="seed",
            maintain_order="left",
        )
        if pairs.height:
            first, second = pairs["a"].to_numpy(), pairs["b"].to_numpy()
            return (
                paired_difference(first, second),
                relative_difference(first, second, is_paired=True),
            )
    one, two = _numbers(a, measure), _numbers(b, measure)
    return welch_difference(one, two), relative_difference(one, two, is_paired=False)


def _numbers(frame: pl.DataFrame, measure: str) -> list[float]:
    return frame[measure].cast(pl.Float64).drop_nulls().to_list()

"""Differences of two runs as people read them."""

from __future__ import annotations

from typing import Any

import polars as pl

from fairwind.quantities import percent, percent_interval, significant
from fairwind.results.summary import header_of, scaled_units

NEAR_ZERO_RATIO = 0.01
"""Where A is a smaller part of B, people read B - A: B / A says only that A is near zero."""


def readable_differences(differences: pl.DataFrame) -> tuple[list[str], list[list[object]]]:
    """Give headers and rows of a table of differences.

    Parameters
    ----------
    differences : DataFrame
        As `fairwind.compare` gives it.
    """
    place = differences.columns.index("table")
    axes = differences.columns[:place]
    headers = [*axes, "of", "measure", "A", "B", _change_header(differences), VERDICT, *UNCERTAINTY]
    units = scaled_units(
        (row["measure"], row[mean])
        for row in differences.iter_rows(named=True)
        for mean in ("mean_a", "mean_b")
    )
    rows: list[list[object]] = [
        [
            *(row[axis] for axis in axes),
            row["name"],
            header_of(row["measure"], unit),
            _scaled(row["mean_a"], scale),
            _scaled(row["mean_b"], scale),
            _change(row, unit, scale),
            row["verdict"],
            _interval(row, unit, scale),
            _p_value(row["p_value"]),
            _p_value(row["holm_p_value"]),
        ]
        for row in differences.iter_rows(named=True)
        for unit, scale in [units[row["measure"]]]
    ]
    return _without_empty_uncertainty(headers, rows)


VERDICT = "verdict"
UNCERTAINTY = ("95 % interval", "p", "p (Holm)")


def _without_empty_uncertainty(
    headers: list[str], rows: list[list[object]]
) -> tuple[list[str], list[list[object]]]:
    """Leave out verdicts, intervals and p values where all are empty, as with single runs."""
    kept = [
        place
        for place, header in enumerate(headers)
        if header not in (VERDICT, *UNCERTAINTY) or any(row[place] is not None for row in rows)
    ]
    return [headers[place] for place in kept], [[row[place] for place in kept] for row in rows]


def _is_relative(row: dict[str, Any]) -> bool:
    """Whether a difference is read in per cent of A: not where A is zero, or nearly so."""
    return row["relative_ratio"] is not None and (
        abs(row["mean_a"]) >= NEAR_ZERO_RATIO * abs(row["mean_b"])
    )


def _change_header(differences: pl.DataFrame) -> str:
    has_absolute = any(
        _change(row, "", 1.0) is not None and not _is_relative(row)
        for row in differences.iter_rows(named=True)
    )
    return "B / A - 1, or B - A" if has_absolute else "B / A - 1"


def _change(row: dict[str, Any], unit: str, scale: float) -> str | None:
    """Write the difference in per cent, or in the measure's unit where A is near zero.

    None where it is unknown, or both are zero.
    """
    if _is_relative(row):
        return f"{percent(row['relative_ratio'])} %"
    if not row["difference"]:
        return None
    text = significant(row["difference"] * scale)
    sign = "" if text.startswith("-") else "+"
    return f"{sign}{text} {_absolute_unit(unit)}".rstrip()


def _interval(row: dict[str, Any], unit: str, scale: float) -> str | None:
    """Write the interval in the unit of the difference."""
    if _is_relative(row) or row["low"] is None:
        found = percent_interval(row["relative_low_ratio"], row["relative_high_ratio"])
        return f"{found} %" if found else None
    low, high = (significant(row[name] * scale) for name in ("low", "high"))
    return f"[{low}, {high}] {_absolute_unit(unit)}".rstrip()


def _absolute_unit(unit: str) -> str:
    """Name the unit of a difference: of per cent it is percentage points."""
    return "points" if unit == "%" else unit


def _p_value(value: float | None) -> str | None:
    return None if value is None else f"{value:.2g}"


def _scaled(value: float | None, scale: float) -> str | None:
    return None if value is None else significant(value * scale)

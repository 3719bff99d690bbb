"""Differences as people read them: few digits, handy units, the interval beside the estimate."""

from __future__ import annotations

from typing import Any

import polars as pl

from fairwind.results.readable import significant, title_of, unit_of


def readable_differences(differences: pl.DataFrame) -> tuple[list[str], list[list[object]]]:
    """Give headers and rows of a table of differences.

    Parameters
    ----------
    differences : DataFrame
        As `fairwind.compare.compare` gives it.
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

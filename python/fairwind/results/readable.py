"""Estimates as people read them: one cell per measure, in handy units."""

from __future__ import annotations

from fairwind.results.summary import Estimates

HANDY_UNITS = (("_bits_per_second", "kbit/s", 1e-3), ("_s", "ms", 1e3), ("_ratio", "%", 100.0))
"""Ending of a measure's name, the unit it is shown in, and the factor to it."""


def readable(estimates: Estimates) -> tuple[list[str], list[list[object]]]:
    """Give headers and rows: the keys, then ``mean ± half width`` of every measure.

    The half width is that of the 95 % interval; it is left out where one replicate tells none.
    """
    measures = estimates.frame["measure"].unique(maintain_order=True).to_list()
    rows: dict[tuple[object, ...], list[object]] = {}
    for row in estimates.frame.iter_rows(named=True):
        key = tuple(row[name] for name in estimates.keys)
        rows.setdefault(key, list(key)).append(_estimate(row))
    headers = [
        *estimates.keys,
        *(f"{_title(measure)} / {_unit(measure)[0]}" for measure in measures),
    ]
    return headers, list(rows.values())


def _estimate(row: dict[str, object]) -> str | None:
    mean, high = row["mean"], row["high"]
    if not isinstance(mean, float):
        return None
    scale = _unit(str(row["measure"]))[1]
    shown = significant(mean * scale)
    if not isinstance(high, float):
        return shown
    return f"{shown} ± {significant((high - mean) * scale, 2)}"


def significant(value: float, digits: int = 4) -> str:
    """Write a number with so many significant digits, large ones in full."""
    text = f"{value:.{digits}g}"
    return text if "e+" not in text else f"{value:.0f}"


def _unit(measure: str) -> tuple[str, float]:
    for ending, unit, scale in HANDY_UNITS:
        if measure.endswith(ending):
            return unit, scale
    return measure.rsplit("_", 1)[-1], 1.0


def _title(measure: str) -> str:
    ending = next((ending for ending, _, _ in HANDY_UNITS if measure.endswith(ending)), "")
    return measure.removesuffix(ending).replace("_", " ")

"""Estimates as people read them: one cell per measure, in handy units and with few digits."""

from __future__ import annotations

import math

from fairwind.results.summary import Estimates

HANDY_UNITS = (("_bits_per_second", "kbit/s", 1e-3), ("_s", "ms", 1e3), ("_ratio", "%", 100.0))
"""Ending of a measure's name, the unit it is shown in, and the factor to it."""

SAME_RATIO = 1e-9
"""Numbers that differ by a smaller part than this differ by rounding alone."""

WITHOUT_UNIT = ("minimum_to_maximum_ratio", "jain_index")
"""Measures that are shown as the numbers that they are."""


def readable(estimates: Estimates) -> tuple[list[str], list[list[object]]]:
    """Give headers and rows: the keys, then ``mean ± half width`` of every measure.

    The half width is that of the 95 % interval; it is left out where one replicate tells none. Of
    replicates that all gave the same it is said that they did; their spread need not be zero.
    """
    measures = estimates.frame["measure"].unique(maintain_order=True).to_list()
    rows: dict[tuple[object, ...], list[object]] = {}
    for row in estimates.frame.iter_rows(named=True):
        key = tuple(row[name] for name in estimates.keys)
        rows.setdefault(key, list(key)).append(_estimate(row))
    headers = [*estimates.keys, *(header_of(measure) for measure in measures)]
    return headers, list(rows.values())


def header_of(measure: str) -> str:
    """Name a measure and the unit that it is shown in."""
    unit, _ = unit_of(measure)
    return f"{title_of(measure)} / {unit}" if unit else title_of(measure)


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
    told = f"{half_width:.{decimals}f}"
    # What is not zero does not become it by rounding.
    return f"{mean:.{decimals}f} ± {told if float(told) else significant(half_width, 1)}"


def significant(value: float, digits: int = 4) -> str:
    """Write a number with so many significant digits, large ones in full."""
    text = f"{value:.{digits}g}"
    return text if "e+" not in text else f"{value:.0f}"


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


def _estimate(row: dict[str, object]) -> str | None:
    mean, high = row["mean"], row["high"]
    if not isinstance(mean, float):
        return None
    _, scale = unit_of(str(row["measure"]))
    if not isinstance(high, float):
        return significant(mean * scale)
    if math.isclose(high, mean, rel_tol=SAME_RATIO, abs_tol=0):
        return f"{significant(mean * scale)} ({row['replicates']} equal)"
    return with_uncertainty(mean * scale, (high - mean) * scale)

"""Quantities: read as the core writes them, and numbers and their units as people read them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fairwind.errors import FairwindError


class Unit(NamedTuple):
    """A unit of a dimension.

    Attributes
    ----------
    name : str
    size : float
        In the dimension's base unit.
    least : float
        The smallest value that is written in it, in the base unit.
    """

    name: str
    size: float
    least: float


def _units(*sizes: tuple[str, float]) -> tuple[Unit, ...]:
    return tuple(Unit(name, size, size) for name, size in sizes)


RATES = _units(("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1.0))
SIZES = _units(("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0))
LATENCIES = _units(("s", 1.0), ("ms", 1e-3), ("us", 1e-6))
TIMES = (Unit("h", 3600.0, 7200.0), Unit("min", 60.0, 120.0), *LATENCIES)
COUNTS = _units(("million ", 1e6), ("", 1.0))
"""Units that values are written in, largest first."""

BINARY_SIZES = _units(("KiB", 1024.0), ("MiB", 1024.0**2), ("GiB", 1024.0**3))
RATIOS = _units(("%", 1e-2), ("ppm", 1e-6), ("ppb", 1e-9))
"""Units that are only read."""


def parse_bytes(text: str) -> float:
    """Read a size such as ``160 B`` or ``1.5 kB``, in bytes."""
    return _quantity(text, (*SIZES, *BINARY_SIZES))


def parse_seconds(text: str) -> float:
    """Read a time such as ``150 ms``, in seconds."""
    return _quantity(text, (*TIMES, Unit("ns", 1e-9, 1e-9)))


def parse_bits_per_second(text: str) -> float:
    """Read a rate such as ``1 Mbit/s``, in bits per second."""
    return _quantity(text, RATES)


def parse_ratio(text: str) -> float:
    """Read a share such as ``1 %`` or ``20 ppm``, as a number from 0 to 1."""
    return _quantity(text, RATIOS)


def _quantity(text: str, units: Sequence[Unit]) -> float:
    match = re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+) ?(\S+)", text)
    unit = next((unit for unit in units if match and unit.name == match[2]), None)
    if match is None or unit is None:
        hint = f"a number and a unit: {', '.join(unit.name for unit in units)}"
        raise FairwindError(f"cannot read the quantity {text!r}", hint)
    return float(match[1]) * unit.size


SMALLEST_SHOWN = 0.1
LARGEST_SHOWN = 1e4
"""A unit that shows a value smaller than the first gives way to the next one, unless that shows one
larger than the second."""


def unit_for(values: Iterable[float | None], units: Sequence[Unit], digits: int = 3) -> Unit:
    """Choose the unit of values that are shown together.

    Parameters
    ----------
    values : iterable of float or None
        In the base unit of `units`.
    units : sequence of Unit
        Largest first.
    digits : int
        Significant digits that are shown: 999.9 kbit/s with three digits is 1 Mbit/s.
    """
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    if not sizes:
        return units[-1]
    rounding = 1 - 0.5 * 10.0**-digits
    fits = (place for place, one in enumerate(units) if max(sizes) >= one.least * rounding)
    place = next(fits, len(units) - 1)
    chosen, smaller = units[place], units[min(place + 1, len(units) - 1)]
    hides_some = min(sizes) < SMALLEST_SHOWN * chosen.size
    return smaller if hides_some and max(sizes) < LARGEST_SHOWN * smaller.size else chosen


def rate_in_words(bits_per_second: float) -> str:
    """Write a rate with at most three significant digits: ``1.5 Mbit/s``."""
    return _in_words(bits_per_second, RATES)


def size_in_words(size_bytes: float) -> str:
    """Write a size with at most three significant digits: ``12.5 kB``."""
    return _in_words(size_bytes, SIZES)


def time_in_words(seconds: float) -> str:
    """Write a time with at most three significant digits: ``100 ms``, ``3 min``."""
    return _in_words(seconds, TIMES)


def count_in_words(number: float, things: str) -> str:
    """Write a number of things: ``2160 packets``, ``1.5 million packets``."""
    return f"{_in_words(number, COUNTS)}{things}"


def counted(number: int, thing: str) -> str:
    """Write a small number of things: ``1 run``, ``2 runs``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _in_words(value: float, units: Sequence[Unit]) -> str:
    unit = unit_for([value], units)
    return f"{significant(value / unit.size, 3)} {unit.name}"


def significant(value: float, digits: int = 4, *, keeps_zeros: bool = False) -> str:
    """Write a number with so many significant digits, large ones in full."""
    text = f"{value:#.{digits}g}".rstrip(".") if keeps_zeros else f"{value:.{digits}g}"
    return f"{value:.0f}" if "e+" in text else text


def cell_text(value: object) -> str:
    """Write a cell of a table: four significant digits, a dash where nothing is."""
    if value is None:
        return "-"
    return significant(value) if isinstance(value, float) else str(value)


def percent(ratio: float, decimals: int | None = None) -> str:
    """Write a ratio in per cent with its sign: a decimal below 10 %, none where it is large."""
    digits = _decimals(ratio) if decimals is None else decimals
    text = f"{100 * ratio:+.{digits}f}"
    return text.replace("+", "").replace("-", "") if float(text) == 0 else text


def percent_interval(low: float | None, high: float | None) -> str:
    """Write an interval of ratios in per cent: ``[-69, -28]``; empty where it is unknown."""
    if low is None or high is None:
        return ""
    decimals = _decimals(low, high)
    return f"[{percent(low, decimals)}, {percent(high, decimals)}]"


def _decimals(*ratios: float) -> int:
    return 1 if max(abs(ratio) for ratio in ratios) < 0.0995 else 0

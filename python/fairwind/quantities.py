"""Quantities as the core writes them: a number and its unit."""

from __future__ import annotations

import re

from fairwind.errors import FairwindError


def parse_bytes(text: str) -> float:
    """Read a size such as ``160 B`` or ``1.5 kB``, in bytes."""
    decimal = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}
    return _quantity(text, decimal | {"KiB": 1024, "MiB": 1024**2, "GiB": 1024**3})


def parse_seconds(text: str) -> float:
    """Read a time such as ``150 ms``, in seconds."""
    return _quantity(text, {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600})


def parse_bits_per_second(text: str) -> float:
    """Read a rate such as ``1 Mbit/s``, in bits per second."""
    return _quantity(text, {"bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9})


def parse_ratio(text: str) -> float:
    """Read a share such as ``1 %`` or ``20 ppm``, as a number from 0 to 1."""
    return _quantity(text, {"%": 1e-2, "ppm": 1e-6, "ppb": 1e-9})


RATE_UNITS = (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1.0))
TIME_UNITS = (("h", 7200.0), ("min", 120.0), ("s", 1.0), ("ms", 1e-3), ("us", 1e-6))
SIZE_UNITS = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0))
"""Units with the smallest value that each is used for, largest first."""


def rate_in_words(bits_per_second: float) -> str:
    """Write a rate with at most three significant digits: ``1.5 Mbit/s``."""
    return _in_words(bits_per_second, RATE_UNITS, {})


def size_in_words(size_bytes: float) -> str:
    """Write a size with at most three significant digits: ``12.5 kB``."""
    return _in_words(size_bytes, SIZE_UNITS, {})


def time_in_words(seconds: float) -> str:
    """Write a time with at most three significant digits: ``100 ms``, ``3 min``."""
    return _in_words(seconds, TIME_UNITS, {"h": 3600.0, "min": 60.0, "s": 1.0})


def _in_words(value: float, units: tuple[tuple[str, float], ...], sizes: dict[str, float]) -> str:
    """Write a value in the largest unit that it is large enough for."""
    name, least = next((unit for unit in units if abs(value) >= unit[1] * (1 - 1e-9)), units[-1])
    return f"{number_in_words(value / sizes.get(name, least))} {name}"


def number_in_words(value: float, digits: int = 3) -> str:
    """Write a number with so many significant digits, large ones in full."""
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e+" in text else text


def _quantity(text: str, units: dict[str, float]) -> float:
    match = re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+) ?(\S+)", text)
    if match is None or match[2] not in units:
        hint = f"a number and a unit: {', '.join(units)}"
        raise FairwindError(f"cannot read the quantity {text!r}", hint)
    return float(match[1]) * units[match[2]]

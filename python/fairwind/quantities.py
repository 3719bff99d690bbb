"""Quantities as the core writes them: a number and its unit."""

from __future__ import annotations

import re

from fairwind.errors import FairwindError


def parse_bytes(text: str) -> float:
    """Read a size such as ``160 B`` or ``1.5 kB``, in bytes."""
    return _quantity(text, {"B": 1, "kB": 1e3, "MB": 1e6, "KiB": 1024, "MiB": 1024**2})


def parse_seconds(text: str) -> float:
    """Read a time such as ``150 ms``, in seconds."""
    return _quantity(text, {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600})


def parse_bits_per_second(text: str) -> float:
    """Read a rate such as ``1 Mbit/s``, in bits per second."""
    return _quantity(text, {"bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9})


def parse_percent(text: str) -> float:
    """Read a share such as ``5 %`` or ``5%``, as a ratio."""
    return _quantity(text, {"%": 1}) / 100


def _quantity(text: str, units: dict[str, float]) -> float:
    match = re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+) ?(\S+)", text)
    if match is None or match[2] not in units:
        hint = f"a number and a unit: {', '.join(units)}"
        raise FairwindError(f"cannot read the quantity {text!r}", hint)
    return float(match[1]) * units[match[2]]

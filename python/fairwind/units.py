"""Units of quantities in scenarios from Python.

``100 * ms`` and ``1.5 * Mbit_s`` are values of scenarios; ``"100 ms"`` and ``"1.5 Mbit/s"`` say the
same. Each kind has its own class, so that a type checker refuses a time as a rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

from fairwind.errors import FairwindError


@dataclass(frozen=True)
class Quantity:
    """A number and its unit, as a scenario writes it.

    Attributes
    ----------
    number : float
        How many of the unit; finite and not negative.
    unit : str
        As in scenarios: ``ms``, ``Mbit/s``, ``kB``, ``%``.

    Raises
    ------
    FairwindError
        If the number is negative, infinite or not a number.
    """

    number: float
    unit: str

    def __post_init__(self) -> None:
        """Refuse numbers that no scenario can have."""
        if not (math.isfinite(self.number) and self.number >= 0):
            raise FairwindError(
                f"{self.number} {self.unit} is not a quantity: the number must be finite and at "
                "least 0",
                "multiply a unit by a number such as 1.5",
            )

    def __mul__(self, factor: float) -> Self:
        """Give the quantity that is ``factor`` times as large, in the same unit."""
        return replace(self, number=self.number * factor)

    __rmul__ = __mul__

    def __str__(self) -> str:
        """Write it as in a scenario: ``1.5 Mbit/s``; without an exponent, which TOML texts lack."""
        from decimal import Decimal

        digits = format(Decimal(repr(float(self.number))), "f")
        return f"{digits.removesuffix('.0')} {self.unit}"


class Span(Quantity):
    """A time."""


class BitRate(Quantity):
    """A rate of bits."""


class ByteCount(Quantity):
    """A size in bytes."""


class Ratio(Quantity):
    """A share, in per cent."""


ns, us, ms, s = (Span(1, unit) for unit in ("ns", "us", "ms", "s"))
minute, hour = Span(1, "min"), Span(1, "h")
bit_s, kbit_s, Mbit_s, Gbit_s = (
    BitRate(1, f"{unit}/s") for unit in ("bit", "kbit", "Mbit", "Gbit")
)
B, kB, MB, KiB, MiB = (ByteCount(1, unit) for unit in ("B", "kB", "MB", "KiB", "MiB"))
percent = Ratio(1, "%")

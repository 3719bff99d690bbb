"""Parameters of a search: a range of a scenario's key, or choices of one key or of several.

A key path is written as `--set` and `[sweep]` take it. A search holds a parameter as a number: a
value of the range, or the place of a choice. What a simulation gets is the value as TOML, rounded
to `DIGITS` significant digits, so that the scenario that is written later has exactly it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from fairwind.errors import FairwindError
from fairwind.quantities import BINARY_SIZES, RATES, RATIOS, SIZES, TIMES, Unit, significant

DIGITS = 4
"""Significant digits of a value from a range; simulations and written scenarios have the same."""

Number: TypeAlias = int | float
Keys: TypeAlias = dict[str, Any]
"""Key paths of a scenario with their values."""

DIMENSIONS: tuple[tuple[Unit, ...], ...] = (
    (*TIMES, Unit("ns", 1e-9, 1e-9)),
    RATES,
    (*SIZES, *BINARY_SIZES),
    RATIOS,
)


class Scale(StrEnum):
    """Whether equal steps of a range are equal differences or equal ratios."""

    LINEAR = "linear"
    LOG = "log"


@dataclass(frozen=True)
class Range:
    """Values from a least to a greatest one.

    Attributes
    ----------
    low, high : int or float
        Bounds, in `unit`; both belong to the range.
    unit : str
        Written behind a value; empty of a bare number.
    scale : Scale
    is_whole : bool
        Whether only whole numbers are meant.
    """

    low: Number
    high: Number
    unit: str
    scale: Scale
    is_whole: bool

    def value(self, number: Number) -> Any:  # noqa: ANN401 - a TOML value
        """Give the value as a scenario has it."""
        rounded = int(number) if self.is_whole else float(f"{number:.{DIGITS}g}")
        rounded = min(max(rounded, self.low), self.high)
        return f"{significant(rounded, DIGITS + 2)} {self.unit}" if self.unit else rounded

    def spread(self, steps: int) -> list[Any]:
        """Give so many values at equal steps, ends included; whole numbers each once."""
        low, high = float(self.low), float(self.high)
        shares = [place / (steps - 1) for place in range(steps)]
        if self.scale is Scale.LOG:
            numbers = [low * (high / low) ** share for share in shares]
        else:
            numbers = [low + (high - low) * share for share in shares]
        return list(
            dict.fromkeys(self.value(round(one) if self.is_whole else one) for one in numbers)
        )


@dataclass(frozen=True)
class Choice:
    """One of several values.

    Attributes
    ----------
    label : str
        How it is called.
    keys : dict
        The key paths that it sets.
    """

    label: str
    keys: Keys


@dataclass(frozen=True)
class Parameter:
    """What a search may change.

    Attributes
    ----------
    name : str
        A key path, or the name of choices that set several keys.
    domain : Range or tuple of Choice
    is_ordered : bool
        Whether neighbouring choices are alike, as numbers are.
    """

    name: str
    domain: Range | tuple[Choice, ...]
    is_ordered: bool = False

    def keys(self, number: Number) -> Keys:
        """Give the key paths that a value sets."""
        if isinstance(self.domain, Range):
            return {self.name: self.domain.value(number)}
        return dict(self.domain[int(number)].keys)

    def label(self, number: Number) -> str:
        """Write a value as tables have it."""
        if isinstance(self.domain, Range):
            return str(self.domain.value(number))
        return self.domain[int(number)].label

    @property
    def ends(self) -> tuple[Number, ...]:
        """Values that show whether the parameter does anything, from the least to the greatest.

        Of a range both ends and one between, since both may be equally far from what is best.
        """
        if isinstance(self.domain, Range):
            low, high = self.domain.low, self.domain.high
            between = low + (high - low) * 0.3
            return (low, round(between) if self.domain.is_whole else between, high)
        return tuple(range(len(self.domain)))

    @property
    def numbers(self) -> tuple[Number, ...] | None:
        """All values, if they are few: of choices and of whole numbers; None of a range."""
        if isinstance(self.domain, Range):
            is_short = self.domain.is_whole and self.domain.high - self.domain.low < 1000
            return (
                tuple(range(int(self.domain.low), int(self.domain.high) + 1)) if is_short else None
            )
        return tuple(range(len(self.domain)))


RANGE_KEYS = {"from", "to", "scale", "steps"}


def read_parameter(name: str, entry: Any) -> Parameter:  # noqa: ANN401 - whatever is there
    """Read one entry of ``[parameters]``.

    Raises
    ------
    FairwindError
        If it is neither a range nor choices.
    """
    match entry:
        case list():
            return _listed(name, entry)
        case {"choices": list() as values} if len(entry) == 1:
            return _listed(name, values)
        case {"choices": dict() as labels} if len(entry) == 1:
            return _named(name, labels)
        case {"from": low, "to": high, **rest} if not (entry.keys() - RANGE_KEYS):
            return _ranged(name, low, high, {str(key): value for key, value in rest.items()})
    raise FairwindError(
        f"parameters.{name}: a range or choices were expected",
        '{ from = "50 ms", to = "1 s", scale = "log" }, [1, 2, 3], or { choices = { LABEL = '
        '{ "KEY" = VALUE } } }',
    )


def _listed(name: str, values: Sequence[Any]) -> Parameter:
    labels = [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
    if len(set(labels)) < 2 or len(set(labels)) < len(labels):
        raise FairwindError(
            f"parameters.{name}: choices need at least two different values",
            "remove the parameter, or set the key in the scenario",
        )
    choices = tuple(
        Choice(label, {name: value}) for label, value in zip(labels, values, strict=True)
    )
    return Parameter(name, choices, is_ordered=_are_ascending(values))


def _are_ascending(values: Sequence[Any]) -> bool:
    """Return whether values are numbers, or quantities of one dimension, in order."""
    numbers = [_in_base(value) for value in values]
    known = [one for one in numbers if one is not None]
    if len(known) < len(values) or len({dimension for _, dimension in known}) > 1:
        return False
    return [size for size, _ in known] == sorted(size for size, _ in known)


def _named(name: str, labels: Mapping[str, Any]) -> Parameter:
    if len(labels) < 2 or not all(isinstance(keys, dict) for keys in labels.values()):
        raise FairwindError(
            f"parameters.{name}: named choices are two or more tables of key paths and values",
            '{ choices = { off = {}, on = { "flows.thin.tcp.linear_timeouts" = true } } }',
        )
    return Parameter(name, tuple(Choice(label, dict(keys)) for label, keys in labels.items()))


def _ranged(name: str, low: Any, high: Any, rest: Mapping[str, Any]) -> Parameter:  # noqa: ANN401
    where = f"parameters.{name}"
    first, unit = _number(where, low)
    last, other = _number(where, high)
    if unit != other:
        last *= _factor(where, other, unit)
    if not first < last:
        raise FairwindError(f"{where}: from {low} to {high} is no range", "put the smaller first")
    scale = _scale(where, rest.get("scale", "linear"))
    if scale is Scale.LOG and first <= 0:
        raise FairwindError(f"{where}: a log scale begins above zero, not at {low}", "raise `from`")
    is_whole = isinstance(low, int) and isinstance(high, int)
    domain = Range(first, last, unit, scale, is_whole)
    if "steps" not in rest:
        return Parameter(name, domain)
    steps = rest["steps"]
    if not isinstance(steps, int) or steps < 2:
        raise FairwindError(f"{where}: steps = {steps} is no number of values", "at least 2")
    choices = tuple(Choice(str(value), {name: value}) for value in domain.spread(steps))
    return Parameter(name, choices, is_ordered=True)


def _scale(where: str, word: Any) -> Scale:  # noqa: ANN401 - whatever is there
    try:
        return Scale(word)
    except ValueError as error:
        raise FairwindError(
            f"{where}: there is no scale {word!r}", 'scale = "linear" or "log"'
        ) from error


def _number(where: str, value: Any) -> tuple[Number, str]:  # noqa: ANN401 - whatever is there
    """Split a bound into number and unit."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return value, ""
    found = re.fullmatch(r"\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*(\S.*?)\s*", str(value))
    if not isinstance(value, str) or found is None:
        raise FairwindError(
            f"{where}: {value!r} is no bound of a range", 'a number, or one with its unit: "50 ms"'
        )
    return float(found[1]), found[2]


def _in_base(value: Any) -> tuple[float, int | str] | None:  # noqa: ANN401 - whatever is there
    """Give a value in the base unit of its dimension, and the dimension; None of anything else."""
    try:
        number, unit = _number("", value)
    except FairwindError:
        return None
    for place, units in enumerate(DIMENSIONS):
        for one in units:
            if one.name == unit:
                return number * one.size, place
    return float(number), unit


def _factor(where: str, unit: str, into: str) -> float:
    """Give the factor from one unit to another one of the same dimension."""
    for units in DIMENSIONS:
        sizes = {one.name: one.size for one in units}
        if unit in sizes and into in sizes:
            return sizes[unit] / sizes[into]
    raise FairwindError(
        f"{where}: the bounds have the units {into or 'none'} and {unit or 'none'}",
        "write both with the same unit",
    )

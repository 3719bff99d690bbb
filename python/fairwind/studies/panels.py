"""The panels of a study: how they are told apart, and where something holds, in words."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from fairwind.results import Results
from fairwind.studies.comparisons import counts_where
from fairwind.studies.ranges import panels_in_words
from fairwind.studies.streams import COUNT, VARIANT, circumstances

Place = tuple[Any, ...]


@dataclass(frozen=True)
class Panels:
    """How the panels of a study are told apart.

    Attributes
    ----------
    count : str
        The column of the number of streams, N.
    beside : tuple of str
        The columns of the other axes, without the variant.
    """

    count: str = COUNT
    beside: tuple[str, ...] = ()

    @classmethod
    def of(cls, results: Results, count: str = COUNT) -> Panels:
        """Give the panels of a run whose number of streams is in a column."""
        return cls(count, circumstances(results, count))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that make a panel."""
        return (*self.beside, self.count)

    def places(self, frame: pl.DataFrame) -> set[Place]:
        """Give the panels that a frame has rows of."""
        return set(frame.select(self.columns).iter_rows())

    def title(self, row: Mapping[str, Any]) -> str:
        """Name the panel that a row is of."""
        others = self._circumstance([row[name] for name in self.beside])
        return ", ".join(filter(None, [others, f"N = {row[self.count]}"]))

    def sides(self, own: pl.DataFrame, sides: Mapping[str, pl.Expr]) -> str:
        """Say of each side where it holds, such as ``below it for N <= 8, above it for N = 16``."""
        return self._each(own, lambda part: self._sides_of(part, sides))

    def extremes(self, own: pl.DataFrame, sides: Mapping[str, tuple[pl.Expr, bool]]) -> str:
        """Say where a measure changes, and where the most.

        Parameters
        ----------
        own : DataFrame
            Rows of `comparisons.differences`.
        sides : mapping
            From a word to when it holds, and whether its largest change is the one that is told.
        """
        return self._each(own, lambda part: self._extremes_of(part, sides))

    def _each(self, own: pl.DataFrame, tell: Callable[[pl.DataFrame], str]) -> str:
        """Tell something of all circumstances, once where it is the same in several."""
        alike: dict[str, list[str]] = {}
        for circumstance, part in self._parts(own):
            alike.setdefault(tell(part), []).append(circumstance)
        if len(alike) == 1:
            return next(iter(alike))
        return " | ".join(f"({'; '.join(where)}) {told}" for told, where in alike.items())

    def _parts(self, own: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
        if not self.beside:
            yield "", own
            return
        for values, part in own.group_by(list(self.beside), maintain_order=True):
            yield self._circumstance(list(values)), part

    def _circumstance(self, values: list[Any]) -> str:
        named = zip(self.beside, values, strict=True)
        return ", ".join(setting_in_words(name, value) for name, value in named)

    def _sides_of(self, own: pl.DataFrame, sides: Mapping[str, pl.Expr]) -> str:
        found = {side: counts_where(own, when, self.count) for side, when in sides.items()}
        told = [
            f"{side} {panels_in_words(counts, self._counts(own))}"
            for side, counts in found.items()
            if counts
        ]
        return ", ".join(told) or "neither for any N"

    def _extremes_of(self, own: pl.DataFrame, sides: Mapping[str, tuple[pl.Expr, bool]]) -> str:
        told = []
        for side, (when, descending) in sides.items():
            rows = own.filter(when).sort("relative_ratio", descending=descending)
            if rows.height:
                counts = counts_where(own, when, self.count)
                best = rows.row(0, named=True)
                where = panels_in_words(counts, self._counts(own))
                told.append(f"{side} for {where} (most at N = {best[self.count]}: {signed(best)})")
        return ", ".join(told) or "not changed significantly for any N"

    def _counts(self, frame: pl.DataFrame) -> list[int]:
        counts: list[int] = frame[self.count].unique().sort().to_list()
        return counts


def setting_in_words(column: str, value: Any) -> str:  # noqa: ANN401 - of any axis
    """Name a setting of an axis: ``5 greedy`` for a count, ``early_retrans 3`` otherwise."""
    counted = re.fullmatch(r"flows_(\w+)_count", column)
    return f"{value} {counted[1]}" if counted else f"{column} {value}"


def largest_difference(details: pl.DataFrame, panels: Panels) -> str:
    """Name the largest relative difference, and where it is."""
    row = details.sort(pl.col("relative_ratio").abs(), descending=True).row(0, named=True)
    return f"{signed(row)} ({row[VARIANT]}, {panels.title(row)})"


def signed(row: Mapping[str, float]) -> str:
    """Write the relative difference of a row of `comparisons.differences` with its interval."""
    low, high = row["relative_low_ratio"], row["relative_high_ratio"]
    return f"{row['relative_ratio']:+.1%}{interval_in_words(low, high, '+.1%')}"


def interval_in_words(low: float | None, high: float | None, form: str) -> str:
    """Write an interval behind its estimate; nothing where one replicate tells of none."""
    if low is None or high is None or math.isnan(low):
        return ""
    return f" [{low:{form}}, {high:{form}}]"

"""Panels of a study, sentences on where a statement holds, and charts by number of streams."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import altair as alt
import polars as pl

from fairwind.plots import estimates_by_setting
from fairwind.results import Results, summarise

COUNT = "flows_count"
"""Column of the axis ``flows.*.count``."""

VARIANT = "variant"

REFERENCE = "TCP"
"""The variant that the others are compared with."""

Place = tuple[Any, ...]

Key = TypeVar("Key", bound=Hashable)
Name = TypeVar("Name")


@dataclass(frozen=True)
class Panels:
    """Columns that identify a panel of a study.

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
        """Give the panels of a run; a column has the number of streams."""
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
        others = places_in_words(self.beside, [tuple(row[name] for name in self.beside)])
        return ", ".join(filter(None, [others, f"N = {row[self.count]}"]))

    def sides(self, own: pl.DataFrame, sides: Mapping[str, pl.Expr]) -> str:
        """Name the panels of each side, such as ``below it for N <= 8, above it for N = 16``."""
        return self._each(own, lambda part: self._sides_of(part, sides))

    def extremes(self, own: pl.DataFrame, sides: Mapping[str, tuple[pl.Expr, bool]]) -> str:
        """Name the panels in which a measure changes, and the largest change.

        Parameters
        ----------
        own : DataFrame
            Rows of `comparisons.differences`.
        sides : mapping
            From a word to when it holds, and whether its largest change is printed.
        """
        return self._each(own, lambda part: self._extremes_of(part, sides))

    def _each(self, own: pl.DataFrame, tell: Callable[[pl.DataFrame], str]) -> str:
        """Describe all settings of the other axes; equal descriptions are merged."""
        same = alike((tell(part), values) for values, part in self.parts(own))
        if len(same) == 1:
            return next(iter(same))
        return " | ".join(
            f"({places_in_words(self.beside, where)}) {text}" for text, where in same.items()
        )

    def parts(self, own: pl.DataFrame) -> Iterable[tuple[tuple[object, ...], pl.DataFrame]]:
        """Divide rows by the settings of the other axes."""
        if not self.beside:
            return [((), own)]
        return own.group_by(list(self.beside), maintain_order=True)

    def _sides_of(self, own: pl.DataFrame, sides: Mapping[str, pl.Expr]) -> str:
        rows = own.select(self.count, **sides).rows(named=True)
        every = _rising(row[self.count] for row in rows)
        parts = [
            f"{side} {panels_in_words(counts, every)}"
            for side in sides
            if (counts := _rising(row[self.count] for row in rows if row[side]))
        ]
        return ", ".join(parts) or "neither for any N"

    def _extremes_of(self, own: pl.DataFrame, sides: Mapping[str, tuple[pl.Expr, bool]]) -> str:
        holds = {side: when for side, (when, _) in sides.items()}
        every = _rising(own[self.count])
        parts = []
        rows = own.select(self.count, *SIGNED, **holds).rows(named=True)
        for side, (_, descending) in sides.items():
            there = [row for row in rows if row[side]]
            if there:
                most = max if descending else min
                best = most(there, key=lambda row: row["relative_ratio"])
                where = panels_in_words(_rising(row[self.count] for row in there), every)
                parts.append(f"{side} for {where} (most at N = {best[self.count]}: {signed(best)})")
        return ", ".join(parts) or "without an effect that counts for any N"


def _rising(counts: Iterable[int]) -> list[int]:
    """Give each count once; of so few, Python's own set is quicker than a frame's."""
    return sorted(set(counts))


def setting_in_words(column: str, *values: object) -> str:
    """Name settings of an axis: ``5 greedy`` for a count, variants alone, or ``rtt 3 ms``."""
    text = listed([str(value) for value in values])
    if column == VARIANT:
        return text
    counted = re.fullmatch(r"flows_(\w+)_count", column)
    return f"{text} {counted[1]}" if counted else f"{column} {text}"


def places_in_words(columns: Sequence[str], places: Iterable[Place]) -> str:
    """Name settings of several axes, those together that differ in one axis only.

    Returns
    -------
    str
        Such as ``5 greedy, early_retrans 0 and 3; 20 greedy, early_retrans 3``.
    """
    if not columns:
        return ""
    rest_of: dict[Any, list[Place]] = {}
    for value, *rest in places:
        rest_of.setdefault(value, []).append(tuple(rest))
    values_of = alike((tuple(rest), value) for value, rest in rest_of.items())
    parts = (
        (setting_in_words(columns[0], *values), places_in_words(columns[1:], rest))
        for rest, values in values_of.items()
    )
    return "; ".join(", ".join(filter(None, part)) for part in parts)


def alike(pairs: Iterable[tuple[Key, Name]]) -> dict[Key, list[Name]]:
    """Collect the names of what is the same, such as a text."""
    found: dict[Key, list[Name]] = {}
    for text, name in pairs:
        found.setdefault(text, []).append(name)
    return found


def largest_difference(details: pl.DataFrame, panels: Panels) -> str:
    """Name the largest relative difference, and where it is."""
    row = details.sort(pl.col("relative_ratio").abs(), descending=True).row(0, named=True)
    return f"{signed(row)} ({row[VARIANT]}, {panels.title(row)})"


SIGNED = ("relative_ratio", "relative_low_ratio", "relative_high_ratio")
"""Columns of which `signed` writes."""


def signed(row: Mapping[str, float]) -> str:
    """Write the relative difference of a row of `comparisons.differences` with its interval."""
    ratio, low, high = (row[name] for name in SIGNED)
    return f"{ratio:+.1%}{interval_in_words(low, high, '+.1%')}"


def interval_in_words(low: float | None, high: float | None, form: str) -> str:
    """Write an interval behind its estimate; nothing where one replicate tells of none."""
    if low is None or high is None or math.isnan(low):
        return ""
    return f" [{low:{form}}, {high:{form}}]"


def panels_in_words(counts: Collection[int], every: Sequence[int]) -> str:
    """Name some of a study's panels as briefly as it can be done without doubt.

    Parameters
    ----------
    counts : collection of int
        The stream counts to be named.
    every : sequence of int
        All stream counts of the study, rising.

    Returns
    -------
    str
        Such as ``every N``, ``N = 1``, ``N <= 32``, ``N >= 64`` or ``N = 1, 8 to 64``; ``no N``
        if there are none.
    """
    stretches = _stretches(counts, every)
    match stretches:
        case []:
            return "no N"
        case [(first, last)] if (first, last) == (every[0], every[-1]):
            return "every N"
        case [(first, last)] if first == every[0] and last != first:
            return f"N <= {last}"
        case [(first, last)] if last == every[-1] and last != first:
            return f"N >= {first}"
        case _:
            return "N = " + ", ".join(_stretch(first, last, every) for first, last in stretches)


def _stretches(counts: Collection[int], every: Sequence[int]) -> list[tuple[int, int]]:
    """Group neighbouring panels: the first and last count of each stretch."""
    stretches: list[tuple[int, int]] = []
    before: int | None = None
    for count in every:
        if count in counts:
            is_next = before is not None and before in counts
            first = stretches.pop()[0] if is_next else count
            stretches.append((first, count))
        before = count
    return stretches


def _stretch(first: int, last: int, every: Sequence[int]) -> str:
    if first == last:
        return str(first)
    are_neighbours = every.index(last) - every.index(first) == 1
    return f"{first}, {last}" if are_neighbours else f"{first} to {last}"


HOLDS, HOLDS_NOT, IS_OPEN = "it holds", "it fails", "it is undecided"
"""Openings of the parts of a sentence."""


def where_it_holds(
    details: pl.DataFrame,
    panels: Panels,
    cases: Mapping[str, pl.Expr],
    by: str | None = VARIANT,
    preposition: str = "for",
) -> str:
    """Name the rows and panels of each case, each panel once.

    Parameters
    ----------
    details : DataFrame
        The columns of the panels, and the one that tells rows of a panel apart.
    cases : mapping of str to Expr
        From how its part begins, such as ``it holds``, to when it is so.
    by : str, optional
        The column that tells rows of a panel apart, with names for a sentence.
    preposition : str
        What stands before those names.

    Returns
    -------
    str
        Such as ``It holds for mFR at every N, for LT and LT+mFR at N <= 32; it fails for LT and
        LT+mFR at N >= 64.``
    """
    rows = [("", details)]
    if by is not None:
        rows = [(str(name), own) for (name,), own in details.group_by(by, maintain_order=True)]
    parts = []
    for opening, when in cases.items():
        same = alike((_place(own, panels, when), name) for name, own in rows)
        same.pop("", None)
        if same:
            text = (
                place if len(names) == len(rows) else f"{preposition} {listed(names)} {place}"
                for place, names in same.items()
            )
            parts.append(f"{opening} {', '.join(text)}")
    return sentence(parts)


def listed(names: Sequence[str]) -> str:
    """Name several things: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def sentence(parts: Sequence[str]) -> str:
    """Join parts to one sentence; nothing of none."""
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _place(own: pl.DataFrame, panels: Panels, when: pl.Expr) -> str:
    """Name the panels in which something is so; nothing where it is in none."""
    counts: dict[tuple[object, ...], set[int]] = {}
    for *values, count, is_so in own.select(*panels.beside, panels.count, is_so=when).rows():
        of_part = counts.setdefault(tuple(values), set())
        if is_so:
            of_part.add(count)
    every = _rising(own[panels.count])
    found = {
        values: f"at {panels_in_words(some, every)}" if some else ""
        for values, some in counts.items()
    }
    axes = list(panels.beside)
    for axis in panels.beside:
        axes, found = _without(axis, axes, found)
    where = alike((place, values) for values, place in found.items() if place)
    text = (
        f"{place} ({places_in_words(axes, values)})" if axes else place
        for place, values in where.items()
    )
    return listed(list(text))


def _without(
    axis: str, axes: list[str], found: dict[tuple[object, ...], str]
) -> tuple[list[str], dict[tuple[object, ...], str]]:
    """Leave an axis out if nothing depends on it."""
    at = axes.index(axis)
    rest: dict[tuple[object, ...], str] = {}
    for values, place in found.items():
        if rest.setdefault((*values[:at], *values[at + 1 :]), place) != place:
            return axes, found
    return [name for name in axes if name != axis], rest


def circumstances(results: Results, count: str) -> tuple[str, ...]:
    """Give the columns of the axes beside the number of streams and the variant."""
    columns = results.manifest.plan.axis_columns
    return tuple(column for column in columns if column not in (count, VARIANT))


PER_CENT = 100.0
KILO = 1e-3

SEEDS = "Points: mean over seeds; bars: 95 % interval of it."
"""Meaning of points and bars, for captions."""


def estimates(results: Results, measure: str, scale: float = 1.0) -> pl.DataFrame:
    """Estimate a measure of every cell and group.

    Returns
    -------
    DataFrame
        The axes, ``group``, ``mean``, ``low`` and ``high`` (95 % interval over seeds), each times
        ``scale``; an interval that reaches below zero is cut there, for no measure can be less.
    """
    frame = summarise(results, [measure]).frame.drop("measure", "replicates")
    scaled = frame.with_columns(pl.col("mean", "low", "high") * scale)
    return scaled.with_columns(pl.col("low").clip(lower_bound=0.0))


def measure_by_count(frame: pl.DataFrame, panels: Panels, title: str) -> alt.TopLevelMixin:
    """Draw estimates of groups against the number of streams, one panel per variant and setting.

    Parameters
    ----------
    frame : DataFrame
        As from `estimates`; of each axis at least one setting.
    panels : Panels
        Which axis counts the streams.
    title : str
        The measure with its unit.
    """
    return estimates_by_setting(
        with_panel(frame, (VARIANT, *panels.beside)),
        setting=panels.count,
        order=frame[panels.count].unique().sort().to_list(),
        measure_title=title,
        setting_title="N",
        panels="panel",
    )


def measure_by_variant(
    frame: pl.DataFrame, panels: Panels, order: list[str], title: str
) -> alt.TopLevelMixin:
    """Draw estimates of groups for each variant, one panel per setting of the other axes."""
    return estimates_by_setting(
        with_panel(frame, panels.columns),
        setting=VARIANT,
        order=order,
        measure_title=title,
        setting_title="",
        panels="panel",
    )


def with_panel(frame: pl.DataFrame, columns: tuple[str, ...]) -> pl.DataFrame:
    """Add ``panel``: the settings that tell a row's panel from others, in words."""
    names = [places_in_words(columns, [values]) for values in frame.select(columns).iter_rows()]
    return frame.with_columns(pl.Series("panel", names, pl.String))

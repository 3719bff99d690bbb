"""Verdicts in part, in one sentence: where a claim holds, and where it does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from fairwind.studies.panels import Panels, setting_in_words
from fairwind.studies.ranges import panels_in_words
from fairwind.studies.streams import VARIANT

HOLDS, HOLDS_NOT, IS_OPEN = "it holds", "it fails", "it is undecided"
"""How the parts of most sentences begin."""


def where_it_holds(
    details: pl.DataFrame,
    panels: Panels,
    cases: Mapping[str, pl.Expr],
    by: str | None = VARIANT,
    preposition: str = "for",
) -> str:
    """Say of each case for whom and where it is so, each place once.

    Parameters
    ----------
    details : DataFrame
        The columns of the panels, and the one that tells rows of a panel apart.
    panels : Panels
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
    parts = []
    for opening, when in cases.items():
        alike: dict[str, list[str]] = {}
        for name, own in _told_apart(details, by):
            if place := _place(own, panels, when):
                alike.setdefault(place, []).append(name)
        if alike:
            every = details[by].n_unique() if by else 1
            told = (
                place if len(names) == every else f"{preposition} {listed(names)} {place}"
                for place, names in alike.items()
            )
            parts.append(f"{opening} {', '.join(told)}")
    return sentence(parts)


def how_each_changes(
    details: pl.DataFrame, measures: Mapping[str, str], falls: pl.Expr, rises: pl.Expr
) -> str:
    """Say of each contrast which measures fall, which rise, and which do neither.

    Parameters
    ----------
    details : DataFrame
        As `contrasts.contrasted` gives it.
    measures : mapping of str to str
        What each measure is called in a sentence.
    falls, rises : Expr
        When a measure does so significantly.

    Returns
    -------
    str
        Such as ``With half modified the mean falls, the median rises.``
    """
    cases = (
        (falls, "falls", "fall"),
        (rises, "rises", "rise"),
        (~falls & ~rises, "does not change significantly", "do not change significantly"),
    )
    alike: dict[str, list[str]] = {}
    for (contrast,), rows in details.group_by("contrast", maintain_order=True):
        told = []
        for when, one, several in cases:
            names = [f"the {measures[name]}" for name in rows.filter(when)["measure"]]
            if names:
                told.append(f"{listed(names)} {one if len(names) == 1 else several}")
        alike.setdefault(", ".join(told), []).append(str(contrast))
    return sentence([f"with {listed(names)} {told}" for told, names in alike.items()])


def listed(names: Sequence[str]) -> str:
    """Name several things: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def sentence(parts: Sequence[str]) -> str:
    """Join parts to one sentence; nothing of none."""
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _told_apart(details: pl.DataFrame, by: str | None) -> list[tuple[str, pl.DataFrame]]:
    if by is None:
        return [("", details)]
    groups = details.group_by(by, maintain_order=True)
    return [(str(name), own) for (name,), own in groups]


def _place(own: pl.DataFrame, panels: Panels, when: pl.Expr) -> str:
    """Name the panels in which something is so; nothing where it is in none."""
    every = own[panels.count].unique().sort().to_list()
    found: dict[tuple[object, ...], str] = {}
    for values, part in _circumstances(own, panels):
        counts = part.filter(when)[panels.count].unique().to_list()
        found[values] = f"at {panels_in_words(counts, every)}" if counts else ""
    axes = list(panels.beside)
    for axis in panels.beside:
        axes, found = _without(axis, axes, found)
    where: dict[str, list[str]] = {}
    for values, place in found.items():
        if place:
            named = (setting_in_words(*pair) for pair in zip(axes, values, strict=True))
            where.setdefault(place, []).append(", ".join(named))
    told = (
        place if not axes else f"{place} ({'; '.join(names)})" for place, names in where.items()
    )
    return listed(list(told))


def _circumstances(
    own: pl.DataFrame, panels: Panels
) -> list[tuple[tuple[object, ...], pl.DataFrame]]:
    if not panels.beside:
        return [((), own)]
    return list(own.group_by(list(panels.beside), maintain_order=True))


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

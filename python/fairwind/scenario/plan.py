"""The resolved grid of a scenario, as the core tells it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from fairwind.html import shown
from fairwind.lazy import module_named

LEADING_COLUMNS = ("cell", "replicate", "seed")
"""Columns that stand first in every table of a run."""


@dataclass(frozen=True)
class Axis:
    """One direction of the grid.

    Attributes
    ----------
    name : str
        As in the scenario: a key path such as ``flows.*.count``, or the name of a named axis.
    column : str
        The name of this axis's column in the tables.
    labels : tuple of str
        The settings along it, in the order of the scenario.
    named_reference : str, optional
        The label that others are compared with, where the scenario names one.
    """

    name: str
    column: str
    labels: tuple[str, ...]
    named_reference: str | None = None

    @property
    def reference(self) -> str:
        """The label that the others are compared with, the first one unless it is named."""
        return self.named_reference or self.labels[0]

    def value(self, label: str) -> int | str:
        """Give a label as it stands in tables: a number if all labels are whole numbers."""
        return int(label) if self.is_numeric else label

    @property
    def is_numeric(self) -> bool:
        """Whether all labels are whole numbers."""
        return all(re.fullmatch(r"-?\d{1,18}", label) for label in self.labels)

    @property
    def values(self) -> list[int | str]:
        """All labels as they stand in tables, in the order of the scenario."""
        return [self.value(label) for label in self.labels]

    def led_by(self, label: str) -> Axis:
        """Give this axis with one of its labels first, as the one that others are compared with."""
        return replace(self, labels=(label, *(one for one in self.labels if one != label)))


@dataclass(frozen=True)
class Cell:
    """One point of the grid with its resolved experiment.

    Attributes
    ----------
    index : int
        Position in the grid, from 0.
    settings : dict
        Label of each axis, by axis name.
    experiment : dict
        The resolved experiment, as the engine takes it (JSON).
    """

    index: int
    settings: dict[str, str]
    experiment: dict[str, Any]

    @cached_property
    def experiment_json(self) -> str:
        """The experiment as the engine takes it."""
        return json.dumps(self.experiment)


@dataclass(frozen=True)
class Plan:
    """All that a scenario resolves to: cells times replicates.

    Attributes
    ----------
    name, description : str
        What the scenario calls itself.
    seeds : tuple of int
        One per replicate; every cell uses the same, so cells can be compared in pairs. None where
        nothing was drawn at random by us: a capture happened once, as it did.
    warnings : tuple of str
        Warnings about the scenario, which can still run.
    document : dict
        The plan exactly as the core gave it.
    """

    name: str
    description: str
    seeds: tuple[int, ...]
    axes: tuple[Axis, ...]
    cells: tuple[Cell, ...]
    warnings: tuple[str, ...]
    document: dict[str, Any]

    @classmethod
    def from_document(cls, document: dict[str, Any], table_columns: Iterable[str]) -> Plan:
        """Read the core's JSON document.

        Parameters
        ----------
        document : dict
            As ``_core.plan`` gives it.
        table_columns : iterable of str
            Column names that the tables use, which no axis column may take.
        """
        columns = axis_columns([axis["name"] for axis in document["axes"]], table_columns)
        return cls(
            name=document["name"],
            description=document.get("description") or "",
            seeds=tuple(document["seeds"]),
            axes=tuple(
                Axis(axis["name"], column, tuple(axis["labels"]), axis.get("reference"))
                for axis, column in zip(document["axes"], columns, strict=True)
            ),
            cells=tuple(
                Cell(cell["index"], dict(cell["settings"]), cell["experiment"])
                for cell in document["cells"]
            ),
            warnings=tuple(document.get("warnings", ())),
            document=document,
        )

    @classmethod
    def of_one_cell(cls, name: str, description: str, experiment: dict[str, Any]) -> Plan:
        """Make the plan of what happened once and was not drawn from a seed."""
        document = {
            "name": name,
            "description": description,
            "seeds": [],
            "axes": [],
            "cells": [{"index": 0, "settings": {}, "experiment": experiment}],
            "warnings": [],
        }
        return cls.from_document(document, ())

    @property
    def varied_axes(self) -> list[Axis]:
        """The axes of more than one value, in the order of the scenario."""
        return [axis for axis in self.axes if len(axis.labels) > 1]

    def cells_in_words(self, cells: Collection[int]) -> str:
        """Name some cells by the values of the axes: ``change Reno or BBR, count 1``.

        Parameters
        ----------
        cells : collection of int
            Indices.

        Returns
        -------
        str
            Empty for all cells, and without axes.
        """
        chosen = [cell.settings for cell in self.cells if cell.index in cells]
        axes = self.varied_axes
        if not axes or len(chosen) in (0, len(self.cells)):
            return ""
        names = short_names(axes)
        values = {
            axis.name: [one for one in axis.labels if any(it[axis.name] == one for it in chosen)]
            for axis in axes
        }
        if math.prod(map(len, values.values())) == len(chosen):
            return ", ".join(
                f"{names[axis.name]} {_values_in_words(values[axis.name])}"
                for axis in axes
                if len(values[axis.name]) < len(axis.labels)
            )
        named = [
            ", ".join(f"{names[axis.name]} {cell[axis.name]}" for axis in axes)
            for cell in chosen[:MOST_NAMED]
        ]
        more = len(chosen) - len(named)
        return "; ".join([*named, *([f"and {more} more"] if more else [])])

    @property
    def axis_columns(self) -> list[str]:
        """Columns of the axes in the tables, in the order of the scenario."""
        return [axis.column for axis in self.axes]

    def axis(self, name: str) -> Axis:
        """Give the axis of this name."""
        return next(axis for axis in self.axes if axis.name == name)

    @property
    def replicates(self) -> int:
        """Replicates of each cell: one per seed, one without seeds."""
        return len(self.seeds) or 1

    def seed_of(self, replicate: int) -> int | None:
        """Give the seed of a replicate, if there are any."""
        return self.seeds[replicate] if self.seeds else None

    @property
    def runs(self) -> int:
        """Number of simulations: cells times replicates."""
        return len(self.cells) * self.replicates

    def simulations(self) -> Iterator[tuple[Cell, int]]:
        """Give all, each as a cell and a replicate, in the order of the grid."""
        return ((cell, one) for cell in self.cells for one in range(self.replicates))

    def _repr_html_(self) -> str:
        """Show in a notebook what would run."""
        summary = module_named("notebook.summary")
        return shown(lambda: summary.plan_html(self), self.name)


MOST_NAMED = 4
"""So many values of an axis, or cells, are named one by one; more are counted."""


def _values_in_words(values: Sequence[str]) -> str:
    """List values of an axis: ``a``, ``a or b``, ``a, b, c and 4 more values``."""
    if len(values) > MOST_NAMED:
        shown = values[: MOST_NAMED - 1]
        return f"{', '.join(shown)} and {len(values) - len(shown)} more values"
    return " or ".join(filter(None, (", ".join(values[:-1]), values[-1])))


def short_names(axes: Sequence[Axis]) -> dict[str, str]:
    """Give the last part of each axis's name where no other axis has the same."""
    last = {axis.name: axis.name.rsplit(".", 1)[-1] for axis in axes}
    counts = [*last.values()]
    return {name: short if counts.count(short) == 1 else name for name, short in last.items()}


def axis_columns(names: list[str], table_columns: Iterable[str]) -> list[str]:
    """Turn axis names into column names: ``flows.*.count`` becomes ``flows_count``.

    A name that a table uses itself gets ``setting_`` before it; a name that two axes would share
    gets a number after it.
    """
    reserved = {*LEADING_COLUMNS, *table_columns}
    taken = set(reserved)
    columns: list[str] = []
    for name in names:
        column = re.sub(r"[^0-9A-Za-z]+", "_", name).strip("_") or "setting"
        if column in reserved:
            column = f"setting_{column}"
        unique, number = column, 2
        while unique in taken:
            unique, number = f"{column}_{number}", number + 1
        taken.add(unique)
        columns.append(unique)
    return columns

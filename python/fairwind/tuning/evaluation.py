"""Simulations of settings on paths, and the store of what was measured.

All settings see the same seeds on a path. Simulations run by `fairwind.execution` in a folder of
their own below ``work``, which a killed search takes up again; what is wanted of their tables is
then a line of ``measured.jsonl`` for each setting, path and seed, and the folder goes.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fairwind.answers.conditions import column_named, numeric_columns
from fairwind.engine.core import ScenarioError
from fairwind.engine.engines import Engine
from fairwind.errors import FairwindError
from fairwind.execution.execute import RunSettings, RunState, run_plan
from fairwind.folder.store import write_file
from fairwind.results import SUBJECTS, Results, rows_of
from fairwind.tuning.keys import PATH_AXIS, grid
from fairwind.tuning.limits import Limit
from fairwind.tuning.parameters import Keys, Number
from fairwind.tuning.settings import Objective, Tuning

STORE, MEASURES, WORK = "measured.jsonl", "measures.json", "work"


@dataclass(frozen=True)
class Setting:
    """A setting that is tried.

    Attributes
    ----------
    name : str
        ``c12``, or that of a known mechanism.
    keys : dict
        Key paths and values, those of the reference included.
    numbers : dict
        Values of the parameters as the search has them; empty of a known mechanism.
    labels : dict
        The same as people read them.
    """

    name: str
    keys: Keys
    numbers: dict[str, Number]
    labels: dict[str, str]

    @cached_property
    def digest(self) -> str:
        """Digest of the keys: settings with the same one are the same."""
        text = json.dumps(self.keys, sort_keys=True, default=str)
        return f"s{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    def __str__(self) -> str:
        """Write the setting in words."""
        return ", ".join(f"{name} = {label}" for name, label in self.labels.items()) or self.name


@dataclass(frozen=True)
class Block:
    """Paths and seeds that are simulated together.

    Attributes
    ----------
    paths : tuple of str
    seed : int
        That of the scenario, which those of the simulations are derived from.
    repeat : int
        Seeds of each path.
    """

    paths: tuple[str, ...]
    seed: int
    repeat: int


@dataclass(frozen=True)
class Measure:
    """A column of a group.

    Attributes
    ----------
    name, column : str
    """

    name: str
    column: str

    @property
    def key(self) -> str:
        """How the store calls it."""
        return f"{self.name}.{self.column}"


def blocks_of(tuning: Tuning) -> list[Block]:
    """Give what a setting is simulated on, the first look first."""
    first = tuning.first_paths
    rest = tuple(name for name in tuning.paths if name not in first)
    seed, looks = tuning.seed, tuning.first_seeds
    found = [Block(first, seed, looks)]
    if rest:
        found.append(Block(rest, seed, looks))
    if tuning.seeds > looks:
        found.append(Block(tuple(tuning.paths), seed + 1, tuning.seeds - looks))
    return found


class Evaluator:
    """Runs simulations that are missing, and gives what was measured.

    Parameters
    ----------
    folder : Path
        Of the search.
    settings : RunSettings
        Of each run, without its folder; no influence on results.
    on_progress : callable, optional
        As of `run_plan`.
    """

    def __init__(
        self,
        tuning: Tuning,
        engine: Engine,
        folder: Path,
        settings: RunSettings,
        on_progress: Callable[[RunState], None] | None = None,
    ) -> None:
        self._tuning, self._engine, self._folder = tuning, engine, folder
        self._settings, self._on_progress = settings, on_progress
        self._values: dict[tuple[str, str, int], dict[str, float | None]] = {}
        self._seeds: dict[tuple[int, int], tuple[int, ...]] = {}
        self._read()

    @property
    def simulations(self) -> int:
        """How many simulations are stored."""
        return len(self._values)

    @cached_property
    def measures(self) -> list[Measure]:
        """The measures of objectives, then those of limits, in their order.

        Raises
        ------
        FairwindError
            If one is no column, or nothing has its name.
        """
        file = self._folder / MEASURES
        if file.exists():
            return [Measure(*one) for one in json.loads(file.read_text(encoding="utf-8"))]
        tuning = self._tuning
        reference = Setting("reference", tuning.reference, {}, {})
        results = self._run([reference], Block(tuning.first_paths, tuning.seed, tuning.first_seeds))
        found = _resolved(tuning, results)
        content = json.dumps([[one.name, one.column] for one in found])
        write_file(file, content.encode())
        self._keep(_values(results, found))
        shutil.rmtree(results.folder)
        return found

    def fault(self, setting: Setting) -> str | None:
        """Return why a setting is no scenario on some path; None if it is one."""
        paths = self._tuning.paths
        try:
            grid(self._tuning.base, paths, {setting.digest: setting.keys}, 1, 1, self._file).check()
        except ScenarioError as error:
            return str(error)
        return None

    def measure(self, settings: Iterable[Setting], block: Block) -> None:
        """Simulate settings on all paths and seeds of a block, those that are missing."""
        measures = self.measures
        missing = list({one.digest: one for one in settings if not self.has(one, block)}.values())
        if not missing:
            return
        results = self._run(missing, block)
        self._keep(_values(results, measures))
        shutil.rmtree(results.folder)

    def has(self, setting: Setting, block: Block) -> bool:
        """Return whether a setting was simulated on all of a block."""
        return all(
            (setting.digest, path, seed) in self._values
            for path in block.paths
            for seed in self.seeds(block)
        )

    def values(
        self, setting: Setting, measure: Measure, blocks: Sequence[Block], path: str
    ) -> NDArray[np.float64]:
        """Give a measure on a path, one value for each seed of these blocks; NaN if unknown."""
        found = [
            self._values[setting.digest, path, seed].get(measure.key)
            for block in blocks
            if path in block.paths
            for seed in self.seeds(block)
        ]
        return np.array([math.nan if one is None else one for one in found], dtype=np.float64)

    def seeds(self, block: Block) -> tuple[int, ...]:
        """Give the seeds of the simulations of a block."""
        key = (block.seed, block.repeat)
        if key not in self._seeds:
            path = block.paths[0]
            one = {path: self._tuning.paths[path]}
            scenario = grid(
                self._tuning.base, one, {"reference": self._tuning.reference}, *key, self._file
            )
            self._seeds[key] = scenario.plan.seeds
        return self._seeds[key]

    @property
    def _file(self) -> str:
        return self._tuning.scenario.file

    def _run(self, settings: Sequence[Setting], block: Block) -> Results:
        paths = {name: self._tuning.paths[name] for name in block.paths}
        labelled = {one.digest: one.keys for one in settings}
        scenario = grid(self._tuning.base, paths, labelled, block.seed, block.repeat, self._file)
        content = json.dumps([paths, labelled, block.seed, block.repeat], default=str)
        digest = hashlib.sha256(content.encode()).hexdigest()[:16]
        run = replace(self._settings, out=self._folder / WORK / digest)
        return run_plan(scenario.plan, self._engine, run, self._on_progress)

    def _read(self) -> None:
        """Read what was measured; a line that a kill cut off is measured again."""
        file = self._folder / STORE
        if not file.exists():
            return
        whole, newline, _ = file.read_bytes().rpartition(b"\n")
        os.truncate(file, len(whole) + len(newline))
        for line in whole.splitlines():
            digest, path, seed, values = json.loads(line)
            self._values[digest, path, seed] = values

    def _keep(self, values: Mapping[tuple[str, str, int], dict[str, float | None]]) -> None:
        lines = [json.dumps([*key, found]) for key, found in values.items()]
        with (self._folder / STORE).open("a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))
            file.flush()
            os.fsync(file.fileno())
        self._values |= values


def _resolved(tuning: Tuning, results: Results) -> list[Measure]:
    """Find the columns of objectives and limits in the results of the reference."""
    columns = numeric_columns([results])
    frames = [(rows_of(results, subject), subject.column) for subject in SUBJECTS]
    found = []
    wanted: list[Objective | Limit] = [*tuning.objectives, *tuning.limits]
    for one in wanted:
        column = column_named(one.measure, columns, one.text)
        names = list(
            dict.fromkeys(
                str(name)
                for frame, key in frames
                if column in frame.columns
                for name in frame.filter(pl.col(column).is_not_null())[key]
            )
        )
        if one.name not in names:
            raise FairwindError(
                f"{one.text!r}: nothing named {one.name!r} has {column} with the reference setting",
                f"there is {', '.join(names) or 'nothing that has it'}",
            )
        found.append(Measure(one.name, column))
    return found


def _values(
    results: Results, measures: Sequence[Measure]
) -> dict[tuple[str, str, int], dict[str, float | None]]:
    """Give the measures of every setting, path and seed; None of simulations that failed."""
    plan = results.manifest.plan
    places = {
        cell.index: (cell.settings["setting"], cell.settings[PATH_AXIS]) for cell in plan.cells
    }
    found: dict[tuple[str, str, int], dict[str, float | None]] = {
        (*place, seed): {one.key: None for one in measures}
        for place in places.values()
        for seed in plan.seeds
    }
    for subject in SUBJECTS:
        rows = rows_of(results, subject)
        wanted = [one for one in measures if one.column in rows.columns]
        if not wanted:
            continue
        for row in rows.iter_rows(named=True):
            values = found[(*places[row["cell"]], row["seed"])]
            for one in wanted:
                if row[subject.column] == one.name and row[one.column] is not None:
                    values[one.key] = _number(row[one.column])
    return found


def _number(value: Any) -> float | None:  # noqa: ANN401 - of a numeric column
    number = float(value)
    return number if math.isfinite(number) else None

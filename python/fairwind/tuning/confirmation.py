"""Confirmation of points: their own runs, on seeds and paths that the search has not seen.

Each point is a scenario file in ``points`` and the folder of its run beside it, so that
`fairwind run` on the file gives the same tables, and `fairwind compare` the same effects.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fairwind.answers.conditions import Judgement, Outcome, judge
from fairwind.compare import Comparison
from fairwind.engine.core import named_files
from fairwind.engine.engines import Engine
from fairwind.execution.execute import RunSettings, RunState, run_plan
from fairwind.folder.store import write_file
from fairwind.results import SUBJECTS, Results, rows_of
from fairwind.scenario.scenario import Scenario
from fairwind.statistics.contrasts import Contrast
from fairwind.statistics.inference import mean_interval
from fairwind.tuning.evaluation import Evaluator, Setting
from fairwind.tuning.keys import PATH_AXIS, written
from fairwind.tuning.scores import UNKNOWN, aggregated, cost_of
from fairwind.tuning.settings import Over, Tuning

POINTS = "points"

SEED_STEP = 7919
"""Seeds of the confirmation come from another one than those of the search."""


@dataclass(frozen=True)
class Estimate:
    """A cost with its 95 % interval; bounds are None where they are unknown."""

    cost: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Point:
    """A setting with what its own runs showed.

    Attributes
    ----------
    setting : Setting
    is_known : bool
        Whether it is a known mechanism, not one that was found.
    costs : tuple of Estimate
        Of each objective, over all paths.
    by_path : dict
        Of each objective on each path.
    judgements : tuple of (str, Judgement)
        Each limit on each path, with the path.
    scenario : str
        Name of its file below the folder.
    """

    setting: Setting
    is_known: bool
    costs: tuple[Estimate, ...]
    by_path: dict[str, tuple[Estimate, ...]]
    judgements: tuple[tuple[str, Judgement], ...]
    scenario: str

    @property
    def outcome(self) -> Outcome:
        """Whether the limits are kept: on all paths, not on some, or not known."""
        return worst_outcome([one.outcome for _, one in self.judgements])

    def outcome_on(self, path: str) -> Outcome:
        """Whether the limits are kept on a path."""
        return worst_outcome([one.outcome for name, one in self.judgements if name == path])


def worst_outcome(outcomes: Sequence[Outcome]) -> Outcome:
    """Give failed if any has, then undecided if any is, else passed."""
    for one in (Outcome.FAILED, Outcome.UNDECIDED):
        if one in outcomes:
            return one
    return Outcome.PASSED


class Confirmer:
    """Runs points by themselves, and judges them against the reference.

    Parameters
    ----------
    folder : Path
        Where files and folders of points go.
    settings : RunSettings
        Of each run, without its folder.
    """

    def __init__(
        self,
        tuning: Tuning,
        evaluator: Evaluator,
        engine: Engine,
        folder: Path,
        settings: RunSettings,
        on_progress: Callable[[RunState], None] | None = None,
    ) -> None:
        self._tuning, self._evaluator, self._engine = tuning, evaluator, engine
        self._folder, self._settings, self._on_progress = folder, settings, on_progress
        self._paths = tuning.paths | tuning.confirmation.paths
        self._reference: Results | None = None

    def scenario(self, setting: Setting) -> Scenario:
        """Give the scenario of a point, on all paths and unseen seeds."""
        seed = self._tuning.seed + SEED_STEP
        repeat = self._tuning.confirmation.seeds
        return written(
            self._tuning.base, setting.keys, self._paths, seed, repeat, self._tuning.scenario.file
        )

    def confirm(self, setting: Setting, *, is_known: bool) -> Point:
        """Run a point, and compare it with the reference."""
        if self._reference is None:
            name = "reference"
            self._reference = self._run(Setting(name, self._tuning.reference, {}, {}), name)
        file = file_name(setting.name)
        results = self._run(setting, file)
        comparison = Comparison(self._reference, results)
        columns = list(dict.fromkeys(one.column for one in self._evaluator.measures))
        rows = comparison.contrasts(columns)
        limits = self._tuning.limits
        judged = judge(limits, rows) if limits else []
        paths = list(self._paths)
        return Point(
            setting,
            is_known,
            tuple(
                self._over_paths(place, results) for place in range(len(self._tuning.objectives))
            ),
            {path: self._on_path(rows, path) for path in paths},
            tuple((one.settings.removeprefix(f"{PATH_AXIS} "), one) for one in judged),
            f"{POINTS}/{file}.toml",
        )

    def _run(self, setting: Setting, file: str) -> Results:
        scenario = self.scenario(setting)
        folder = self._folder / POINTS
        folder.mkdir(parents=True, exist_ok=True)
        write_file(folder / f"{file}.toml", scenario.text.encode())
        for named in named_files(scenario.file, scenario.text, ()):
            beside = folder / named.name
            beside.parent.mkdir(parents=True, exist_ok=True)
            write_file(beside, (Path(scenario.file).parent / named.name).read_bytes())
        # A run with fewer seeds, of an earlier confirmation, is taken up.
        run = replace(self._settings, out=folder / file, grown_from=scenario.plan)
        return run_plan(scenario.plan, self._engine, run, self._on_progress)

    def _on_path(
        self, rows: Sequence[tuple[Mapping[str, object], Contrast]], path: str
    ) -> tuple[Estimate, ...]:
        found = []
        for objective, measure in zip(
            self._tuning.objectives, self._evaluator.measures, strict=False
        ):
            wanted = {"name": measure.name, "measure": measure.column}
            fitting = [
                it
                for labels, it in rows
                if str(labels[PATH_AXIS]) == path and wanted.items() <= dict(labels).items()
            ]
            if not fitting:
                found.append(Estimate(UNKNOWN, None, None))
                continue
            test = fitting[0].test
            low, high = (fitting[0].relative(bound) for bound in (test.low, test.high))
            if objective.is_maximised:
                low, high = -high, -low
            cost = cost_of(objective, fitting[0].relative(test.estimate))
            found.append(Estimate(cost, _known(low), _known(high)))
        return tuple(found)

    def _over_paths(self, place: int, results: Results) -> Estimate:
        """Estimate a cost over all paths: by the mean, or on the path where it is worst."""
        objective, measure = self._tuning.objectives[place], self._evaluator.measures[place]
        if self._reference is None:
            raise AssertionError("the reference runs first")
        sides = [_by_path(one, measure.name, measure.column) for one in (self._reference, results)]
        sign = -1.0 if objective.is_maximised else 1.0
        units = {
            path: sign * (sides[1][path] - sides[0][path]) / abs(np.nanmean(sides[0][path]))
            for path in self._paths
            if path in sides[0] and path in sides[1]
        }
        if len(units) < len(self._paths) or not all(
            np.isfinite(one).all() for one in units.values()
        ):
            return Estimate(UNKNOWN, None, None)
        every = np.array(list(units.values()))
        if objective.over is Over.WORST:
            means = every.mean(axis=1).tolist()
            sample = every[means.index(aggregated(Over.WORST, means))]
        else:
            sample = every.mean(axis=0)
        found = mean_interval(sample)
        return Estimate(found.estimate, _known(found.low), _known(found.high))


def _by_path(results: Results, name: str, column: str) -> dict[str, NDArray[np.float64]]:
    """Give the values of a measure on each path, in the order of the seeds."""
    for subject in SUBJECTS:
        rows = rows_of(results, subject)
        if column not in rows.columns:
            continue
        rows = rows.filter(pl.col(subject.column) == name).sort("cell", "replicate")
        if rows.height and rows[column].null_count() < rows.height:
            return {
                str(path): part[column].cast(pl.Float64).fill_null(math.nan).to_numpy()
                for (path,), part in rows.group_by(PATH_AXIS, maintain_order=True)
            }
    return {}


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def file_name(name: str) -> str:
    """Give the name of a point's files: small letters, numbers and hyphens."""
    found = "".join(one if one.isalnum() else "-" for one in name.lower().replace("+", "-and-"))
    return "-".join(part for part in found.split("-") if part) or "point"

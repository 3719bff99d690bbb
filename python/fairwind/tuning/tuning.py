"""A whole search: its folder, the probe, proposals, confirmation, and what is written.

DIR/
tuning.json         what is searched, with versions and fingerprint
measures.json       the columns of objectives and limits
measured.jsonl      a line for each setting, path and seed: what was measured
proposals.journal   Optuna's journal, and proposals.json, the batches reported as a whole
work/               simulations under way
points/NAME.toml    the scenario of a point, and points/NAME/, the folder of its run
tune.json           what was found
tune.html           the page
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairwind.engine.engines import Engine
from fairwind.errors import FairwindError
from fairwind.execution.address import LOCAL
from fairwind.execution.deploy import kept_clusters
from fairwind.execution.execute import RunSettings, RunState
from fairwind.folder.store import damaged, locked, storage_errors, write_file
from fairwind.tuning.confirmation import Confirmer, Point
from fairwind.tuning.evaluation import Evaluator, Setting
from fairwind.tuning.front import front_of
from fairwind.tuning.kernel import FOLDER, confirm_on_kernel
from fairwind.tuning.keys import grid, written
from fairwind.tuning.outcome import (
    REFERENCE,
    TuningOutcome,
    advice_of,
    confirmed_front,
    importance_of,
    nearest_of,
    write_outcome,
)
from fairwind.tuning.probe import check_effects
from fairwind.tuning.scores import Scorer
from fairwind.tuning.search import Candidate, Search, feasible
from fairwind.tuning.settings import Tuning

HEAD = "tuning.json"


@dataclass(frozen=True)
class TuningRun:
    """How a search is executed; none of it has an influence on what it finds.

    Attributes
    ----------
    out : Path, optional
        The folder; ``runs/<name>-<fingerprint>`` if None.
    jobs : int, optional
        Simulations at once; all processors if None.
    on_progress : callable, optional
        As of `run_plan`.
    on_step : callable, optional
        Called with a line whenever a step begins or a batch ends.
    kernel : Engine, optional
        On which the front is confirmed as well, as far as it can be told.
    workers : str
        Where simulations run, as of `RunSettings`.
    """

    out: Path | None = None
    jobs: int | None = None
    on_progress: Callable[[RunState], None] | None = None
    on_step: Callable[[str], None] | None = None
    kernel: Engine | None = None
    workers: str = LOCAL

    @property
    def settings(self) -> RunSettings:
        """Settings of each run of the search, without its folder."""
        return RunSettings(self.jobs, workers=self.workers)

    def step(self, text: str) -> None:
        """Report a step."""
        if self.on_step is not None:
            self.on_step(text)


def run_tuning(tuning: Tuning, engine: Engine, run: TuningRun) -> tuple[Path, TuningOutcome]:
    """Search, confirm, and write what was found; go on where an earlier search was killed.

    Raises
    ------
    FairwindError
        If the folder holds another search, a measure is none, a parameter does nothing, or all
        simulations fail.
    RunInterrupted
        After an interruption; what was finished is kept.
    """
    folder = folder_of(tuning, engine, run.out)
    full = f"{folder} could not be written; finished simulations are kept"
    with storage_errors(folder, full, "free some space, then run the same command again"):
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder), kept_clusters():
            _prepare(folder, tuning, engine)
            return folder, _found(tuning, engine, folder, run)


def _found(tuning: Tuning, engine: Engine, folder: Path, run: TuningRun) -> TuningOutcome:
    evaluator = Evaluator(tuning, engine, folder, run.settings, run.on_progress)
    scorer = Scorer(tuning, evaluator)
    check_scenarios(tuning)
    run.step("looking for parameters without effect")
    check_effects(tuning, evaluator)

    def on_batch(every: Sequence[Candidate]) -> None:
        dropped = sum(not one.is_complete for one in every)
        run.step(
            f"{len(every)} settings tried, {dropped} dropped early, {len(feasible(every))} within "
            f"the limits; {evaluator.simulations} simulations"
        )

    candidates = Search(tuning, evaluator, scorer, folder, on_batch).run()
    simulations = evaluator.simulations
    kept = feasible(candidates)
    front = [kept[place] for place in front_of([one.score.costs for one in kept])]
    front.sort(key=lambda one: one.score.costs)
    confirmer = Confirmer(tuning, evaluator, engine, folder, run.settings, run.on_progress)
    points = _confirmed(tuning, confirmer, front, run)
    cells = len(tuning.paths) + len(tuning.confirmation.paths)
    outcome = TuningOutcome(
        candidates=tuple(candidates),
        front=tuple(one.setting.name for one in front),
        points=tuple(points),
        confirmed_front=confirmed_front(points),
        advice=advice_of(tuning, points),
        importance=importance_of(tuning, candidates),
        nearest=None if kept else nearest_of(candidates),
        simulations=simulations,
        confirming_simulations=(len(points) + 1) * cells * tuning.confirmation.seeds,
        on_kernel=_on_kernel(tuning, evaluator, folder, points, run),
    )
    write_outcome(folder, tuning, outcome)
    return outcome


def _on_kernel(
    tuning: Tuning, evaluator: Evaluator, folder: Path, points: Sequence[Point], run: TuningRun
) -> dict[str, Any] | None:
    """Confirm the front on a kernel, if one is given."""
    if run.kernel is None:
        return None
    run.step(f"confirming on {run.kernel.name} what it supports")
    names = confirmed_front(points)
    confirmer = Confirmer(
        tuning, evaluator, run.kernel, folder / FOLDER, run.settings, run.on_progress
    )
    reference = Setting(REFERENCE, tuning.reference, {}, {})
    chosen = [one for one in points if one.setting.name in names]
    return confirm_on_kernel(confirmer, run.kernel, reference, chosen)


def check_scenarios(tuning: Tuning) -> None:
    """Refuse paths and known settings that make no scenario, before anything runs.

    Raises
    ------
    ScenarioError
        With everything that is wrong in them.
    FairwindError
        If the reference cannot be written into a scenario.
    """
    paths = tuning.paths | tuning.confirmation.paths
    settings = {REFERENCE: tuning.reference} | tuning.known
    file = tuning.scenario.file
    grid(tuning.base, paths, settings, tuning.seed, 1, file).check()
    for keys in settings.values():
        written(tuning.base, keys, paths, tuning.seed, 1, file)


def _confirmed(
    tuning: Tuning, confirmer: Confirmer, front: Sequence[Candidate], run: TuningRun
) -> list[Point]:
    """Confirm points of the front, evenly chosen if there are many, and known mechanisms."""
    most = tuning.confirmation.points
    chosen = [
        front[place * len(front) // min(most, len(front))] for place in range(min(most, len(front)))
    ]
    if len(front) > most > 1:
        chosen[-1] = front[-1]
    settings = [(one.setting, False) for one in chosen]
    settings += [(Setting(name, dict(keys), {}, {}), True) for name, keys in tuning.known.items()]
    points = []
    for number, (setting, is_known) in enumerate(settings, start=1):
        run.step(f"confirming {setting.name} ({number} of {len(settings)})")
        points.append(confirmer.confirm(setting, is_known=is_known))
    return points


def folder_of(tuning: Tuning, engine: Engine, out: Path | None) -> Path:
    """Give the folder of a search."""
    if out is not None:
        return out
    name = re.sub(r"[^0-9a-z]+", "-", tuning.name.lower()).strip("-")[:60] or "search"
    return Path("runs") / f"{name}-{fingerprint(tuning, engine)[:10]}"


def fingerprint(tuning: Tuning, engine: Engine) -> str:
    """Digest everything that decides what a search finds.

    How many seeds and points confirm it is left out, so that a finished search takes more of them.
    """
    content = {
        "document": tuning.document | {"confirm": {"paths": tuning.confirmation.paths}},
        "scenario": tuning.base,
        "engine": engine.name,
        "versions": engine.versions(),
    }
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _prepare(folder: Path, tuning: Tuning, engine: Engine) -> None:
    """Take up an earlier search of the same, or begin one; refuse anything else."""
    head, wanted = folder / HEAD, fingerprint(tuning, engine)
    if head.exists():
        try:
            earlier = json.loads(head.read_text(encoding="utf-8"))
            there, seeds = earlier["fingerprint"], earlier.get("confirming_seeds", 0)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise damaged(head) from error
        if there != wanted:
            raise FairwindError(
                f"{folder} holds another search: its file, scenario or version differs",
                "name another folder with --out, or remove this one",
            )
        if tuning.confirmation.seeds < seeds:
            raise FairwindError(
                f"{folder} holds this search, confirmed with {seeds} seeds instead of "
                f"{tuning.confirmation.seeds}",
                f"ask for at least {seeds} under [confirm], or name another folder with --out",
            )
    elif any(one.name != ".lock" for one in folder.iterdir()):
        raise FairwindError(
            f"{folder} is not empty and does not hold a search", "name another folder with --out"
        )
    document = {
        "name": tuning.name,
        "file": tuning.file,
        "fingerprint": wanted,
        "engine": engine.name,
        "versions": engine.versions(),
        "confirming_seeds": tuning.confirmation.seeds,
        "document": tuning.document,
    }
    write_file(head, (json.dumps(document, indent=1, default=str) + "\n").encode())

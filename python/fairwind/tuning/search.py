"""Proposals of settings by Optuna, batch after batch, and what becomes of them.

The proposals of a batch depend on the search's seed, the batch's number and what was reported
before, and on nothing else: the sampler is made anew for each batch. Optuna's journal is a file of
the folder. After a kill it is cut back to the last batch that was reported as a whole; that batch
is proposed again, the same, and its simulations are in the store already.
"""

from __future__ import annotations

import itertools
import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairwind.errors import FairwindError
from fairwind.folder.store import write_file
from fairwind.tuning.evaluation import Block, Evaluator, Setting, blocks_of
from fairwind.tuning.front import front_of
from fairwind.tuning.parameters import Number, Parameter, Range, Scale
from fairwind.tuning.scores import UNKNOWN, Score, Scorer, is_clearly_worse
from fairwind.tuning.settings import Method, Tuning

if TYPE_CHECKING:
    import optuna

JOURNAL, STATE = "proposals.journal", "proposals.json"

FRUITLESS = 10
"""After so many batches without a new setting the space counts as exhausted."""

STARTING = 16
"""Settings that TPE draws at random before it learns."""

POPULATION = 24
"""Settings of a generation of NSGA-II."""

RIVALS = 5
"""A setting is compared with so many of the front before more is simulated."""

EXCESSES = "excesses"


@dataclass(frozen=True)
class Candidate:
    """A setting that was tried, and what it is worth.

    Attributes
    ----------
    setting : Setting
    score : Score
        By what was simulated.
    looks : int
        Blocks that were simulated.
    dropped : str
        Why it was dropped before all were; empty of others.
    """

    setting: Setting
    score: Score
    looks: int
    dropped: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether it was simulated on all paths and seeds."""
        return not self.dropped


class Search:
    """The settings of a search, tried in batches.

    Parameters
    ----------
    folder : Path
        Of the search.
    on_batch : callable, optional
        Called with all candidates after each batch.
    """

    def __init__(
        self,
        tuning: Tuning,
        evaluator: Evaluator,
        scorer: Scorer,
        folder: Path,
        on_batch: Callable[[Sequence[Candidate]], None] | None = None,
    ) -> None:
        self._tuning, self._evaluator, self._scorer = tuning, evaluator, scorer
        self._folder, self._on_batch = folder, on_batch or (lambda _all: None)
        self._blocks = blocks_of(tuning)
        self.candidates: list[Candidate] = []

    def run(self) -> list[Candidate]:
        """Try settings until the budget is spent or nothing new is proposed."""
        for block in self._blocks:
            self._evaluator.measure([self._scorer.reference], block)
        if self._tuning.method is Method.GRID:
            self._run_grid()
        else:
            self._run_proposals()
        return self.candidates

    def _run_grid(self) -> None:
        """Try all combinations, on all paths and seeds."""
        parameters = self._tuning.parameters
        every = itertools.product(*(one.numbers or () for one in parameters))
        names = [one.name for one in parameters]
        for chunk in _chunks(every, self._tuning.batch):
            self._try([dict(zip(names, numbers, strict=True)) for numbers in chunk])

    def _run_proposals(self) -> None:
        tried = 0
        with quiet_optuna() as optuna:
            journal = _Journal(optuna, self._folder, len(self._tuning.objectives))
            fruitless = 0
            while len(self.candidates) < self._tuning.budget and fruitless < FRUITLESS:
                before = len(self.candidates)
                size = min(self._tuning.batch, self._tuning.budget - before)
                if tried < journal.batches:
                    numbers = journal.proposals(tried)
                    self._try(numbers)
                else:
                    self._propose(optuna, journal, size)
                tried += 1
                fruitless = 0 if len(self.candidates) > before else fruitless + 1

    def _propose(self, optuna: Any, journal: _Journal, size: int) -> None:  # noqa: ANN401
        """Ask for a batch, simulate it, and report what it is worth."""
        journal.study.sampler = sampler_of(optuna, self._tuning, journal.batches)
        trials = [journal.study.ask() for _ in range(size)]
        proposals = [
            {one.name: _suggested(trial, one) for one in self._tuning.parameters}
            for trial in trials
        ]
        scores = self._try(proposals)
        for trial, score in zip(trials, scores, strict=True):
            trial.set_user_attr(EXCESSES, list(score.excesses))
            journal.study.tell(trial, list(score.costs))
        journal.note(proposals)

    def _try(self, proposals: Sequence[Mapping[str, Number]]) -> list[Score]:
        """Simulate proposals, those that are new, and give the scores of all."""
        known = {one.setting.digest: one for one in self.candidates}
        wanted = [self._setting(numbers) for numbers in proposals]
        fresh: dict[str, Setting] = {}
        for one in wanted:
            if one.digest not in known and one.digest not in fresh:
                number = len(self.candidates) + len(fresh) + 1
                fresh[one.digest] = Setting(f"c{number}", one.keys, one.numbers, one.labels)
        tried = self._raced(list(fresh.values()))
        self.candidates += tried
        known |= {one.setting.digest: one for one in tried}
        self._on_batch(self.candidates)
        return [known[one.digest].score for one in wanted]

    def _setting(self, numbers: Mapping[str, Number]) -> Setting:
        labels = {one.name: one.label(numbers[one.name]) for one in self._tuning.parameters}
        return Setting("", self._tuning.keys(numbers), dict(numbers), labels)

    def _raced(self, settings: Sequence[Setting]) -> list[Candidate]:
        """Simulate block by block, and drop what is clearly worse or infeasible."""
        done: dict[str, Candidate] = {}
        racing = []
        for one in settings:
            if fault := self._evaluator.fault(one):
                costs = (UNKNOWN,) * len(self._tuning.objectives)
                excesses = (UNKNOWN,) * max(1, len(self._tuning.limits))
                done[one.name] = Candidate(one, Score(costs, excesses), 0, f"no scenario: {fault}")
            else:
                racing.append(one)
        rivals = self._rivals()
        for look, block in enumerate(self._blocks, start=1):
            self._evaluator.measure(racing, block)
            seen, left = self._blocks[:look], []
            for one in racing:
                reason = "" if look == len(self._blocks) else self._why_dropped(one, seen, rivals)
                if reason or look == len(self._blocks):
                    score = self._scorer.score(one, seen)
                    done[one.name] = Candidate(one, score, look, reason)
                else:
                    left.append(one)
            racing = left
        return [done[one.name] for one in settings]

    def _rivals(self) -> list[Setting]:
        found = [one for one in self.candidates if one.is_complete and one.score.is_feasible]
        places = front_of([one.score.costs for one in found])
        return [found[place].setting for place in places]

    def _why_dropped(
        self, setting: Setting, seen: Sequence[Block], rivals: Sequence[Setting]
    ) -> str:
        if self._tuning.method is Method.GRID:
            return ""
        if self._scorer.is_clearly_infeasible(setting, seen):
            return "surely beyond a limit"
        costs = self._scorer.score(setting, seen).costs
        near = sorted(
            (one for one in rivals),
            key=lambda one: max(
                a - b for a, b in zip(self._scorer.score(one, seen).costs, costs, strict=True)
            ),
        )
        for rival in near[:RIVALS]:
            if is_clearly_worse(self._scorer, self._tuning, setting, rival, seen, self._blocks):
                return f"surely worse than {rival.name}"
        return ""


def feasible(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Give the settings that were simulated as a whole and keep all limits, by the estimates."""
    return [one for one in candidates if one.is_complete and one.score.is_feasible]


def _chunks(
    every: Iterator[tuple[Number, ...]], size: int
) -> Iterator[tuple[tuple[Number, ...], ...]]:
    while chunk := tuple(itertools.islice(every, size)):
        yield chunk


def _suggested(trial: optuna.Trial, parameter: Parameter) -> Number:
    """Ask for a value of a parameter, as the search holds it."""
    name, domain = parameter.name, parameter.domain
    if isinstance(domain, Range):
        is_log = domain.scale is Scale.LOG
        if domain.is_whole:
            return trial.suggest_int(name, int(domain.low), int(domain.high), log=is_log)
        return trial.suggest_float(name, float(domain.low), float(domain.high), log=is_log)
    if parameter.is_ordered:
        return trial.suggest_int(name, 0, len(domain) - 1)
    return int(trial.suggest_categorical(name, list(range(len(domain)))))


def sampler_of(optuna: Any, tuning: Tuning, batch: int) -> Any:  # noqa: ANN401 - imported late
    """Make the sampler of a batch; its random numbers are those of the batch alone."""
    seed = (tuning.seed * 1_000_003 + batch) % 2**32

    def excesses(trial: optuna.trial.FrozenTrial) -> Sequence[float]:
        found: list[float] = trial.user_attrs.get(EXCESSES, [])
        return found

    constraints = excesses if tuning.limits else None
    samplers = optuna.samplers
    match tuning.method:
        case Method.RANDOM:
            return samplers.RandomSampler(seed=seed)
        case Method.NSGA2:
            return samplers.NSGAIISampler(
                seed=seed, population_size=POPULATION, constraints_func=constraints
            )
        case _:
            return samplers.TPESampler(
                seed=seed,
                n_startup_trials=STARTING,
                multivariate=True,
                constant_liar=True,
                constraints_func=constraints,
            )


class _Journal:
    """Optuna's study in a file, and the batches that were reported as a whole."""

    def __init__(self, optuna: Any, folder: Path, objectives: int) -> None:  # noqa: ANN401
        self._file, self._state = folder / JOURNAL, folder / STATE
        self._batches, length = self._read()
        if self._file.exists():
            os.truncate(self._file, length)
        for stale in folder.glob(f"{JOURNAL}.lock*"):
            stale.unlink()  # of a search that was killed; the folder itself is locked
        backend = optuna.storages.journal.JournalFileBackend(str(self._file))
        self.study = optuna.create_study(
            storage=optuna.storages.JournalStorage(backend),
            study_name="fairwind",
            directions=["minimize"] * objectives,
            load_if_exists=True,
        )

    @property
    def batches(self) -> int:
        """How many batches were reported."""
        return len(self._batches)

    def proposals(self, batch: int) -> list[dict[str, Number]]:
        """Give the proposals of a batch."""
        return self._batches[batch]

    def note(self, proposals: Sequence[dict[str, Number]]) -> None:
        """Note that a batch was reported as a whole."""
        self._batches.append(list(proposals))
        length = self._file.stat().st_size
        document = {"journal_bytes": length, "batches": self._batches}
        write_file(self._state, json.dumps(document).encode())

    def _read(self) -> tuple[list[list[dict[str, Number]]], int]:
        if not self._state.exists():
            return [], 0
        document = json.loads(self._state.read_text(encoding="utf-8"))
        return document["batches"], document["journal_bytes"]


@contextmanager
def quiet_optuna() -> Iterator[Any]:
    """Import Optuna, here and nowhere else, and keep its messages back while the block lasts.

    Raises
    ------
    FairwindError
        If it is not installed.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import optuna
        except ImportError as error:
            raise FairwindError(
                "a search needs the package optuna, which is not installed",
                "pip install 'fairwind[tune]', or search with method = \"grid\"",
            ) from error
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        yield optuna

"""What a search has found, as values and as the file ``tune.json``.

The file holds nothing of the wall clock, the machine or the number of jobs: a search that was
killed and went on writes the same bytes.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fairwind.answers.conditions import Outcome
from fairwind.errors import FairwindError
from fairwind.folder.store import damaged, write_file
from fairwind.tuning.confirmation import Estimate, Point
from fairwind.tuning.front import front_of
from fairwind.tuning.parameters import Parameter, Range, Scale
from fairwind.tuning.scores import UNKNOWN
from fairwind.tuning.search import Candidate, quiet_optuna
from fairwind.tuning.settings import Tuning

OUTCOME = "tune.json"

REFERENCE = "reference"
"""Name of the reference setting, which costs nothing and harms nobody, by definition."""

FEWEST_FOR_IMPORTANCE = 8
"""Settings below which nothing is said of the importance of parameters."""


@dataclass(frozen=True)
class Advice:
    """The setting that is recommended: over all paths, or on one.

    Attributes
    ----------
    path : str, optional
        None of all paths together.
    name : str
        Of the point; `REFERENCE` if none is better.
    costs : tuple of Estimate
    runner_up : str, optional
        The next best point that keeps all limits.
    """

    path: str | None
    name: str
    costs: tuple[Estimate, ...]
    runner_up: str | None


@dataclass(frozen=True)
class TuningOutcome:
    """What a search has found.

    Attributes
    ----------
    candidates : tuple of Candidate
        All settings that were tried, in order.
    front : tuple of str
        Names of those that no other dominates, by the estimates of the search.
    points : tuple of Point
        Confirmed ones: of the front, then known mechanisms.
    confirmed_front : tuple of str
        Names of points that no other dominates on unseen seeds, without those that fail a limit.
    advice : tuple of Advice
        Over all paths first, then for each path.
    importance : dict
        How much each parameter decides whether a setting is among the best tenth, as a share of
        all, by objective.
    nearest : Candidate, optional
        What comes nearest to the limits, if no setting keeps them.
    simulations, confirming_simulations : int
        How many there were.
    on_kernel : dict, optional
        What a kernel confirms; see `fairwind.tuning.kernel.confirm_on_kernel`.
    """

    candidates: tuple[Candidate, ...]
    front: tuple[str, ...]
    points: tuple[Point, ...]
    confirmed_front: tuple[str, ...]
    advice: tuple[Advice, ...]
    importance: dict[str, dict[str, float]]
    nearest: Candidate | None
    simulations: int
    confirming_simulations: int
    on_kernel: dict[str, Any] | None = None


def confirmed_front(points: Sequence[Point]) -> tuple[str, ...]:
    """Give the points that no other dominates, without those that surely fail a limit."""
    kept = [one for one in points if one.outcome is not Outcome.FAILED]
    costs = [[it.cost for it in one.costs] for one in kept]
    return tuple(kept[place].setting.name for place in front_of(costs))


def advice_of(tuning: Tuning, points: Sequence[Point]) -> tuple[Advice, ...]:
    """Recommend a point over all paths and on each: the least sum of costs within the limits."""
    nothing = tuple(Estimate(0.0, 0.0, 0.0) for _ in tuning.objectives)
    overall = [(one.setting.name, one.costs) for one in points if one.outcome is Outcome.PASSED]
    found = [_best(None, overall, nothing)]
    for path in (*tuning.paths, *tuning.confirmation.paths):
        passing = [
            (one.setting.name, one.by_path[path])
            for one in points
            if one.outcome_on(path) is Outcome.PASSED
        ]
        found.append(_best(path, passing, nothing))
    return tuple(found)


def _best(
    path: str | None,
    passing: Sequence[tuple[str, tuple[Estimate, ...]]],
    nothing: tuple[Estimate, ...],
) -> Advice:
    ranked = sorted([(REFERENCE, nothing), *passing], key=lambda one: sum(it.cost for it in one[1]))
    runner_up = ranked[1][0] if len(ranked) > 1 else None
    return Advice(path, *ranked[0], runner_up)


def nearest_of(candidates: Sequence[Candidate]) -> Candidate | None:
    """Give the setting with the least excess over any limit."""
    known = [one for one in candidates if one.looks]
    return min(known, key=lambda one: max(one.score.excesses, default=0.0), default=None)


def importance_of(tuning: Tuning, candidates: Sequence[Candidate]) -> dict[str, dict[str, float]]:
    """Estimate how much each parameter decides who is best (PED-ANOVA, Watanabe and others 2023).

    The share of a parameter is how much the distribution of its values among the best tenth of
    settings differs from that among all.
    """
    known = [one for one in candidates if one.looks and max(one.score.costs) < UNKNOWN]
    if len(known) < FEWEST_FOR_IMPORTANCE or len(tuning.parameters) < 2:
        return {}
    found: dict[str, dict[str, float]] = {}
    with contextlib.suppress(FairwindError), quiet_optuna() as optuna:
        distributions = {one.name: _distribution(optuna, one) for one in tuning.parameters}
        for place, objective in enumerate(tuning.objectives):
            study = optuna.create_study()
            for one in known:
                trial = optuna.trial.create_trial(
                    params=_numbers(tuning, one),
                    distributions=distributions,
                    value=one.score.costs[place],
                )
                study.add_trial(trial)
            evaluator = optuna.importance.PedAnovaImportanceEvaluator()
            shares = optuna.importance.get_param_importances(study, evaluator=evaluator)
            found[objective.text] = {name: float(share) for name, share in shares.items()}
    return found


def _numbers(tuning: Tuning, candidate: Candidate) -> dict[str, Any]:
    return {one.name: candidate.setting.numbers[one.name] for one in tuning.parameters}


def _distribution(optuna: Any, parameter: Parameter) -> Any:  # noqa: ANN401 - imported late
    domain, distributions = parameter.domain, optuna.distributions
    if isinstance(domain, Range):
        is_log = domain.scale is Scale.LOG
        if domain.is_whole:
            return distributions.IntDistribution(int(domain.low), int(domain.high), log=is_log)
        return distributions.FloatDistribution(float(domain.low), float(domain.high), log=is_log)
    if parameter.is_ordered:
        return distributions.IntDistribution(0, len(domain) - 1)
    return distributions.CategoricalDistribution(list(range(len(domain))))


def write_outcome(folder: Path, tuning: Tuning, outcome: TuningOutcome) -> None:
    """Write ``tune.json``."""
    document = {
        "name": tuning.name,
        "description": tuning.description,
        "base": tuning.base,
        "objectives": [
            {
                "measure": one.text,
                "direction": "maximise" if one.is_maximised else "minimise",
                "over": one.over.value,
            }
            for one in tuning.objectives
        ],
        "limits": [one.text for one in tuning.limits],
        "parameters": [one.name for one in tuning.parameters],
        "paths": list(tuning.paths),
        "unseen_paths": list(tuning.confirmation.paths),
        "seeds": tuning.seeds,
        "confirming_seeds": tuning.confirmation.seeds,
        "simulations": outcome.simulations,
        "confirming_simulations": outcome.confirming_simulations,
        "candidates": [_candidate(one) for one in outcome.candidates],
        "front": list(outcome.front),
        "points": [_point(one) for one in outcome.points],
        "confirmed_front": list(outcome.confirmed_front),
        "advice": [asdict(one) for one in outcome.advice],
        "importance": outcome.importance,
        "nearest": None if outcome.nearest is None else _candidate(outcome.nearest),
        "on_kernel": outcome.on_kernel,
    }
    write_file(folder / OUTCOME, (json.dumps(document, indent=1, default=str) + "\n").encode())


def _candidate(candidate: Candidate) -> dict[str, Any]:
    score = candidate.score
    return {
        "name": candidate.setting.name,
        "setting": candidate.setting.labels,
        "costs": list(score.costs),
        "excesses": list(score.excesses),
        "worst_paths": list(score.worst_paths),
        "looks": candidate.looks,
        "dropped": candidate.dropped,
    }


def _point(point: Point) -> dict[str, Any]:
    return {
        "name": point.setting.name,
        "setting": point.setting.labels,
        "keys": point.setting.keys,
        "is_known": point.is_known,
        "costs": [asdict(one) for one in point.costs],
        "by_path": {
            path: {
                "costs": [asdict(one) for one in costs],
                "limits": point.outcome_on(path).value,
            }
            for path, costs in point.by_path.items()
        },
        "limits": point.outcome.value,
        "judgements": [
            {"path": path, "limit": one.condition.text, "outcome": one.outcome.value,
             "evidence": one.evidence}
            for path, one in point.judgements
        ],
        "scenario": point.scenario,
    }  # fmt: skip


def read_outcome(folder: Path) -> dict[str, Any]:
    """Read ``tune.json``.

    Raises
    ------
    FairwindError
        If the folder has none, or it cannot be parsed.
    """
    file = folder / OUTCOME
    try:
        document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise FairwindError(
            f"{folder} has no {OUTCOME}: no search ended there",
            "run `fairwind tune` again with the same folder; it goes on",
        ) from error
    except ValueError as error:
        raise damaged(file) from error
    return document

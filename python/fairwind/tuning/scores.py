"""Effects of settings against the reference: costs of objectives, and how far limits are exceeded.

A cost is the relative difference to the reference on a path, negative where a setting is better;
the worst or the mean of all paths counts. Seeds are compared in pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairwind.statistics.contrasts import Contrast, contrast_of_samples
from fairwind.statistics.inference import complete_pairs, t_quantile
from fairwind.tuning.evaluation import Block, Evaluator, Measure, Setting
from fairwind.tuning.limits import Limit, excess
from fairwind.tuning.settings import Objective, Over, Tuning

UNKNOWN = 1e3
"""Cost of what could not be measured, and excess of what is no scenario."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Score:
    """What a setting is worth.

    Attributes
    ----------
    costs : tuple of float
        Of each objective, as a ratio to the reference; small is good.
    excesses : tuple of float
        Of each limit, how far the worst path is beyond it with a standard error to spare, as a
        ratio; at most 0 if it is kept.
    worst_paths : tuple of str
        Of each limit, that path.
    """

    costs: tuple[float, ...]
    excesses: tuple[float, ...]
    worst_paths: tuple[str, ...] = ()

    @property
    def is_feasible(self) -> bool:
        """Whether all limits are kept, by the estimates and a standard error."""
        return all(one <= 0 for one in self.excesses)


def contrast_of(first: Floats, second: Floats) -> Contrast:
    """Compare a setting with the reference by values of the same seeds."""
    return contrast_of_samples(*complete_pairs(first, second), is_paired=True)


def cost_of(objective: Objective, relative: float) -> float:
    """Give the cost of a relative difference to the reference."""
    if math.isnan(relative):
        return UNKNOWN
    return -relative if objective.is_maximised else relative


def aggregated(over: Over, costs: Sequence[float]) -> float:
    """Give what counts of the costs on several paths."""
    return max(costs) if over is Over.WORST else math.fsum(costs) / len(costs)


class Scorer:
    """Scores of settings, from what an evaluator has measured."""

    def __init__(self, tuning: Tuning, evaluator: Evaluator) -> None:
        self._tuning, self._evaluator = tuning, evaluator
        self._reference = Setting("reference", tuning.reference, {}, {})
        self._scores: dict[tuple[str, tuple[Block, ...]], Score] = {}

    @property
    def reference(self) -> Setting:
        """The setting that effects are relative to."""
        return self._reference

    def score(self, setting: Setting, blocks: Sequence[Block]) -> Score:
        """Score a setting by all paths and seeds of these blocks."""
        key = (setting.digest, tuple(blocks))
        if key not in self._scores:
            self._scores[key] = self._score(setting, blocks)
        return self._scores[key]

    def _score(self, setting: Setting, blocks: Sequence[Block]) -> Score:
        paths = paths_of(blocks)
        objectives, limits = self._tuning.objectives, self._tuning.limits
        measures = self._evaluator.measures
        costs = [
            aggregated(
                one.over,
                [cost_of(one, self._relative(setting, measure, blocks, path)) for path in paths],
            )
            for one, measure in zip(objectives, measures, strict=False)
        ]
        excesses, worst = [], []
        for limit, measure in zip(limits, measures[len(objectives) :], strict=True):
            beyond = [self._excess(limit, setting, measure, blocks, path) for path in paths]
            excesses.append(max(beyond))
            worst.append(paths[beyond.index(max(beyond))])
        if any(one >= UNKNOWN for one in costs):
            excesses.append(UNKNOWN)
            worst.append(paths[0])
        return Score(tuple(costs), tuple(excesses), tuple(worst))

    def path_costs(self, setting: Setting, blocks: Sequence[Block]) -> dict[str, list[float]]:
        """Give the costs of all objectives on each path."""
        pairs = list(zip(self._tuning.objectives, self._evaluator.measures, strict=False))
        return {
            path: [cost_of(one, self._relative(setting, it, blocks, path)) for one, it in pairs]
            for path in paths_of(blocks)
        }

    def unit_costs(
        self, setting: Setting, place: int, blocks: Sequence[Block], path: str
    ) -> Floats:
        """Give the cost of an objective on a path for each seed, relative to the reference."""
        objective, measure = self._tuning.objectives[place], self._evaluator.measures[place]
        sign = -1.0 if objective.is_maximised else 1.0
        reference = self._evaluator.values(self._reference, measure, blocks, path)
        values = self._evaluator.values(setting, measure, blocks, path)
        found: Floats = sign * (values - reference) / abs(np.nanmean(reference))
        return found

    def is_clearly_infeasible(self, setting: Setting, blocks: Sequence[Block]) -> bool:
        """Return whether the 95 % interval of some path is beyond a limit as a whole."""
        limits = self._tuning.limits
        measures = self._evaluator.measures[len(self._tuning.objectives) :]
        for limit, measure in zip(limits, measures, strict=True):
            for path in paths_of(blocks):
                found = self._contrast(setting, measure, blocks, path)
                bound = found.test.low if limit.is_above else found.test.high
                relative = found.relative(bound)
                if not math.isnan(relative) and limit.is_beyond(relative):
                    return True
        return False

    def _excess(
        self,
        limit: Limit,
        setting: Setting,
        measure: Measure,
        blocks: Sequence[Block],
        path: str,
    ) -> float:
        """Give how far a limit is exceeded, with a standard error to spare.

        What only just keeps a limit by its estimate is as likely as not to fail it on other seeds.
        """
        relative = self._relative(setting, measure, blocks, path)
        if math.isnan(relative):
            return UNKNOWN
        found = self._contrast(setting, measure, blocks, path)
        error = found.test.standard_error
        if math.isfinite(error) and error > 0:
            bound = found.test.estimate + (error if limit.is_above else -error)
            relative = found.relative(bound)
        return excess(limit, relative)

    def _relative(
        self, setting: Setting, measure: Measure, blocks: Sequence[Block], path: str
    ) -> float:
        found = self._contrast(setting, measure, blocks, path)
        if found.test.samples_b < 1:
            return math.nan
        if found.values.mean_a == found.values.mean_b:
            return 0.0
        return found.relative(found.test.estimate)

    def _contrast(
        self, setting: Setting, measure: Measure, blocks: Sequence[Block], path: str
    ) -> Contrast:
        first, second = (
            self._evaluator.values(one, measure, blocks, path) for one in (self._reference, setting)
        )
        return contrast_of(first, second)


def paths_of(blocks: Sequence[Block]) -> list[str]:
    """Give the paths of blocks, each once."""
    return list(dict.fromkeys(path for block in blocks for path in block.paths))


RACE_LEVEL = 0.95
"""Two-sided confidence level of "clearly worse": one-sided 97.5 %."""


def is_clearly_worse(
    scorer: Scorer,
    tuning: Tuning,
    setting: Setting,
    rival: Setting,
    shared: Sequence[Block],
    every: Sequence[Block],
) -> bool:
    """Return whether a setting is surely no better than a rival in any objective, and worse in one.

    The variance is that of the differences of seeds within paths, pooled over paths. Where the
    worst path counts, the rival's worst is that of all paths, since the setting's can only grow.

    Parameters
    ----------
    shared : sequence of Block
        What both were simulated on.
    every : sequence of Block
        What the rival was simulated on.
    """
    is_worse = False
    for place, objective in enumerate(tuning.objectives):
        paths = paths_of(shared)
        own = [scorer.unit_costs(setting, place, shared, path) for path in paths]
        other = [scorer.unit_costs(rival, place, shared, path) for path in paths]
        pairs = [a - b for a, b in zip(own, other, strict=True)]
        freedom = sum(one.size for one in pairs) - len(pairs)
        if freedom < 1 or not all(np.isfinite(one).all() for one in pairs):
            return False
        variance = sum(float(((one - one.mean()) ** 2).sum()) for one in pairs) / freedom
        if objective.over is Over.MEAN:
            difference = float(np.mean([one.mean() for one in pairs]))
            error = math.sqrt(variance / sum(one.size for one in pairs))
        else:
            bound = max(
                float(scorer.unit_costs(rival, place, every, path).mean())
                for path in paths_of(every)
            )
            worst = max(range(len(own)), key=lambda at: float(own[at].mean()))
            difference = float(own[worst].mean()) - bound
            error = math.sqrt(variance / own[worst].size)
        low = difference - t_quantile(RACE_LEVEL, freedom) * error
        if low < 0:
            return False
        is_worse = is_worse or low > 0
    return is_worse

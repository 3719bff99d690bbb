"""Runs that add seeds until every effect of their axes, or every condition on them, is decided.

Each look at the results pays for its share of the error rate (`fairwind.statistics.decisions`), so
that looking often does not make chance look like an effect. The seeds, simulations and tables are
those of a run that asks for the last number of seeds from the beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fairwind.answers.answer import answer_of, margin_of
from fairwind.answers.conditions import Condition, Judgement, Outcome, judge_run, only_axis
from fairwind.answers.effects import check_margin
from fairwind.engine.engines import Engine
from fairwind.errors import FairwindError
from fairwind.execution.deploy import kept_clusters
from fairwind.execution.execute import RunSettings, RunState, folder_of, manifest_of, run_plan
from fairwind.folder.looks import read_looks, write_looks
from fairwind.folder.manifest import MANIFEST, read_manifest
from fairwind.results import Results
from fairwind.results.answer import Answer
from fairwind.scenario.plan import Plan
from fairwind.statistics import next_look

MOST_SEEDS = 64
"""The bound, unless said otherwise."""

FEWEST_SEEDS = 3
"""A look at fewer seeds decides next to nothing."""


@dataclass(frozen=True)
class Look:
    """What a look at a growing run found.

    Attributes
    ----------
    seeds : int
        Seeds of each cell.
    answer : Answer
    judged : tuple of Judgement
        The conditions that the run is to decide; empty if it decides effects.
    is_last : bool
        Whether all is decided, or the bound is reached.
    """

    seeds: int
    answer: Answer
    judged: tuple[Judgement, ...]
    is_last: bool

    @property
    def undecided(self) -> int:
        """How many conditions, or else effects, are undecided."""
        if self.judged:
            return sum(one.outcome is Outcome.UNDECIDED for one in self.judged)
        return len(self.answer.undecided)


@dataclass(frozen=True)
class Growth:
    """How a run may grow.

    Attributes
    ----------
    most_seeds : int
        The bound, at least 1. What the scenario asks for, and what is there already, is kept even
        if it is more.
    margin : float, optional
        As in `answer_of`.
    conditions : tuple of Condition
        What is to be decided in the place of all effects; the plan then has one axis.
    """

    most_seeds: int = MOST_SEEDS
    margin: float | None = None
    conditions: tuple[Condition, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what no run can keep to, before anything runs."""
        if self.margin is not None:
            check_margin(self.margin)
        if self.most_seeds < 1:
            raise FairwindError(f"a run needs a seed; at most {self.most_seeds} is none", "say 64")


@kept_clusters()
def run_until_decided(
    plan_of: Callable[[int], Plan],
    base: Plan,
    engine: Engine,
    settings: RunSettings,
    growth: Growth,
    on_progress: Callable[[RunState], None] | None = None,
    on_look: Callable[[Look], None] | None = None,
) -> Results:
    """Run a plan, and add seeds until all that is asked is decided or the bound is reached.

    Parameters
    ----------
    plan_of : callable
        Gives the plan with a number of seeds.
    base : Plan
        The plan with as many seeds as the scenario asks for, which is where it begins.
    on_progress, on_look : callable, optional
        Called while simulations run, and after each look.

    Raises
    ------
    FairwindError
        If the plan has no axis, and as `run_plan`.
    """
    if not base.varied_axes:
        raise FairwindError(
            "there is nothing to decide: the scenario has no axis with several values",
            "give it one in [sweep], or run it without --until-decided",
        )
    settings = replace(settings, grown_from=base)
    looks = _looks_so_far(plan_of, base, engine, settings, growth.most_seeds)
    size, looks = looks[-1], looks[:-1]
    while True:
        results = run_plan(plan_of(size), engine, settings, on_progress)
        looks.append(size)
        margin = margin_of(results, growth.margin)
        write_looks(results.folder, looks, margin)
        answer = answer_of(results, margin)
        if answer is None or not answer.axes:
            return results
        judged = _judged(growth.conditions, results, base)
        look = Look(size, answer, judged, is_last=size >= growth.most_seeds)
        look = look if look.undecided else replace(look, is_last=True)
        if on_look is not None:
            on_look(look)
        if look.is_last:
            return results
        size = min(next_look(size), growth.most_seeds)


def _judged(conditions: Sequence[Condition], results: Results, base: Plan) -> tuple[Judgement, ...]:
    return tuple(judge_run(conditions, results, only_axis(base))) if conditions else ()


def _looks_so_far(
    plan_of: Callable[[int], Plan],
    base: Plan,
    engine: Engine,
    settings: RunSettings,
    most_seeds: int,
) -> list[int]:
    """Give the sizes of the looks that the folder knows of, and of the one to begin with."""
    folder = folder_of(base, engine, settings)
    first = max(base.replicates, min(FEWEST_SEEDS, most_seeds))
    if not (folder / MANIFEST).exists():
        return [first]
    earlier = read_manifest(folder)
    there = earlier.plan.replicates
    if manifest_of(plan_of(there), engine, settings).fingerprint != earlier.fingerprint:
        return [first]  # the run itself refuses or discards what is there
    size = max(first, there)
    return [*(look for look in read_looks(folder) if look < size), size]

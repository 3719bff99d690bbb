"""Compare searches with an exhaustive grid over the same settings: `make bench-tune`.

    python tools/bench_tune.py [FILE] [--runs DIR] [--methods METHOD ...]

All combinations of FILE's parameters are simulated on all paths and seeds; then each method looks
for the front with FILE's budget, a tenth of them. Both have the same seeds, so that a setting has
the same measures in both. The hypervolume of a search's front is printed as a share of that of the
grid's front. Its bound is the worst value of the grid's front in each objective, and a fiftieth of
the front's extent beyond.

How exactly the seeds tell a front is printed as well: the front of all settings by half of the
seeds is judged by the other half, as a share of the hypervolume of the front there.
"""

import argparse
import random
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairwind.engine.selection import engine_named
from fairwind.tuning.evaluation import Evaluator, blocks_of
from fairwind.tuning.front import front_of, hypervolume
from fairwind.tuning.outcome import TuningOutcome
from fairwind.tuning.scores import Scorer
from fairwind.tuning.settings import Tuning, read_tuning
from fairwind.tuning.tuning import TuningRun, run_tuning

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "benches" / "tuning" / "exhaustive.toml"

BEYOND = 0.02

SPLITS = 40
"""Ways to halve the seeds."""

Costs = tuple[float, ...]


def main() -> None:
    """Run the grid and the searches as far as their folders lack them, and compare."""
    arguments = _arguments()
    document = tomllib.loads(arguments.file.read_text(encoding="utf-8"))
    tuning, outcome = _run(document, "grid", arguments.runs)
    costs, simulations = _complete(outcome), outcome.simulations
    front = [costs[place] for place in front_of(costs)]
    bound = bound_of(front)
    _tell(f"grid: {len(costs)} settings, {simulations} simulations, {len(front)} on the front")
    shares = shares_between_halves(_by_seed(tuning, outcome, arguments.runs / "grid"))
    _tell(
        f"grid by half of the seeds, judged by the other half: {np.median(shares):.1%} of the "
        f"hypervolume, from {min(shares):.1%} to {max(shares):.1%} of {SPLITS} ways to halve them"
    )
    for method in arguments.methods:
        _, outcome = _run(document, method, arguments.runs)
        found, needed = _complete(outcome), outcome.simulations
        share = hypervolume(found, bound) / hypervolume(front, bound)
        part = needed / simulations
        _tell(f"{method}: {needed} simulations ({part:.1%}), {share:.2%} of the hypervolume")


def bound_of(front: Sequence[Costs]) -> list[float]:
    """Give the bound of the hypervolume: a little beyond the worst values of a front."""
    columns = list(zip(*front, strict=True))
    return [max(one) + BEYOND * (max(one) - min(one) or 1.0) for one in columns]


def shares_between_halves(costs: NDArray[np.float64], splits: int = SPLITS) -> list[float]:
    """Judge the front of half of the seeds by the other half, for several ways to halve them.

    Parameters
    ----------
    costs : float64, shape (settings, seeds, objectives)
    splits : int

    Returns
    -------
    list of float
        Hypervolume by the other half, as a share of that of its own front.
    """
    seeds = list(range(costs.shape[1]))
    generator = random.Random(1)
    shares = []
    for _ in range(splits):
        generator.shuffle(seeds)
        half = len(seeds) // 2
        chosen, judged = (costs[:, part].mean(axis=1) for part in (seeds[:half], seeds[half:]))
        best = judged[front_of(chosen.tolist())]
        front = judged[front_of(judged.tolist())]
        bound = bound_of([tuple(one) for one in front.tolist()])
        shares.append(hypervolume(best, bound) / hypervolume(front, bound))
    return shares


def _by_seed(tuning: Tuning, outcome: TuningOutcome, folder: Path) -> NDArray[np.float64]:
    """Give the costs of each setting by each seed, over the paths; (settings, seeds, objectives).

    Objectives count by their mean over paths here.
    """
    evaluator = Evaluator(tuning, engine_named("sim"), folder, TuningRun(folder).settings)
    scorer, blocks = Scorer(tuning, evaluator), blocks_of(tuning)
    found: NDArray[np.float64] = np.array(
        [
            [
                np.mean(
                    [scorer.unit_costs(one.setting, place, blocks, path) for path in tuning.paths],
                    axis=0,
                )
                for place in range(len(tuning.objectives))
            ]
            for one in outcome.candidates
            if one.is_complete
        ]
    )
    return found.transpose(0, 2, 1)


def _complete(outcome: TuningOutcome) -> list[Costs]:
    """Give the costs of the settings that were simulated as a whole."""
    return [one.score.costs for one in outcome.candidates if one.is_complete]


def _run(document: dict[str, Any], method: str, runs: Path) -> tuple[Tuning, TuningOutcome]:
    tune = document["tune"] | {"method": method}
    if method == "grid":  # which tries all, and is kept when the budget changes
        tune.pop("budget", None)
    tuning = read_tuning(document | {"tune": tune}, method)
    run = TuningRun(runs / method, on_step=lambda text: _tell(f"  {text}"))
    _, outcome = run_tuning(tuning, engine_named("sim"), run)
    return tuning, outcome


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", metavar="FILE", type=Path, nargs="?", default=FILE)
    parser.add_argument("--runs", metavar="DIR", type=Path, default=ROOT / "runs" / "bench-tune")
    parser.add_argument("--methods", metavar="METHOD", nargs="+", default=["tpe", "random"])
    return parser.parse_args()


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()

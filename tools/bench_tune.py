"""Compare searches with an exhaustive grid over the same settings: `make bench-tune`.

    python tools/bench_tune.py [FILE] [--runs DIR] [--methods METHOD ...]

All combinations of FILE's parameters are simulated on all paths and seeds; then each method looks
for the front with FILE's budget, a tenth of them. Both have the same seeds, so that a setting has
the same measures in both. The hypervolume of a search's front is printed as a share of that of the
grid's front. Its bound is the worst value of the grid's front in each objective, and a fiftieth of
the front's extent beyond.
"""

import argparse
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairwind.engine.selection import engine_named
from fairwind.tuning.front import front_of, hypervolume
from fairwind.tuning.settings import read_tuning
from fairwind.tuning.tuning import TuningRun, run_tuning

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "benches" / "tuning" / "exhaustive.toml"

BEYOND = 0.02

Costs = tuple[float, ...]


def main() -> None:
    """Run the grid and the searches as far as their folders lack them, and compare."""
    arguments = _arguments()
    document = tomllib.loads(arguments.file.read_text(encoding="utf-8"))
    costs, simulations = _run(document, "grid", arguments.runs)
    front = [costs[place] for place in front_of(costs)]
    bound = bound_of(front)
    _tell(f"grid: {len(costs)} settings, {simulations} simulations, {len(front)} on the front")
    for method in arguments.methods:
        found, needed = _run(document, method, arguments.runs)
        share = hypervolume(found, bound) / hypervolume(front, bound)
        part = needed / simulations
        _tell(f"{method}: {needed} simulations ({part:.1%}), {share:.2%} of the hypervolume")


def bound_of(front: Sequence[Costs]) -> list[float]:
    """Give the bound of the hypervolume: a little beyond the worst values of a front."""
    columns = list(zip(*front, strict=True))
    return [max(one) + BEYOND * (max(one) - min(one) or 1.0) for one in columns]


def _run(document: dict[str, Any], method: str, runs: Path) -> tuple[list[Costs], int]:
    """Give the costs of the settings that were simulated as a whole, and the simulations."""
    tune = document["tune"] | {"method": method}
    tuning = read_tuning(document | {"tune": tune}, method)
    run = TuningRun(runs / method, on_step=lambda text: _tell(f"  {text}"))
    _, outcome = run_tuning(tuning, engine_named("sim"), run)
    complete = [one.score.costs for one in outcome.candidates if one.is_complete]
    return complete, outcome.simulations


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

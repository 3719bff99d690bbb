"""Fairwind, a laboratory for TCP: describe an experiment once, run it, measure it, plot it.

``fairwind.load(path).run().groups`` is a data frame. What happens per packet happens in the
compiled core; this package does what happens per experiment: grids, repetitions, comparison,
pictures, reports. It never looks at single packets.

Map: `scenario` reads and resolves, `run` executes, `analysis` finds the same in captures, `folder`
is what lies on the disk, `results` reads it back, `statistics`, `compare` and `answers` judge it,
`plots` and `report` show it, `models` are closed forms to hold it against, `studies` repeat
published experiments, `packetdrill` runs conformance scripts, `cli` is the command line.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairwind.analysis.execute import analyse as analyse
    from fairwind.engine.core import ScenarioError as ScenarioError
    from fairwind.engine.core import SimulationError as SimulationError
    from fairwind.errors import FairwindError as FairwindError
    from fairwind.errors import RunInterrupted as RunInterrupted
    from fairwind.results import Results as Results
    from fairwind.results import open_results
    from fairwind.scenario import Scenario as Scenario
    from fairwind.scenario import load as load

    open = open_results
    __version__: str

_HOMES = {
    "FairwindError": "errors",
    "Results": "results",
    "RunInterrupted": "errors",
    "Scenario": "scenario",
    "ScenarioError": "engine.core",
    "SimulationError": "engine.core",
    "analyse": "analysis.execute",
    "load": "scenario",
    "open": "results",
}
"""Modules of the public names; they are imported on first use, so that `--version` stays quick."""

__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> object:
    if name == "__version__":
        return import_module("fairwind.engine.core").core_version()
    if name not in _HOMES:
        raise AttributeError(f"module 'fairwind' has no attribute {name!r}")
    module = import_module(f"fairwind.{_HOMES[name]}")
    return getattr(module, "open_results" if name == "open" else name)

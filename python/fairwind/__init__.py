"""Fairwind, a laboratory for TCP: describe an experiment once, run it, measure it, plot it.

``fairwind.load(path).run().groups`` is a data frame. What happens per packet happens in the
compiled core; this package does what happens per experiment: grids, repetitions, comparison,
pictures, reports. It never looks at single packets.

Map: `scenario` reads and resolves, `run` executes, `analysis` finds the same in captures, `folder`
is what lies on the disk, `results` reads it back, `statistics` and `compare` judge it, `plots` and
`report` show it, `models` are closed forms to hold it against, `studies` repeat published
experiments, `packetdrill` runs conformance scripts, `cli` is the command line.
"""

from fairwind.analysis.analyse import analyse
from fairwind.engine import ScenarioError, SimulationError, core_version
from fairwind.errors import FairwindError, RunInterrupted
from fairwind.results import Results
from fairwind.results import open_results as open
from fairwind.scenario import Scenario, load

__version__ = core_version()

__all__ = [
    "FairwindError",
    "Results",
    "RunInterrupted",
    "Scenario",
    "ScenarioError",
    "SimulationError",
    "__version__",
    "analyse",
    "load",
    "open",
]

"""Scenarios: read a TOML file, resolve it through the core, and run its grid.

`load` reads a file into a `Scenario`; its `plan` is the resolved grid of cells. Validation is the
core's business: nothing here knows what a scenario may say.
"""

from fairwind.scenario.plan import Axis as Axis
from fairwind.scenario.plan import Cell as Cell
from fairwind.scenario.plan import Plan as Plan
from fairwind.scenario.runs import run as run
from fairwind.scenario.scenario import Scenario as Scenario
from fairwind.scenario.scenario import load as load
from fairwind.scenario.scenario import recorded_streams as recorded_streams

"""Scenarios: read a TOML file, resolve it through the core, and run its grid.

`load` reads a file into a `Scenario`; its `plan` is the resolved grid of cells. Validation is the
core's business: nothing here knows what a scenario may say.
"""

from fairwind.scenario.plan import Axis, Cell, Plan
from fairwind.scenario.scenario import Scenario, load, recorded_streams

__all__ = ["Axis", "Cell", "Plan", "Scenario", "load", "recorded_streams"]

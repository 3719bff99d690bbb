"""A real program behind an emulated path: `fairwind shell` as functions.

`path_scenario` writes the scenario of a path that is described in a few words, `run_shell` runs a
program behind the path of a scenario. Nothing is printed here.

Map: `path` the few words, `session` the run, `report` the folder that is written.
"""

from fairwind.shell.path import PathOptions, path_scenario, problems
from fairwind.shell.session import Ended, Place, ShellSettings, caller, run_shell

__all__ = [
    "Ended",
    "PathOptions",
    "Place",
    "ShellSettings",
    "caller",
    "path_scenario",
    "problems",
    "run_shell",
]

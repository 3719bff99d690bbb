"""Congestion controls: those of the repository, anybody's own in C, classes of Python.

Map: `catalogue` which there are and what they are made of, `own` the folder of one's own, compiled
for both engines, `hooks` what methods a class has, `kernel` those in the running kernel, `used`
which of them an experiment uses, `parameters` what a scenario may set of them, `identity` the
digest of a class.
"""

from fairwind.congestion.catalogue import BuiltIn, built_in, built_in_named
from fairwind.congestion.hooks import check_hooks
from fairwind.congestion.kernel import available, load, loaded, unload
from fairwind.congestion.own import ENDPOINTS_OWN, Own, build, own_controls, own_folder, own_named
from fairwind.congestion.parameters import ParameterFault, parameter_faults
from fairwind.congestion.used import (
    NO_DIGEST,
    ControlClass,
    UsedControls,
    control_settings,
    control_versions,
    used_controls,
)

__all__ = [
    "ENDPOINTS_OWN",
    "NO_DIGEST",
    "BuiltIn",
    "ControlClass",
    "Own",
    "ParameterFault",
    "UsedControls",
    "available",
    "build",
    "built_in",
    "built_in_named",
    "check_hooks",
    "control_settings",
    "control_versions",
    "load",
    "loaded",
    "own_controls",
    "own_folder",
    "own_named",
    "parameter_faults",
    "unload",
    "used_controls",
]

"""Engines, which execute one experiment with one seed: the compiled core behind a protocol.

Only this package calls `fairwind._core` for experiments. Everything that runs, stores or compares
them speaks to the `Engine` protocol, so it serves every engine alike.

Map: `core` the compiled part and what it tells, `protocol` what an engine is, `simulation` virtual
time, `kernel` the running kernel in real time, `host` how its host processes are started, `virtual`
built kernels in virtual time.
"""

from __future__ import annotations

from collections.abc import Mapping

from fairwind.congestion import NO_DIGEST, ControlClass
from fairwind.engine.core import (
    NamedFile,
    ScenarioError,
    SimulationError,
    analysis_columns,
    captured_writes,
    core_version,
    core_versions,
    named_files,
    plan_document,
    recorded_applications,
    scenario_schema,
    table_columns,
)
from fairwind.engine.kernel import Kernel
from fairwind.engine.protocol import Cancelled, CellProgress, Engine, Refusal
from fairwind.engine.simulation import Simulation
from fairwind.engine.virtual import VirtualKernel
from fairwind.errors import FairwindError
from fairwind.kernels import is_virtual, kernel_named

__all__ = [
    "NO_DIGEST",
    "Cancelled",
    "CellProgress",
    "Engine",
    "Kernel",
    "NamedFile",
    "Refusal",
    "ScenarioError",
    "Simulation",
    "SimulationError",
    "VirtualKernel",
    "analysis_columns",
    "captured_writes",
    "core_version",
    "core_versions",
    "engine_named",
    "named_files",
    "plan_document",
    "recorded_applications",
    "scenario_schema",
    "table_columns",
]


def engine_named(name: str, classes: Mapping[str, ControlClass] | None = None) -> Engine:
    """Give the engine that a person names with ``--on``.

    Parameters
    ----------
    name : str
        ``sim``, ``kernel``, or a built kernel such as ``linux-6.12``.
    classes : mapping of str to type, optional
        Classes that serve as congestion controls, by their names in the scenario.

    Raises
    ------
    FairwindError
        If the name is unknown, the kernel is not built, or classes are given to another engine
        than the simulator.
    """
    match name:
        case "sim":
            return Simulation(classes)
        case _ if classes:
            raise FairwindError(
                "a class of Python cannot be a congestion control of the kernel",
                "write it in C (`fairwind congestion build`), or run it in the simulator",
            )
        case "kernel":
            return Kernel()
        case _ if is_virtual(name):
            return VirtualKernel(kernel_named(name))
        case _:
            raise FairwindError(
                f"there is no engine called {name!r}",
                "choose --on sim, --on kernel, or a built kernel such as --on linux-6.12",
            )

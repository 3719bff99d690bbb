"""Engines, which execute one experiment with one seed: the compiled core behind a protocol.

Only this package calls `fairwind._core` for experiments. Everything that runs, stores or compares
them speaks to the `Engine` protocol, so it serves every engine alike.

Map: `core` the compiled part and the start of its host processes, `engines` the protocol, the
simulator and the running kernel, `virtual` built kernels in virtual time, `selection` the choice,
`live` figures of runs under way.
"""

from fairwind.lazy import lazy_names

_HOMES = {
    "Cancelled": "engines",
    "CellProgress": "engines",
    "Engine": "engines",
    "Kernel": "engines",
    "NamedFile": "core",
    "Refusal": "engines",
    "ScenarioError": "core",
    "Simulation": "engines",
    "SimulationError": "core",
    "VirtualKernel": "virtual",
    "analysis_columns": "core",
    "captured_writes": "core",
    "core_version": "core",
    "core_versions": "core",
    "engine_named": "selection",
    "named_files": "core",
    "plan_document": "core",
    "recorded_applications": "core",
    "scenario_schema": "core",
    "table_columns": "core",
}

__all__ = [*_HOMES]

__getattr__ = lazy_names(__name__, _HOMES)

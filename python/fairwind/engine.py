"""What can execute one experiment with one seed: the compiled core, behind a small protocol.

Only this module calls `fairwind._core`. Everything that runs, stores or compares experiments
speaks to the `Engine` protocol, so it serves another engine just as well.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from fairwind.errors import FairwindError

try:
    from fairwind import _core
except ImportError as missing:  # pragma: no cover - only in a broken installation
    raise ImportError(
        "the compiled part of Fairwind (fairwind._core) is missing; "
        "build it with `maturin develop --release` in the repository, or install a wheel"
    ) from missing


ScenarioError = _core.ScenarioError
SimulationError = _core.SimulationError


def core_version() -> str:
    """Give the version of the compiled core, which is the version of Fairwind."""
    return _core.version()


def scenario_schema() -> dict[str, Any]:
    """Give the JSON Schema of scenarios."""
    schema: dict[str, Any] = json.loads(_core.schema())
    return schema


def table_columns() -> list[dict[str, str]]:
    """Give every column that tables can have: ``table``, ``column``, ``unit``, ``definition``."""
    columns: list[dict[str, str]] = json.loads(_core.columns())
    return columns


def plan_document(file: str, text: str, overrides: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Resolve a scenario's text into its plan.

    Raises
    ------
    ScenarioError
        With everything that is wrong at once.
    """
    document: dict[str, Any] = json.loads(_core.plan(file, text, list(overrides)))
    return document


class CellProgress(Protocol):
    """How far one simulation has come; may be read from any thread."""

    @property
    def fraction(self) -> float:
        """Share of the simulated time that has passed, 0 to 1."""

    def cancel(self) -> None:
        """Ask the simulation to stop soon."""


class Engine(Protocol):
    """Executes one resolved experiment with one seed."""

    @property
    def name(self) -> str:
        """What the manifest calls this engine."""

    def versions(self) -> dict[str, str]:
        """Tell the versions that decide results, for the manifest and its fingerprint."""

    def columns(self) -> list[dict[str, str]]:
        """Tell what the columns of its tables mean."""

    def new_progress(self) -> CellProgress:
        """Make the object through which one execution is watched and cancelled."""

    def execute(
        self, experiment_json: str, seed: int, progress: CellProgress, captures: Path
    ) -> Mapping[str, pl.DataFrame]:
        """Run one experiment, and give its tables.

        Parameters
        ----------
        experiment_json : str
            The resolved experiment.
        seed : int
        progress : CellProgress
            Made by `new_progress`.
        captures : Path
            An existing folder; the captures that the experiment asks for are written into it.

        Raises
        ------
        Cancelled
            If the progress was cancelled.
        OSError
            If a capture could not be written. Anything else means that the experiment failed.
        """


class Cancelled(Exception):
    """One execution was stopped on request."""


class Simulation:
    """The virtual-time simulator."""

    @property
    def name(self) -> str:
        """What the manifest calls this engine."""
        return "simulation"

    def versions(self) -> dict[str, str]:
        """Tell the core's version and a digest of its compiled file."""
        return {"fairwind": _core.version(), "core_sha256": _core_digest()}

    def columns(self) -> list[dict[str, str]]:
        """Tell what the columns of its tables mean."""
        return table_columns()

    def new_progress(self) -> CellProgress:
        """Make a progress object of the core."""
        return _core.Progress()

    def execute(
        self, experiment_json: str, seed: int, progress: CellProgress, captures: Path
    ) -> Mapping[str, pl.DataFrame]:
        """Simulate one experiment; the interpreter lock is released meanwhile."""
        if not isinstance(progress, _core.Progress):
            raise TypeError("progress was not made by this engine's new_progress()")
        try:
            tables = _core.simulate(experiment_json, seed, progress, str(captures))
        except _core.Cancelled as cancelled:
            raise Cancelled from cancelled
        return {name: pl.DataFrame(table) for name, table in tables.items()}


def engine_named(name: str) -> Engine:
    """Give the engine that a person names with ``--on``.

    Raises
    ------
    FairwindError
        If the name is unknown or the engine is not available in this version.
    """
    if name == "sim":
        return Simulation()
    if name == "kernel":
        raise FairwindError(
            "running on the kernel is not available yet",
            "run in virtual time with --on sim",
        )
    raise FairwindError(f"there is no engine called {name!r}", "choose --on sim")


def _core_digest() -> str:
    """Digest of the compiled file, so that a rebuilt core never resumes an older core's run."""
    file = getattr(_core, "__file__", None)
    if file is None:
        return ""
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()

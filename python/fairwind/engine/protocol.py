"""What an engine is, for those who run experiments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import polars as pl


class CellProgress(Protocol):
    """How far one simulation has come; may be read from any thread."""

    @property
    def fraction(self) -> float:
        """Share of the experiment's time that has passed, 0 to 1."""

    def cancel(self) -> None:
        """Ask the simulation to stop soon."""


@dataclass(frozen=True)
class Refusal:
    """Something that an experiment asks for and an engine cannot do.

    Attributes
    ----------
    group : str
        The group of flows that asks for it; empty if it concerns all of them.
    key, value : str
        Where in the scenario, such as ``flows.thin.tcp.hystart``, and what it is set to.
    mechanism : str
        What would have to be done, and why it cannot.
    alternative : str
        What comes nearest.
    """

    group: str
    key: str
    value: str
    mechanism: str
    alternative: str

    def __str__(self) -> str:
        """Say where it is asked for, why it cannot be had, and what comes near."""
        nearest = f"; nearest: {self.alternative}" if self.alternative else ""
        return f"{self.key} = {self.value}: {self.mechanism}{nearest}"


class Engine(Protocol):
    """Executes one resolved experiment with one seed."""

    @property
    def name(self) -> str:
        """What the manifest calls this engine."""

    @property
    def is_real_time(self) -> bool:
        """Whether an experiment takes as long as it says, and wants the machine for itself."""

    def versions(self) -> dict[str, str]:
        """Tell the versions that decide results, for the manifest and its fingerprint."""

    def control_versions(self, experiments: Iterable[Mapping[str, Any]]) -> dict[str, str]:
        """Tell digests of the sources of the congestion controls that resolved experiments use."""

    def facts(self) -> dict[str, str]:
        """Tell what else of the machine a reader wants to know; not in the fingerprint."""

    def columns(self) -> list[dict[str, str]]:
        """Tell what the columns of its tables mean."""

    def obstacle(self) -> str | None:
        """Tell why nothing at all can be run here, and what to do about it; None if it can."""

    def refusals(self, experiment_json: str) -> list[Refusal]:
        """Tell what an experiment asks for and this engine cannot do; empty if it can run."""

    def remarks(self, experiment_json: str) -> list[str]:
        """Tell what it does a little differently from what an experiment says."""

    def new_progress(self) -> CellProgress:
        """Make the object through which one execution is watched and cancelled."""

    def execute(
        self, experiment_json: str, seed: int, progress: CellProgress, captures: Path
    ) -> Mapping[str, pl.DataFrame | pl.LazyFrame]:
        """Run one experiment, and give its tables.

        A table that memory might not hold is lazy: its rows lie in a folder ``.parts-NAME`` below
        that of the captures.

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

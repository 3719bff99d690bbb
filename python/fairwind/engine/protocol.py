"""Protocol of engines, which execute experiments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import polars as pl


class CellProgress(Protocol):
    """Progress of one simulation; readable from any thread."""

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
        """Format the key, the reason, and the nearest alternative."""
        nearest = f"; nearest: {self.alternative}" if self.alternative else ""
        return f"{self.key} = {self.value}: {self.mechanism}{nearest}"


class Engine(Protocol):
    """Executes one resolved experiment with one seed."""

    @property
    def name(self) -> str:
        """Name in the manifest."""

    @property
    def is_real_time(self) -> bool:
        """Whether an experiment takes as long as it says, and wants the machine for itself."""

    def versions(self) -> dict[str, str]:
        """Return the versions that decide results, for the manifest and its fingerprint."""

    def control_versions(self, experiments: Iterable[Mapping[str, Any]]) -> dict[str, str]:
        """Return digests of the congestion control sources that resolved experiments use."""

    def facts(self) -> dict[str, str]:
        """Return facts about the machine, which are not part of the fingerprint."""

    def columns(self) -> list[dict[str, str]]:
        """Return the meaning of the columns of its tables."""

    def obstacle(self) -> str | None:
        """Return why nothing can run here and what to do about it; None if it can."""

    def expect(self, experiments: Iterable[str]) -> None:
        """Note the resolved experiments of a plan, all of which `refusals` is asked about next."""

    def refusals(self, experiment_json: str) -> list[Refusal]:
        """Return settings of an experiment that this engine cannot apply; empty if it can run."""

    def remarks(self, experiment_json: str) -> list[str]:
        """Return settings that this engine applies approximately."""

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

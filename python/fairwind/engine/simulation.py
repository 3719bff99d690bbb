"""The virtual-time simulator as an engine."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from fairwind import _core
from fairwind.congestion import ControlClass, control_versions, used_controls
from fairwind.engine.core import core_versions, table_columns
from fairwind.engine.parts import Parts
from fairwind.engine.protocol import Cancelled, CellProgress, Refusal
from fairwind.errors import ControlClassError

QUEUE_EVENTS = "queue_events"
"""The table of which there may be more than memory holds."""


class Simulation:
    """The virtual-time simulator.

    Parameters
    ----------
    classes : mapping of str to type, optional
        Classes that serve as congestion controls, by their names in the scenario.
    """

    def __init__(self, classes: Mapping[str, ControlClass] | None = None) -> None:
        self._classes = dict(classes or {})

    @property
    def name(self) -> str:
        """Name in the manifest."""
        return "simulation"

    @property
    def is_real_time(self) -> bool:
        """Virtual time passes as fast as it can be computed."""
        return False

    def versions(self) -> dict[str, str]:
        """Return the core's version and a digest of its compiled file."""
        return dict(core_versions())

    def control_versions(self, experiments: Iterable[Mapping[str, Any]]) -> dict[str, str]:
        """Return digests of the congestion controls' sources."""
        return control_versions(experiments, self._classes)

    def facts(self) -> dict[str, str]:
        """Nothing of the machine has an influence on simulated results."""
        return {}

    def columns(self) -> list[dict[str, str]]:
        """Return the meaning of the columns of its tables."""
        return table_columns()

    def obstacle(self) -> str | None:
        """Nothing stands in the way of a simulation."""
        return None

    def expect(self, experiments: Iterable[str]) -> None:
        """Nothing is refused."""

    def refusals(self, experiment_json: str) -> list[Refusal]:
        """Return nothing: every valid scenario can be simulated."""
        return []

    def remarks(self, experiment_json: str) -> list[str]:
        """Nothing is done differently: what a scenario says is what is simulated."""
        return []

    def new_progress(self) -> CellProgress:
        """Make a progress object of the core."""
        return _core.Progress()

    def execute(
        self, experiment_json: str, seed: int, progress: CellProgress, captures: Path
    ) -> Mapping[str, pl.DataFrame | pl.LazyFrame]:
        """Simulate one experiment; the interpreter lock is released meanwhile.

        Events of queues are written down as they come, so that memory does not grow with them.
        """
        if not isinstance(progress, _core.Progress):
            raise TypeError("progress was not made by this engine's new_progress()")
        used = used_controls(json.loads(experiment_json), self._classes)
        try:
            parts = Parts(captures, QUEUE_EVENTS)
            tables = _core.simulate(
                experiment_json,
                seed,
                progress,
                str(captures),
                queue_events=parts.add,
                controls=used.for_simulator(),
            )
        except _core.ControlFault as fault:
            raise _class_error(fault) from fault.__cause__
        except _core.Cancelled as cancelled:
            raise Cancelled from cancelled
        frames: dict[str, pl.DataFrame | pl.LazyFrame] = {
            name: pl.DataFrame(table) for name, table in tables.items()
        }
        if parts.files:
            parts.add(tables[QUEUE_EVENTS])
            frames[QUEUE_EVENTS] = parts.whole()
        return frames


def _class_error(fault: Exception) -> ControlClassError:
    """Format an exception of a user's class with its traceback."""
    cause = fault.__cause__ or fault
    told = "".join(traceback.format_exception(cause)).rstrip()
    return ControlClassError(f"{fault}\n{told}")

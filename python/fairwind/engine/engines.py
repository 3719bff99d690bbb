"""Engines: the protocol, the simulator in virtual time, the running kernel in real time."""

from __future__ import annotations

import json
import os
import platform
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from fairwind import _core
from fairwind.congestion.used import ControlClass, control_settings, control_versions, used_controls
from fairwind.engine.core import core_versions, host_command, table_columns
from fairwind.errors import ControlClassError

if TYPE_CHECKING:
    import polars as pl

    from fairwind.kernels.transfer import PackedKernel


class CellProgress(Protocol):
    """Progress of one simulation; readable from any thread."""

    @property
    def fraction(self) -> float:
        """Share of the experiment's time that has passed, 0 to 1."""

    def live_counts(self) -> str | None:
        """Return the newest counts as JSON, unless given before, and ask for the next.

        `fairwind.engine.live` makes figures of them.
        """

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


class Experiment(Protocol):
    """A resolved experiment: a cell of a plan."""

    @property
    def experiment(self) -> Mapping[str, Any]:
        """Its settings."""

    @property
    def experiment_json(self) -> str:
        """The same as JSON, written once, which the core reads."""


class Engine(Protocol):
    """Executes one resolved experiment with one seed.

    The default methods suit engines in virtual time.

    Attributes
    ----------
    name : str
        Name in the manifest.
    is_real_time : bool
        Whether an experiment takes as long as it says, and wants the machine for itself.
    """

    name: str
    is_real_time: bool = False

    def name_elsewhere(self) -> str | None:
        """Return the name by which another process finds the same engine; None if it cannot."""
        return self.name

    def versions(self) -> dict[str, str]:
        """Return the versions that decide results, for the manifest and its fingerprint."""
        return dict(core_versions())

    def builds(self) -> dict[str, str]:
        """Return digests of further programs that must be the same in another process."""
        return {}

    def packed(self) -> PackedKernel | None:
        """Return what another machine needs beside Fairwind to have this engine."""
        return None

    def control_versions(self, experiments: Iterable[Mapping[str, Any]]) -> dict[str, str]:
        """Return digests of the congestion control sources that resolved experiments use."""
        return control_versions(experiments)

    def facts(self) -> dict[str, str]:
        """Return facts about the machine, which are not part of the fingerprint.

        In virtual time nothing of the machine has an influence on results.
        """
        return {}

    def columns(self) -> list[dict[str, str]]:
        """Return the meaning of the columns of its tables."""
        return table_columns()

    def obstacle(self) -> str | None:
        """Return why nothing can run here and what to do about it; None if it can."""
        return None

    def expect(self, cells: Iterable[Experiment]) -> None:
        """Note the cells of a plan, all of which `refusals` is asked about next."""
        return  # most look at each cell when they are asked about it

    def refusals(self, cell: Experiment) -> list[Refusal]:
        """Return settings of an experiment that this engine cannot apply; empty if it can run."""
        return []

    def remarks(self, cell: Experiment) -> list[str]:
        """Return settings that this engine applies approximately."""
        return []

    def new_progress(self) -> CellProgress:
        """Make the object through which one execution is watched and cancelled."""

    def execute(
        self, cell: Experiment, seed: int, progress: CellProgress, captures: Path
    ) -> Mapping[str, pl.DataFrame | pl.LazyFrame]:
        """Run one experiment, and give its tables.

        A table that memory might not hold is lazy: its rows lie in a folder ``.parts-NAME`` below
        that of the captures.

        Parameters
        ----------
        cell : Experiment
            The resolved experiment.
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


class CoreEngine(Engine, Protocol):
    """Runs experiments in the compiled core; the interpreter lock is released meanwhile."""

    def new_progress(self) -> CellProgress:
        """Make a progress object of the core."""
        return _core.Progress()

    def execute(
        self, cell: Experiment, seed: int, progress: CellProgress, captures: Path
    ) -> Mapping[str, pl.DataFrame | pl.LazyFrame]:
        """Run one experiment, and give its tables; see `Engine`."""
        if not isinstance(progress, _core.Progress):
            raise TypeError("progress was not made by this engine's new_progress()")
        try:
            return self._tables(cell, seed, progress, captures)
        except _core.Cancelled as cancelled:
            raise Cancelled from cancelled

    def _tables(
        self, cell: Experiment, seed: int, progress: _core.Progress, captures: Path
    ) -> Mapping[str, pl.DataFrame | pl.LazyFrame]:
        """Run one experiment in the core."""


QUEUE_EVENTS = "queue_events"
"""The table of which there may be more than memory holds."""


class Simulation(CoreEngine):
    """The virtual-time simulator.

    Parameters
    ----------
    classes : mapping of str to type, optional
        Classes that serve as congestion controls, by their names in the scenario.
    """

    name = "simulation"

    def __init__(self, classes: Mapping[str, ControlClass] | None = None) -> None:
        self._classes = dict(classes or {})

    def name_elsewhere(self) -> str | None:
        """Return its name; classes exist in this process only."""
        return None if self._classes else "sim"

    def control_versions(self, experiments: Iterable[Mapping[str, Any]]) -> dict[str, str]:
        """Return digests of the congestion controls' sources, and of classes."""
        return control_versions(experiments, self._classes)

    def _tables(
        self, cell: Experiment, seed: int, progress: _core.Progress, captures: Path
    ) -> Mapping[str, pl.DataFrame | pl.LazyFrame]:
        # Events of queues are written down as they come, so that memory does not grow with them.
        used = used_controls(cell.experiment, self._classes)
        parts = Parts(captures, QUEUE_EVENTS)
        try:
            tables = _core.simulate(
                cell.experiment_json,
                seed,
                progress,
                str(captures),
                queue_events=parts.add,
                controls=used.for_simulator(),
            )
        except _core.ControlFault as fault:
            raise _class_error(fault) from fault.__cause__
        frames: dict[str, pl.DataFrame | pl.LazyFrame] = {**frames_of(tables)}
        if parts.files:
            parts.add(tables[QUEUE_EVENTS])
            frames[QUEUE_EVENTS] = parts.whole()
        return frames


def _class_error(fault: Exception) -> ControlClassError:
    """Format an exception of a user's class with its traceback."""
    cause = fault.__cause__ or fault
    text = "".join(traceback.format_exception(cause)).rstrip()
    return ControlClassError(f"{fault}\n{text}")


FACTS = {
    "clock_source": "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "congestion_controls": "/proc/sys/net/ipv4/tcp_available_congestion_control",
    "cubic_hystart": "/sys/module/tcp_cubic/parameters/hystart",
    "tcp_memory_pages": "/proc/sys/net/ipv4/tcp_mem",
    "largest_send_buffer_bytes": "/proc/sys/net/core/wmem_max",
    "largest_receive_buffer_bytes": "/proc/sys/net/core/rmem_max",
}
"""Settings of the whole machine that may influence results; no run changes them."""


Checked = Mapping[str, list[dict[str, str]]]
"""What the core says of the settings of an experiment: ``refusals`` and ``remarks``."""


class KernelEngine(CoreEngine, Protocol):
    """A kernel with our network between its hosts, which may lack what an experiment asks for."""

    def refusals(self, cell: Experiment) -> list[Refusal]:
        """Return settings that the kernel does not have."""
        return [Refusal(**row) for row in self._checked(cell)["refusals"]] + _parameters(cell)

    def remarks(self, cell: Experiment) -> list[str]:
        """Return settings that the kernel applies approximately, such as times."""
        return [f"{row['key']}: {row['text']}" for row in self._checked(cell)["remarks"]]

    def _checked(self, cell: Experiment) -> Checked:
        """Ask the core about an experiment."""


class Kernel(KernelEngine):
    """The kernel of this machine."""

    name = "kernel"
    is_real_time = True

    def versions(self) -> dict[str, str]:
        """Return the core's version and the kernel's release and build."""
        return core_versions() | {"kernel": platform.release(), "kernel_build": platform.version()}

    def facts(self) -> dict[str, str]:
        """Return the machine's settings with influence, and its load at the beginning."""
        found = {name: text for name, file in FACTS.items() if (text := _first_line(file))}
        return found | {"load": f"{os.getloadavg()[0]:.2f}"}

    def obstacle(self) -> str | None:
        """Return what this machine lacks for any run."""
        return _core.kernel_obstacle()

    def _checked(self, cell: Experiment) -> Checked:
        return _check(cell.experiment_json, tuple(_controls(cell)))

    def _tables(
        self, cell: Experiment, seed: int, progress: _core.Progress, captures: Path
    ) -> Mapping[str, pl.DataFrame]:
        controls = _controls(cell)
        arguments = (cell.experiment_json, seed, progress, str(captures), host_command(), controls)
        return frames_of(_core.run_on_kernel(*arguments))


@lru_cache(maxsize=4096)
def _check(experiment_json: str, controls: tuple[tuple[str, str, bytes], ...]) -> Checked:
    found: Checked = json.loads(_core.check_on_kernel(experiment_json, list(controls)))
    return found


def _controls(cell: Experiment) -> list[tuple[str, str, bytes]]:
    """Give one's own congestion controls that an experiment uses, as the core loads them."""
    return used_controls(cell.experiment).for_kernel()


def _parameters(cell: Experiment) -> list[Refusal]:
    """Give the parameters of congestion controls: in a kernel they have their defaults."""
    return [
        Refusal(
            group=setting.key.split(".")[1],
            key=f"{setting.key}.{name}",
            value=json.dumps(value),
            mechanism="a congestion control in the kernel uses the defaults of its source",
            alternative=f"change the default in {setting.name}.c and build it under another name",
        )
        for setting in control_settings(cell.experiment)
        for name, value in setting.parameters.items()
    ]


def _first_line(file: str) -> str:
    """Read one line of what the kernel tells; empty where it does not have this file."""
    try:
        return Path(file).read_text(encoding="ascii").split("\n", 1)[0].replace("\t", " ").strip()
    except (OSError, ValueError):
        return ""


class Parts:
    """The rows of one table, in files of their own until they are put together.

    Parameters
    ----------
    folder : Path
        Where the files are put, in a folder with a name that begins with a dot.
    name : str
        The table's name.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder / f".parts-{name}"
        self.files: list[Path] = []

    def add(self, table: _core.Table) -> None:
        """Write down the rows that come next.

        Raises
        ------
        OSError
            If they cannot be written.
        """
        import polars as pl

        self._folder.mkdir(exist_ok=True)
        file = self._folder / f"{len(self.files):06}.parquet"
        pl.DataFrame(table).write_parquet(file, compression="zstd")
        self.files.append(file)

    def whole(self) -> pl.LazyFrame:
        """Give all rows in their order, to be read when they are needed."""
        import polars as pl

        return pl.scan_parquet(self.files)


def frames_of(tables: Mapping[str, _core.Table]) -> dict[str, pl.DataFrame]:
    """Convert tables of the core to data frames."""
    import polars as pl

    return {name: pl.DataFrame(table) for name, table in tables.items()}

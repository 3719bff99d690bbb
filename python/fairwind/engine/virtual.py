"""A built kernel as an engine: the same experiment as on the running kernel, in virtual time.

Each run is an instance of its own, a process that ends with the run. It needs no root.
"""

from __future__ import annotations

import hashlib
import json
import platform
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairwind import _core
from fairwind.congestion.used import control_versions, used_controls
from fairwind.engine.core import core_versions, table_columns
from fairwind.engine.engines import (
    Cancelled,
    CellProgress,
    Experiment,
    Refusal,
    control_parameters,
    frames_of,
)
from fairwind.kernels.catalogue import BuiltKernel, worker

if TYPE_CHECKING:
    import polars as pl

Checked = dict[str, list[dict[str, str]]]


class VirtualKernel:
    """A Linux kernel in virtual time, with our network between its hosts.

    Parameters
    ----------
    kernel : BuiltKernel
    """

    def __init__(self, kernel: BuiltKernel) -> None:
        self._kernel = kernel
        self._checked: dict[str, Checked] = {}

    @property
    def name(self) -> str:
        """Name in the manifest."""
        return self._kernel.name

    @property
    def is_real_time(self) -> bool:
        """Virtual time passes as fast as it can be computed."""
        return False

    def versions(self) -> dict[str, str]:
        """Return the core's and the worker's version and the kernel's release and build."""
        return {
            **core_versions(),
            "kernel": self._kernel.release,
            "kernel_build": self._kernel.folder.name,
            "worker_sha256": _digest(worker()),
        }

    def control_versions(self, experiments: Iterable[Mapping[str, Any]]) -> dict[str, str]:
        """Return digests of the congestion controls' sources."""
        return control_versions(experiments)

    def facts(self) -> dict[str, str]:
        """Nothing of the machine has an influence on results in virtual time."""
        return {}

    def columns(self) -> list[dict[str, str]]:
        """Return the meaning of the columns of its tables."""
        return table_columns()

    def obstacle(self) -> str | None:
        """Return what this machine lacks for any run."""
        if platform.system() != "Linux" or platform.machine() != "x86_64":
            return "kernels in virtual time run on Linux with an x86-64 processor"
        return None

    def expect(self, cells: Iterable[Experiment]) -> None:
        """Ask one instance about all cells that nobody has asked about yet."""
        new = {cell.experiment_json: cell for cell in cells}
        for known in self._checked:
            new.pop(known, None)
        if not new:
            return
        with tempfile.TemporaryDirectory(prefix="fairwind-") as folder:
            answer = _core.check_on_virtual_kernel(
                self._programs(), [_named(cell) for cell in new.values()], f"{folder}/instance"
            )
        self._checked |= dict(zip(new, json.loads(answer), strict=True))

    def refusals(self, cell: Experiment) -> list[Refusal]:
        """Return settings that the kernel does not have."""
        self.expect([cell])
        refused = self._checked[cell.experiment_json]["refusals"]
        return [*(Refusal(**row) for row in refused), *control_parameters(cell)]

    def remarks(self, cell: Experiment) -> list[str]:
        """Return settings that the kernel applies approximately, such as times."""
        self.expect([cell])
        rows = self._checked[cell.experiment_json]["remarks"]
        return [f"{row['key']}: {row['text']}" for row in rows]

    def new_progress(self) -> CellProgress:
        """Make a progress object of the core."""
        return _core.Progress()

    def execute(
        self, cell: Experiment, seed: int, progress: CellProgress, captures: Path
    ) -> Mapping[str, pl.DataFrame]:
        """Run one experiment in an instance; the interpreter lock is released meanwhile."""
        if not isinstance(progress, _core.Progress):
            raise TypeError("progress was not made by this engine's new_progress()")
        try:
            tables = _core.run_on_virtual_kernel(
                self._programs(), _named(cell), seed, progress, str(captures)
            )
        except _core.Cancelled as cancelled:
            raise Cancelled from cancelled
        return frames_of(tables)

    def run_program(
        self,
        cell: Experiment,
        seed: int,
        program: Sequence[str],
        outside: Sequence[str],
        report: Path | None,
    ) -> tuple[int, str | None, dict[str, _core.Table]]:
        """Run a program behind the path of an experiment until it ends.

        What it prints appears on this process' standard output and standard error.

        Parameters
        ----------
        program : sequence of str
            The program and its arguments.
        outside : sequence of str
            Commands of a shell that start at the other end of the path before it.
        report : Path, optional
            The folder of captures, if its flows are measured.

        Returns
        -------
        tuple
            Exit code, why the program could not be started, and tables of the core.
        """
        with tempfile.TemporaryDirectory(prefix="fairwind-") as folder:
            return _core.run_shell_on_virtual_kernel(
                self._programs(),
                cell.experiment_json,
                seed,
                list(program),
                list(outside),
                f"{folder}/instance",
                report=report,
            )

    def _programs(self) -> tuple[Path, Path]:
        return self._kernel.program, worker()


def _named(cell: Experiment) -> tuple[str, list[tuple[str, str]]]:
    """Give an experiment with the names of one's own congestion controls."""
    own = used_controls(cell.experiment).for_kernel()
    return cell.experiment_json, [(name, kernel_name) for name, kernel_name, _ in own]


@lru_cache(maxsize=8)
def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()

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
from typing import TYPE_CHECKING

from fairwind import _core
from fairwind.congestion.used import used_controls
from fairwind.engine.core import core_versions
from fairwind.engine.engines import Checked, Experiment, KernelEngine, frames_of
from fairwind.kernels.catalogue import BuiltKernel, worker
from fairwind.kernels.transfer import PackedKernel, pack_kernel, program_digest

if TYPE_CHECKING:
    import polars as pl


KERNEL_SHA256 = "kernel_sha256"
"""The key of the kernel itself among the builds of an engine."""


def machine_obstacle() -> str | None:
    """Return why no kernel in virtual time can run on this machine; None if one can."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return "kernels in virtual time run on Linux with an x86-64 processor"
    return None


class VirtualKernel(KernelEngine):
    """A Linux kernel in virtual time, with our network between its hosts.

    Parameters
    ----------
    kernel : BuiltKernel
    """

    def __init__(self, kernel: BuiltKernel) -> None:
        self.name = kernel.name
        self._kernel = kernel
        self._answers: dict[str, Checked] = {}

    def name_elsewhere(self) -> str:
        """Return the name of this very build."""
        return self._kernel.folder.name

    def versions(self) -> dict[str, str]:
        """Return the core's and the worker's version and the kernel's release and build."""
        return {
            **core_versions(),
            "kernel": self._kernel.release,
            "kernel_build": self._kernel.folder.name,
            "worker_sha256": _digest(worker()),
        }

    def builds(self) -> dict[str, str]:
        """Return the digest of the kernel itself."""
        return {KERNEL_SHA256: program_digest(self._kernel.program)}

    def packed(self) -> PackedKernel:
        """Return the kernel, for a machine that lacks it."""
        return pack_kernel(self._kernel)

    def obstacle(self) -> str | None:
        """Return what this machine lacks for any run."""
        return machine_obstacle()

    def expect(self, cells: Iterable[Experiment]) -> None:
        """Ask one instance about all cells that nobody has asked about yet."""
        new = {cell.experiment_json: cell for cell in cells}
        for known in self._answers:
            new.pop(known, None)
        if not new:
            return
        with tempfile.TemporaryDirectory(prefix="fairwind-") as folder:
            answer = _core.check_on_virtual_kernel(
                self._programs(), [_named(cell) for cell in new.values()], f"{folder}/instance"
            )
        self._answers |= dict(zip(new, json.loads(answer), strict=True))

    def _checked(self, cell: Experiment) -> Checked:
        self.expect([cell])
        return self._answers[cell.experiment_json]

    def _tables(
        self, cell: Experiment, seed: int, progress: _core.Progress, captures: Path
    ) -> Mapping[str, pl.DataFrame]:
        arguments = (self._programs(), _named(cell), seed, progress, str(captures))
        return frames_of(_core.run_on_virtual_kernel(*arguments))

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

"""A Dask cluster of processes on this machine, whose parts can be killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

PYTHON = Path(__file__).parents[2] / "python"

SETTINGS = {
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "500ms",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
}
"""The settings in the guide to clusters."""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


class DaskCluster:
    """A scheduler and workers with one thread each; all are gone after the block.

    Parameters
    ----------
    folder : Path
        Gets logs and the workers' own files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []
        self._all: list[subprocess.Popen[bytes]] = []

    @property
    def address(self) -> str:
        return f"dask://127.0.0.1:{self.port}"

    def __enter__(self) -> DaskCluster:  # noqa: D105
        self.start_scheduler()
        return self

    def __exit__(self, *_: object) -> None:  # noqa: D105
        for process in self._all:
            process.kill()
        for process in self._all:
            process.wait(timeout=30)

    def start_scheduler(self) -> None:
        arguments = ("scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-show")
        self.scheduler = self._start(*arguments, "--no-dashboard")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with socket.socket() as caller:
                if caller.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            assert self.scheduler.poll() is None, self.log()
            time.sleep(0.1)
        raise AssertionError(f"the scheduler does not listen\n{self.log()}")

    def start_worker(self, *arguments: str, **variables: str) -> subprocess.Popen[bytes]:
        """Start a worker with further arguments of Dask and variables of the environment."""
        own = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
        place = ("--local-directory", str(self.folder / "workers"))
        address = f"tcp://127.0.0.1:{self.port}"
        worker = self._start("worker", address, *own, *place, *arguments, **variables)
        self.workers.append(worker)
        return worker

    def wait_for_worker(self) -> None:
        """Wait until the scheduler knows the newest worker."""
        self.wait_for_log("*-worker.log", "Registered to", self.workers[-1])

    def wait_for_client(self) -> None:
        """Wait until the scheduler knows a client."""
        self.wait_for_log("*-scheduler.log", "Receive client connection")

    def wait_for_log(
        self, files: str, text: str, process: subprocess.Popen[bytes] | None = None
    ) -> None:
        """Wait for a text in the newest of some logs."""
        newest = max(self.folder.glob(files), key=lambda file: int(file.name.partition("-")[0]))
        deadline = time.monotonic() + 60
        while text not in newest.read_text(errors="replace"):
            assert process is None or process.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.05)

    def kill_worker(self) -> None:
        """Kill the oldest worker that lives."""
        process = self.workers.pop(0)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=30)

    def kill_scheduler(self) -> None:
        """Kill the scheduler; workers end by themselves."""
        assert self.scheduler is not None
        self.scheduler.send_signal(signal.SIGKILL)
        self.scheduler.wait(timeout=30)
        self.workers.clear()

    def cpu_seconds(self) -> float:
        """Give the processor time that all living processes have used."""
        ticks = os.sysconf("SC_CLK_TCK")
        return sum(_ticks(process.pid) for process in self._all if process.poll() is None) / ticks

    def log(self) -> str:
        texts = (file.read_text(errors="replace") for file in sorted(self.folder.glob("*.log")))
        return "\n".join(texts)

    def _start(self, *arguments: str, **variables: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", *arguments]
        environment = os.environ | {"PYTHONPATH": str(PYTHON), "POLARS_MAX_THREADS": "1"}
        environment |= SETTINGS | variables
        with (self.folder / f"{len(self._all)}-{arguments[0]}.log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        self._all.append(process)
        return process


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])

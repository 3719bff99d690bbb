"""Costs of a cluster: overhead of each simulation, throughput of two workers, memory of the client.

Everything runs on this machine: a scheduler, workers of one thread, and the client. Overhead is
processor time, since wall-clock time depends on what else the machine does. It is the difference
from a local run with as many simulations at once as there are processors: busy processors slow each
other down by shared caches and cores, which is no cost of a cluster. Throughput is in
wall-clock time, which needs an idle machine; the processors that the runs had are printed. It is
that from the first result to the last, without the command's start and the merging at its end,
which have one processor whatever the workers do; the whole command is printed beside it. One worker
and two run by turns, since a machine is now quick, now slow: medians count. The ratio of two
busy-loop processes to one, in the same turns, is the upper bound of what workers can reach.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "python"))

from dask_cluster import DaskCluster

SCENARIO = """
name = "bench of workers"
duration = "{duration}"
[path]
rate = "{rate}"
rtt = "100 ms"
queue = {{ discipline = "pfifo", limit = "1 bdp" }}
[[flows]]
name = "greedy"
count = 1
start_spread = "100 ms"
start_pattern = "random"
workload = {{ kind = "greedy" }}
[sweep]
repeat = {repeat}
"flows.*.count" = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]
"""


SLOW, FAST = "1 Mbit/s", "100 Mbit/s"
"""Rates of the path: simulations of milliseconds, and of half a second for each 100 s."""

TURNS = 5
"""Pairs of runs, with one worker and with two."""


@dataclass(frozen=True)
class Cost:
    """What one run took.

    Attributes
    ----------
    wall_s : float
        Wall-clock time.
    client_s, cluster_s : float
        Processor time of the client, and of scheduler and workers.
    client_bytes : int
        The client's memory at most.
    """

    wall_s: float
    client_s: float
    cluster_s: float
    client_bytes: int


def main() -> None:
    """Print the costs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--simulations", type=int, default=2000, help="of the run with four workers"
    )
    parser.add_argument(
        "--many", type=int, default=0, help="also so many, for the client's memory at most"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fairwind-bench-") as folder:
        place = Path(folder)
        _print_overhead(place, arguments.simulations)
        _print_throughput(place, "tiny", SCENARIO.format(rate=SLOW, duration="2 s", repeat=50))
        _print_throughput(place, "short", SCENARIO.format(rate=FAST, duration="100 s", repeat=6))
        if arguments.many:
            _print_memory(place, arguments.many)


def _print_overhead(place: Path, simulations: int) -> None:
    text = SCENARIO.format(rate=SLOW, duration="2 s", repeat=simulations // 20)
    processors = len(os.sched_getaffinity(0))
    alone = _run(place, text, "alone", ("--jobs", "1"))
    local = _run(place, text, "local", ("--jobs", str(processors)))
    far = _on_cluster(place, text, "far", 4)
    _compare_bytes(place / "alone", place / "far")
    extra = (far.client_s + far.cluster_s - local.client_s) / simulations
    print(
        f"{simulations} simulations: {alone.client_s:.1f} s of processor time with --jobs 1, "
        f"{local.client_s:.1f} s with --jobs {processors}"
    )
    rates = [_stored_per_second(place / name) for name in ("alone", "local")]
    print(
        f"without a cluster: {rates[0]:.1f} results a second with --jobs 1, {rates[1]:.1f} with "
        f"--jobs {processors}: {rates[1] / rates[0]:.2f} times"
    )
    print(
        f"four workers: client {far.client_s:.1f} s, scheduler and workers {far.cluster_s:.1f} s; "
        f"the same bytes"
    )
    print(
        f"overhead: {1000 * extra:.2f} ms of processor time for each simulation, against "
        f"--jobs {processors}"
    )


def _print_throughput(place: Path, name: str, text: str) -> None:
    """Print how much more two workers do than one; they share processors with all others."""
    turns, busy = [], []
    for turn in range(TURNS):
        turns.append(
            [_throughput(place, f"{name}-{turn}-{workers}", text, workers) for workers in (1, 2)]
        )
        busy.append([_busy_loops_per_second(processes) for processes in (1, 2)])
    count = turns[0][0].simulations
    each = 1000 * median(one.cost.cluster_s / count for one, _ in turns)
    print(f"{count} {name} simulations, {each:.0f} ms of scheduler and worker for each:")
    _print_ratio(
        "results a second with one worker and two",
        [[run.per_second for run in pair] for pair in turns],
    )
    _print_ratio(
        "simulations a second of the whole command",
        [[count / run.cost.wall_s for run in pair] for pair in turns],
    )
    _print_ratio("busy-loop processes a second", busy)
    _print_ratio("processors in use", [[run.processors for run in pair] for pair in turns])


BUSY_LOOP = "for _ in range(30_000_000): pass"
"""What a process without memory, files or neighbours does: about a second."""


def _busy_loops_per_second(processes: int) -> float:
    """Give how many of so many processes would end in a second."""
    began = time.monotonic()
    running = [subprocess.Popen([sys.executable, "-c", BUSY_LOOP]) for _ in range(processes)]
    for one in running:
        one.wait()
    return processes / (time.monotonic() - began)


def _print_ratio(label: str, turns: list[list[float]]) -> None:
    """Print the medians of one worker and of two, and that of their ratio in each turn."""
    one, two = (median(side) for side in zip(*turns, strict=True))
    ratios = sorted(pair[1] / pair[0] for pair in turns)
    print(
        f"  {label}: {one:.2f} with one, {two:.2f} with two; {median(ratios):.2f} times "
        f"({ratios[0]:.2f} to {ratios[-1]:.2f})"
    )


@dataclass(frozen=True)
class Throughput:
    """What one run with some workers did.

    Attributes
    ----------
    simulations : int
        How many it had.
    per_second : float
        Results, from the first that was stored to the last.
    """

    cost: Cost
    simulations: int
    per_second: float

    @property
    def processors(self) -> float:
        """Processors that were busy with it."""
        return (self.cost.client_s + self.cost.cluster_s) / self.cost.wall_s


def _throughput(place: Path, name: str, text: str, workers: int) -> Throughput:
    cost = _on_cluster(place, text, name, workers)
    simulations = len(list((place / name / "cells").iterdir()))
    return Throughput(cost, simulations, _stored_per_second(place / name))


def _stored_per_second(run: Path) -> float:
    """Give the rate of results, from the first that was stored to the last."""
    stored = sorted(folder.stat().st_mtime for folder in (run / "cells").iterdir())
    return (len(stored) - 1) / (stored[-1] - stored[0])


def _print_memory(place: Path, simulations: int) -> None:
    text = SCENARIO.format(rate=SLOW, duration="100 ms", repeat=simulations // 20)
    cost = _on_cluster(place, text, "many", 2)
    print(
        f"{simulations} simulations: {cost.wall_s:.0f} s, client {cost.client_s:.0f} s of "
        f"processor time and {cost.client_bytes / 2**30:.2f} GiB"
    )


def _on_cluster(place: Path, text: str, name: str, workers: int) -> Cost:
    logs = place / f"dask-{name}"
    logs.mkdir()
    with DaskCluster(logs) as dask:
        for _ in range(workers):
            dask.start_worker()
        warm_up = SCENARIO.format(rate=SLOW, duration="2 s", repeat=4 * workers)
        _run(place, warm_up, f"{name}-before", ("--workers", dask.address))  # imports everything
        before = dask.cpu_seconds()
        cost = _run(place, text, name, ("--workers", dask.address))
        used = dask.cpu_seconds() - before
    return Cost(cost.wall_s, cost.client_s, used, cost.client_bytes)


def _run(place: Path, text: str, name: str, options: tuple[str, ...]) -> Cost:
    file = place / f"{name}.toml"
    file.write_text(text, encoding="utf-8")
    command = ["-m", "fairwind.cli", "run", str(file), "--out", str(place / name), "--yes"]
    environment = os.environ | {"POLARS_MAX_THREADS": "1"}
    began = time.monotonic()
    with (place / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, *command, *options], stdout=log, stderr=log, env=environment
        )
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit((place / f"{name}.log").read_text(encoding="utf-8"))
    wall = time.monotonic() - began
    return Cost(wall, used.ru_utime + used.ru_stime, 0.0, used.ru_maxrss * _RSS_UNIT)


_RSS_UNIT = 1 if sys.platform == "darwin" else 1024
"""Of `os.wait4`: kilobytes on Linux."""


def _compare_bytes(one: Path, other: Path) -> None:
    names = sorted(file.name for file in one.glob("*.parquet"))
    for name in names:
        if (one / name).read_bytes() != (other / name).read_bytes():
            raise SystemExit(f"{name} differs")


if __name__ == "__main__":
    main()

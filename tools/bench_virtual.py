"""Time a kernel in virtual time against real time: boot, memory, and mixes of streams.

    python tools/bench_virtual.py linux-6.12

Each line has the required speed beside the measured one. Run it on a quiet machine.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import fairwind
from fairwind import _core
from fairwind.kernels.catalogue import BuiltKernel, kernel_named, worker

PTRACE_SHARE = 4
"""Kernels without seccomp mode have to reach a quarter."""
MOST_BOOT_S = 0.3
"""Boot and end of an instance."""
MOST_MEMORY_MIB = {10: 200, 512: 2048}
"""Memory of an instance, by the number of thin streams."""


@dataclass(frozen=True)
class Mix:
    """Thin and greedy streams over one link, and the required multiple of real time."""

    streams: int
    rate: str
    duration_s: int
    required: float


MIXES = [
    Mix(10, "1 Mbit/s", 60, 20),
    Mix(10, "5 Mbit/s", 60, 10),
    Mix(10, "100 Mbit/s", 10, 1),
    Mix(512, "1 Mbit/s", 30, 1),
]


def scenario(mix: Mix) -> str:
    """Give the scenario of a mix."""
    return f"""
name = "{mix.streams} thin and {mix.streams} greedy streams at {mix.rate}"
duration = "{mix.duration_s} s"
seed = 1

[path]
rate = "{mix.rate}"
rtt = "50 ms"

[[flows]]
name = "thin"
count = {mix.streams}
workload = {{ kind = "thin", payload = "120 B", interval = "100 ms" }}

[[flows]]
name = "greedy"
count = {mix.streams}
workload = {{ kind = "greedy" }}
"""


def timed(text: str, on: str, folder: Path) -> tuple[float, fairwind.Results]:
    """Run a scenario, and give the seconds that it took, with its results."""
    file = folder / "scenario.toml"
    file.write_text(text, encoding="utf-8")
    loaded = fairwind.load(file)
    began = time.monotonic()
    results = loaded.run(on=on, out=folder / f"run-{time.monotonic_ns()}")
    return time.monotonic() - began, results


def boot_seconds(kernel: BuiltKernel, folder: Path) -> float:
    """Give the shortest of five times from the start of an idle instance to its end."""

    def once(number: int) -> float:
        began = time.monotonic()
        _core.check_on_virtual_kernel((kernel.program, worker()), [], str(folder / f"{number}"))
        return time.monotonic() - began

    return min(once(number) for number in range(5))


def processor_seconds() -> float:
    """Give the processor time of all finished instances."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    """Print one line per measurement."""
    on = sys.argv[1] if len(sys.argv) > 1 else "linux-6.12"
    kernel = kernel_named(on)
    share = 1 if kernel.has_seccomp else PTRACE_SHARE
    print(f"{on}: {kernel.release}, {'seccomp' if kernel.has_seccomp else 'ptrace'}")
    missed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        boot = boot_seconds(kernel, folder)
        missed += boot > MOST_BOOT_S
        print(f"boot and end of an instance: {boot:.2f} s (required {MOST_BOOT_S:g})")
        for mix in MIXES:
            before = processor_seconds()
            seconds, results = timed(scenario(mix), on, folder)
            speed = mix.duration_s / seconds
            by_processor = mix.duration_s / (processor_seconds() - before)
            late = results.lateness["lateness_p99_s"].max()
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
            required = mix.required / share
            most = MOST_MEMORY_MIB[mix.streams]
            missed += (speed < required) + (peak > most)
            print(
                f"{mix.streams:>4} + {mix.streams:<4} streams at {mix.rate:<11} "
                f"{speed:6.1f} times real time (required {required:g}), "
                f"{by_processor:.1f} per second of processor, "
                f"lateness p99 {float(str(late)) * 1e6:.2f} us, "
                f"most memory so far {peak:.0f} MiB (required {most})"
            )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Time the analyser beside tcptrace, each on one core and by turns.

A capture of two million packets is simulated once and kept beside the compiled programs
(benches/scenarios/capture.toml: 100 greedy and 700 thin flows, 96 bytes kept of each packet, seen
at both hosts). Asked for are five times tcptrace's packets per second with one capture, and three
million packets of the sender's with both.

tcptrace is taken from Debian where it is not there and this runs as root; without it, the analyser
is timed alone.
"""

import os
import resource
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCENARIO = ROOT / "benches" / "scenarios" / "capture.toml"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
ROUNDS = 7
CORE = "0"
ASKED_RATIO = 5.0
ASKED_JOINED = 3e6


def captures(fairwind: str) -> tuple[Path, Path]:
    """Return the captures of both hosts, made where there are none newer than the scenario."""
    folder = TARGET / "bench-analyse"
    cell = folder / "cells" / "0000-0000"
    files = cell / "sender.pcapng", cell / "receiver.pcapng"
    is_current = all(
        file.exists() and file.stat().st_mtime > SCENARIO.stat().st_mtime for file in files
    )
    if not is_current:
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run(
            [fairwind, "run", str(SCENARIO), "--out", str(folder)],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    return files


def installed(program: str, package: str) -> str | None:
    """Return the path of a program, installed from Debian if that is possible."""
    if shutil.which(program) is None and os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "install", "--quiet", "--yes", package], check=False)
    return shutil.which(program)


def analyse(*files: Path) -> tuple[int, float]:
    """Return the packets of the first capture, and the CPU seconds that an analysis took."""
    program = TARGET / "release" / "examples" / "analyse_speed"
    command = ["taskset", "-c", CORE, str(program), "--repeat", "1", *map(str, files)]
    line = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    packets, seconds, _ = line.split()
    return int(packets), float(seconds)


def trace(program: str, file: Path) -> float:
    """Return the CPU seconds that tcptrace took."""
    before = cpu_of_children()
    command = ["taskset", "-c", CORE, program, "-n", "-l", "-r", str(file)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return cpu_of_children() - before


def cpu_of_children() -> float:
    """Return the CPU seconds of all programs that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> int:
    """Time both, print medians and what was asked for."""
    sender, receiver = captures(sys.argv[1] if len(sys.argv) > 1 else "fairwind")
    other = installed("tcptrace", "tcptrace")
    alone, joined, others = [], [], []
    packets, _ = analyse(sender)
    for _ in range(ROUNDS):
        alone.append(packets / analyse(sender)[1])
        if other is not None:
            others.append(packets / trace(other, sender))
        joined.append(packets / analyse(sender, receiver)[1])
    print(f"{packets} packets, median of {ROUNDS} runs by turns, one core")
    print(f"fairwind, one capture    {statistics.median(alone) / 1e6:6.2f} million packets/s")
    print(
        f"fairwind, both captures  {statistics.median(joined) / 1e6:6.2f} million packets/s"
        f"  (asked for: {ASKED_JOINED / 1e6:.0f})"
    )
    if not others:
        print("tcptrace                 not there; as root, this installs it from Debian")
        return 0
    ratio = statistics.median(alone) / statistics.median(others)
    print(f"tcptrace -n -l -r        {statistics.median(others) / 1e6:6.2f} million packets/s")
    print(f"ratio                    {ratio:6.2f}  (asked for: {ASKED_RATIO:.0f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())

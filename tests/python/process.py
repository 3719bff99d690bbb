"""The command line as a separate process, and a small scenario to give it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

# Shells let what they start in the background ignore interruptions, and so would what tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SCENARIO = """
name = "two and two"
description = "thin and greedy streams"
duration = "12 s"

[path]
rate = "1 Mbit/s"
rtt = "100 ms"
queue = { discipline = "pfifo", limit = "1 bdp" }

[[flows]]
name = "greedy"
count = 1
start_spread = "100 ms"
start_pattern = "random"
workload = { kind = "greedy" }

[[flows]]
name = "thin"
count = 1
start_spread = "150 ms"
start_pattern = "random"
workload = { kind = "thin", packet = "160 B", interval = "150 ms" }

[measure]
intervals = ["5 s"]

[sweep]
repeat = 2
"flows.*.count" = [1, 2]
"""


def start(*arguments: object, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "fairwind.cli", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "python")},
    )


def fairwind(*arguments: object, cwd: Path) -> tuple[int, str, str]:
    process = start(*arguments, cwd=cwd)
    out, error = process.communicate(timeout=300)
    assert "Traceback" not in error, error
    return process.returncode, out, error

"""Run the tests of the testbed on built kernels, each in virtual time: `make test-kernels`.

    python tools/kernel_tests.py [KERNEL...]

Kernels are names such as linux-6.12; all that are built if none is named. What tests take for
granted of the machine's kernel shows here: older system calls, files that came later, other limits.
Tests that need eBPF beyond what User-Mode Linux has are skipped with the reason.

Exit code: 0 all tests pass, 1 some fail, 2 no kernel is built.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from fairwind.errors import FairwindError
from fairwind.kernels.catalogue import built_kernels, kernel_named

ROOT = Path(__file__).resolve().parents[1]
SUMMARY_LINES = 12
"""Last lines of a suite that are printed if it fails; all of it is in the report."""


def main() -> int:
    """Run both suites on each kernel, and print a line for each."""
    try:
        named = [kernel_named(name) for name in sys.argv[1:]]
    except FairwindError as error:
        print(error, file=sys.stderr)
        return 2
    kernels = [one.folder.name for one in named or built_kernels()]
    if not kernels:
        print("no kernel is built; run `fairwind kernel build 6.12`", file=sys.stderr)
        return 2
    suites = {"Rust": [str(_test_program()), "--test-threads", "1"], "Python": _python_suite()}
    failed = 0
    for kernel in kernels:
        for name, command in suites.items():
            failed += not _passes(kernel, name, command)
    return min(failed, 1)


def _test_program() -> Path:
    """Build the tests of the testbed, and give their program."""
    command = ["cargo", "test", "--locked", "--no-run", "-p", "fairwind-testbed"]
    command += ["--test", "kernel", "--message-format", "json"]
    built = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    programs = [one["executable"] for one in messages if one.get("executable")]
    return Path(programs[-1])


def _python_suite() -> list[str]:
    options = ["-q", "-p", "no:cacheprovider", "-m", "kernel", "--tb", "short"]
    return [sys.executable, "-m", "pytest", *options, str(ROOT / "tests" / "python")]


def _passes(kernel: str, name: str, command: list[str]) -> bool:
    """Run a suite inside an instance; its report is below runs/kernel-tests."""
    report = ROOT / "runs" / "kernel-tests" / f"{kernel}-{name.lower()}.txt"
    report.parent.mkdir(parents=True, exist_ok=True)
    variables = {
        key: value for key, value in os.environ.items() if key != "FAIRWIND_REQUIRE_KERNEL"
    }
    shell = [sys.executable, "-m", "fairwind.cli", "shell", "--on", kernel, "--"]
    with report.open("w", encoding="utf-8") as file:
        done = subprocess.run(
            [*shell, *command],
            cwd=ROOT / "crates" / "testbed",
            env=variables,
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    lines = [line for line in report.read_text(encoding="utf-8").splitlines() if line.strip()]
    results = [line for line in lines if line.startswith("test result") or " passed" in line]
    print(f"{kernel}, {name}: {(results or lines or ['no output'])[-1]}", flush=True)
    if done.returncode != 0:
        print("\n".join(f"    {line}" for line in lines[-SUMMARY_LINES:]))
        print(f"    all of it: {report.relative_to(ROOT)}", flush=True)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())

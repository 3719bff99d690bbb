"""Run the tests of the testbed on built kernels, each in virtual time: `make test-kernels`.

    python tools/kernel_tests.py [--features FEATURES] [KERNEL...]

FEATURES are those of the crates, such as fairwind-testbed/ebpf. Kernels are names such as
linux-6.12; all that are built if none is named. What tests take for granted of the machine's kernel
shows here: older system calls, files that came later, other limits. Tests that need eBPF beyond
what User-Mode Linux has are skipped; the reasons are printed.

Exit code: 0 all tests pass, 1 some fail, 2 no kernel is built, or the tests cannot be compiled.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from fairwind.errors import FairwindError
from fairwind.kernels.catalogue import built_kernels, kernel_named

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = {"fairwind-linux": "lib", "fairwind-router": "lib", "fairwind-testbed": "test"}
"""Crates whose tests call the kernel, and the kind of their test program."""
LAST_LINES = 12
"""Lines that are printed of a suite that fails; all of it is in the report."""
SUMMARY = re.compile(r"^test result: .*|^.*\d+ passed.*")
SKIPPED = re.compile(r"^(?:skipped: (?:\w+: )?|SKIPPED \[\d+\] \S+ )(?P<reason>.*)")


@dataclass(frozen=True)
class Suite:
    """Tests that run by one command."""

    name: str
    command: list[str]


def main() -> int:
    """Run all suites on each kernel, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="such as linux-6.12")
    parser.add_argument("--features", default="", help="of the crates, separated by commas")
    arguments = parser.parse_args()
    try:
        named = [kernel_named(name) for name in arguments.kernels]
        kernels = [one.folder.name for one in named or built_kernels()]
        if not kernels:
            raise FairwindError("no kernel is built", "fairwind kernel build 6.12")
        suites = [*_rust_suites(arguments.features), _python_suite()]
    except FairwindError as error:
        print(error, file=sys.stderr)
        return 2
    outcomes = [_passes(kernel, suite) for kernel in kernels for suite in suites]
    return 0 if all(outcomes) else 1


def _rust_suites(features: str) -> list[Suite]:
    """Build the crates' tests, and give a suite for each."""
    packages = [word for name in PROGRAMS for word in ("-p", name)]
    command = ["cargo", "test", "--locked", "--no-run", *packages, "--features", features]
    command += ["--message-format", "json"]
    built = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.PIPE, text=True)
    if built.returncode != 0:
        raise FairwindError("the tests cannot be compiled", "see what the compiler says above")
    suites = []
    for message in map(json.loads, built.stdout.splitlines()):
        package = message.get("package_id", "").split("#")[0].rsplit("/", 1)[-1]
        name = f"fairwind-{package}"
        if message.get("executable") and PROGRAMS.get(name) in message["target"]["kind"]:
            options = ["--test-threads", "1", "--show-output"]
            suites.append(Suite(name, [message["executable"], *options]))
    return suites


def _python_suite() -> Suite:
    options = ["-q", "-p", "no:cacheprovider", "-m", "kernel", "--tb", "short"]
    command = [sys.executable, "-m", "pytest", *options, str(ROOT / "tests" / "python")]
    return Suite("python", command)


def _passes(kernel: str, suite: Suite) -> bool:
    """Run a suite inside an instance; its report is below runs/kernel-tests."""
    report = ROOT / "runs" / "kernel-tests" / f"{kernel}-{suite.name}.txt"
    report.parent.mkdir(parents=True, exist_ok=True)
    shell = [sys.executable, "-m", "fairwind.cli", "shell", "--on", kernel, "--"]
    with report.open("w", encoding="utf-8") as file:
        done = subprocess.run(
            [*shell, *suite.command],
            cwd=ROOT / "crates" / "testbed",
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    lines = [line for line in report.read_text(encoding="utf-8").splitlines() if line.strip()]
    results = [line for line in lines if SUMMARY.match(line)]
    print(f"{kernel}, {suite.name}: {(results or ['no test ran'])[-1]}", flush=True)
    skipped = Counter(found["reason"] for line in lines if (found := SKIPPED.match(line)))
    for reason, count in sorted(skipped.items()):
        print(f"    {count} skipped: {reason}")
    passes = done.returncode == 0 and bool(results)
    if not passes:
        print("\n".join(f"    {line}" for line in lines[-LAST_LINES:]))
        print(f"    all of it: {report.relative_to(ROOT)}", flush=True)
    return passes


if __name__ == "__main__":
    sys.exit(main())

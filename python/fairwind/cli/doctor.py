"""Diagnosis of this machine, and leftovers of dead runs."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from fairwind.engine.core import core_version
from fairwind.kernels.catalogue import WORKER, built_kernels
from fairwind.kernels.tools import missing_packages
from fairwind.machine import Capability, Leftover, State, capabilities, leftovers
from fairwind.packetdrill import kernel_problem

PACKAGES = ("polars", "numpy", "scipy", "altair", "vl-convert-python", "typer", "rich", "jinja2")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
TOOLS = {
    "ip": "namespaces and routes of experiments on the kernel: install iproute2",
    "tc": "queue disciplines of the kernel: install iproute2",
    "tshark": "reading captures; only some tests need it: install tshark",
    "iperf3": "measurements behind `fairwind shell`: install iperf3",
    "curl": "downloads behind `fairwind shell`: install curl",
}
ESSENTIAL_TOOLS = ("ip",)


def diagnosis() -> list[Capability]:
    """Find out what is there: for every work, and for experiments on the kernel."""
    rows = [
        Capability("fairwind core", "ok", core_version(), ""),
        Capability("python", "ok", platform.python_version(), ""),
        Capability("system", "ok", platform.platform(), ""),
        Capability("processors", "ok", str(os.cpu_count() or 1), ""),
        *(_package(name) for name in PACKAGES),
        _writable(),
        _browser(),
        *capabilities(),
        *(_tool(name, purpose) for name, purpose in TOOLS.items()),
        _scripts(),
        _virtual_kernels(),
        _leftovers(leftovers()),
    ]
    if platform.system() != "Linux":
        remedy = "use --on sim, or a machine with Linux"
        what = "experiments on the kernel"
        rows.append(Capability(what, "missing", "this is not Linux", remedy))
    return rows


def works(found: Sequence[Capability]) -> bool:
    """Return whether simulating, running on the kernel and reporting work."""
    return all(one.state != "needed" for one in found)


def removals(removed: Sequence[Leftover]) -> list[str]:
    """List what was removed, and what could not be."""
    if not removed:
        return ["no leftovers of ended runs"]
    return [
        f"could not remove: {one.problem}" if one.problem else f"removed: {one.what}"
        for one in removed
    ]


def _found(
    what: str, found: str | None, remedy: str, state: State = "missing", instead: str = "missing"
) -> Capability:
    """Report what was found, or else the state without it, what is there instead, and a remedy."""
    return Capability(what, "ok", found, "") if found else Capability(what, state, instead, remedy)


def _package(name: str) -> Capability:
    try:
        found = version(name)
    except PackageNotFoundError:
        found = None
    return _found(name, found, f"pip install {name}", "needed")


def _writable() -> Capability:
    free = f"{shutil.disk_usage(Path.cwd()).free // 10**9} GB free"
    found = free if os.access(Path.cwd(), os.W_OK) else None
    remedy = "name a writable folder with --out"
    return _found("working folder", found, remedy, "limited", "read-only")


def _browser() -> Capability:
    found = next((name for name in BROWSERS if shutil.which(name)), None)
    return _found("browser", found, "needed to read reports, and by some tests", "limited")


def _tool(name: str, purpose: str) -> Capability:
    is_needed = name in ESSENTIAL_TOOLS and platform.system() == "Linux"
    state: State = "needed" if is_needed else "missing"
    return _found(name, shutil.which(name), f"for {purpose}", state)


def _scripts() -> Capability:
    problem = kernel_problem() or ""
    found = None if problem else platform.release()
    return _found("scripts on the kernel", found, problem, instead="not possible")


def _virtual_kernels() -> Capability:
    what = "kernels in virtual time"
    if not WORKER.exists():
        return Capability(what, "limited", f"no {WORKER.name}", "make build, in the repository")
    built = ", ".join(dict.fromkeys(kernel.name for kernel in built_kernels()))
    lacking = () if built else missing_packages()
    install = f"apt-get install {' '.join(lacking)}; " if lacking else ""
    return _found(what, built, f"{install}fairwind kernel build 6.12", "limited", "none built")


def _leftovers(there: Sequence[Leftover]) -> Capability:
    found, instead = None if there else "none", f"{len(there)} found"
    return _found("leftovers of ended runs", found, "fairwind doctor --clean", "limited", instead)

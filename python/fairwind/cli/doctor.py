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
    return rows if platform.system() == "Linux" else [*rows, _no_kernel()]


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


def _package(name: str) -> Capability:
    try:
        return Capability(name, "ok", version(name), "")
    except PackageNotFoundError:
        return Capability(name, "needed", "missing", f"pip install {name}")


def _writable() -> Capability:
    what = "working folder"
    if os.access(Path.cwd(), os.W_OK):
        free = shutil.disk_usage(Path.cwd()).free // 10**9
        return Capability(what, "ok", f"{free} GB free", "")
    return Capability(what, "limited", "read-only", "name a writable folder with --out")


def _browser() -> Capability:
    found = next((name for name in BROWSERS if shutil.which(name)), None)
    if found is None:
        return Capability(
            "browser", "limited", "missing", "needed to read reports, and by some tests"
        )
    return Capability("browser", "ok", found, "")


def _tool(name: str, purpose: str) -> Capability:
    where = shutil.which(name)
    if where is not None:
        return Capability(name, "ok", where, "")
    state: State = (
        "needed" if name in ESSENTIAL_TOOLS and platform.system() == "Linux" else "missing"
    )
    return Capability(name, state, "missing", f"for {purpose}")


def _scripts() -> Capability:
    problem = kernel_problem()
    what = "scripts on the kernel"
    if problem:
        return Capability(what, "missing", "not possible", problem)
    return Capability(what, "ok", platform.release(), "")


def _virtual_kernels() -> Capability:
    what = "kernels in virtual time"
    built = ", ".join(dict.fromkeys(kernel.name for kernel in built_kernels()))
    if not WORKER.exists():
        return Capability(what, "limited", f"no {WORKER.name}", "make build, in the repository")
    if built:
        return Capability(what, "ok", built, "")
    lacking = missing_packages()
    install = f"apt-get install {' '.join(lacking)}; " if lacking else ""
    return Capability(what, "limited", "none built", f"{install}fairwind kernel build 6.12")


def _leftovers(there: Sequence[Leftover]) -> Capability:
    what = "leftovers of ended runs"
    if not there:
        return Capability(what, "ok", "none", "")
    return Capability(
        what,
        "limited",
        f"{len(there)} found",
        "fairwind doctor --clean",
    )


def _no_kernel() -> Capability:
    remedy = "use --on sim, or a machine with Linux"
    return Capability("experiments on the kernel", "missing", "this is not Linux", remedy)

"""What this machine has, and what is missing."""

from __future__ import annotations

import os
import platform
import shutil
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import polars as pl

from fairwind.engine import core_version
from fairwind.packetdrill import kernel_problem

PACKAGES = ("polars", "numpy", "scipy", "altair", "vl-convert-python", "typer", "rich", "jinja2")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def findings() -> pl.DataFrame:
    """Give what was found: ``what``, ``found``, ``remark``; an empty remark means all is well."""
    rows = [
        ("fairwind core", core_version(), ""),
        ("python", platform.python_version(), ""),
        ("system", platform.platform(), ""),
        ("processors", str(os.cpu_count() or 1), ""),
        *(_package(name) for name in PACKAGES),
        _writable(),
        _browser(),
        ("experiments on the kernel", "missing", "not available in this version; use --on sim"),
        _kernel(),
    ]
    return pl.DataFrame(rows, schema=["what", "found", "remark"], orient="row")


def _package(name: str) -> tuple[str, str, str]:
    try:
        return (name, version(name), "")
    except PackageNotFoundError:
        return (name, "missing", f"pip install {name}")


def _writable() -> tuple[str, str, str]:
    if os.access(Path.cwd(), os.W_OK):
        free = shutil.disk_usage(Path.cwd()).free // 10**9
        return ("working folder", f"{free} GB free", "")
    return ("working folder", "read-only", "give --out with every run")


def _kernel() -> tuple[str, str, str]:
    problem = kernel_problem()
    what = "scripts on the kernel"
    return (what, "missing", problem) if problem else (what, platform.release(), "")


def _browser() -> tuple[str, str, str]:
    found = next((name for name in BROWSERS if shutil.which(name)), None)
    if found is None:
        return ("browser", "missing", "only some tests and reading reports need one")
    return ("browser", found, "")

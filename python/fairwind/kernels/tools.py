"""Programs that a build of a kernel needs, and the Debian packages that have them."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

from fairwind.errors import FairwindError

PACKAGES = {
    "make": "make",
    "gcc": "gcc",
    "ld": "binutils",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "xz": "xz-utils",
    "tar": "tar",
    "perl": "perl",
}
"""Debian packages by program."""

HEADERS = {"/usr/include/stdlib.h": "libc6-dev"}
"""Debian packages by file."""


def missing_packages() -> list[str]:
    """List Debian packages that a build needs and this machine lacks."""
    lacking = [package for name, package in PACKAGES.items() if shutil.which(name) is None]
    return lacking + [package for file, package in HEADERS.items() if not Path(file).exists()]


def require() -> None:
    """Refuse a build for which something is missing.

    Raises
    ------
    FairwindError
        With the packages that have it.
    """
    if lacking := missing_packages():
        raise FairwindError(
            f"a kernel cannot be compiled here: {', '.join(lacking)} missing",
            f"apt-get install {' '.join(lacking)}",
        )


def output(*command: str) -> str:
    """Give what a program prints; nothing if it is not there, or fails."""
    if shutil.which(command[0]) is None:
        return ""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def run(command: list[str], what: str = "", hint: str = "", folder: Path | None = None) -> None:
    """Run a program.

    Raises
    ------
    FairwindError
        With the last line of its messages, if it fails.
    """
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise FairwindError(
            f"{what or command[0]} failed: {last}",
            hint or f"run it to see all messages: {shlex.join(command)}",
        )

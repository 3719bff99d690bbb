"""Programs that a build of a kernel needs, and the Debian packages that have them."""

from __future__ import annotations

import shutil
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

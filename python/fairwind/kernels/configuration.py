"""Configuration of a kernel: one reviewed fragment per need, on top of `ARCH=um defconfig`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).parent / "config"

NEEDS = ("virtual-time", "repeatable", "system", "hosts", "transport", "queues", "programs")
"""Names of the fragments that every kernel gets."""

FREQUENCIES = (100, 250, 1000)
"""Timer frequencies that a kernel can have, in hertz."""

USUAL_FREQUENCY = 250

ESSENTIAL = (
    "CONFIG_UML_TIME_TRAVEL_SUPPORT",
    "CONFIG_HIGH_RES_TIMERS",
    "CONFIG_HOSTFS",
    "CONFIG_TMPFS",
    "CONFIG_DEVTMPFS",
    "CONFIG_NET_NS",
    "CONFIG_CGROUPS",
    "CONFIG_INET",
    "CONFIG_IPV6",
    "CONFIG_PACKET",
    "CONFIG_TUN",
    "CONFIG_VETH",
    "CONFIG_NET_SCHED",
    "CONFIG_TCP_CONG_CUBIC",
)
"""Options without which no experiment runs."""


def fragments(frequency: int) -> list[Path]:
    """List the files of fragments for one timer frequency, in the order of their application."""
    return [FOLDER / f"{name}.config" for name in (*NEEDS, f"hz-{frequency}")]


def digest(files: Iterable[Path], *others: str) -> str:
    """Compute a short digest of fragments and of whatever else decides what is built."""
    whole = hashlib.sha256()
    for text in (*(file.read_text(encoding="ascii") for file in files), *others):
        whole.update(text.encode() + b"\0")
    return whole.hexdigest()[:10]


def options(text: str) -> dict[str, str]:
    """Read the options of a configuration; ``n`` stands for "is not set"."""
    found = {}
    for line in text.splitlines():
        if line.startswith("CONFIG_"):
            name, _, value = line.partition("=")
            found[name] = value
        elif line.startswith("# CONFIG_") and line.endswith(" is not set"):
            found[line.split()[1]] = "n"
    return found


def merged(base: str, files: Iterable[Path]) -> str:
    """Put fragments behind a configuration; the last value of an option counts."""
    return "\n".join([base, *(file.read_text(encoding="ascii") for file in files)])


def refused(configuration: str, files: Iterable[Path]) -> list[str]:
    """List options of fragments that a kernel does not have, or has otherwise."""
    has = options(configuration)
    wanted: dict[str, str] = {}
    for file in files:
        wanted |= options(file.read_text(encoding="ascii"))
    return sorted(name for name, value in wanted.items() if has.get(name, "n") != value)

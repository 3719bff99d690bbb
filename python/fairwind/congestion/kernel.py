"""Congestion controls in the running kernel: loaded until they are removed, for every program."""

from __future__ import annotations

import tempfile
from pathlib import Path

from fairwind import _core
from fairwind.congestion.sources import (
    BuiltIn,
    Own,
    built_in,
    built_in_named,
    own_controls,
    own_named,
)
from fairwind.errors import FairwindError


def load(what: str) -> str:
    """Load a congestion control into the running kernel, where it stays when this process ends.

    Parameters
    ----------
    what : str
        The name of one, or a C source, which is compiled for it.

    Returns
    -------
    str
        The kernel's name for it, which programs choose by ``TCP_CONGESTION``.

    Raises
    ------
    FairwindError
        If there is none, a compiler or the kernel's verifier refuses it, or this is not root.
    """
    if what.endswith(".c"):
        return _load_source(Path(what))
    try:
        if (ours := built_in_named(what)) is not None:
            _core.load_control(ours.name, ours.kernel_name)
            return ours.kernel_name
        if (own := own_named(what)) is not None:
            _core.load_control(own.name, own.kernel_name, own.object_bytes)
            return own.kernel_name
    except _core.ControlError as refused:
        raise FairwindError(str(refused)) from refused
    raise FairwindError(
        f"there is no congestion control {what!r}",
        "`fairwind congestion list` prints those that there are; give a file with its ending .c",
    )


def _load_source(file: Path) -> str:
    with tempfile.TemporaryDirectory(prefix="fairwind-congestion-") as place:
        library, compiled = Path(place) / "control.so", Path(place) / "control.o"
        try:
            kernel_name, *_ = _core.compile_control(str(file), str(library))
            _core.compile_control_object(str(file), str(compiled))
            _core.load_control(file.stem, kernel_name, compiled.read_bytes())
        except _core.ControlError as refused:
            raise FairwindError(str(refused)) from refused
        return kernel_name


def unload(name: str) -> str:
    """Remove a congestion control from the running kernel; connections that have it keep it.

    Parameters
    ----------
    name : str
        The name that scenarios have for it, or the kernel's.

    Returns
    -------
    str
        The kernel's name for it.

    Raises
    ------
    FairwindError
        If none of this name was loaded, or this is not root.
    """
    known: list[BuiltIn | Own] = [*built_in(), *own_controls()]
    kernel_name = next((one.kernel_name for one in known if one.name == name), name)
    try:
        _core.unload_control(kernel_name)
    except _core.ControlError as refused:
        raise FairwindError(str(refused)) from refused
    return kernel_name


AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
"""File that lists the kernel's available congestion controls."""


def available() -> set[str] | None:
    """Give the kernel's names of all that sockets may be given now; None where there is no Linux.

    Everybody may ask, in every build: those that were loaded are among them.
    """
    try:
        return set(AVAILABLE.read_text(encoding="ascii").split())
    except OSError:
        return None


def loaded() -> list[str]:
    """Give the kernel's names of those that were loaded; empty where nobody could have."""
    try:
        return _core.loaded_controls()
    except _core.ControlError:
        return []

"""Congestion windows that the running kernel remembers by the peer, in a control group."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from fairwind import _core
from fairwind.errors import FairwindError, translated

Result = TypeVar("Result")


@dataclass(frozen=True)
class WindowOptions:
    """Options of the window cache.

    Attributes
    ----------
    lifetime_s : float
        Age in seconds at which a window is used no more.
    entries : int
        Peers that are remembered at most; the longest unused gives way.
    largest_window_packets : int or None
        Packets that a connection begins with at most; None for as many as are remembered.
    exact : bool
        Connections begin with the largest window that is remembered, and only age lowers it. Else
        they begin with half of it, and losses halve it.
    outgoing : bool
        Connections that are opened here begin with a remembered window, too.
    at_close : bool
        Windows are taken when the application closes a connection, else when all that it sent is
        acknowledged.
    """

    lifetime_s: float = 600.0
    entries: int = 1000
    largest_window_packets: int | None = 100
    exact: bool = False
    outgoing: bool = False
    at_close: bool = False


@dataclass(frozen=True)
class RememberedWindow:
    """The window of ended connections to one peer.

    Attributes
    ----------
    peer : str
        Its address.
    window_packets : int
        The congestion window.
    age_s : float
        Seconds since a connection ended with it.
    is_outdated : bool
        Whether it is too old to be used.
    least_rtt_s : float or None
        Least round-trip time of that connection; None where none was measured.
    """

    peer: str
    window_packets: int
    age_s: float
    is_outdated: bool
    least_rtt_s: float | None


@dataclass(frozen=True)
class WindowCounts:
    """Event counters since the start.

    Attributes
    ----------
    used : int
        Connections that began with a remembered window.
    unknown : int
        Connections to unknown peers.
    outdated : int
        Windows that were too old when they were wanted, and so removed.
    unfit : int
        Windows that were not used: no larger than the kernel's own, of another path by the
        round-trip time, or after losses in the handshake.
    kept : int
        Windows that were written down.
    halved : int
        Of these, windows halved because of losses.
    """

    used: int
    unknown: int
    outdated: int
    unfit: int
    kept: int
    halved: int


@dataclass(frozen=True)
class Remembered:
    """Cached windows of a control group.

    Attributes
    ----------
    options : WindowOptions
        What was chosen at the start.
    windows : list of RememberedWindow
        The windows, the youngest first.
    counts : WindowCounts
        What has happened since the start.
    """

    options: WindowOptions
    windows: list[RememberedWindow]
    counts: WindowCounts


def start(group: Path, options: WindowOptions) -> str:
    """Begin to remember windows in a control group, which goes on when this process ends.

    Returns
    -------
    str
        The file that keeps it in the kernel.

    Raises
    ------
    FairwindError
        If it is no control group of version 2, windows are remembered there already, an option
        is zero, or this is not root.
    """
    return _translated(lambda: _core.start_windows(str(group), json.dumps(asdict(options))))


def stop(group: Path) -> None:
    """End it, and forget the windows. Connections that have begun with one keep what they have."""
    _translated(lambda: _core.stop_windows(str(group)))


def show(group: Path) -> Remembered:
    """Read the cached windows of a control group."""
    found = json.loads(_translated(lambda: _core.show_windows(str(group))))
    return Remembered(
        WindowOptions(**found["options"]),
        [RememberedWindow(**one) for one in found["windows"]],
        WindowCounts(**found["counts"]),
    )


def clear(group: Path) -> int:
    """Forget the windows, go on, and tell how many there were."""
    return _translated(lambda: _core.clear_windows(str(group)))


def _translated(ask: Callable[[], Result]) -> Result:
    if not hasattr(_core, "start_windows"):
        raise FairwindError("`fairwind windows` requires Linux", "use a machine with Linux")
    with translated(_core.WindowsError, FairwindError):
        return ask()

"""Completion times of transfers from a remembered window, in closed form.

A transfer of n segments over an idle path: a round trip to open, then windows of w, 2w, 4w ...
segments, each a round trip after the one before began, until all is carried. Nothing is lost and
every segment is acknowledged (delayed acknowledgments make windows grow by half instead). The
server sends as soon as the handshake ends; the time ends when the last byte is read.

Without serialisation this is ``(1 + R) RTT`` with R rounds of slow start, of which the speed-ups
follow that *Aggregating Congestion Information Over Sequences of TCP Connections* (BUCS-1998-001)
leads one to expect; the report has no numbers. With serialisation a server stalls after a window
only as long as the first acknowledgment takes to come beyond what the window takes to leave
(Kurose and Ross, *Computer Networking*, on the latency of slow start, there for a window of one).
A receiver that offers less than the remembered window until it has got something, as most of
today do, costs what the first flight is shorter by.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fairwind.models.errors import Floats, ModelError, not_negative

INITIAL_SEGMENTS = 1
"""The window that connections of the report's time begin with."""

_MOST_ROUNDS = 64
"""Windows that double fill any path long before."""


def rounds(
    segments: ArrayLike, window: ArrayLike = INITIAL_SEGMENTS, offered: ArrayLike = np.inf
) -> Floats:
    """Give how many windows carry so many segments.

    Parameters
    ----------
    segments : array_like
        Of the transfer, one or more.
    window : array_like
        Segments that the connection begins with, one or more.
    offered : array_like
        Segments that the receiver has room for until the first acknowledgment, one or more; it has
        room for all from then on.

    Returns
    -------
    ndarray
        Without a limit of the receiver's the least R with ``window * (2**R - 1) >= segments``.
    """
    volume, first, second = _windows(segments, window, offered)
    # rounding must not make another round of a window that is filled to its last segment
    further: Floats = np.ceil(np.log2(np.maximum(volume - first, 0) / second + 1) - 1e-12)
    return 1 + np.maximum(further, 0)


def transfer_time_s(
    segments: ArrayLike,
    window: ArrayLike = INITIAL_SEGMENTS,
    rtt_s: ArrayLike = 1.0,
    serialisation_s: ArrayLike = 0.0,
    offered: ArrayLike = np.inf,
    opening_s: ArrayLike | None = None,
) -> Floats:
    """Give the time from the call to the last byte's being read.

    Parameters
    ----------
    segments, window, offered : array_like
        As of `rounds`.
    rtt_s : array_like
        Round trip without queues, in seconds.
    serialisation_s : array_like
        Time that a segment takes to be sent, in seconds; zero for a path without a rate.
    opening_s : array_like, optional
        Time from the call to its answer, in seconds, where it is not the round trip: of a client
        that holds only acknowledgments back. The handshake's last packet is one of these.
    """
    volume, first, second = _windows(segments, window, offered)
    hint = "give seconds, or zero for none"
    rtt = not_negative("rtt_s", rtt_s, hint)
    each = not_negative("serialisation_s", serialisation_s, hint)
    opening = rtt if opening_s is None else not_negative("opening_s", opening_s, hint)
    windows = rounds(segments, window, offered)
    stalls = np.zeros(np.broadcast_shapes(windows.shape, rtt.shape, each.shape))
    for number in range(_MOST_ROUNDS):
        sent = first if number == 0 else second * 2.0 ** (number - 1)
        stall = each + rtt - sent * each
        is_stalled = (number < windows - 1) & (stall > 0)
        if not is_stalled.any():
            break
        stalls = stalls + np.where(is_stalled, stall, 0.0)
    return opening + rtt + volume * each + stalls


def speed_up(
    segments: ArrayLike,
    remembered: ArrayLike,
    rtt_s: ArrayLike = 1.0,
    serialisation_s: ArrayLike = 0.0,
    initial: ArrayLike = INITIAL_SEGMENTS,
    offered: ArrayLike = np.inf,
    opening_s: ArrayLike | None = None,
) -> Floats:
    """Give the speed-up of a transfer that begins with a remembered window.

    Parameters
    ----------
    segments, offered : array_like
        As of `rounds`.
    remembered, initial : array_like
        Segments that it begins with, and would begin with otherwise.
    rtt_s, serialisation_s, opening_s : array_like
        As of `transfer_time_s`.
    """
    path = (rtt_s, serialisation_s, offered, opening_s)
    before = transfer_time_s(segments, initial, *path)
    return before / transfer_time_s(segments, remembered, *path)


def _windows(
    segments: ArrayLike, window: ArrayLike, offered: ArrayLike
) -> tuple[Floats, Floats, Floats]:
    """Give the volume, what is sent at first, and the window after its acknowledgment."""
    volume, begun = _from_one("segments", segments), _from_one("window", window)
    first = np.minimum(begun, _from_one("offered", offered))
    return volume, first, begun + first


def _from_one(name: str, values: ArrayLike) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    bad = array[~(array >= 1)]
    if bad.size:
        raise ModelError(
            f"{name} is {bad.flat[0]:g}: it must be at least 1", "give a number of segments"
        )
    return array

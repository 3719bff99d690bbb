"""Ctrl-C as a request, so that no packet and no row is lost by it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class Interruption:
    """Whether somebody has asked to stop."""

    is_asked: bool = False


@contextmanager
def requested_interruption() -> Iterator[Interruption]:
    """Take the first Ctrl-C as a request while the block lasts; a second one raises as usual.

    Only the main thread can; in any other one, interruptions are as they were.
    """
    interruption = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield interruption
        return
    before = signal.getsignal(signal.SIGINT)

    def ask(_signal: int, _frame: FrameType | None) -> None:
        interruption.is_asked = True
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, ask)
    try:
        yield interruption
    finally:
        signal.signal(signal.SIGINT, before)

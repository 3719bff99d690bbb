"""Parameters of a start-up: one connection over capacity that follows its own rate.

The equation is that of a window which grows by what is acknowledged, where acknowledgments come at
the rate that was assigned one feedback delay ago, and the assigned rate is a multiple of the rate
that was seen: ``dw/dt = k w(t - T) / tau`` with ``w(0) = W0`` and ``w(t) = 0`` before.

Source: Gotta, Potorti, Secchi: An Analysis of TCP Startup over an Experimental DVB-RCS Platform,
IWSSC 2006.

Assumptions
-----------
One greedy connection in slow start, no delayed acknowledgments, no losses, buffers that hold
everything, a link that was idle before, a slow start threshold that is never met: the link is full
before slow start ends. Capacity is a fluid: no slots, no frames, no guaranteed share.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fairwind.models.dama.growth import allocation_delay
from fairwind.models.errors import Floats, ModelError, ModelWarning, positive

HINTS = {
    "rtt_s": "the round trip without waiting for capacity, such as 0.84",
    "feedback_delay_s": "the round trip plus the allocation delay, such as 2.3625",
    "rate_segments_per_second": "the rate at which the link is full, such as 100",
    "initial_window_segments": "1, 3 or 10 are usual",
    "multiplier": "1 requests the measured rate, 4.8 is the paper's proposal",
}


@dataclass(frozen=True, init=False, eq=False)
class StartUp:
    """The start-up of one connection, or of as many as the arrays have elements.

    All fields may be numbers or arrays of shapes that broadcast with one another.

    Attributes
    ----------
    rtt_s : float64
        Round trip without waiting for capacity (tau), seconds.
    feedback_delay_s : float64
        From sending to the acknowledgments that it brings (T), seconds: the round trip plus the
        allocation delay. Not below `rtt_s`; equal to it where capacity is constant.
    rate_segments_per_second : float64
        Rate at which the link is full (mu), segments per second.
    initial_window_segments : float64
        Initial window (W0), segments.
    multiplier : float64
        Capacity requested over rate measured (k); 1 where the measured rate is requested.

    Raises
    ------
    ModelError
        If a field is not above zero, or the feedback is quicker than the round trip.

    Warns
    -----
    ModelWarning
        If less is requested than was measured.
    """

    rtt_s: Floats
    feedback_delay_s: Floats
    rate_segments_per_second: Floats
    initial_window_segments: Floats
    multiplier: Floats

    def __init__(
        self,
        rtt_s: ArrayLike,
        feedback_delay_s: ArrayLike,
        rate_segments_per_second: ArrayLike,
        initial_window_segments: ArrayLike = 3.0,
        multiplier: ArrayLike = 1.0,
    ) -> None:
        """Check, and keep arrays."""
        path = (rtt_s, feedback_delay_s, rate_segments_per_second)
        given = (*path, initial_window_segments, multiplier)
        for name, values in zip(HINTS, given, strict=True):
            object.__setattr__(self, name, positive(name, values, HINTS[name]))
        self._check()

    def _check(self) -> None:
        try:
            rtt, feedback, _, _, multiplier = self.arrays()
        except ValueError as error:
            shapes = ", ".join(f"{name} {getattr(self, name).shape}" for name in HINTS)
            raise ModelError(
                f"the shapes of a start-up do not fit together: {shapes}",
                "give numbers, or arrays that numpy can broadcast",
            ) from error
        if np.any(feedback < rtt):
            raise ModelError(
                f"feedback_delay_s is below rtt_s ({np.min(feedback - rtt):+.3g} s)",
                "it is the round trip plus the allocation delay; equal for constant capacity",
            )
        if np.any(multiplier < 1):
            text = (
                f"multiplier {np.min(multiplier):g} requests less than was measured: the equation "
                "still grows, but a real terminal keeps its guaranteed share from 1/2 down; "
                "give 1 or more"
            )
            warnings.warn(text, ModelWarning, stacklevel=4)

    @classmethod
    def of_checked(cls, arrays: Sequence[Floats]) -> StartUp:
        """Make one of arrays that were one's fields before, without checking and warning again."""
        made = cls.__new__(cls)
        for name, array in zip(HINTS, arrays, strict=True):
            object.__setattr__(made, name, array)
        return made

    def arrays(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Give the fields in their order, as arrays of one shape."""
        given = (getattr(self, name) for name in HINTS)
        rtt, feedback, rate, window, multiplier = np.broadcast_arrays(*given)
        return rtt, feedback, rate, window, multiplier

    @property
    def delay_ratio(self) -> Floats:
        """Feedback delay over round trip (rho): 1 where capacity is constant."""
        return self.feedback_delay_s / self.rtt_s

    @property
    def loop_gain(self) -> Floats:
        """Multiplier times delay ratio (k rho): growth per feedback delay depends on it alone."""
        return self.multiplier * self.delay_ratio

    @property
    def full_window_segments(self) -> Floats:
        """The window at which the link is full (mu tau), segments."""
        return self.rate_segments_per_second * self.rtt_s

    def with_multiplier(self, multiplier: ArrayLike) -> StartUp:
        """Give the same start-up with another multiplier k."""
        path = (self.rtt_s, self.feedback_delay_s, self.rate_segments_per_second)
        return StartUp(*path, self.initial_window_segments, multiplier)

    def with_constant_allocation(self) -> StartUp:
        """Give the same start-up over the same capacity held ready (rho = 1, k = 1)."""
        rtt, _, rate, window, _ = self.arrays()
        return StartUp(rtt, rtt, rate, window, np.ones_like(rtt))


LINK_HINTS = {
    "rtt_s": "the round trip without waiting for capacity, such as 0.84",
    "frame_s": "how long a frame of slots lasts, such as 0.273",
    "slot_bits_per_second": "the rate of one slot in every frame, such as 44000",
    "request_period_s": "between a terminal's requests, such as 0.819",
    "allocation_period_s": "between the master's plans, such as 0.546",
    "available_bits_per_second": "the most that one terminal may get, such as 1.2e6",
    "segment_bytes": "a full packet with its headers, such as 1500",
}


@dataclass(frozen=True)
class DemandAssignedLink:
    """A return link of frames and slots; by default that of the source's platform.

    Attributes
    ----------
    rtt_s : float
        Round trip without waiting for capacity (tau), seconds.
    frame_s : float
        Length of a frame, seconds.
    slots : int
        Slots in a frame.
    slot_bits_per_second : float
        Rate of one slot per frame, bit/s: the step in which capacity is assigned.
    request_period_s, allocation_period_s : float
        Tr between a terminal's requests and Ta between the master's plans, seconds. Only their sum
        matters here. The source does not give them; five frames together are inferred from its
        recommended multiplier of 4.8 (see `multipliers.as_without_wait`).
    terminals : int
        Terminals that are logged on.
    guaranteed_bits_per_second : float
        What each of them has without asking, bit/s. The model has no guaranteed share; the number
        is checked and reported.
    available_bits_per_second : float
        The most that one terminal may get, bit/s: where the start-up ends.
    segment_bytes : float
        A full packet with its headers, bytes.

    Raises
    ------
    ModelError
        If there is no time, slot or rate, or more is promised than the slots have.
    """

    rtt_s: float = 0.84
    frame_s: float = 0.273
    slots: int = 48
    slot_bits_per_second: float = 44_000.0
    request_period_s: float = 0.819
    allocation_period_s: float = 0.546
    terminals: int = 18
    guaranteed_bits_per_second: float = 44_000.0
    available_bits_per_second: float = 1_200_000.0
    segment_bytes: float = 1500.0

    def __post_init__(self) -> None:
        """Check what can be checked."""
        for name, hint in LINK_HINTS.items():
            positive(name, getattr(self, name), hint)
        for name in ("slots", "terminals"):
            count = getattr(self, name)
            if not isinstance(count, int) or count < 1:
                raise ModelError(
                    f"{name} is {count}: it must be a whole number of 1 or more", "such as 18"
                )
        if self.guaranteed_bits_per_second < 0:
            raise ModelError(
                f"guaranteed_bits_per_second is {self.guaranteed_bits_per_second:g}",
                "0 guarantees nothing",
            )
        self._check_capacity()

    def _check_capacity(self) -> None:
        capacity = self.capacity_bits_per_second
        whole = f"{self.slots} slots of {self.slot_bits_per_second:g} bit/s are {capacity:g} bit/s"
        promised = self.terminals * self.guaranteed_bits_per_second
        if promised > capacity:
            raise ModelError(
                f"{self.terminals} terminals are guaranteed {self.guaranteed_bits_per_second:g} "
                f"bit/s each, {promised:g} bit/s together, but {whole}",
                "guarantee less, or give the frame more slots",
            )
        if self.available_bits_per_second > capacity:
            raise ModelError(
                f"available_bits_per_second is {self.available_bits_per_second:g}, but {whole}",
                "a terminal gets no more than all slots",
            )
        if self.available_bits_per_second < self.guaranteed_bits_per_second:
            raise ModelError(
                f"available_bits_per_second ({self.available_bits_per_second:g}) is below "
                f"guaranteed_bits_per_second ({self.guaranteed_bits_per_second:g})",
                "what is guaranteed is available",
            )

    @property
    def capacity_bits_per_second(self) -> float:
        """Rate of all slots together, bit/s."""
        return self.slots * self.slot_bits_per_second

    @property
    def slot_bytes(self) -> float:
        """Capacity of one slot, bytes."""
        return self.slot_bits_per_second * self.frame_s / 8

    @property
    def allocation_delay_s(self) -> float:
        """Mean time from a rate's measurement to the capacity for it (Da), seconds."""
        delay = allocation_delay(self.rtt_s, self.request_period_s, self.allocation_period_s)
        return float(delay)

    @property
    def feedback_delay_s(self) -> float:
        """Round trip plus allocation delay (T), seconds."""
        return self.rtt_s + self.allocation_delay_s

    @property
    def delay_ratio(self) -> float:
        """Feedback delay over round trip (rho)."""
        return self.feedback_delay_s / self.rtt_s

    @property
    def rate_segments_per_second(self) -> float:
        """The available rate (mu), segments per second."""
        return self.available_bits_per_second / (8 * self.segment_bytes)

    def start_up(
        self, initial_window_segments: ArrayLike = 3.0, multiplier: ArrayLike = 1.0
    ) -> StartUp:
        """Give the start-up of a connection over this link.

        Parameters
        ----------
        initial_window_segments : array_like
            W0: 3 was Linux 2.6's (RFC 3390), 1 FreeBSD 5.4's, 10 is today's (RFC 6928).
        multiplier : array_like
            k: capacity requested over rate measured.
        """
        path = (self.rtt_s, self.feedback_delay_s, self.rate_segments_per_second)
        return StartUp(*path, initial_window_segments, multiplier)

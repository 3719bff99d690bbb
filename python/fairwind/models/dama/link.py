"""A link with capacity that is assigned on demand, as numbers: periods, slots, rates."""

from __future__ import annotations

from dataclasses import dataclass, fields

from numpy.typing import ArrayLike

from fairwind.models.dama.growth import allocation_delay
from fairwind.models.dama.start_up import StartUp
from fairwind.models.errors import ModelError, positive

HINTS = {
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
        for field in fields(self):
            if field.name in HINTS:
                positive(field.name, getattr(self, field.name), HINTS[field.name])
        for name in ("slots", "terminals"):
            count = getattr(self, name)
            if not isinstance(count, int) or count < 1:
                raise ModelError(f"{name} is {count}: it must be a whole number of 1 or more")
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
        return StartUp(
            rtt_s=self.rtt_s,
            feedback_delay_s=self.feedback_delay_s,
            rate_segments_per_second=self.rate_segments_per_second,
            initial_window_segments=initial_window_segments,
            multiplier=multiplier,
        )

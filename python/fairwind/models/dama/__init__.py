"""The start-up of TCP over capacity that is assigned on demand (DAMA), in closed form.

A terminal asks for capacity after the rate that it has measured, and gets it one allocation delay
later. Slow start grows by what is acknowledged, so its loop has that delay in it: how much slower
does a connection start, and how much more than the measured rate must be asked for to make up?

Source: Gotta, Potorti, Secchi: An Analysis of TCP Startup over an Experimental DVB-RCS Platform,
IWSSC 2006. `start_up` has the equation and its assumptions.

Map: `link` a platform as numbers, `start_up` the parameters of the equation as arrays, `growth` its
exponent, the equivalent round trip and how much to request, `approximation` and `exact` its
solutions, `laws` window, volume and completion time under each of them, `packets` estimates that
count packets, `tables` and `curves` frames for the command line and for figures.

Parameters have one meaning in all functions: `start_up` has arrays that broadcast with times and
volumes, `time_s` are seconds since the first window left, `volume_segments` is N,
`initial_window_segments` W0, `multiplier` k, `delay_ratio` rho (1 or more), `rtt_s` tau, the
`loop_gain` k rho, and `law` says how the equation is solved.
"""

from fairwind.models.dama.growth import (
    CRITERIA,
    SOURCE_MULTIPLIER,
    allocation_delay,
    approximate_roots,
    as_without_wait,
    as_without_wait_exactly,
    doubling_per_rtt,
    equivalent_rtt,
    exact_equivalent_rtt,
    exact_exponent,
    packet_exponent,
    without_backlog,
)
from fairwind.models.dama.laws import (
    Law,
    carried_segments,
    completion_time_s,
    constant_allocation_time_s,
    maximum_demand_time_s,
    quickest,
    saturation_time_s,
    volume_segments,
    window_segments,
)
from fairwind.models.dama.packets import (
    packet_completion_time_s,
    request_time_s,
    slot_utilisation,
    slow_start_time_s,
)
from fairwind.models.dama.start_up import DemandAssignedLink, StartUp

__all__ = [
    "CRITERIA",
    "SOURCE_MULTIPLIER",
    "DemandAssignedLink",
    "Law",
    "StartUp",
    "allocation_delay",
    "approximate_roots",
    "as_without_wait",
    "as_without_wait_exactly",
    "carried_segments",
    "completion_time_s",
    "constant_allocation_time_s",
    "doubling_per_rtt",
    "equivalent_rtt",
    "exact_equivalent_rtt",
    "exact_exponent",
    "maximum_demand_time_s",
    "packet_completion_time_s",
    "packet_exponent",
    "quickest",
    "request_time_s",
    "saturation_time_s",
    "slot_utilisation",
    "slow_start_time_s",
    "volume_segments",
    "window_segments",
    "without_backlog",
]

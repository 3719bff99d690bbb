"""The start-up of TCP over capacity that is assigned on demand (DAMA), in closed form.

A terminal asks for capacity after the rate that it has measured, and gets it one allocation delay
later. Slow start grows by what is acknowledged, so its loop has that delay in it: how much slower
does a connection start, and how much more than the measured rate must be asked for to make up?

Source: Gotta, Potorti, Secchi: An Analysis of TCP Startup over an Experimental DVB-RCS Platform,
IWSSC 2006. `start_up` has the equation and its assumptions.

Map: `start_up` a platform as numbers and the parameters of the equation as arrays, `growth` its
exponent, the equivalent round trip and how much to request, `approximation` and `exact` its
solutions, `laws` window, volume and completion time under each of them, `packets` estimates that
count packets, `tables` and `curves` frames for the command line and for figures.

Parameters have one meaning in all functions: `start_up` has arrays that broadcast with times and
volumes, `time_s` are seconds since the first window left, `volume_segments` is N,
`initial_window_segments` W0, `multiplier` k, `delay_ratio` rho (1 or more), `rtt_s` tau, the
`loop_gain` k rho, and `law` says how the equation is solved.
"""

from fairwind.models.dama.growth import CRITERIA as CRITERIA
from fairwind.models.dama.growth import SOURCE_MULTIPLIER as SOURCE_MULTIPLIER
from fairwind.models.dama.growth import allocation_delay as allocation_delay
from fairwind.models.dama.growth import approximate_roots as approximate_roots
from fairwind.models.dama.growth import as_without_wait as as_without_wait
from fairwind.models.dama.growth import as_without_wait_exactly as as_without_wait_exactly
from fairwind.models.dama.growth import doubling_per_rtt as doubling_per_rtt
from fairwind.models.dama.growth import equivalent_rtt as equivalent_rtt
from fairwind.models.dama.growth import exact_equivalent_rtt as exact_equivalent_rtt
from fairwind.models.dama.growth import exact_exponent as exact_exponent
from fairwind.models.dama.growth import packet_exponent as packet_exponent
from fairwind.models.dama.growth import without_backlog as without_backlog
from fairwind.models.dama.laws import Law as Law
from fairwind.models.dama.laws import carried_segments as carried_segments
from fairwind.models.dama.laws import completion_time_s as completion_time_s
from fairwind.models.dama.laws import constant_allocation_time_s as constant_allocation_time_s
from fairwind.models.dama.laws import maximum_demand_time_s as maximum_demand_time_s
from fairwind.models.dama.laws import quickest as quickest
from fairwind.models.dama.laws import saturation_time_s as saturation_time_s
from fairwind.models.dama.laws import volume_segments as volume_segments
from fairwind.models.dama.laws import window_segments as window_segments
from fairwind.models.dama.packets import packet_completion_time_s as packet_completion_time_s
from fairwind.models.dama.packets import request_time_s as request_time_s
from fairwind.models.dama.packets import slot_utilisation as slot_utilisation
from fairwind.models.dama.packets import slow_start_time_s as slow_start_time_s
from fairwind.models.dama.start_up import DemandAssignedLink as DemandAssignedLink
from fairwind.models.dama.start_up import StartUp as StartUp

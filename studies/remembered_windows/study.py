"""Remembered windows (Hartmann and Bestavros, BUCS-1998-001), and what they cost.

A server keeps, by the address of its clients, the window that their connections ended with, and
begins the next one with it. How much faster are transfers, by delay and volume; what does it cost
where the path has changed since; and what do its modern forms make of it?

Map: `transfers` what each transfer took and lost, `speedups` old by new, `price` what the second of
two transfers, or a crowd, does to whom, `others` what those meet in the first second, `claims` the
verdicts on the source, `price_claims`, `later_claims`, `greedy_claims` and `crowd_claims` those on
what the source does not show, `verdicts` what these have in common, `figures` and `price_figures`
the figures. The scenario files lie beside them, one for each part.
"""

from fairwind.studies import Part, Study, full_and_reduced, leading_and_further

from .claims import claims
from .figures import figures

_LEADING = "speedup"

_FEWER: dict[str, dict[str, str]] = {
    "speedup": {
        "sweep.flows.web.workload.ack_delay": '["0 s", "50 ms", "200 ms"]',
        "sweep.flows.web.workload.volume": '["10 MB", "40 MB"]',
    },
    "closed": {},
    "windows": {},
    "long": {"sweep.repeat": "3"},
    "worse": {"sweep.repeat": "3"},
    "later": {"sweep.repeat": "3"},
    "greedy": {"sweep.repeat": "3"},
    "crowd": {"sweep.repeat": "3"},
    "hosts": {"sweep.repeat": "3"},
    "map": {
        "sweep.repeat": "1",
        "sweep.path.rtt": '["20 ms", "80 ms", "600 ms"]',
        "sweep.flows.web.workload.volume": '["30 kB", "300 kB", "3 MB"]',
    },
}

_KERNEL = {
    "kernel": Part(
        f"{_LEADING}.toml",
        {
            "duration": "6 s",
            "path.rate": "40 Mbit/s",
            "flows.web.workload.transfers": "3",
            "sweep.repeat": "3",
            "sweep.flows.web.workload.ack_delay": '["20 ms", "50 ms", "100 ms"]',
            "sweep.flows.web.workload.volume": '["1 MB", "3 MB"]',
        },
    )
}
"""Five minutes in real time, at a rate that the router carries on any machine."""

_LED, _FURTHER = leading_and_further(full_and_reduced(_FEWER), _LEADING)

STUDY = Study(
    name="remembered-windows",
    title="Remembered windows: sharing congestion information over connections, and its price",
    source="Hartmann, Bestavros, Boston University, BUCS-1998-001",
    package=__package__,
    forms=_LED | _KERNEL,
    parts=_FURTHER,
    kernel_forms={"full": "kernel", "reduced": "kernel"},
    figures=figures,
    claims=claims,
)

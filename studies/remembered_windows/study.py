"""Remembered congestion windows (Hartmann and Bestavros, BUCS-1998-001), and their price.

A server starts a connection with the window that an earlier one to the same client ended with. This
study measures how much faster transfers become, and what it costs where the path has changed.

`measures` has the numbers run by run, `claims` judges the source, `price_claims` what the source
does not show. Each part of the study has a scenario file.
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
    "receive-window": {
        "sweep.flows.web.workload.ack_delay": '["0 s", "200 ms"]',
        "sweep.flows.web.workload.volume": '["10 kB", "40 kB", "10 MB"]',
    },
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
    title="Remembered congestion windows: speed-up and price",
    source="Hartmann, Bestavros, Boston University, BUCS-1998-001",
    package=__package__,
    forms=_LED | _KERNEL,
    parts=_FURTHER,
    kernel_forms={"full": "kernel", "reduced": "kernel"},
    figures=figures,
    claims=claims,
)

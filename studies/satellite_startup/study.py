"""TCP's start-up over capacity that is assigned on demand (Gotta, Potorti, Secchi 2006).

A satellite terminal gets its slots more than a round trip after it has asked for them. How much
slower do connections start for it, what do the stacks of the time make of it, and how much more
than the measured rate is worth asking for?

Map: `transfers` time and use of slots of a transfer, `reconstruction` what was reckoned for them,
`growth` equivalent round trips, volumes and windows, `stacks` what each stack did, `beyond`
transfers over satellites of today, `on_kernel` those of the kernel beside simulated ones; `claims`
the verdicts, in seven files; `figures` the figures in the source's layouts. The scenario files lie
beside them, one for each part.
"""

from fairwind.studies import Part, Study, full_and_reduced, leading_and_further

from .claims import claims
from .figures import figures

_LEADING = "table"

_FEWER_SIZES = {"sweep.repeat": "5"}

_FEWER_MULTIPLIERS = {"sweep.path.terminal.requests.multiplier": "[1, 2, 4.8, 8]"}

_REDUCED: dict[str, dict[str, str]] = {
    "table": _FEWER_SIZES | _FEWER_MULTIPLIERS,
    "reckoning": _FEWER_SIZES | _FEWER_MULTIPLIERS,
    "stacks": {"sweep.repeat": "2", "sweep.path.queue.limit": '["100 packets", "300 packets"]'},
    "startup": {"sweep.repeat": "3"},
    "periods": {"sweep.repeat": "3"},
    "policies": _FEWER_SIZES,
    "terminals": _FEWER_SIZES,
    "geo-uploads": {"sweep.repeat": "3", "sweep.volume": '["100 kB", "1 MB"]'},
    "geo-downloads": {"sweep.repeat": "3", "sweep.volume": '["100 kB", "1 MB"]'},
    "leo": {"sweep.repeat": "3", "sweep.volume": '["1 MB", "10 MB"]'},
}

_KERNEL = {
    "kernel": Part(
        f"{_LEADING}.toml",
        {
            "duration": "18 s",
            "sweep.repeat": "3",
            "sweep.path.terminal.requests.multiplier": "[1, 4.8, 8]",
            "sweep.segments": '["20", "200"]',
        },
    )
}
"""Five minutes in real time, of the part whose packets are never lost."""

_OFFSET = {
    "path.carrier.frame_offset": "147 ms",
    "sweep.path.terminal.requests.multiplier": "[1, 4.8, 8]",
}
"""Frames that begin when plans come: 420 ms less a frame. All else is as in the table."""

_FORMS = full_and_reduced(_REDUCED)
_FORMS["full"]["frame-offset"] = Part(f"{_LEADING}.toml", _OFFSET)
_FORMS["reduced"]["frame-offset"] = Part(f"{_LEADING}.toml", _FEWER_SIZES | _OFFSET)

_LED, _FURTHER = leading_and_further(_FORMS, _LEADING)

STUDY = Study(
    name="satellite-startup",
    title="TCP's start-up over capacity that is assigned on demand",
    source="Gotta, Potorti, Secchi, IWSSC 2006, pp. 176-180",
    package=__package__,
    forms=_LED | _KERNEL,
    parts=_FURTHER,
    kernel_forms={"full": "kernel", "reduced": "kernel"},
    figures=figures,
    claims=claims,
)

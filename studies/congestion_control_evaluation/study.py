"""Congestion controls over a grid of paths (D. Leith's slides; Li, Leith and Shorten 2007).

This study compares seven congestion controls with standard TCP on one TCP stack: fairness, RTT
unfairness, friendliness, convergence, efficiency and harm.

`measures` has the numbers run by run, `baseline` the comparison with standard TCP, `claims` and
`figures` the results. Each part of the study has a scenario file.
"""

import json

from fairwind.studies import Part, Study, leading_and_further

from .claims import claims
from .figures import figures
from .further import READERS

_SOURCES = ("reno", "scalable", "highspeed", "bic", "fast", "htcp", "cubic")
_OTHERS = ("bbr", "bbr3", "vegas", "westwood", "illinois", "hybla", "ledbat")
"""Without DCTCP, which lives by marks: no queue of this study sets any."""

_LEADING = "symmetric"

_FIXED = ("stacks", "alone")
"""Parts that have the same congestion controls in every form."""

_BESIDES = {"transfers": ("alone",)}
"""Labels among the congestion controls of a part that are none."""

_FEWER = {"sweep.repeat": "3", "sweep.bandwidth": '["10 Mbit/s", "250 Mbit/s"]'}
_FEWER_PATHS = _FEWER | {"sweep.path.rtt": '["42 ms", "162 ms"]'}
_ONE_QUEUE = '["20 % bdp"]'

_REDUCED: dict[str, dict[str, str]] = {
    "symmetric": _FEWER_PATHS | {"sweep.path.queue.limit": _ONE_QUEUE},
    "friendliness": _FEWER_PATHS | {"sweep.path.queue.limit": _ONE_QUEUE},
    "rtt-unfairness": _FEWER | {"sweep.rtt": '["42 ms", "324 ms"]', "sweep.limit": _ONE_QUEUE},
    "convergence": _FEWER_PATHS | {"sweep.path.queue.limit": _ONE_QUEUE},
    "alone": _FEWER_PATHS | {"sweep.path.queue.limit": _ONE_QUEUE},
    "transfers": _FEWER_PATHS,
    "traces": {"sweep.path.rtt": '["42 ms", "162 ms"]', "duration": "180 s"},
    "recovery": {"sweep.control": '["reno", "htcp"]'},
    "early-drop": {"sweep.repeat": "3", "sweep.control": '["reno", "highspeed", "htcp"]'},
    "many": _FEWER_PATHS | {"sweep.number": '["2", "8"]'},
    "leaving": _FEWER_PATHS,
    "cross": _FEWER_PATHS,
    "reverse": _FEWER_PATHS,
}

_FURTHER = ("alone", "transfers", *READERS)
"""Parts beyond the source: harm to standard TCP, more flows, flows that stop, other traffic."""

_TWO_QUEUES = {"sweep.path.queue.limit": '["20 % bdp", "100 % bdp"]'}

_FULL: dict[str, dict[str, str]] = {name: {} for name in _REDUCED if name not in _FURTHER} | {
    "convergence": _TWO_QUEUES
}

_BEYOND: dict[str, dict[str, str]] = _FULL | {name: {} for name in _FURTHER} | {"stacks": {}}
"""Also the parts beyond the source, and stacks of that time and today."""

_EXTRA: dict[str, dict[str, str]] = {
    name: {}
    for name in ("symmetric", "friendliness", "rtt-unfairness", "alone", "transfers", "traces")
} | {"convergence": _TWO_QUEUES}


def _parts(settings: dict[str, dict[str, str]], controls: tuple[str, ...]) -> dict[str, Part]:
    """Give the parts of a form, with the congestion controls that it has."""
    parts = {}
    for name, own in settings.items():
        there = [*_BESIDES.get(name, ()), *controls]
        if name == "friendliness":
            there.remove("reno")
        chosen = {} if name in _FIXED else {"sweep.control": json.dumps(there)}
        parts[name] = Part(f"{name}.toml", chosen | own)
    return parts


_SHORT = {"duration": "60 s", "measure.warmup": "20 s", "sweep.repeat": "1"}

_KERNEL_PARTS: dict[str, dict[str, str]] = {
    "symmetric": _SHORT,
    "friendliness": _SHORT,
    "rtt-unfairness": _SHORT,
    "convergence": {
        "duration": "90 s",
        "measure.warmup": "30 s",
        "flows.second.start": "30 s",
        "sweep.repeat": "1",
    },
}
"""Parts that one machine carries in real time, and settings of their short form."""


def _on_kernel(*, is_short: bool) -> dict[str, Part]:
    """Give the parts of a form with the kernel's congestion controls in C."""
    return {
        name: Part(
            "kernel.toml" if name == _LEADING else f"kernel-{name}.toml", short if is_short else {}
        )
        for name, short in _KERNEL_PARTS.items()
    }


_FORMS = {
    "full": _parts(_FULL, _SOURCES),
    "beyond": _parts(_BEYOND, _SOURCES),
    "reduced": _parts(_REDUCED, _SOURCES),
    "extra": _parts(_EXTRA, ("reno", *_OTHERS)),
    "kernel": _on_kernel(is_short=False),
    "kernel-reduced": _on_kernel(is_short=True),
}

_LED, _PARTS = leading_and_further(_FORMS, _LEADING)

STUDY = Study(
    name="congestion-control-evaluation",
    title="Seven congestion controls on one TCP stack over 72 paths",
    source="D. Leith, slides; Li, Leith, Shorten, IEEE/ACM Trans. Networking 15(5), 2007",
    package=__package__,
    forms=_LED,
    parts=_PARTS,
    kernel_forms={"full": "kernel", "reduced": "kernel-reduced"},
    kernel_jobs=2,
    figures=figures,
    claims=claims,
)

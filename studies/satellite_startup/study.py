"""Start-up of TCP over capacity that is assigned on demand (Gotta, Potorti, Secchi 2006).

A satellite terminal gets slots more than a round trip after its request. This study measures how
much longer transfers take, what the stacks of 2006 do, and how large a request should be.

`measures` has the numbers run by run; claims are divided by subject: the model, requests, stacks,
and satellites of today (`beyond_claims`). Each part of the study has a scenario file.
"""

from fairwind.results import Claim, Results
from fairwind.studies import Part, Study, full_and_reduced, leading_and_further

from .beyond_claims import beyond_claims
from .crowd import multiplied
from .crowd_claims import crowd_claims
from .figures import figures
from .model_claims import model_claims, reckoning_claims
from .request_claims import capacity_comes_late, multiplier_claims, policy_claims
from .stack_claims import stack_claims

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
"""Five minutes in real time, of the part without packet loss."""

_OFFSET = {
    "path.carrier.frame_offset": "147 ms",
    "sweep.path.terminal.requests.multiplier": "[1, 4.8, 8]",
}
"""Frames that begin when plans come: 420 ms less a frame. All else is as in the table."""

TERMINALS = 18
"""That share a carrier under load."""

_CROWD = multiplied("crowd.toml", TERMINALS)

_FORMS = full_and_reduced(_REDUCED)
_FORMS["full"]["frame-offset"] = Part(f"{_LEADING}.toml", _OFFSET)
_FORMS["reduced"]["frame-offset"] = Part(f"{_LEADING}.toml", _FEWER_SIZES | _OFFSET)
_FORMS["full"]["crowd"] = Part("crowd.toml", _CROWD)
_FORMS["reduced"]["crowd"] = Part("crowd.toml", _CROWD | {"sweep.repeat": "3"})

_LED, _FURTHER = leading_and_further(_FORMS, _LEADING)


def claims(results: Results) -> list[Claim]:
    """Judge all parts, those of the source first; undecided where one was not run."""
    stacks, reckoning = results.part("stacks"), results.part("reckoning")
    return [
        capacity_comes_late(results),
        *stack_claims(stacks),
        *model_claims(results, results.part("startup"), results.part("periods"), stacks),
        *reckoning_claims(reckoning),
        *multiplier_claims(results, reckoning, results.part("frame-offset")),
        *policy_claims(results.part("policies"), results.part("terminals")),
        *beyond_claims(*(results.part(name) for name in ("geo-uploads", "geo-downloads", "leo"))),
        *crowd_claims(results.part("crowd")),
    ]


STUDY = Study(
    name="satellite-startup",
    title="Start-up of TCP over capacity that is assigned on demand",
    source="Gotta, Potorti, Secchi, IWSSC 2006, pp. 176-180",
    package=__package__,
    forms=_LED | _KERNEL,
    parts=_FURTHER,
    kernel_forms={"full": "kernel", "reduced": "kernel"},
    figures=figures,
    claims=claims,
)

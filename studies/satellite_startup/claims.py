"""What the source says of start-ups over capacity on demand, judged by our results."""

from __future__ import annotations

from fairwind.results import Claim, Results

from .beyond_claims import beyond_claims
from .model_claims import model_claims, reckoning_claims
from .request_claims import multiplier_claims, platform_claims, policy_claims
from .stack_claims import stack_claims


def claims(results: Results) -> list[Claim]:
    """Judge all parts, those of the source first; undecided where one was not run."""
    stacks, reckoning = results.part("stacks"), results.part("reckoning")
    return [
        *platform_claims(results),
        *stack_claims(stacks),
        *model_claims(results, results.part("startup"), results.part("periods"), stacks),
        *reckoning_claims(reckoning),
        *multiplier_claims(results, reckoning, results.part("frame-offset")),
        *policy_claims(results.part("policies"), results.part("terminals")),
        *beyond_claims(*(results.part(name) for name in ("geo-uploads", "geo-downloads", "leo"))),
    ]

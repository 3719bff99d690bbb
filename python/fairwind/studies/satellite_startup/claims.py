"""What the source says of start-ups over capacity on demand, judged by our results."""

from __future__ import annotations

from fairwind.results import Claim, Results
from fairwind.studies.satellite_startup.beyond_claims import beyond_claims
from fairwind.studies.satellite_startup.model_claims import model_claims
from fairwind.studies.satellite_startup.multiplier_claims import multiplier_claims
from fairwind.studies.satellite_startup.platform_claims import platform_claims
from fairwind.studies.satellite_startup.policy_claims import policy_claims
from fairwind.studies.satellite_startup.stack_claims import stack_claims


def claims(results: Results) -> list[Claim]:
    """Judge platform, stacks, model, k, policies and satellites of today; undecided if not run."""
    stacks = results.part("stacks")
    return [
        *platform_claims(results),
        *stack_claims(stacks),
        *model_claims(results, results.part("startup"), results.part("periods"), stacks),
        *multiplier_claims(results),
        *policy_claims(results.part("policies"), results.part("terminals")),
        *beyond_claims(*(results.part(name) for name in ("geo-uploads", "geo-downloads", "leo"))),
    ]

"""What the source asks, judged by our results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from fairwind.results import Claim, Results, Verdict
from fairwind.studies import hypotheses
from fairwind.studies.groups import interval_per_panel
from fairwind.studies.in_part import HOLDS, HOLDS_NOT, IS_OPEN, where_it_holds
from fairwind.studies.panels import Panels, interval_in_words
from fairwind.studies.streams import (
    VARIANT,
    group_of,
    offered_bits_per_second,
    offered_payload_bits_per_second,
    variants,
)

from .clustering import hits_many_at_once
from .rates import THIN_COUNT

ENOUGH_RATIO = 0.99
"""This share of what was written counts as all of it: the rest may be on its way at the end."""

LESS_RATIO = 0.95
"""Throughput below this share of one packet per write shows that writes are joined."""


def claims(results: Results) -> list[Claim]:
    """Judge hypotheses 1 and 2, the disadvantage, and that throughput tells not what is got."""
    panels = Panels.of(results, THIN_COUNT)
    return [
        *hypotheses.latency_reduced(results, panels),
        hypotheses.unharmed(
            results,
            "The goodput of the greedy streams does not differ between the four variants of the "
            "thin streams, for any number of thin streams.",
            "goodput_bits_per_second",
            panels,
        ),
        hypotheses.at_a_disadvantage(results, panels),
        gets_what_it_asks(results, panels),
        is_repacketised(results, panels),
        hits_many_at_once(results, panels),
    ]


def gets_what_it_asks(results: Results, panels: Panels) -> Claim:
    """Judge: goodput tells nothing of the disadvantage, for it is what the applications write."""
    details = _ratios(results, panels, "goodput_bits_per_second", payload=True)
    is_all, is_less = pl.col("low") > ENOUGH_RATIO, pl.col("high") < ENOUGH_RATIO
    sides = {"all of it for": is_all, "less for": is_less}
    return Claim(
        statement="Thin streams get what they ask for in the end: discrimination shows in latency.",
        rule=(
            "Goodput of the thin streams over what their applications write on average, 95 % "
            f"interval of the mean over seeds. Borne out: above {ENOUGH_RATIO:.0%} in every panel, "
            "in part: in some; not: below it in every one; otherwise undecided."
        ),
        verdict=_verdict(details, is_all, is_less),
        evidence=_evidence(results, panels, details, sides),
        details=details,
        in_short=_in_short(details, panels, is_all, is_less),
    )


def is_repacketised(results: Results, panels: Panels) -> Claim:
    """Judge: throughput is not one packet per write (section 4.3.3)."""
    details = _ratios(results, panels, "throughput_bits_per_second", payload=False)
    is_less, is_all = pl.col("high") < LESS_RATIO, pl.col("low") > LESS_RATIO
    sides = {"joined for": is_less, "not joined for": is_all}
    return Claim(
        statement=(
            "What waits behind a loss is sent in larger segments, so that thin streams need less "
            "throughput than one packet per write, although they repeat packets."
        ),
        rule=(
            "Throughput of the thin streams, headers and repeated bytes included, over one packet "
            "per write, 95 % interval of the mean over seeds. Borne out: below "
            f"{LESS_RATIO:.0%} in every panel, in part: in some; not: above it in every one; "
            "otherwise undecided."
        ),
        verdict=_verdict(details, is_less, is_all),
        evidence=_evidence(results, panels, details, sides),
        details=details,
        in_short=_in_short(details, panels, is_less, is_all),
    )


def _ratios(results: Results, panels: Panels, measure: str, *, payload: bool) -> pl.DataFrame:
    rate = offered_payload_bits_per_second if payload else offered_bits_per_second
    offered = pl.DataFrame(
        [(cell.index, _offered(cell.experiment, rate)) for cell in results.manifest.plan.cells],
        schema={"cell": results.groups.schema["cell"], "offered_bits_per_second": pl.Float64},
        orient="row",
    )
    thin = results.groups.filter(pl.col("group") == "thin")
    thin = thin.join(offered, on="cell", maintain_order="left")
    ratio = (pl.col(measure) / pl.col("offered_bits_per_second")).alias("ratio")
    return interval_per_panel(thin.with_columns(ratio), "ratio", (VARIANT, *panels.columns))


def _offered(
    experiment: dict[str, Any], rate: Callable[[dict[str, Any]], float | None]
) -> float | None:
    """Give what all thin streams of a cell offer together; None if that is not known."""
    of_one = rate(experiment)
    return None if of_one is None else int(group_of(experiment, "thin")["count"]) * of_one


def _verdict(details: pl.DataFrame, holds: pl.Expr, fails: pl.Expr) -> Verdict:
    held, failed = details.filter(holds).height, details.filter(fails).height
    if held == details.height:
        return Verdict.BORNE_OUT
    if held:
        return Verdict.BORNE_OUT_IN_PART
    return Verdict.NOT_BORNE_OUT if failed == details.height else Verdict.UNDECIDED


def _in_short(details: pl.DataFrame, panels: Panels, holds: pl.Expr, fails: pl.Expr) -> str:
    cases = {HOLDS: holds, HOLDS_NOT: fails, IS_OPEN: ~holds & ~fails}
    return where_it_holds(details, panels, cases)


def _evidence(
    results: Results, panels: Panels, details: pl.DataFrame, sides: dict[str, pl.Expr]
) -> str:
    ranges = "; ".join(
        f"{variant}: {panels.sides(details.filter(pl.col(VARIANT) == variant), sides)}"
        for variant in variants(results)
    )
    known = details.filter(pl.col("mean").is_not_nan()).sort("mean")
    if known.height == 0:
        return "What the applications of the thin streams offer is not known of their workload."
    least = known.row(0, named=True)
    return (
        f"{ranges}. The smallest ratio: {least['mean']:.3f}"
        f"{interval_in_words(least['low'], least['high'], '.3f')} "
        f"({least[VARIANT]}, {panels.title(least)})."
    )

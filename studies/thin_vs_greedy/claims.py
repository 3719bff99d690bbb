"""What the source says and asks, judged by our results."""

from __future__ import annotations

import polars as pl

from fairwind.results import Claim, Results, Verdict
from fairwind.studies import hypotheses
from fairwind.studies.groups import interval_per_panel
from fairwind.studies.in_part import where_it_holds
from fairwind.studies.panels import Panels, interval_in_words, setting_in_words
from fairwind.studies.streams import COUNT, REFERENCE, VARIANT

TOO_MANY_RATIO = 0.1
"""From this share of problematic connections on we call a path too congested."""


def claims(results: Results) -> list[Claim]:
    """Judge hypotheses 1 and 2, the source's conclusion, and whether it is too congested."""
    panels = Panels.of(results, COUNT)
    return [
        *hypotheses.latency_reduced(results, panels),
        hypotheses.unharmed(
            results,
            "The goodput of the greedy streams does not differ between the four variants of the "
            "thin streams, for any number of streams.",
            "goodput_bits_per_second",
            panels,
        ),
        hypotheses.at_a_disadvantage(results, panels),
        too_congested(results, panels),
    ]


def too_congested(results: Results, panels: Panels) -> Claim:
    """Judge: beside as many greedy streams, unmodified thin connections become problematic."""
    thin = results.groups.filter((pl.col("group") == "thin") & (pl.col(VARIANT) == REFERENCE))
    share = (pl.col("flows_problematic") / pl.col("flows")).alias("problematic_ratio")
    details = interval_per_panel(thin.with_columns(share), "problematic_ratio", panels.columns)
    is_above, is_below = pl.col("low") > TOO_MANY_RATIO, pl.col("high") < TOO_MANY_RATIO
    last = details.filter(pl.col(COUNT) == pl.col(COUNT).max())
    if last.filter(is_above).height == last.height:
        verdict = Verdict.BORNE_OUT
    elif details.filter(is_above).height:
        verdict = Verdict.BORNE_OUT_IN_PART
    elif details.filter(is_below).height == details.height:
        verdict = Verdict.NOT_BORNE_OUT
    else:
        verdict = Verdict.UNDECIDED
    sides = {f"above {TOO_MANY_RATIO:.0%} for": is_above, "below it for": is_below}
    return Claim(
        statement=(
            "With as many greedy as thin streams the path becomes too congested for thin "
            "connections: many of them are problematic."
        ),
        rule=(
            "Share of the unmodified thin connections that are problematic, 95 % interval of the "
            f"mean over seeds. Borne out: above {TOO_MANY_RATIO:.0%} at the largest N, in part: at "
            "some N; not: below it at every N; otherwise undecided."
        ),
        verdict=verdict,
        evidence=(
            f"{panels.sides(details, sides)}. At N = {last[COUNT][0]}: {_shares(last, panels)}."
        ),
        details=details,
        in_short=where_it_holds(
            details,
            panels,
            {"it is": is_above, "it is not": is_below, "it is undecided": ~is_above & ~is_below},
            by=None,
        ),
    )


def _shares(rows: pl.DataFrame, panels: Panels) -> str:
    return "; ".join(
        ", ".join(
            [
                *(setting_in_words(name, row[name]) for name in panels.beside),
                f"{row['mean']:.1%}{interval_in_words(row['low'], row['high'], '.1%')}",
            ]
        )
        for row in rows.iter_rows(named=True)
    )

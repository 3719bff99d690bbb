"""Whom losses in a row hit: thin streams together, greedy ones alone (section 4.3.4)."""

from __future__ import annotations

import polars as pl

from fairwind.results import Claim, Results, Verdict
from fairwind.statistics import holm, paired_difference
from fairwind.studies.hypotheses import IS_INCREASED, IS_REDUCED
from fairwind.studies.in_part import where_it_holds
from fairwind.studies.panels import Panels
from fairwind.studies.streams import REFERENCE, VARIANT

QUEUE = "bottleneck"
AMONG, WITHIN = "among_connections_ratio", "within_connections_ratio"

TOLD = {
    "in_succession_ratio": "in succession",
    AMONG: "among connections",
    WITHIN: "within one",
}
"""Measures of a group's losses, and what they are called in a sentence."""


def hits_many_at_once(results: Results, panels: Panels) -> Claim:
    """Judge: what thin streams lose in a row is of several of them, not several of one."""
    losses = results.queue_loss_runs.filter(
        (pl.col("queue") == QUEUE) & (pl.col(VARIANT) == REFERENCE)
    )
    thin = losses.filter((pl.col("group") == "thin") & (pl.col(panels.count) > 1))
    details = among_less_within(thin, panels)
    more, less = details.filter(IS_INCREASED).height, details.filter(IS_REDUCED).height
    if details.height and more == details.height:
        verdict = Verdict.BORNE_OUT
    elif more:
        verdict = Verdict.BORNE_OUT_IN_PART
    else:
        verdict = Verdict.NOT_BORNE_OUT if less else Verdict.UNDECIDED
    sides = {"more among for": IS_INCREASED, "more within one for": IS_REDUCED}
    where = f"{panels.sides(details, sides)}. " if details.height else ""
    return Claim(
        statement=(
            "Losses of thin streams come together, and then hit several connections at once rather "
            "than one of them several times."
        ),
        rule=(
            "Share of the unmodified thin streams' losses at the bottleneck that are in runs which "
            "hit more than one connection, less the share in runs in which one lost more than "
            "once; Student's t over seeds, Holm-corrected, for N above 1. Borne out: significantly "
            "above zero in every panel, in part: in some; not: below it in some and above it in "
            "none; otherwise undecided."
        ),
        verdict=verdict,
        evidence=f"{where}{_last_in_words(losses, panels)}",
        details=details,
        in_short=_in_short(details, panels) if details.height else "",
    )


def _in_short(details: pl.DataFrame, panels: Panels) -> str:
    cases = {
        "they hit several at once": IS_INCREASED,
        "they hit one several times": IS_REDUCED,
        "neither is significant": ~IS_INCREASED & ~IS_REDUCED,
    }
    return where_it_holds(details, panels, cases, by=None)


def among_less_within(losses: pl.DataFrame, panels: Panels) -> pl.DataFrame:
    """Compare, run by run, losses that hit several connections with those that hit one again.

    Parameters
    ----------
    losses : DataFrame
        Rows of the table ``queue_loss_runs``, of one queue and group; those without losses tell
        nothing and are left out.
    panels : Panels

    Returns
    -------
    DataFrame
        The columns of the panels, ``mean_among``, ``mean_within``, ``difference`` with ``low`` and
        ``high`` (95 % interval), ``p_value_holm``, ``runs``.
    """
    rows = []
    told = losses.drop_nulls([AMONG, WITHIN])
    for key, part in told.group_by(list(panels.columns), maintain_order=True):
        found = paired_difference(part[WITHIN].to_numpy(), part[AMONG].to_numpy())
        rows.append(
            dict(zip(panels.columns, key, strict=True))
            | {
                "mean_among": found.mean_b,
                "mean_within": found.mean_a,
                "difference": found.estimate,
                "low": found.low,
                "high": found.high,
                "p_value": found.p_value,
                "runs": found.samples_a,
            }
        )
    if not rows:
        return pl.DataFrame(
            schema=dict.fromkeys((*panels.columns, "difference", "p_value_holm"), pl.Float64)
        )
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(
        pl.Series("p_value_holm", holm([row["p_value"] for row in rows]))
    )


def _last_in_words(losses: pl.DataFrame, panels: Panels) -> str:
    """Tell how losses come together in the last panel, of which most are lost."""
    if losses.height == 0:
        return "Nothing was lost."
    place = losses.select(panels.columns).row(-1, named=True)
    last = losses.filter(pl.col(name) == value for name, value in place.items())
    groups = last.group_by("group", maintain_order=True).agg(pl.col(list(TOLD)).mean()).drop_nulls()
    told = "; ".join(
        f"{row['group']}: "
        + ", ".join(f"{row[column]:.1%} {name}" for column, name in TOLD.items())
        for row in groups.iter_rows(named=True)
    )
    return f"{panels.title(place)}: {told}."

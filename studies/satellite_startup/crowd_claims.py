"""Claims on eighteen terminals that share a carrier under load."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from fairwind.results import Claim, Question, Results, Verdict
from fairwind.studies.panels import signed

from .measures import (
    BOTH,
    LOAD,
    MARGIN_RATIO,
    PLAIN,
    POLICY,
    RAISED,
    TIME,
    USE,
    compared,
    under_load,
)

_WHERE = "Beyond the source: where eighteen terminals share a carrier under load, "


def crowd_claims(crowd: Results | None) -> list[Claim]:
    """Judge policies of requests by the mean time of all transfers."""
    done = None if crowd is None else under_load(crowd)
    return [
        _quicker(
            done,
            f"{_WHERE}requests by rate and by volume at once are quicker than by one of both.",
            BOTH,
            (PLAIN, "vbdc"),
        ),
        _quicker(
            done, f"{_WHERE}asking for 4.8 times the measured rate still pays.", RAISED, (PLAIN,)
        ),
    ]


def _quicker(done: pl.DataFrame | None, statement: str, way: str, others: Sequence[str]) -> Claim:
    question = Question(
        statement,
        f"Mean time of the transfers of a run, {way} against {' and '.join(others)}, paired by "
        f"seed. Holds: for every load the whole 95 % interval is below -{MARGIN_RATIO:.0%}; for "
        "some: for some; fails: for none, and above it for some.",
    )
    if done is None or way not in done[POLICY].to_list():
        return question.not_run()
    details = pl.concat(
        [
            compared(done, TIME, POLICY, (other, way), [LOAD]).with_columns(
                pl.lit(other).alias("against")
            )
            for other in others
        ]
    )
    text = "; ".join(
        f"load {row[LOAD]}, against {row['against']} {signed(row)}, {row['mean_second']:.1f} s"
        for row in details.iter_rows(named=True)
    )
    low, high = details["relative_low_ratio"], details["relative_high_ratio"]
    return question.answered(
        verdict=Verdict.of_cells(high < -MARGIN_RATIO, low > -MARGIN_RATIO),
        evidence=(
            f"{text}. Slots used: {_uses(done)}. Transfers that were not done: "
            f"{done['unfinished'].sum()}."
        ),
        details=details,
        in_short="; ".join(
            f"against {other} {_range(details.filter(pl.col('against') == other))}"
            for other in others
        )
        + ".",
    )


def _range(details: pl.DataFrame) -> str:
    """Give the changes from the least load to the greatest."""
    return " and ".join(f"{row['relative_ratio']:+.0%}" for row in details.iter_rows(named=True))


def _uses(done: pl.DataFrame) -> str:
    """Give the share of slots used, by policy and load."""
    means = done.group_by(POLICY, LOAD, maintain_order=True).agg(pl.col(USE).mean())
    return "; ".join(f"{policy} at {load} {use:.2f}" for policy, load, use in means.iter_rows())

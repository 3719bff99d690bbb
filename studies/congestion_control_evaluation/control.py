"""The source's second rule: make sure that congestion control is exercised."""

from __future__ import annotations

import polars as pl

from fairwind.results import REASONS, Claim, Results, Verdict, limited_senders
from fairwind.results.exercised import HELD_RATIO

PARTS = (
    "friendliness",
    "rtt-unfairness",
    "convergence",
    "alone",
    "traces",
    "recovery",
    "early-drop",
    "stacks",
)

MOST_RATIO = 0.5
"""Where more of the flows than this are limited by something else, the study measures that."""


def exercised(results: Results) -> Claim:
    """Judge that nothing but congestion control limited the flows, in all parts that were run."""
    runs = {"symmetric": results} | {
        name: part for name in PARTS if (part := results.part(name)) is not None
    }
    told = {name: run for name, run in runs.items() if run.senders is not None}
    flows = sum(run.senders.height for run in told.values() if run.senders is not None)
    limited = _limited(told)
    affected = limited.unique(["part", "cell", "seed", "group"]).height if limited.height else 0
    return Claim(
        statement="The congestion controls were exercised: nothing else limited the flows.",
        rule=(
            f"A flow was limited by something else if for more than {HELD_RATIO:.0%} of its time "
            "the receiver's window or the send buffer held data back or the application had none, "
            "or if it never lost anything and never left slow start. Borne out: no flow; not: more "
            f"than {MOST_RATIO:.0%} of them; in part: otherwise; undecided where no run tells."
        ),
        verdict=_verdict(affected, flows),
        evidence=_evidence(limited, affected, flows),
        details=limited,
        in_short=f"{flows - affected} of {flows} flows were limited by it alone, the others not.",
    )


def _limited(runs: dict[str, Results]) -> pl.DataFrame:
    frames = [
        limited_senders(run).with_columns(pl.lit(name).alias("part")) for name, run in runs.items()
    ]
    return pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame()


def _verdict(affected: int, flows: int) -> Verdict:
    if not flows:
        return Verdict.UNDECIDED
    if not affected:
        return Verdict.BORNE_OUT
    many = affected > MOST_RATIO * flows
    return Verdict.NOT_BORNE_OUT if many else Verdict.BORNE_OUT_IN_PART


def _evidence(limited: pl.DataFrame, affected: int, flows: int) -> str:
    if not flows:
        return "The runs do not tell what limited their flows."
    head = f"{affected} of {flows} flows were limited by something else"
    if not affected:
        return f"{head}."
    counts = limited.group_by("part", "control", "reason", maintain_order=True).len("flows")
    each = "; ".join(
        f"{row['part']}, {row['control']}: of {row['flows']} "
        f"{REASONS[row['reason']].format(share=HELD_RATIO)}"
        for row in counts.iter_rows(named=True)
    )
    return f"{head}: {each}."

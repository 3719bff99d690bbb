"""N thin against five greedy streams (Markussen 2014, section 4.3).

Five greedy streams fill the path. This study asks whether thin streams beside them get what they
ask for, what that costs on the wire, and who loses more packets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import altair as alt
import polars as pl

from fairwind.plots import Figure
from fairwind.results import Claim, Results, Verdict
from fairwind.statistics import holm, paired_difference
from fairwind.studies import Part, Study
from fairwind.studies.comparisons import IS_INCREASED, IS_REDUCED, interval_per_panel
from fairwind.studies.panels import (
    HOLDS,
    HOLDS_NOT,
    IS_OPEN,
    KILO,
    PER_CENT,
    REFERENCE,
    SEEDS,
    VARIANT,
    Panels,
    estimates,
    interval_in_words,
    measure_by_count,
    measure_by_variant,
    where_it_holds,
)
from fairwind.studies.workloads import group_of

from ..thin_streams import (
    at_a_disadvantage,
    latency_reduced,
    offered_bits_per_second,
    offered_payload_bits_per_second,
    unharmed,
    variants,
)

THIN_COUNT = "flows_thin_count"


def offered_rates(results: Results) -> pl.DataFrame:
    """Give the offered rates of unmodified thin streams, as rows like `charts.estimates`.

    Returns
    -------
    DataFrame
        The axes, ``group`` (``offered payload`` or ``offered on the wire``), ``mean`` (bit/s, of
        all thin streams together; missing if their workload does not say), ``low`` and ``high``
        (missing: nothing is estimated).
    """
    plan = results.manifest.plan
    kinds = {
        "offered on the wire": offered_bits_per_second,
        "offered payload": offered_payload_bits_per_second,
    }
    rows = []
    for cell in plan.cells:
        place = {axis.column: axis.value(cell.settings[axis.name]) for axis in plan.axes}
        if place[VARIANT] != REFERENCE:
            continue
        count = int(group_of(cell.experiment, "thin")["count"])
        rows += [
            {**place, "group": kind, "mean": None if offered is None else count * offered}
            for kind, rate in kinds.items()
            for offered in (rate(cell.experiment),)
        ]
    nothing = pl.lit(None, pl.Float64)
    table = pl.DataFrame(rows, infer_schema_length=None)
    return table.with_columns(
        pl.col("mean").cast(pl.Float64), nothing.alias("low"), nothing.alias("high")
    )


QUEUE = "bottleneck"
AMONG, WITHIN = "among_connections_ratio", "within_connections_ratio"

LABELS = {
    "in_succession_ratio": "in succession",
    AMONG: "among connections",
    WITHIN: "within one",
}
"""Measures of a group's losses, and their names in sentences."""


def hits_many_at_once(results: Results, panels: Panels) -> Claim:
    """Judge: losses in a row hit several thin streams, not one several times."""
    losses = results.queue_loss_runs.filter(
        (pl.col("queue") == QUEUE) & (pl.col(VARIANT) == REFERENCE)
    )
    thin = losses.filter((pl.col("group") == "thin") & (pl.col(panels.count) > 1))
    details = among_less_within(thin, panels)
    more, less = details.filter(IS_INCREASED).height, details.filter(IS_REDUCED).height
    verdict = Verdict.of(whole=details.height and more == details.height, part=more, refuted=less)
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
            "once; Student's t over seeds, Holm-corrected, for N above 1. Holds: significantly "
            "above zero in every panel, for some: in some; fails: below it in some and above it in "
            "none; otherwise undecided."
        ),
        verdict=verdict,
        evidence=f"{where}{_last_in_words(losses, panels)}",
        details=details,
        in_short=_hits_in_short(details, panels) if details.height else "",
    )


def _hits_in_short(details: pl.DataFrame, panels: Panels) -> str:
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
        Rows of the table ``queue_loss_runs``, of one queue and group; those without losses are
        left out.

    Returns
    -------
    DataFrame
        The columns of the panels, ``mean_among``, ``mean_within``, ``difference`` with ``low`` and
        ``high`` (95 % interval), ``p_value_holm``, ``runs``.
    """
    rows = []
    text = losses.drop_nulls([AMONG, WITHIN])
    for key, part in text.group_by(list(panels.columns), maintain_order=True):
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
    """Describe runs of losses in the last panel, with the most losses."""
    if losses.height == 0:
        return "Nothing was lost."
    place = losses.select(panels.columns).row(-1, named=True)
    last = losses.filter(pl.col(name) == value for name, value in place.items())
    groups = (
        last.group_by("group", maintain_order=True).agg(pl.col(list(LABELS)).mean()).drop_nulls()
    )
    text = "; ".join(
        f"{row['group']}: "
        + ", ".join(f"{row[column]:.1%} {name}" for column, name in LABELS.items())
        for row in groups.iter_rows(named=True)
    )
    return f"{panels.title(place)}: {text}."


ENOUGH_RATIO = 0.99
"""Share that counts as all written bytes: the rest may be in flight at the end."""

LESS_RATIO = 0.95
"""Throughput below this share of one packet per write shows that writes are joined."""


def claims(results: Results) -> list[Claim]:
    """Judge hypotheses 1 and 2, the disadvantage, goodput and throughput."""
    panels = Panels.of(results, THIN_COUNT)
    return [
        *latency_reduced(results, panels),
        unharmed(results, "H2", "goodput_bits_per_second", "goodput", panels),
        at_a_disadvantage(results, panels),
        gets_what_it_asks(results, panels),
        is_repacketised(results, panels),
        hits_many_at_once(results, panels),
    ]


def gets_what_it_asks(results: Results, panels: Panels) -> Claim:
    """Judge: goodput does not show the disadvantage; it equals what applications write."""
    details = _ratios(results, panels, "goodput_bits_per_second", payload=True)
    is_all, is_less = pl.col("low") > ENOUGH_RATIO, pl.col("high") < ENOUGH_RATIO
    sides = {"all of it for": is_all, "less for": is_less}
    return Claim(
        statement="Thin streams get what they ask for in the end: discrimination shows in latency.",
        rule=(
            "Goodput of the thin streams over what their applications write on average, 95 % "
            f"interval of the mean over seeds. Holds: above {ENOUGH_RATIO:.0%} in every panel, "
            "for some: in some; fails: below it in every one; otherwise undecided."
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
            "per write, 95 % interval of the mean over seeds. Holds: below "
            f"{LESS_RATIO:.0%} in every panel, for some: in some; fails: above it in every one; "
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
    """Give the offered rate of all thin streams of a cell; None if unknown."""
    of_one = rate(experiment)
    return None if of_one is None else int(group_of(experiment, "thin")["count"]) * of_one


def _verdict(details: pl.DataFrame, holds: pl.Expr, fails: pl.Expr) -> Verdict:
    held, failed = details.filter(holds).height, details.filter(fails).height
    return Verdict.of(whole=held == details.height, part=held, refuted=failed == details.height)


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


GREEDY_COUNT = "flows_greedy_count"
LOSS_CELL = {THIN_COUNT: 30, GREEDY_COUNT: 20}
"""The numbers of streams of figure 4.5."""


def figures(results: Results) -> list[Figure]:
    """Draw goodput, goodput against throughput, loss and latency."""
    panels = Panels.of(results, THIN_COUNT)
    return [
        Figure(
            name="goodput-by-count",
            title="Aggregated goodput of N thin streams and five greedy ones (figure 4.3)",
            caption=(
                "Payload that the receiving applications read, each byte once, summed over all "
                f"streams of a kind. {SEEDS}"
            ),
            chart=measure_by_count(
                _fewest_greedy(estimates(results, "goodput_bits_per_second", KILO)),
                panels,
                "aggregated goodput / kbit/s",
            ),
        ),
        Figure(
            name="goodput-against-throughput",
            title="Goodput against throughput of unmodified thin streams (figure 4.4)",
            caption=(
                "Sums over all thin streams. Goodput: payload read, each byte once. Throughput: "
                "everything that arrived, IP headers and repeated bytes included. Offered: what "
                "the applications write, and what that would be on the wire if each write made "
                f"one packet. {SEEDS}"
            ),
            chart=measure_by_count(_rates(results), panels, "aggregate of thin streams / kbit/s"),
        ),
        _loss(results, panels),
        Figure(
            name="ack-latency-by-count",
            title="ACK latency beside greedy streams, 99th percentile",
            caption=(
                "Time from the first transmission of a segment to its cumulative acknowledgement "
                f"at the sender. {SEEDS}"
            ),
            chart=measure_by_count(
                estimates(results, "ack_latency_p99_s"), panels, "ACK latency p99 / s"
            ),
        ),
    ]


def _rates(results: Results) -> pl.DataFrame:
    measured = [
        estimates(results, f"{name}_bits_per_second", KILO)
        .filter((pl.col("group") == "thin") & (pl.col(VARIANT) == REFERENCE))
        .with_columns(pl.lit(name).alias("group"))
        for name in ("throughput", "goodput")
    ]
    offered = offered_rates(results).with_columns(pl.col("mean", "low", "high") * KILO)
    return pl.concat([*measured, offered], how="diagonal_relaxed")


def _loss(results: Results, panels: Panels) -> Figure:
    frame = _of_loss_cell(estimates(results, "packet_loss_ratio", PER_CENT))
    chart: alt.TopLevelMixin = measure_by_variant(
        frame, panels, variants(results), "relative packet loss / %"
    )
    return Figure(
        name="relative-packet-loss",
        title="Relative packet loss of thin and greedy streams (figure 4.5)",
        caption=f"Packets lost over packets sent, of all streams of a kind. {SEEDS}",
        chart=chart,
    )


def _fewest_greedy(frame: pl.DataFrame) -> pl.DataFrame:
    """Keep the five greedy streams of figure 4.3, or the fewest that there are."""
    if GREEDY_COUNT not in frame.columns:
        return frame
    return frame.filter(pl.col(GREEDY_COUNT) == pl.col(GREEDY_COUNT).min())


def _of_loss_cell(frame: pl.DataFrame) -> pl.DataFrame:
    """Keep 30 thin against 20 greedy streams, or the most of each that there are."""
    for column, wanted in LOSS_CELL.items():
        if column in frame.columns:
            there = frame[column].to_list()
            frame = frame.filter(pl.col(column) == (wanted if wanted in there else max(there)))
    return frame


STUDY = Study(
    name="thin-vs-five-greedy",
    title="N thin against five greedy streams: are thin streams at a disadvantage?",
    source="J. Markussen, thesis, University of Oslo 2014, section 4.3",
    package=__package__,
    forms={
        "full": "scenario.toml",
        "reduced": "reduced.toml",
        "kernel": "kernel.toml",
        "kernel-reduced": Part(
            "kernel.toml", {"sweep.repeat": "5", "sweep.flows.thin.count": "[1, 10, 30]"}
        ),
    },
    kernel_forms={"full": "kernel", "reduced": "kernel-reduced"},
    kernel_jobs=4,
    figures=figures,
    claims=claims,
)

"""Length of runs (Markussen 2014, section 4.2).

This study repeats one experiment for minutes and for two hours. It asks whether short runs give the
same measures, how much they scatter, and whether they lead to the same verdicts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from fairwind.plots import Figure, estimates_by_setting, rate_over_time
from fairwind.results import Claim, Results, Verdict
from fairwind.results.tidy import group_windows
from fairwind.statistics import prediction_half_width, relative_change
from fairwind.studies import Study
from fairwind.studies.comparisons import differences_among
from fairwind.studies.effects import (
    DELIVERY_LATENCIES,
    EFFECT,
    MARGIN_RATIO,
    Effect,
    effects_counted,
    with_effects,
)
from fairwind.studies.panels import PER_CENT, VARIANT, listed, sentence

from ..thin_streams import compared_in_words, mechanisms, variants

MINUTES = "measured_minutes"

MEASURES = {
    "goodput_bits_per_second": "goodput",
    "packet_loss_ratio": "relative loss",
    "ack_latency_mean_s": "ACK latency, mean",
    "ack_latency_p50_s": "ACK latency, median",
    "ack_latency_p99_s": "ACK latency, 99th percentile",
}
"""The measures of table 4.2, by their columns in the groups table."""

JUDGED = {
    "thin": (*DELIVERY_LATENCIES, "goodput_bits_per_second", "packet_loss_ratio"),
    "greedy": ("goodput_bits_per_second",),
}
"""What a modification may change, by group."""


def by_length(results: Results) -> pl.DataFrame:
    """Give the groups table with ``measured_minutes``, shortest runs first."""
    minutes = (pl.col("measured_s") / 60).round(2).alias(MINUTES)
    return results.groups.with_columns(minutes).sort(MINUTES, maintain_order=True)


def deviations(results: Results) -> pl.DataFrame:
    """Compare runs of every length with the longest ones, which they are the beginning of.

    Returns
    -------
    DataFrame
        ``variant``, ``group``, ``measure`` (in words), ``measured_minutes``; ``mean`` and
        ``deviation_ratio`` (standard deviation between runs, relative to the mean);
        ``difference_ratio`` with ``low_ratio`` and ``high_ratio``: of the mean over seeds from that
        of the longest runs, relative to it, with 95 % interval; ``single_run_ratio``: 95 % of
        single runs lie within so much of the mean, relative to it.
    """
    return pl.DataFrame(list(_rows(by_length(results))), infer_schema_length=None)


def _rows(runs: pl.DataFrame) -> Iterator[dict[str, Any]]:
    longest = runs.filter(pl.col(MINUTES) == pl.col(MINUTES).max())
    keys = [VARIANT, "group", MINUTES]
    for (variant, group, minutes), part in runs.group_by(keys, maintain_order=True):
        whole = longest.filter((pl.col(VARIANT) == variant) & (pl.col("group") == group))
        pairs = whole.join(part, on="seed", suffix="_short").sort("seed")
        for column, name in MEASURES.items():
            short = pairs[f"{column}_short"].cast(pl.Float64).to_numpy()
            mean = float(np.nanmean(short)) if np.isfinite(short).any() else math.nan
            deviation = float(np.std(short, ddof=1)) if short.size > 1 else math.nan
            change = relative_change(pairs[column].to_numpy(), short, is_paired=True)
            yield {
                VARIANT: variant,
                "group": group,
                "measure": name,
                MINUTES: minutes,
                "mean": mean,
                "deviation_ratio": _ratio(deviation, mean),
                "difference_ratio": change.estimate,
                "low_ratio": change.low,
                "high_ratio": change.high,
                "single_run_ratio": _ratio(prediction_half_width(short), mean),
            }


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


IS_WITHIN = (pl.col("low_ratio") > -MARGIN_RATIO) & (pl.col("high_ratio") < MARGIN_RATIO)
ONE_IS_ENOUGH = pl.col("single_run_ratio") < MARGIN_RATIO
SUBJECT = (VARIANT, "group", "measure")


def claims(results: Results) -> list[Claim]:
    """Judge bias, scatter, and the verdicts of short runs."""
    details = deviations(results)
    return [unbiased(details), one_run_tells(details), decides_the_same(results)]


def unbiased(details: pl.DataFrame) -> Claim:
    """Judge: short runs have the same means as long ones."""
    return _from_length(
        details,
        IS_WITHIN,
        "Short runs are long enough: on average they give the measures of the longest.",
        (
            "Mean over seeds of each measure against that of the longest runs with the same seeds "
            f"(paired). Enough from the length on from which all 95 % intervals lie within "
            f"{MARGIN_RATIO:.0%}."
        ),
    )


def one_run_tells(details: pl.DataFrame) -> Claim:
    """Judge: a single short run measures well enough."""
    return _from_length(
        details,
        ONE_IS_ENOUGH,
        "One run is enough: repeated with another seed it gives the same.",
        (
            "Half width of the 95 % prediction interval of a further run (Student's t over seeds) "
            f"relative to the mean. Enough from the length on from which it stays below "
            f"{MARGIN_RATIO:.0%}."
        ),
    )


def decides_the_same(results: Results) -> Claim:
    """Judge: comparisons of variants come out the same, however long the runs."""
    runs = by_length(results)
    every = pl.concat(
        differences_among(
            results,
            runs.filter(pl.col("group") == group),
            list(measures),
            mechanisms(variants(results)),
            (MINUTES,),
        ).with_columns(pl.lit(group).alias("group"))
        for group, measures in JUDGED.items()
    )
    details = with_effects(every)
    is_longest = pl.col(MINUTES) == pl.col(MINUTES).max()
    longest, on = details.filter(is_longest), [VARIANT, "group", "measure"]
    short = details.filter(~is_longest).join(
        longest.select(*on, pl.col(EFFECT).alias("effect_longest")), on=on, maintain_order="left"
    )
    decided, decided_longest = (
        pl.col(name) != Effect.UNDECIDED for name in (EFFECT, "effect_longest")
    )
    against = short.filter(decided & decided_longest & (pl.col(EFFECT) != pl.col("effect_longest")))
    unseen = short.filter(~decided & decided_longest)
    new = short.filter(decided & ~decided_longest)
    is_same = short.filter(decided & decided_longest).height > 0 and not against.height
    verdict = Verdict.of(
        whole=is_same and not unseen.height + new.height, part=is_same, refuted=against.height
    )
    return Claim(
        statement="Short runs decide the same about the modifications as long ones.",
        rule=(
            f"{compared_in_words(results)}; each effect is judged by its whole 95 % interval "
            "(benefit, harm, none that matters, undecided). Holds: every comparison has the "
            "outcome of the longest runs; fails: one is decided otherwise; for some: one is "
            "decided in only one of both; undecided if none is decided in both."
        ),
        verdict=verdict,
        evidence=(
            f"Of {short.height} comparisons {against.height} decide otherwise than the longest "
            f"runs, {unseen.height} do not decide what those decide, {new.height} decide what "
            f"those do not. The longest runs: {effects_counted(longest)}."
        ),
        details=details,
        in_short=(
            f"Nothing is turned round, but {unseen.height} of {short.height} comparisons leave "
            f"open what the longest runs decide, and {new.height} decide what those do not."
        ),
    )


def _from_length(details: pl.DataFrame, holds: pl.Expr, statement: str, rule: str) -> Claim:
    """Judge from which length on something holds for every measure."""
    lengths = details[MINUTES].unique().sort().to_list()
    found = {
        subject: _enough_from(part.sort(MINUTES), holds)
        for subject, part in details.group_by(SUBJECT, maintain_order=True)
    }
    enough = set(found.values())
    verdict = Verdict.of(whole=enough == {lengths[0]}, part=enough != {None})
    return Claim(
        statement=statement,
        rule=(
            f"{rule} Holds: the shortest length is enough for every measure; fails: no length is "
            "for any; otherwise for some."
        ),
        verdict=verdict,
        evidence=f"{_lengths_in_words(found, lengths)}.",
        details=details,
        in_short=_lengths_in_short(found, lengths),
    )


def _lengths_in_short(found: dict[tuple[Any, ...], float | None], lengths: list[float]) -> str:
    """Count the measures for which the shortest length is enough, and name the others."""
    enough = sum(length == lengths[0] for length in found.values())
    later = []
    for length in [*lengths[1:], None]:
        names = [
            f"{group} {measure} ({variant})"
            for (variant, group, measure), own in found.items()
            if own == length
        ]
        if names:
            needed = "no length is enough" if length is None else f"it takes {length:g} min"
            later.append(f"{needed} for {listed(names)}")
    least = f"{lengths[0]:g} min are enough for {enough} of {len(found)} measures"
    return sentence([least, *later])


def _lengths_in_words(found: dict[tuple[Any, ...], float | None], lengths: list[float]) -> str:
    """Name the measures that each length is enough for, shortest first."""
    parts = []
    for length in [*lengths, None]:
        subjects: dict[str, list[str]] = {}
        for (variant, group, measure), enough in found.items():
            if enough == length:
                subjects.setdefault(f"{group} {measure}", []).append(variant)
        if subjects:
            when = "at no length" if length is None else f"from {length:g} min on"
            names = ", ".join(f"{name} ({', '.join(own)})" for name, own in subjects.items())
            parts.append(f"{when}: {names}")
    return "; ".join(parts)


def _enough_from(part: pl.DataFrame, holds: pl.Expr) -> float | None:
    """Give the length from which on something holds at every length; None if at no length."""
    enough = None
    for row in part.with_columns(holds.fill_null(value=False).alias("holds")).iter_rows(named=True):
        if not row["holds"]:
            enough = None
        elif enough is None:
            enough = row[MINUTES]
    return enough


NAMES = tuple(MEASURES.values())


def figures(results: Results) -> list[Figure]:
    """Draw measures by length of run, their scatter, and goodput over time."""
    rows = deviations(results)
    return [
        Figure(
            name="measures-by-length",
            title="Measures of shorter runs against those of the longest ones (table 4.2)",
            caption=(
                "Mean over seeds, relative to that of the longest runs with the same seeds. Bars: "
                "95 % interval of the mean; where they end within 5 %, runs are long enough."
            ),
            chart=_by_length(
                rows, "difference_ratio", ("low_ratio", "high_ratio"), "difference / %"
            ),
        ),
        Figure(
            name="scatter-by-length",
            title="How much single runs scatter",
            caption=(
                "Half width of the interval that 95 % of single runs fall into, relative to the "
                "mean over seeds."
            ),
            chart=_by_length(rows, "single_run_ratio", None, "scatter of single runs / %"),
        ),
        Figure(
            name="goodput-over-time",
            title="Goodput over time in the longest runs",
            caption=(
                "Aggregated goodput of each kind in windows of the shortest length; lines: mean "
                "over seeds; bands: from the smallest to the largest seed."
            ),
            chart=_over_time(results),
        ),
    ]


def _by_length(
    rows: pl.DataFrame, measure: str, bounds: tuple[str, str] | None, title: str
) -> alt.TopLevelMixin:
    low, high = bounds or (measure, measure)
    place = pl.col("measure").replace_strict({name: at for at, name in enumerate(NAMES)})
    frame = rows.with_columns(
        (pl.col(measure) * PER_CENT).fill_nan(None).alias("mean"),
        (pl.col(low) * PER_CENT).fill_nan(None).alias("low"),
        (pl.col(high) * PER_CENT).fill_nan(None).alias("high"),
        pl.format("{}: {}", VARIANT, "measure").alias("panel"),
    ).sort(place, maintain_order=True)
    return estimates_by_setting(
        frame,
        setting=MINUTES,
        order=frame[MINUTES].unique().sort().to_list(),
        measure_title=title,
        setting_title="measured time / min",
        panels="panel",
    )


def _over_time(results: Results) -> alt.TopLevelMixin:
    windows = group_windows(results).join(
        results.groups.group_by("cell").agg(pl.col("measured_s").max()), on="cell"
    )
    longest = windows.filter(pl.col("measured_s") == pl.col("measured_s").max())
    return rate_over_time(
        longest,
        measure="goodput_bits_per_second",
        title="aggregated goodput",
        panels=VARIANT,
    )


STUDY = Study(
    name="duration",
    title="40 thin against 10 greedy streams for two hours: are short runs long enough?",
    source="J. Markussen, thesis, University of Oslo 2014, section 4.2",
    package=__package__,
    forms={"full": "scenario.toml", "reduced": "reduced.toml"},
    figures=figures,
    claims=claims,
)

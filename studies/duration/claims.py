"""Are short runs long enough? Judged by our results."""

from __future__ import annotations

from typing import Any

import polars as pl

from fairwind.results import Claim, Results, Verdict
from fairwind.studies.comparisons import differences_among
from fairwind.studies.hypotheses import LATENCIES, MARGIN_RATIO, SIGNIFICANCE, compared_in_words
from fairwind.studies.in_part import listed, sentence
from fairwind.studies.streams import VARIANT, mechanisms, variants

from .lengths import MINUTES, by_length, deviations

IS_WITHIN = (pl.col("low_ratio") > -MARGIN_RATIO) & (pl.col("high_ratio") < MARGIN_RATIO)
ONE_IS_ENOUGH = pl.col("single_run_ratio") < MARGIN_RATIO
SUBJECT = (VARIANT, "group", "measure")


def claims(results: Results) -> list[Claim]:
    """Judge bias, scatter, and what short runs decide."""
    details = deviations(results)
    return [unbiased(details), one_run_tells(details), decides_the_same(results)]


def unbiased(details: pl.DataFrame) -> Claim:
    """Judge: short runs give on average what long ones give."""
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
    """Judge: a single short run tells a measure well enough."""
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
    measures = [*LATENCIES, "goodput_bits_per_second"]
    details = pl.concat(
        differences_among(
            results,
            runs.filter(pl.col("group") == group),
            measures,
            mechanisms(variants(results)),
            (MINUTES,),
        ).with_columns(pl.lit(group).alias("group"))
        for group in ("thin", "greedy")
    )
    is_significant = pl.col("p_value_holm") < SIGNIFICANCE
    details = details.with_columns(
        (pl.col("difference").sign() * is_significant).cast(pl.Int64).alias("side")
    )
    longest = details.filter(pl.col(MINUTES) == pl.col(MINUTES).max())
    on = [VARIANT, "group", "measure"]
    short = details.filter(pl.col(MINUTES) < pl.col(MINUTES).max()).join(
        longest.select(*on, pl.col("side").alias("side_longest")), on=on, maintain_order="left"
    )
    against = short.filter(pl.col("side") * pl.col("side_longest") < 0)
    unseen = short.filter((pl.col("side") == 0) & (pl.col("side_longest") != 0))
    new = short.filter((pl.col("side") != 0) & (pl.col("side_longest") == 0))
    if against.height:
        verdict = Verdict.NOT_BORNE_OUT
    else:
        verdict = Verdict.BORNE_OUT_IN_PART if unseen.height + new.height else Verdict.BORNE_OUT
    return Claim(
        statement="Short runs decide the same about the modifications as long ones.",
        rule=(
            f"{compared_in_words(results)}, Holm-corrected per group over all lengths. Borne out: "
            "every comparison has the outcome (significantly more, less, or neither) of the "
            "longest runs; not: one has the opposite; otherwise in part."
        ),
        verdict=verdict,
        evidence=(
            f"Of {short.height} comparisons {against.height} say the opposite of the longest runs, "
            f"{unseen.height} do not see what those see, {new.height} see what those do not. In "
            f"the longest runs {longest.filter(is_significant).height} of {longest.height} "
            "comparisons are significant."
        ),
        details=details,
        in_short=(
            f"Nothing is turned round, but {unseen.height} of {short.height} comparisons miss what "
            f"the longest runs see, and {new.height} see what those do not."
        ),
    )


def _from_length(details: pl.DataFrame, holds: pl.Expr, statement: str, rule: str) -> Claim:
    """Judge from which length on something holds for every measure."""
    lengths = details[MINUTES].unique().sort().to_list()
    found = {
        subject: _enough_from(part.sort(MINUTES), holds)
        for subject, part in details.group_by(SUBJECT, maintain_order=True)
    }
    if set(found.values()) == {lengths[0]}:
        verdict = Verdict.BORNE_OUT
    else:
        is_never = set(found.values()) == {None}
        verdict = Verdict.NOT_BORNE_OUT if is_never else Verdict.BORNE_OUT_IN_PART
    return Claim(
        statement=statement,
        rule=(
            f"{rule} Borne out: the shortest length is enough for every measure; not: no length is "
            "for any; otherwise in part."
        ),
        verdict=verdict,
        evidence=f"{_lengths_in_words(found, lengths)}.",
        details=details,
        in_short=_lengths_in_short(found, lengths),
    )


def _lengths_in_short(found: dict[tuple[Any, ...], float | None], lengths: list[float]) -> str:
    """Say for how many measures the shortest length is enough, and which need how much more."""
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
    told = []
    for length in [*lengths, None]:
        subjects: dict[str, list[str]] = {}
        for (variant, group, measure), enough in found.items():
            if enough == length:
                subjects.setdefault(f"{group} {measure}", []).append(variant)
        if subjects:
            when = "at no length" if length is None else f"from {length:g} min on"
            names = ", ".join(f"{name} ({', '.join(own)})" for name, own in subjects.items())
            told.append(f"{when}: {names}")
    return "; ".join(told)


def _enough_from(part: pl.DataFrame, holds: pl.Expr) -> float | None:
    """Give the length from which on something holds at every length; None if at no length."""
    enough = None
    for row in part.with_columns(holds.fill_null(value=False).alias("holds")).iter_rows(named=True):
        if not row["holds"]:
            enough = None
        elif enough is None:
            enough = row[MINUTES]
    return enough

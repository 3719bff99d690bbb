"""One rule for benefit and harm, of the studies of thin streams (docs/concepts/verdicts.md).

An effect counts if its whole 95 % interval lies beyond a margin of 5 %, for benefit and for harm
alike. It is excluded if the whole interval lies on this side of the margin, and is undecided
otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

import polars as pl

from fairwind.results import Verdict
from fairwind.studies.comparisons import CONTRAST
from fairwind.studies.panels import alike, listed, sentence

MARGIN_RATIO = 0.05
"""Differences below this share of a measure count as none."""

DELIVERY_LATENCIES = {
    "delivery_latency_mean_s": "mean",
    "delivery_latency_p50_s": "median",
    "delivery_latency_p99_s": "99th percentile",
}
"""What an application experiences, from its write to the read in order; benefit is judged by it."""

ACK_LATENCIES = {
    "ack_latency_mean_s": "mean",
    "ack_latency_p50_s": "median",
    "ack_latency_p99_s": "99th percentile",
}
"""What the sender sees; shown beside, not judged."""

GOODPUT = {"goodput_bits_per_second": "goodput"}

LOSS = {"packet_loss_ratio": "packet loss"}

MORE_IS_BETTER = ("goodput_bits_per_second", "throughput_bits_per_second")
"""Measures of which a benefit is more; of all others it is less."""

EFFECT = "effect"
GAIN_LOW, GAIN_HIGH = "gain_low_ratio", "gain_high_ratio"


class Effect(StrEnum):
    """What a whole 95 % interval shows."""

    BENEFIT = "benefit"
    HARM = "harm"
    NONE = "none that matters"
    UNDECIDED = "undecided"


IS_BENEFIT = pl.col(EFFECT) == Effect.BENEFIT

IS_HARM = pl.col(EFFECT) == Effect.HARM

IS_WITHOUT_BENEFIT = (pl.col(GAIN_HIGH) < MARGIN_RATIO).fill_null(value=False)
"""A benefit that matters is excluded."""

IS_WITHOUT_HARM = (pl.col(GAIN_LOW) > -MARGIN_RATIO).fill_null(value=False)
"""Harm that matters is excluded."""


def with_effects(details: pl.DataFrame) -> pl.DataFrame:
    """Add what each difference means to those who have it.

    Parameters
    ----------
    details : DataFrame
        ``measure``, ``low``, ``high``, ``relative_low_ratio`` and ``relative_high_ratio`` (95 %
        intervals), as of `comparisons.differences`.

    Returns
    -------
    DataFrame
        The same with ``gain_low_ratio`` and ``gain_high_ratio``, the interval in the direction that
        is better (missing of a single replicate), and ``effect``, an `Effect`.
    """
    # A single replicate has no interval; polars takes NaN for greater than every number.
    low = pl.col("relative_low_ratio").fill_nan(None)
    high = pl.col("relative_high_ratio").fill_nan(None)
    is_more_better = pl.col("measure").is_in(MORE_IS_BETTER)
    # What is zero on both sides has no ratio, and no difference either.
    is_zero = low.is_null() & (pl.col("low") == 0) & (pl.col("high") == 0)
    low, high = (pl.when(is_zero).then(0.0).otherwise(bound) for bound in (low, high))
    gains = details.with_columns(
        pl.when(is_more_better).then(low).otherwise(-high).alias(GAIN_LOW),
        pl.when(is_more_better).then(high).otherwise(-low).alias(GAIN_HIGH),
    )
    effect = (
        pl.when(pl.col(GAIN_LOW) > MARGIN_RATIO)
        .then(pl.lit(Effect.BENEFIT))
        .when(pl.col(GAIN_HIGH) < -MARGIN_RATIO)
        .then(pl.lit(Effect.HARM))
        .when(IS_WITHOUT_BENEFIT & IS_WITHOUT_HARM)
        .then(pl.lit(Effect.NONE))
        .otherwise(pl.lit(Effect.UNDECIDED))
    )
    return gains.with_columns(effect.alias(EFFECT))


HELD, FAILED = "holds", "fails"


def benefits(details: pl.DataFrame, places: Sequence[str]) -> pl.DataFrame:
    """Judge, place by place, that some measure gets better and surely none worse.

    Parameters
    ----------
    details : DataFrame
        Of `with_effects`.
    places : sequence of str
        The columns that tell one place from another.

    Returns
    -------
    DataFrame
        The columns of places; ``holds``: a benefit in some measure, harm excluded in all;
        ``fails``: harm in some measure, or a benefit excluded in all.
    """
    return _by_place(
        details,
        places,
        holds=IS_BENEFIT.any() & IS_WITHOUT_HARM.all(),
        fails=IS_HARM.any() | IS_WITHOUT_BENEFIT.all(),
    )


def without_harm(details: pl.DataFrame, places: Sequence[str]) -> pl.DataFrame:
    """Judge, place by place, that no measure gets worse.

    Returns
    -------
    DataFrame
        As of `benefits`; ``holds``: harm is excluded in all measures; ``fails``: some is harmed.
    """
    return _by_place(details, places, holds=IS_WITHOUT_HARM.all(), fails=IS_HARM.any())


def verdict_of(judged: pl.DataFrame) -> Verdict:
    """Grade a claim by its places: the frame is one of `benefits` or `without_harm`."""
    return Verdict.of_cells(judged[HELD], judged[FAILED])


BENEFIT_RULE = (
    f"At one place it holds if the whole 95 % interval of some measure is better by more than "
    f"{MARGIN_RATIO:.0%}, and those of all exclude harm of {MARGIN_RATIO:.0%}; it fails if that of "
    f"some measure is worse by more, or if all exclude a benefit of {MARGIN_RATIO:.0%}; otherwise "
    "it is undecided."
)

HARM_RULE = (
    f"At one place it holds if every 95 % interval excludes harm of {MARGIN_RATIO:.0%}; it fails "
    f"if a whole interval lies beyond; otherwise it is undecided."
)

LOSS_RULE = (
    "At one place it holds if the whole 95 % interval of the ratio lies above "
    f"+{MARGIN_RATIO:.0%}; it fails if the interval excludes that; otherwise it is undecided."
)


def loses_more(details: pl.DataFrame) -> Verdict:
    """Judge that the second side of each row loses more than the first (`LOSS_RULE`)."""
    judged = details.select(IS_HARM.alias(HELD), IS_WITHOUT_HARM.alias(FAILED))
    return verdict_of(judged)


def _by_place(
    details: pl.DataFrame, places: Sequence[str], holds: pl.Expr, fails: pl.Expr
) -> pl.DataFrame:
    return details.group_by(list(places), maintain_order=True).agg(
        holds.alias(HELD), fails.alias(FAILED)
    )


def effects_counted(details: pl.DataFrame) -> str:
    """Count the effects of each kind, such as ``3 benefit, 9 undecided``."""
    found = {effect: details.filter(pl.col(EFFECT) == effect).height for effect in Effect}
    return ", ".join(f"{count} {effect}" for effect, count in found.items() if count)


def effects_in_words(details: pl.DataFrame, measures: Mapping[str, str]) -> str:
    """Name the measures that get better, get worse, or do neither, by contrast.

    Parameters
    ----------
    details : DataFrame
        Of `with_effects`, with ``contrast``.
    measures : mapping of str to str
        What each measure is called in a sentence.

    Returns
    -------
    str
        Such as ``With half modified the mean gets better, the median stays within 5 %.``
    """
    contrasts = details.group_by(CONTRAST, maintain_order=True)
    same = alike((_effects_of(rows, measures), str(name)) for (name,), rows in contrasts)
    return sentence([f"with {listed(names)} {text}" for text, names in same.items()])


CHANGES = {
    Effect.BENEFIT: ("gets better", "get better"),
    Effect.HARM: ("gets worse", "get worse"),
    Effect.NONE: (f"stays within {MARGIN_RATIO:.0%}", f"stay within {MARGIN_RATIO:.0%}"),
    Effect.UNDECIDED: ("is undecided", "are undecided"),
}
"""Verbs for one measure, and for several."""


def _effects_of(rows: pl.DataFrame, measures: Mapping[str, str]) -> str:
    parts = []
    for effect, (one, several) in CHANGES.items():
        names = [
            f"the {measures[name]}" for name in rows.filter(pl.col(EFFECT) == effect)["measure"]
        ]
        if names:
            parts.append(f"{listed(names)} {one if len(names) == 1 else several}")
    return ", ".join(parts)

"""Verdicts on the stacks of the source's time."""

from __future__ import annotations

import polars as pl

from fairwind.results import Claim, Question, Results, StudyAnswer, Verdict

from .measures import FREEBSD, LIMIT, REQUEST, WITH, WITHOUT, behaviour, by_buffer

PLAIN = "rbdc"
SPREAD = ("rbdc, spread", "rbdc, spread, k = 4.8")
"""Slots spread over frames that begin when plans come."""

CHANNEL_SPEED_RATIO = 0.85
IRREGULAR_RATIO = 0.1
NEAR_MINIMUM_RATIO = 1.5


def stack_claims(stacks: Results | None) -> list[Claim]:
    """Judge the three stacks of the source."""
    runs = None if stacks is None else behaviour(stacks)
    return [_without_sack(runs), _with_sack(runs), _freebsd(runs), _spread(runs)]


@Question(
    statement=(
        "Linux without SACK loses a burst at the end of slow start, recovers too slowly, and "
        "ends in a time-out."
    ),
    rule=(
        "Every run at k = 1, whatever the buffer. Holds: all lose packets and have a "
        "time-out; for some: all lose packets, and get less than half of the channel from 20 s "
        "on, but not all have a time-out; otherwise it fails."
    ),
)
def _without_sack(runs: pl.DataFrame) -> StudyAnswer:
    details = by_buffer(runs, WITHOUT, PLAIN)
    lossy = bool((details["without_loss"] == 0).all())
    timed_out = bool((details["with_timeout"] == 1).all())
    slow = bool((details["rate_ratio"] < 0.5).all())
    text = "; ".join(
        f"{row[LIMIT]}: {row['packets_lost']:.0f} lost, a time-out in {row['with_timeout']:.0%} "
        f"of the runs, {row['rate_ratio']:.0%} of the channel from 20 s on"
        for row in details.iter_rows(named=True)
    )
    return StudyAnswer(
        verdict=Verdict.of(whole=lossy and timed_out, part=lossy and slow),
        evidence=f"{text}.",
        details=details,
        in_short=(
            "A burst is always lost and recovery is always too slow, one repair per round trip; "
            "the time-out comes only where the burst is long enough."
        ),
    )


@Question(
    statement="With SACK, Linux is as fast as the channel, but irregular.",
    rule="Goodput from 20 s on at k = 1 by what the slots carry. Holds: "
    f"{CHANNEL_SPEED_RATIO:.0%} or more in the mean, whatever the buffer, and windows of a "
    f"second deviate by more than {IRREGULAR_RATIO:.0%}; for some: so with some buffers; "
    "otherwise it fails.",
)
def _with_sack(runs: pl.DataFrame) -> StudyAnswer:
    details = by_buffer(runs, WITH, PLAIN)
    fits = _fast_and_irregular(details)
    text = "; ".join(
        f"{row[LIMIT]}: {row['rate_ratio']:.0%} of the channel "
        f"(the least {row['least_rate_ratio']:.0%}), "
        f"deviation {row['irregularity_ratio']:.0%}, a time-out in {row['with_timeout']:.0%}"
        for row in details.iter_rows(named=True)
    )
    return StudyAnswer(
        verdict=Verdict.of(whole=bool(fits.all()), part=bool(fits.any())),
        evidence=f"{text}.",
        details=details,
        in_short=(f"So with {_which(details, fits) or 'no buffer'}."),
    )


@Question(
    statement=("FreeBSD 5.4 is regular, loses nothing, and keeps the round trip near its minimum."),
    rule="At k = 1. Holds: no packet is lost, windows of a second deviate by at most "
    f"{IRREGULAR_RATIO:.0%} from 20 s on, and the median round trip is at most "
    f"{NEAR_MINIMUM_RATIO:g} times that without queues, whatever the buffer; for some: loss and "
    "round trip are so in the first 20 s, which the source watched; otherwise it fails. The same "
    "is reported of constant allocation, with slots in a burst and spread over the frame.",
)
def _freebsd(runs: pl.DataFrame) -> StudyAnswer:
    details = by_buffer(runs, FREEBSD, PLAIN)
    always = _regular(details)
    early = (details["early_without_loss"] == 1) & (
        details["early_rtt_ratio"] <= NEAR_MINIMUM_RATIO
    )
    text = "; ".join(
        f"{request}: {_freebsd_in_words(by_buffer(runs, FREEBSD, request))}"
        for request in (PLAIN, "constant", "constant, not bunched")
        if request in runs[REQUEST].to_list()
    )
    return StudyAnswer(
        verdict=Verdict.of(whole=bool(always.all()), part=bool(early.all())),
        evidence=(
            f"Round trip in the first 20 s {details['early_rtt_ratio'].to_numpy().max():.1f} times "
            f"the least. From then on, {text}."
        ),
        details=details,
        in_short=(
            "So in the first 20 s, but far too slow, for requests follow a flight that it limits; "
            "then its estimate, made of bunched acknowledgments, is too large."
        ),
    )


@Question(
    statement=(
        "Where a terminal's slots are spread over the frame, and frames begin when plans come, "
        "each of the three stacks behaves on demand as the source found."
    ),
    rule=(
        "Beyond the source, which does not say how the slots lay: the three "
        "findings by the rules above for spread slots in frames that begin when plans come, at "
        "k = 1 and 4.8. Holds: with every buffer and both k; for some: some with every "
        "buffer at one k; otherwise it fails."
    ),
)
def _spread(runs: pl.DataFrame) -> StudyAnswer | None:
    if not set(SPREAD) <= set(runs[REQUEST].to_list()):
        return None
    parts, found = [], []
    for stack, holds in (
        (WITHOUT, lambda part: (part["without_loss"] == 0) & (part["with_timeout"] == 1)),
        (WITH, _fast_and_irregular),
        (FREEBSD, _regular),
    ):
        for request in SPREAD:
            part = by_buffer(runs, stack, request)
            fits = holds(part).fill_null(value=False)
            found.append(bool(fits.all()))
            parts.append(
                part.with_columns(
                    pl.lit(stack).alias("stack"), pl.lit(request).alias(REQUEST), fits.alias("fits")
                )
            )
    details = pl.concat(parts)
    text = "; ".join(
        f"{stack}, {request}: {_spread_in_words(part)}"
        for (stack, request), part in details.group_by("stack", REQUEST, maintain_order=True)
    )
    return StudyAnswer(
        verdict=Verdict.of(whole=all(found), part=any(found)),
        evidence=f"{text}.",
        details=details,
        in_short=f"With every buffer in {sum(found)} of {len(found)} cases.",
    )


def _spread_in_words(details: pl.DataFrame) -> str:
    fits = details["fits"].sum()
    return (
        f"so with {fits} of {details.height} buffers "
        f"({_range(details['packets_lost'], '.0f')} lost, a time-out in "
        f"{_range(details['with_timeout'], '.0%')}, {_range(details['rate_ratio'], '.0%')} of the "
        f"channel, deviation {_range(details['irregularity_ratio'], '.0%')}, round trip "
        f"{_range(details['rtt_ratio'], '.1f')} times the least)"
    )


def _fast_and_irregular(details: pl.DataFrame) -> pl.Series:
    return (details["rate_ratio"] >= CHANNEL_SPEED_RATIO) & (
        details["irregularity_ratio"] > IRREGULAR_RATIO
    )


def _regular(details: pl.DataFrame) -> pl.Series:
    return (
        (details["without_loss"] == 1)
        & (details["irregularity_ratio"] <= IRREGULAR_RATIO)
        & (details["rtt_ratio"] <= NEAR_MINIMUM_RATIO)
    )


def _freebsd_in_words(details: pl.DataFrame) -> str:
    lossless = details.filter(pl.col("without_loss") == 1)[LIMIT].to_list()
    every = len(lossless) == details.height
    return (
        f"nothing lost with {'any buffer' if every else ' and '.join(lossless) or 'no buffer'}, "
        f"deviation {_range(details['irregularity_ratio'], '.0%')}, round trip "
        f"{_range(details['rtt_ratio'], '.1f')} times the least, "
        f"{_range(details['rate_ratio'], '.0%')} of the channel"
    )


def _range(values: pl.Series, form: str) -> str:
    low, high = (f"{value:{form}}" for value in (values.to_numpy().min(), values.to_numpy().max()))
    return low if low == high else f"{low} to {high}"


def _which(details: pl.DataFrame, fits: pl.Series) -> str:
    return " and ".join(details.filter(fits)[LIMIT].to_list())

"""Verdicts on the platform, on the multiplier k, and on policies of requests."""

from __future__ import annotations

import polars as pl

from fairwind.results import Claim, Question, Results, StudyAnswer, Verdict
from fairwind.studies.comparisons import interval_per_panel
from fairwind.studies.panels import signed

from .measures import (
    FORESEEN,
    FRAME_S,
    MARGIN_RATIO,
    MULTIPLIER,
    PLAIN,
    POLICY,
    RAISED,
    SEGMENTS,
    TIME,
    USE,
    compared,
    transfers,
)
from .model_claims import changes, mean_in_words

SOURCE_DELAY_S = 0.5

GUARANTEED_BITS_PER_SECOND = 44_000
"""A request for no more brings no slots."""


def allocation_delays(table: Results) -> pl.DataFrame:
    """Give the delay from the first request for a rate to its first slots.

    A request for no more than is guaranteed does not count. Both are known to a frame: slots to its
    beginning, the request to its end. So the delay is too short by a frame at most.

    Returns
    -------
    DataFrame
        ``cell``, ``seed``, ``delay_s``.
    """
    frames = table.slot_intervals
    asked = (
        frames.filter(pl.col("requested_max_bits_per_second") > GUARANTEED_BITS_PER_SECOND)
        .group_by("cell", "seed", maintain_order=True)
        .agg((pl.col("start_s").min() + FRAME_S).alias("asked_s"))
    )
    came = (
        frames.filter(pl.col("slots_by_rate") > 0)
        .group_by("cell", "seed", maintain_order=True)
        .agg(pl.col("start_s").min().alias("came_s"))
    )
    return came.join(asked, on=["cell", "seed"], maintain_order="left").select(
        "cell", "seed", (pl.col("came_s") - pl.col("asked_s")).alias("delay_s")
    )


@Question(
    statement="Capacity comes half a second or more after it was asked for.",
    rule=(
        "From the end of the frame with a terminal's first request for more than is guaranteed "
        "to the beginning of the first frame with slots for it, in every transfer. Holds: "
        f"the shortest is {SOURCE_DELAY_S:g} s or more; otherwise it fails."
    ),
)
def capacity_comes_late(table: Results) -> StudyAnswer | None:
    """Judge: half a second or more passes between a request and its slots."""
    details = allocation_delays(table)
    if not details.height:
        return None
    row = interval_per_panel(details.with_columns(pl.lit("all").alias("of")), "delay_s", ("of",))
    shortest = float(details["delay_s"].to_numpy().min())
    return StudyAnswer(
        verdict=Verdict.of(whole=shortest >= SOURCE_DELAY_S),
        evidence=(
            f"The shortest {shortest:.2f} s, the mean {mean_in_words(row.row(0, named=True))} s, "
            f"a frame ({FRAME_S:g} s) more at most."
        ),
        details=row,
    )


SOURCE_MULTIPLIER = 4.8
GREATEST = 8.0

SATURATED_RATIO = 0.02
"""Largest gain of a larger multiplier that counts as none."""


def multiplier_claims(
    table: Results, reckoning: Results | None, offset: Results | None
) -> list[Claim]:
    """Judge times and use of slots against k."""
    done = transfers(table)
    elsewhere = None if reckoning is None else transfers(reckoning)
    return [
        time_falls(done),
        time_saturates(done, elsewhere),
        time_saturates_without_waiting_for_frames(offset),
        larger_volumes_gain_more(done),
        use_falls(done),
        small_volumes_lose_most(done),
    ]


def time_falls(done: pl.DataFrame) -> Claim:
    """Judge: up to the source's multiplier, more is quicker."""
    details = compared(done, TIME, MULTIPLIER, (1.0, SOURCE_MULTIPLIER), [SEGMENTS])
    return Claim(
        statement=f"Up to k = {SOURCE_MULTIPLIER:g}, asking for more makes transfers quicker.",
        rule=(
            f"Transfer time at k = {SOURCE_MULTIPLIER:g} against k = 1, paired by seed. Holds: "
            "shorter for every volume with the whole 95 % interval; for some: in some."
        ),
        verdict=Verdict.of_cells(details["high"] < 0, details["low"] > 0),
        evidence=f"{changes(details, SEGMENTS)}.",
        details=details,
        in_short=f"{changes(details, SEGMENTS)}.",
    )


def time_saturates(done: pl.DataFrame, elsewhere: pl.DataFrame | None = None) -> Claim:
    """Judge: above the source's multiplier nothing is gained; also report the other setting."""
    statement = f"Above k = {SOURCE_MULTIPLIER:g} transfers do not get quicker."
    return _saturates(statement, done, _gained_elsewhere(elsewhere))


def time_saturates_without_waiting_for_frames(offset: Results | None) -> Claim:
    """Judge the same where frames begin when plans come."""
    statement = (
        f"Above k = {SOURCE_MULTIPLIER:g} transfers do not get quicker where frames begin when "
        "plans come."
    )
    return _saturates(statement, None if offset is None else transfers(offset))


def _saturates(statement: str, done: pl.DataFrame | None, more: str = "") -> Claim:
    question = Question(
        statement,
        (
            f"Transfer time at k = {GREATEST:g} against {SOURCE_MULTIPLIER:g}, paired by seed. "
            f"Holds: the whole 95 % interval excludes a gain beyond {SATURATED_RATIO:.0%} for "
            "every volume; for some: it does not, but the gain is below a quarter of what was "
            "gained up to there; otherwise it fails."
        ),
    )
    if done is None:
        return question.not_run()
    details = compared(done, TIME, MULTIPLIER, (SOURCE_MULTIPLIER, GREATEST), [SEGMENTS])
    before = compared(done, TIME, MULTIPLIER, (1.0, SOURCE_MULTIPLIER), [SEGMENTS])
    share = details["difference"].to_numpy() / before["difference"].to_numpy()
    less = -details["relative_low_ratio"]
    return question.answered(
        verdict=Verdict.of(
            whole=bool((less < SATURATED_RATIO).all()), part=bool((share < 0.25).all())
        ),
        evidence=(
            f"{changes(details, SEGMENTS)}; of what was gained up to k = {SOURCE_MULTIPLIER:g}, "
            f"{share.min():.0%} to {share.max():.0%}.{more}"
        ),
        details=details,
        in_short=(
            f"Gains shrink to {share.min():.0%} to {share.max():.0%} of what was gained before, "
            "but do not end."
        ),
    )


def _gained_elsewhere(done: pl.DataFrame | None) -> str:
    """Describe the setting of the reckoning, with other periods."""
    if done is None:
        return ""
    more = compared(done, TIME, MULTIPLIER, (SOURCE_MULTIPLIER, GREATEST), [SEGMENTS])
    before = compared(done, TIME, MULTIPLIER, (1.0, SOURCE_MULTIPLIER), [SEGMENTS])
    share = more["difference"].to_numpy() / before["difference"].to_numpy()
    return (
        " With the reckoning's periods, and slots without frames to wait for: "
        f"{changes(more, SEGMENTS)}; {share.min():.0%} to {share.max():.0%}."
    )


def larger_volumes_gain_more(done: pl.DataFrame) -> Claim:
    """Judge: the seconds that are gained grow with the volume."""
    details = compared(done, TIME, MULTIPLIER, (1.0, SOURCE_MULTIPLIER), [SEGMENTS]).sort(SEGMENTS)
    gains = -details["difference"]
    sure = -details["high"][-1] > -details["low"][0]
    text = ", ".join(
        f"{size:g} segments {gain:.2f} s"
        for size, gain in zip(details[SEGMENTS], gains, strict=True)
    )
    return Claim(
        statement="The larger the volume, the more seconds a multiplier saves.",
        rule=(
            f"Seconds gained from k = 1 to {SOURCE_MULTIPLIER:g}. Holds: they rise from volume "
            "to volume, and the intervals of the smallest and the largest do not meet; for some: "
            "only the latter."
        ),
        verdict=(
            Verdict.of(whole=bool(gains.is_sorted() and sure), part=bool(sure))
            if details.height > 1
            else Verdict.UNDECIDED
        ),
        evidence=f"{text}.",
        details=details,
        in_short=f"Not from volume to volume: {text}.",
    )


def use_falls(done: pl.DataFrame) -> Claim:
    """Judge: the use of slots falls with k."""
    details = compared(done, USE, MULTIPLIER, (1.0, GREATEST), [SEGMENTS])
    text = ", ".join(
        f"{row[SEGMENTS]:g} segments {row['mean_first']:.2f} to {row['mean_second']:.2f}"
        for row in details.iter_rows(named=True)
    )
    return Claim(
        statement="The larger k, the fewer of the assigned slots are used.",
        rule=(
            "Slots used over assigned, from the establishment until the last segment left, at "
            f"k = {GREATEST:g} against k = 1, paired by seed. Holds: less for every volume "
            "with the whole 95 % interval; for some: in some."
        ),
        verdict=Verdict.of_cells(details["high"] < 0, details["low"] > 0),
        evidence=f"{text}.",
        details=details,
        in_short=f"{text}.",
    )


def small_volumes_lose_most(done: pl.DataFrame) -> Claim:
    """Judge: small volumes waste the most."""
    chosen = done.filter(pl.col(MULTIPLIER) == SOURCE_MULTIPLIER)
    details = interval_per_panel(chosen, USE, (SEGMENTS,)).sort(SEGMENTS)
    text = ", ".join(
        f"{row[SEGMENTS]:g} segments {row['mean']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
        for row in details.iter_rows(named=True)
        if row["low"] is not None
    )
    apart = details["high"][0] is not None and details["high"][0] < details["low"][-1]
    rises = details["mean"].is_sorted()
    return Claim(
        statement="Small volumes waste the largest share of their slots.",
        rule=(
            f"Slots used over assigned at k = {SOURCE_MULTIPLIER:g}. Holds: the share rises "
            "from volume to volume, and the intervals of the smallest and the largest do not meet; "
            "for some: only the latter."
        ),
        verdict=(Verdict.of(whole=rises and apart, part=apart, refuted=False)),
        evidence=f"{text}.",
        details=details,
        in_short=f"Not from volume to volume: {text}.",
    )


AT_START = "k = 4.8 at the start"


def policy_claims(policies: Results | None, terminals: Results | None) -> list[Claim]:
    """Judge policies of requests."""
    alone = None if policies is None else transfers(policies)
    shared = None if terminals is None else transfers(terminals)
    return [_start_is_enough(alone), _ours_is_no_slower(alone), _ours_when_shared(shared)]


@Question(
    statement="It is enough to ask for more while the connection starts.",
    rule=(
        f"Transfer times, {AT_START} against always, paired by seed. Holds: no mean is "
        f"longer by more than {MARGIN_RATIO:.0%}; for some: in some volumes; otherwise it fails."
    ),
)
def _start_is_enough(alone: pl.DataFrame) -> StudyAnswer:
    details = compared(alone, TIME, POLICY, (RAISED, AT_START), [SEGMENTS])
    fits = details["relative_ratio"] <= MARGIN_RATIO
    return StudyAnswer(
        verdict=Verdict.of(whole=bool(fits.all()), part=bool(fits.any())),
        evidence=f"{changes(details, SEGMENTS)}.",
        details=details,
        in_short=(
            f"For {_sizes(details, fits)} segments; longer transfers are slowed once it is over."
        ),
    )


@Question(
    statement=(
        "Beyond the source: requests by forecast are no slower than k = 4.8, and use "
        "their slots as well."
    ),
    rule=(
        "Transfer time and use of slots, forecast against k = 4.8, paired by seed. Holds: "
        f"for every volume the whole 95 % interval of the time is below +{MARGIN_RATIO:.0%}, "
        "and that of the use above -0.05; for some: in some volumes; otherwise it fails."
    ),
)
def _ours_is_no_slower(alone: pl.DataFrame) -> StudyAnswer:
    time = compared(alone, TIME, POLICY, (RAISED, FORESEEN), [SEGMENTS])
    used = compared(alone, USE, POLICY, (RAISED, FORESEEN), [SEGMENTS])
    fits = (time["relative_high_ratio"] < MARGIN_RATIO) & (used["low"] > -MARGIN_RATIO)
    shares = ", ".join(
        f"{row[SEGMENTS]:g} segments {row['mean_second']:.2f} against {row['mean_first']:.2f}"
        for row in used.iter_rows(named=True)
    )
    plain = compared(alone, TIME, POLICY, (PLAIN, FORESEEN), [SEGMENTS])
    return StudyAnswer(
        verdict=Verdict.of(whole=bool(fits.all()), part=bool(fits.any())),
        evidence=(
            f"Time against k = 4.8: {changes(time, SEGMENTS)}. Slots used: {shares}. Time against "
            f"k = 1: {changes(plain, SEGMENTS)}."
        ),
        details=pl.concat(
            [
                time.with_columns(pl.lit(TIME).alias("measure")),
                used.with_columns(pl.lit(USE).alias("measure")),
            ]
        ),
        in_short=f"For {_sizes(time, fits)} segments; else slower or surer to waste.",
    )


@Question(
    statement=(
        "Beyond the source: where four terminals share a carrier, requests by forecast are "
        "no slower than k = 4.8, and the last one is done earlier."
    ),
    rule="Mean transfer time of four terminals, and the longest of the four, forecast against "
    "k = 4.8, paired by seed. Holds: the whole 95 % interval of the mean is below "
    f"+{MARGIN_RATIO:.0%}, and that of the longest below 0; for some: one of both; otherwise "
    "it fails.",
)
def _ours_when_shared(shared: pl.DataFrame) -> StudyAnswer:
    runs = shared.group_by(POLICY, "seed", maintain_order=True).agg(
        pl.lit("all").alias("group"), pl.col(TIME).mean(), pl.col(TIME).max().alias("longest_s")
    )
    rows = [
        compared(runs.with_columns(pl.lit(measure).alias("measure")), measure, POLICY,
                 (RAISED, FORESEEN), ["measure"]).row(0, named=True)
        for measure in (TIME, "longest_s")
    ]  # fmt: skip
    mean, longest = rows
    fits = pl.Series([mean["relative_high_ratio"] < MARGIN_RATIO, longest["high"] < 0])
    every = "; ".join(
        f"{row[POLICY]} {mean_in_words(row, '.1f', ' s')}"
        for row in interval_per_panel(runs, TIME, (POLICY,)).iter_rows(named=True)
    )
    text = f"mean {signed(mean)}, longest {signed(longest)}"
    return StudyAnswer(
        verdict=Verdict.of(whole=bool(fits.all()), part=bool(fits.any())),
        evidence=f"{text[0].upper()}{text[1:]}. Mean times: {every}.",
        details=pl.DataFrame(rows),
        in_short=f"{text[0].upper()}{text[1:]}.",
    )


def _sizes(details: pl.DataFrame, fits: pl.Series) -> str:
    return ", ".join(f"{size:g}" for size in details.filter(fits)[SEGMENTS])

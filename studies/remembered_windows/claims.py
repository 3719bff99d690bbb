"""Verdicts on the claims of the source."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from fairwind.results import Claim, Question, Results, StudyAnswer, Verdict
from fairwind.results.tidy import ANSWERS

from .measures import (
    DELAY,
    MEMORY,
    NEW,
    NEW_TO_THE_END,
    OLD,
    VOLUME,
    by_delay,
    closed_form,
    in_words,
    later_times,
    old_by_new,
)
from .price_claims import crowd_claims, greedy_claims, later_claims, map_claims, price_claims

NEARNESS_RATIO = 0.02
"""So near simulated speed-ups are to be to the closed form's."""


def claims(results: Results) -> list[Claim]:
    """Judge the source's claims, the closed form, and the price; undecided if not run."""
    measured = by_delay(results)
    return [
        faster_with_delay(measured),
        slower_with_volume(measured),
        meets_the_form_with_serialisation(measured),
        with_windows_of_its_time(results.part("receive-window")),
        faster_far_away(results.part("long")),
        keeps_rising(results.part("windows")),
        meets_the_form(results.part("closed")),
        *price_claims(results.part("worse")),
        *later_claims(results.part("later")),
        *greedy_claims(results.part("greedy")),
        *crowd_claims(results.part("crowd"), results.part("hosts")),
        *map_claims(results.part("map")),
    ]


def faster_with_delay(measured: pl.DataFrame) -> Claim:
    """Judge figure 3's first trend."""
    by_volume = [part.sort(DELAY) for _, part in measured.group_by(VOLUME, maintain_order=True)]
    steps = [np.diff(part["mean"].to_numpy()) > 0 for part in by_volume]
    return Claim(
        statement="The greater the delay, the more is gained (figure 3).",
        rule="Speed-up (the mean time from a window of one segment by that from the remembered "
        "one, of transfers after the first) rises from each delay to the next, for every volume. "
        "For some: it is greater at the greatest delay than at the least, for every volume.",
        verdict=_trend(steps, [bool(p["mean"][-1] > p["mean"][0]) for p in by_volume]),
        evidence=f"{_along(measured, VOLUME, DELAY)}.",
        details=measured,
        in_short="From the least delay to the greatest it does, but not at each step.",
    )


def slower_with_volume(measured: pl.DataFrame) -> Claim:
    """Judge figure 3's second trend, where there is something to gain at all."""
    far = measured.filter(pl.col(DELAY) > pl.col(DELAY).min())
    by_delay_ = [part.sort(VOLUME) for _, part in far.group_by(DELAY, maintain_order=True)]
    steps = [np.diff(part["mean"].to_numpy()) < 0 for part in by_delay_]
    return Claim(
        statement="The more there is to send, the less is gained (figure 3).",
        rule="Speed-up falls from each volume to the next, for every delay but the least, at which "
        "there is nothing to gain. For some: it is less with the greatest volume than with the "
        "least, for each of these delays.",
        verdict=_trend(steps, [bool(p["mean"][-1] < p["mean"][0]) for p in by_delay_]),
        evidence=f"{_along(far, DELAY, VOLUME)}.",
        details=far,
        in_short="From the least volume to the greatest it does, but not at each step.",
    )


def meets_the_form_with_serialisation(measured: pl.DataFrame) -> Claim:
    """Compare figure 3's speed-ups with the closed form with serialisation."""
    deviations = (measured["mean"] / measured["form"] - 1).abs()
    near = deviations <= NEARNESS_RATIO
    return Claim(
        statement="Figure 3's speed-ups follow from a closed form with serialisation (derived; the "
        "source has none).",
        rule=f"Holds: all are within {NEARNESS_RATIO:.0%} of it; for some: some are; otherwise "
        "it fails.",
        verdict=Verdict.of(whole=near.all(), part=near.any()),
        evidence=f"{near.sum()} of {near.len()} are; the greatest deviation is "
        f"{deviations.to_numpy().max():.2%}.",
        details=measured,
        in_short=f"So of {near.sum()} of {near.len()}.",
    )


def _trend(steps: Sequence[np.ndarray], ends: Sequence[bool]) -> Verdict:
    return Verdict.of(whole=all(step.all() for step in steps), part=all(ends))


def _along(measured: pl.DataFrame, panel: str, axis: str) -> str:
    parts = []
    for (value,), part in measured.group_by(panel, maintain_order=True):
        ordered = part.sort(axis)
        values = ", ".join(f"{speed_up:.2f}" for speed_up in ordered["mean"])
        parts.append(f"{in_words(panel, value)}: {values}")
    return "; ".join(parts)


LEAST_GAIN_RATIO = 0.05
"""A speed-up that differs by less from another one is none that figure 3 would show."""

KILOBYTES = 1e6
"""Volumes below this many bytes are those of the reading in kilobytes."""


@Question(
    statement="Receive windows of its time (64 KiB, no scaling) would show figure 3's trend: the "
    "greater the delay, the more is gained (derived; the source has no window).",
    rule=(
        f"Speed-up at the greatest delay is more than {LEAST_GAIN_RATIO:.0%} above that at the "
        "least, for every volume; megabytes and kilobytes, windows taken when the server closes "
        "and when all is acknowledged. Holds: of all four; for some: of some."
    ),
)
def with_windows_of_its_time(windows: Results) -> StudyAnswer:
    """Judge figure 3 with the receive windows of 1998, for both readings of its volumes."""
    times = later_times(windows)
    rows = []
    for memory in (NEW, NEW_TO_THE_END):
        both = times.filter(pl.col(MEMORY).is_in([OLD, memory]))
        called = both.with_columns(pl.col(MEMORY).replace({memory: NEW}))
        found = old_by_new(called, [VOLUME, DELAY]).sort(VOLUME, DELAY)
        for volumes, own in (
            ("kilobytes", found.filter(pl.col(VOLUME) < KILOBYTES)),
            ("megabytes", found.filter(pl.col(VOLUME) >= KILOBYTES)),
        ):
            ends = own.group_by(VOLUME, maintain_order=True).agg(
                (pl.col("mean").last() / pl.col("mean").first() - 1).alias("rise")
            )
            rows.append(
                {
                    "volumes": volumes,
                    "taken": TAKEN[memory],
                    "least": own["mean"].min(),
                    "most": own["mean"].max(),
                    "holds": bool((ends["rise"] > LEAST_GAIN_RATIO).all()),
                }
            )
    details = pl.DataFrame(rows)
    text = "; ".join(
        f"{row['volumes']}, {row['taken']}: {row['least']:.2f} to {row['most']:.2f}"
        for row in details.iter_rows(named=True)
    )
    shown = details.filter("holds")
    return StudyAnswer(
        verdict=Verdict.of_cells(details["holds"]),
        evidence=f"Speed-ups over all delays and volumes: {text}.",
        details=details,
        in_short="So of "
        + ("; ".join(f"{a}, {b}" for a, b in shown.select("volumes", "taken").rows()) or "none")
        + ".",
    )


@Question(
    statement="Over a long path that others use, transfers are faster from remembered windows "
    "(figure 2).",
    rule=(
        "A path of 1.5 Mbit/s and 110 ms that loses one packet in 200. Holds: the mean "
        "speed-up is above 1 with its whole 95 % interval, for every volume; for some: in some "
        "and below 1 for none; otherwise it fails."
    ),
)
def faster_far_away(long: Results) -> StudyAnswer:
    """Judge figure 2."""
    found = old_by_new(later_times(long), [VOLUME]).sort(VOLUME)
    above, below = found["low"] > 1, found["high"] < 1
    text = "; ".join(
        f"{in_words(VOLUME, row[VOLUME])}: {row['mean']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
        for row in found.iter_rows(named=True)
    )
    faster = ", ".join(in_words(VOLUME, value) for value in found.filter(above)[VOLUME])
    return StudyAnswer(
        verdict=Verdict.of(
            whole=bool(above.all()), part=bool(above.any()) and not bool(below.any())
        ),
        evidence=f"{text}.",
        details=found,
        in_short=f"So with {faster}; of the other volumes the interval holds 1.",
    )


@Question(
    statement="Without a memory windows begin anew with every connection; with one they keep "
    "rising from connection to connection (figure 4).",
    rule=(
        "Windows at the first sample of each connection with data; with a memory once "
        "taken when the server closes, as the source has it, and once when all is "
        "acknowledged. Holds: without a memory all begin with at most two segments, "
        "with either every one begins with no less than the one before and the last with "
        "ten times the first or more, and as the source has it the last with more than the "
        "one in the middle. For some: all but the last of these, so that windows rise at "
        "first only."
    ),
)
def keeps_rising(windows: Results) -> StudyAnswer:
    """Judge figure 4."""
    first = first_windows(windows)
    begun = {
        memory: first.filter(pl.col(MEMORY) == memory)["cwnd"].to_numpy()
        for memory in (OLD, NEW, NEW_TO_THE_END)
    }
    old = begun.pop(OLD)
    rises = [bool((np.diff(new) >= 0).all()) and new[-1] >= 10 * new[0] for new in begun.values()]
    holds = bool((old <= 2).all()) and all(rises)
    goes_on = begun[NEW][-1] > begun[NEW][begun[NEW].size // 2]
    text = "; ".join(
        f"{TAKEN[memory]}: {', '.join(f'{value:g}' for value in new[:5])} and so on, the last "
        f"of {new.size} with {new[-1]:g}"
        for memory, new in begun.items()
    )
    rising = ", ".join(f"{TAKEN[memory]} to {new[-1]:g}" for memory, new in begun.items())
    return StudyAnswer(
        verdict=Verdict.of(whole=holds and bool(goes_on), part=holds),
        evidence=f"{old.size} connections without a memory begin with {old.max():g} at most; with "
        f"windows {text}.",
        details=first,
        in_short=f"They rise at first only, with windows {rising}.",
    )


TAKEN = {NEW: "taken when the server closes", NEW_TO_THE_END: "taken when all is acknowledged"}


def newest_connections(windows: Results) -> pl.DataFrame:
    """Give the samples of the server's side, at every instant of the connection opened last.

    The ones before are still there: their ends are under way, or they wait for stray segments.
    """
    sampled = windows.endpoint.filter(pl.col("group") == f"web{ANSWERS}").with_columns(
        pl.col("name").str.extract(r"-(\d+)$").cast(pl.Int64).alias("number")
    )
    newest = pl.col("number") == pl.col("number").max().over(MEMORY, "time_s")
    return sampled.filter(newest).sort(MEMORY, "time_s")


def first_windows(windows: Results) -> pl.DataFrame:
    """Give the window that the server's side of each connection was first seen with."""
    return newest_connections(windows).group_by(MEMORY, "number", maintain_order=True).agg(
        pl.col("time_s").first(), pl.col("cwnd_packets").first().alias("cwnd")
    )  # fmt: skip


@Question(
    statement=(
        "Without serialisation a transfer takes a round trip to open and one for each round of "
        "slow start: with 32 segments remembered, 5, 10, 20, 40, 80 and 200 segments are 2.0, "
        "2.5, 3.0, 2.33, 2.67 and 2.25 times as fast (derived; the source has no numbers)."
    ),
    rule=(
        f"Holds: all simulated speed-ups are within {NEARNESS_RATIO:.0%} of these; for "
        "some: some are; otherwise it fails."
    ),
)
def meets_the_form(closed: Results) -> StudyAnswer:
    """Hold simulated speed-ups against the closed form's."""
    found = closed_form(closed)
    near = found["deviation_ratio"].abs() <= NEARNESS_RATIO
    text = "; ".join(
        f"{row['segments']:g} segments: {row['simulated']:.3f} ({row['deviation_ratio']:+.2%})"
        for row in found.iter_rows(named=True)
    )
    met = ", ".join(f"{value:g}" for value in found.filter(near)["segments"])
    return StudyAnswer(
        verdict=Verdict.of(whole=near.all(), part=near.any()),
        evidence=f"{text}.",
        details=found,
        in_short=f"So of {met} segments.",
    )

"""Claims on satellites of today: who still suffers from waiting for slots, and from handovers."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from fairwind.results import Claim, Question, Results, StudyAnswer, Verdict
from fairwind.studies.panels import signed

from .measures import (
    BOTH,
    CAPACITY,
    CONSTANT,
    FORESEEN,
    HANDOVERS,
    LINK,
    LOSSY,
    MARGIN_RATIO,
    MET,
    PLAIN,
    SENDER,
    STEADY,
    THROUGH,
    TIME,
    VOLUME,
    compared,
    delays,
    end_to_end,
)

HALF = 0.5
"""Less of the wait than this is left where most of it is removed."""


def beyond_claims(
    uploads: Results | None, downloads: Results | None, leo: Results | None
) -> list[Claim]:
    """Judge the cost of waiting for slots and of handovers."""
    up, down, low = (
        None if part is None else end_to_end(part) for part in (uploads, downloads, leo)
    )
    return [
        _uploads_suffer(up),
        _removes_the_wait(
            up,
            BOTH,
            "Beyond the source: requests by rate and by volume at once remove most of that wait.",
        ),
        _removes_the_wait(
            up, FORESEEN, "Beyond the source: requests by forecast remove most of that wait."
        ),
        _proxies_help(up),
        _downloads_do_not(down),
        _handovers(low),
        _lossy_handovers(low),
        _low_orbit_on_demand(low),
    ]


@Question(
    statement=(
        "Beyond the source: over a geostationary link of today uploads still suffer from "
        "waiting for slots, whoever sends."
    ),
    rule=(
        f"Time of an upload, {PLAIN} against {CONSTANT}, paired by seed. Holds: for every "
        f"sender and volume the whole 95 % interval is above +{MARGIN_RATIO:.0%}; for some: in "
        "some; fails: for none, and below it for some."
    ),
)
def _uploads_suffer(up: pl.DataFrame) -> StudyAnswer:
    details = delays(up, CAPACITY, CONSTANT, (PLAIN,))
    low, high = details["relative_low_ratio"], details["relative_high_ratio"]
    return _answer(details, Verdict.of_cells(low > MARGIN_RATIO, high < MARGIN_RATIO))


def _downloads_do_not(down: pl.DataFrame | None) -> Claim:
    return _as_quick(
        down,
        "Beyond the source: downloads, of which only acknowledgments wait for slots, do not "
        "suffer.",
        (CAPACITY, CONSTANT, (PLAIN,)),
    )


def _handovers(low: pl.DataFrame | None) -> Claim:
    judged = _as_quick(
        low,
        "Beyond the source: handovers every 15 s, with steps of delay and rate, make no upload "
        "over satellites of a low orbit slower.",
        (LINK, STEADY, HANDOVERS),
    )
    return judged if low is None else replace(judged, evidence=f"{judged.evidence} {_met(low)}")


def _lossy_handovers(low: pl.DataFrame | None) -> Claim:
    judged = _as_quick(
        None if low is None or LOSSY not in low[LINK].to_list() else low,
        "Beyond the source: handovers in which nothing gets through for 100 ms make no upload over "
        "satellites of a low orbit slower.",
        (LINK, STEADY, (LOSSY,)),
    )
    if low is None or LOSSY not in low[LINK].to_list():
        return judged
    return replace(judged, evidence=f"{judged.evidence} {_of_those_that_met_one(low)}")


def _of_those_that_met_one(low: pl.DataFrame) -> str:
    """Describe the delay of uploads that met an outage, as most small ones did not."""
    keys = [SENDER, VOLUME, "seed"]
    steady = low.filter(pl.col(LINK) == STEADY).select(*keys, pl.col(TIME).alias("steady_s"))
    met = (
        low.filter((pl.col(LINK) == LOSSY) & (pl.col(MET) > 0))
        .join(steady, on=keys, maintain_order="left")
        .group_by(VOLUME, SENDER, maintain_order=True)
        .agg(pl.len().alias("uploads"), (pl.col(TIME) / pl.col("steady_s") - 1).mean())
    )
    text = "; ".join(
        f"{row[VOLUME]} {row[SENDER]} {row[TIME]:+.1%} (mean of {row['uploads']})"
        for row in met.drop_nulls(TIME).iter_rows(named=True)
    )
    return f"Of those that met one: {text or 'none'}."


def _met(low: pl.DataFrame) -> str:
    """Count the uploads that met a handover; small ones end before."""
    handed_over = low.filter(pl.col(LINK).is_in(HANDOVERS) & pl.col(MET).is_not_null())
    shares = handed_over.group_by(VOLUME, maintain_order=True).agg((pl.col(MET) > 0).mean())
    text = ", ".join(f"{share:.0%} of {volume}" for volume, share in shares.iter_rows())
    return f"A handover was met by {text}; the others differ by what delay and rate were then."


def _low_orbit_on_demand(low: pl.DataFrame | None) -> Claim:
    return _as_quick(
        low,
        "Beyond the source: where the master is within 40 ms, nobody suffers from waiting for "
        "slots, however they are asked for.",
        (LINK, CONSTANT, (PLAIN, FORESEEN)),
    )


def _as_quick(
    done: pl.DataFrame | None, statement: str, sides: tuple[str, str, tuple[str, ...]]
) -> Claim:
    axis, against, others = sides
    question = Question(
        statement,
        (
            f"Time of a transfer, {' and '.join(others)} against {against}, paired by seed. Holds:"
            " for every sender and volume the whole 95 % interval is below "
            f"+{MARGIN_RATIO:.0%}; for some: in some; fails: for none, and above it for some."
        ),
    )
    if done is None:
        return question.not_run()
    details = delays(done, axis, against, others)
    low, high = details["relative_low_ratio"], details["relative_high_ratio"]
    verdict = Verdict.of_cells(high < MARGIN_RATIO, low > MARGIN_RATIO)
    parts = [
        f"{other}: {by_sender(details.filter(pl.col(axis) == other))}"
        for other in details[axis].unique(maintain_order=True)
    ]
    return question.answered(
        verdict=verdict,
        evidence=f"{'. '.join(parts) if len(parts) > 1 else by_sender(details)}.",
        details=details,
        in_short="; ".join(
            f"{other} {extremes(details.filter(pl.col(axis) == other))}"
            for other in details[axis].unique(maintain_order=True)
        )
        + ".",
    )


def _answer(details: pl.DataFrame, verdict: Verdict) -> StudyAnswer:
    return StudyAnswer(verdict, f"{by_sender(details)}.", details, f"{extremes(details)}.")


def _removes_the_wait(up: pl.DataFrame | None, way: str, statement: str) -> Claim:
    question = Question(
        statement,
        f"What a transfer takes longer than over constant allocation, {way} by {PLAIN}, of the "
        f"means. Holds: less than half for every sender and volume that {PLAIN} slows down; for "
        "some: for some; otherwise it fails.",
    )
    if up is None or way not in up[CAPACITY].to_list():
        return question.not_run()
    every = delays(up, CAPACITY, CONSTANT, (PLAIN, way))
    plain, others = (
        every.filter(pl.col(CAPACITY) == one).select(
            SENDER, VOLUME, pl.col("relative_ratio").alias(name)
        )
        for one, name in ((PLAIN, "plain_ratio"), (way, "other_ratio"))
    )
    details = plain.join(others, on=[SENDER, VOLUME], maintain_order="left").filter(
        pl.col("plain_ratio") > MARGIN_RATIO
    )
    left = details["other_ratio"] / details["plain_ratio"]
    text = "; ".join(
        f"{row[SENDER]}, {row[VOLUME]}: {row['plain_ratio']:+.0%} and {row['other_ratio']:+.0%}"
        for row in details.iter_rows(named=True)
    )
    return question.answered(
        verdict=Verdict.of_cells(left < HALF, left >= HALF),
        evidence=f"Against constant allocation, {PLAIN} and {way}: {text}.",
        details=every,
        in_short=(
            f"For {(left < HALF).sum()} of {left.len()} senders and volumes; "
            f"{left.to_numpy().min():.0%} to {left.to_numpy().max():.0%} of the wait are left."
        ),
    )


@Question(
    statement="Beyond the source: a proxy at the terminal makes uploads on demand quicker.",
    rule=(
        "Time of an upload with slots assigned by rbdc, by a proxy against through with CUBIC, "
        "paired by seed. Holds: shorter with the whole 95 % interval for every proxy and "
        "volume; for some: in some; otherwise it fails."
    ),
)
def _proxies_help(up: pl.DataFrame) -> StudyAnswer:
    plain = up.filter(pl.col(CAPACITY) == PLAIN)
    senders = plain[SENDER].unique(maintain_order=True).to_list()
    proxies = [sender for sender in senders if sender not in THROUGH]
    if not proxies:
        return StudyAnswer(Verdict.UNDECIDED, "No proxy was run.", pl.DataFrame(), "")
    details = pl.concat(
        [
            compared(plain, TIME, SENDER, (THROUGH[0], sender), [VOLUME]).with_columns(
                pl.lit(sender).alias(SENDER)
            )
            for sender in proxies
        ]
    )
    verdict = Verdict.of_cells(details["high"] < 0, details["low"] > 0)
    return _answer(details, verdict)


def by_sender(details: pl.DataFrame) -> str:
    """Format relative changes by sender: ``cubic: 1 MB +30.0% [...], ...; bbr: ...``."""
    parts = []
    for (sender,), rows in details.group_by(SENDER, maintain_order=True):
        text = ", ".join(f"{row[VOLUME]} {signed(row)}" for row in rows.iter_rows(named=True))
        parts.append(f"{sender}: {text}")
    return "; ".join(parts)


def extremes(details: pl.DataFrame) -> str:
    """Format the smallest and the largest change, with their senders."""
    ordered = details.sort("relative_ratio")
    least, most = (ordered.row(place, named=True) for place in (0, -1))
    return " to ".join(
        f"{row['relative_ratio']:+.0%} ({row[SENDER]}, {row[VOLUME]})" for row in (least, most)
    )

"""How aggressive senders are against a reference, in their share and in their answer to a loss.

This study measures what the position paper on application-limited streams asks for: the share of a
flow in excess of a reference flow under equal conditions, and what it sends in the round trips
after a loss, for every congestion control and for the mechanisms of thin streams.
"""

from __future__ import annotations

import altair as alt
import polars as pl

from fairwind.aggression import AFTER, MEASURES
from fairwind.plots import Figure, inline, themed
from fairwind.quantities import percent, percent_interval
from fairwind.results import Claim, Results, Verdict
from fairwind.results.summary import estimate
from fairwind.studies import Study, full_and_reduced, leading_and_further
from fairwind.studies.effects import MARGIN_RATIO
from fairwind.studies.panels import listed, sentence

REFERENCE, MINE = "reference", "mine"

THROUGHPUT, SENT, ANSWER = "excess_throughput_ratio", "excess_sent_ratio", "excess_after_ratio"

EXCESS = (THROUGHPUT, SENT, ANSWER)

CONTROL, MECHANISM, LOAD = "flows_mine_tcp_congestion", "mechanism", "load"

STANDARD, PLAIN = "reno", "none"
"""The labels with which both groups are the same."""

MECHANISMS = "mechanisms"
"""The part with thin streams."""

SENDER = "sender"
"""The column of the congestion control or mechanism."""


def of_controls(results: Results) -> pl.DataFrame:
    """Estimate how aggressive every congestion control is.

    Returns
    -------
    DataFrame
        ``sender``, ``measure``, ``mean``, ``low``, ``high``, as `estimate` gives them.
    """
    return _estimates(results, CONTROL, ())


def of_mechanisms(results: Results) -> pl.DataFrame | None:
    """Estimate the same of mechanisms of thin streams; None where that part was not run.

    Returns
    -------
    DataFrame or None
        ``sender``, ``load``, and as of `of_controls`.
    """
    part = results.part(MECHANISMS)
    return None if part is None else _estimates(part, MECHANISM, (LOAD,))


def _estimates(results: Results, axis: str, further: tuple[str, ...]) -> pl.DataFrame:
    mine = results.aggression(REFERENCE).filter(pl.col("group") == MINE)
    # A ratio has the interval of its logarithm, so that it never passes -100 %.
    logarithms = mine.rename({axis: SENDER}).with_columns(pl.col(*EXCESS).log1p())
    found = estimate(logarithms, (SENDER, *further), MEASURES).frame
    is_excess = pl.col("measure").is_in(EXCESS)
    return found.with_columns(
        pl.when(is_excess).then(pl.col(name).exp() - 1).otherwise(pl.col(name)).alias(name)
        for name in ("mean", "low", "high")
    )


def claims(results: Results) -> list[Claim]:
    """Judge who takes more than the reference, and who answers a loss with more."""
    controls, mechanisms = of_controls(results), of_mechanisms(results)
    judged = [
        _is_equal(controls, STANDARD, "A flow of standard TCP beside another one", THROUGHPUT),
        _is_more(
            _without(controls, STANDARD),
            THROUGHPUT,
            "Congestion controls take more of the path than standard TCP beside them.",
        ),
        _is_more(
            _without(controls, STANDARD),
            ANSWER,
            "Congestion controls send more than standard TCP in the four round trips after a loss "
            "is noticed.",
        ),
    ]
    if mechanisms is not None:
        judged += [
            _is_equal(mechanisms, PLAIN, "A plain thin stream beside others", SENT),
            _is_more(
                _without(mechanisms, PLAIN),
                SENT,
                "Thin streams with a mechanism put more on the path than plain ones beside them.",
            ),
            _is_more(
                _without(mechanisms, PLAIN),
                ANSWER,
                "Thin streams with a mechanism send more than plain ones in the four round trips "
                "after a loss is noticed.",
            ),
        ]
    return judged


def _without(frame: pl.DataFrame, same: str) -> pl.DataFrame:
    return frame.filter(pl.col(SENDER) != same)


RULE = (
    f"The whole 95 % interval over seeds lies beyond {MARGIN_RATIO:.0%} more than the reference; "
    "it is not so where the whole interval lies below that."
)


def _is_more(frame: pl.DataFrame, measure: str, statement: str) -> Claim:
    """Judge that each sender exceeds the reference in a measure."""
    details = frame.filter(pl.col("measure") == measure).with_columns(
        (pl.col("low") > MARGIN_RATIO).fill_null(value=False).alias("holds"),
        (pl.col("high") < MARGIN_RATIO).fill_null(value=False).alias("fails"),
    )
    verdict = Verdict.of_cells(details["holds"], details["fails"])
    undecided = ~pl.col("holds") & ~pl.col("fails")
    parts = [
        f"{word} {_numbers(own)}"
        for word, own in (
            ("more:", details.filter("holds")),
            ("not more:", details.filter("fails")),
            ("undecided:", details.filter(undecided)),
        )
        if own.height
    ]
    return Claim(
        statement=statement,
        rule=RULE,
        verdict=verdict,
        evidence=sentence(parts),
        details=details,
        in_short=_in_short(details) if verdict.is_for_some else "",
    )


def _in_short(details: pl.DataFrame) -> str:
    """Name those of whom a statement is true."""
    held = details.filter("holds")
    names = [_name(row) for row in held.iter_rows(named=True)]
    return f"It is so of {listed(names)}." if names else "It is so of none."


def _is_equal(frame: pl.DataFrame, same: str, who: str, measure: str) -> Claim:
    """Judge that equal senders are found equal, by which the method is checked."""
    details = frame.filter(
        (pl.col(SENDER) == same) & pl.col("measure").is_in([measure, ANSWER])
    ).with_columns(
        ((pl.col("low") > -MARGIN_RATIO) & (pl.col("high") < MARGIN_RATIO))
        .fill_null(value=False)
        .alias("holds"),
        ((pl.col("low") > MARGIN_RATIO) | (pl.col("high") < -MARGIN_RATIO))
        .fill_null(value=False)
        .alias("fails"),
    )
    return Claim(
        statement=f"{who} is found to be as aggressive as these.",
        rule=(
            f"The whole 95 % interval lies within {MARGIN_RATIO:.0%} on both sides, of share and "
            "answer."
        ),
        verdict=Verdict.of_cells(details["holds"], details["fails"]),
        evidence=sentence([_numbers(details, is_measure_named=True)]),
        details=details,
        in_short="" if details["holds"].all() else "Not of both measures.",
    )


def _name(row: dict[str, str]) -> str:
    load = row.get(LOAD)
    return f"{row[SENDER]} ({load})" if load else row[SENDER]


WORDS = {THROUGHPUT: "share", SENT: "sent", ANSWER: "answer"}


def _numbers(frame: pl.DataFrame, *, is_measure_named: bool = False) -> str:
    return ", ".join(
        f"{WORDS[row['measure']] if is_measure_named else _name(row)} {_per_cent(row)}"
        for row in frame.iter_rows(named=True)
    )


def _per_cent(row: dict[str, float | None]) -> str:
    mean = row["mean"]
    if mean is None:
        return "unknown"
    return f"{percent(mean)} % {percent_interval(row['low'], row['high'])}".rstrip()


def figures(results: Results) -> list[Figure]:
    """Draw excess share and answer of every sender, and what is sent round trip by round trip."""
    found = [
        Figure(
            name="aggression-of-controls",
            title="What a flow takes beside standard TCP, and what it sends after a loss",
            caption=(
                "20 Mbit/s, 80 ms, queue of 10 % of a BDP. Left: its throughput over that of the "
                "reference. Right: packets in each round trip after a loss was noticed, over those "
                "in the round trip before it. Bars: 95 % interval over seeds."
            ),
            chart=_chart(of_controls(results), THROUGHPUT, "throughput over the reference's"),
        )
    ]
    mechanisms = of_mechanisms(results)
    if mechanisms is not None:
        found += [
            Figure(
                name=f"aggression-of-mechanisms-{load}",
                title=f"What a thin stream puts on the path, and sends after a loss ({load} load)",
                caption=(
                    "Five thin streams beside five plain and five greedy ones. Left: bytes on the "
                    "wire over those of a plain stream. Right: packets in each round trip after a "
                    "loss was noticed, over those in the round trip before it."
                ),
                chart=_chart(own, SENT, "bytes sent over the reference's"),
            )
            for (load,), own in mechanisms.group_by([LOAD], maintain_order=True)
        ]
    return found


def _chart(frame: pl.DataFrame, measure: str, title: str) -> alt.TopLevelMixin:
    """Draw the share of every sender beside its answer, in the order of shares."""
    shares = (
        frame.filter(pl.col("measure") == measure)
        .sort("mean")
        .with_columns(pl.col("mean", "low", "high") + 1)
    )
    order = shares[SENDER].to_list()
    senders = alt.Y(f"{SENDER}:N", sort=order, title=None)
    base = alt.Chart(inline(shares)).encode(y=senders)
    scale = _scale(shares)
    points = base.mark_point(filled=True, size=55, opacity=1).encode(
        x=alt.X("mean:Q", title=title, scale=scale),
        tooltip=[f"{SENDER}:N", alt.Tooltip("mean:Q", format=".3f")],
    )
    bars = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", scale=scale), x2="high:Q")
    equal = (
        alt.Chart(inline(pl.DataFrame({"one": [1.0]})))
        .mark_rule(strokeDash=[4, 3], color="#4d4d4d")
        .encode(x=alt.X("one:Q", scale=scale))
    )
    left = alt.layer(equal, bars, points).properties(width=260, height=18 * len(order) + 20)
    answers = frame.filter(pl.col("measure").is_in(AFTER)).with_columns(
        pl.col("measure").str.extract(r"after_(\d)_ratio").cast(pl.Int64).alias("trip")
    )
    right = (
        alt.Chart(inline(answers))
        .mark_rect()
        .encode(
            x=alt.X("trip:O", title="round trip after it", axis=alt.Axis(labelAngle=0)),
            y=alt.Y(
                f"{SENDER}:N", sort=order, title=None, axis=alt.Axis(labels=False, ticks=False)
            ),
            color=alt.Color(
                "mean:Q",
                title="sent / before",
                scale=alt.Scale(scheme="viridis"),
                legend=alt.Legend(format=".0%"),
            ),
            tooltip=[f"{SENDER}:N", "trip:O", alt.Tooltip("mean:Q", format=".1%")],
        )
        .properties(width=150, height=18 * len(order) + 20)
    )
    return themed(alt.hconcat(left, right))


def _scale(shares: pl.DataFrame) -> alt.Scale:
    """Give a logarithmic scale where senders differ by multiples, else a linear one."""
    low, high = (shares.select(part).item() for part in (pl.col("low").min(), pl.col("high").max()))
    if low is None or high is None or high < MULTIPLE * low:
        return alt.Scale(zero=False)
    return alt.Scale(type="log", domain=[min(low, 1.0) / 1.2, max(high, 1.0) * 1.2])


MULTIPLE = 2.0
"""Senders that differ by more are drawn on a logarithmic scale."""


_FORMS = full_and_reduced(
    {
        "controls": {"sweep.repeat": "3", "duration": "70 s"},
        MECHANISMS: {"sweep.repeat": "3", "duration": "130 s"},
    }
)

_LED, _FURTHER = leading_and_further(_FORMS, "controls")

STUDY = Study(
    name="aggression",
    title="Excess share and answer to a loss of every congestion control and mechanism",
    source="position paper on application-limited streams: how aggressive may they be?",
    package=__package__,
    forms=_LED,
    parts=_FURTHER,
    figures=figures,
    claims=claims,
)

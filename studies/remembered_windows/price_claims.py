"""Verdicts beyond the source: the price of remembered windows, and when they pay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from fairwind.results import Claim, Question, Results, StudyAnswer, Verdict

from .measures import (
    AFTER,
    COUNT,
    GREEDY_AXES,
    INITIAL,
    LIMIT,
    MEMORY,
    PRESENCE,
    RTT,
    VOLUME,
    WORSE_AXES,
    against,
    at_once,
    last_transfers,
    map_of_speed_ups,
    second_transfers,
)

CLASSIC, SAFE, CAREFUL, SHARED = "classic", "classic, safe", "careful resume", "rfc9040"

FORGETTING, FADING = "classic, forgetting", "classic, fading"
"""By half at every transfer's end, and by a tenth in every second of one, too."""

FORMS = {
    "more_lost": ("{} packets lost", "+.0f"),
    "thin_harm": ("harm to thin streams {}", "+.0%"),
    "thin_more_lost": ("{} of theirs lost", "+.1f"),
    "longer_wait_s": ("{} s of waiting", "+.3f"),
    "greedy_first_harm": ("harm to the greedy flow in the first second {}", "+.0%"),
    "greedy_harm": ("in the whole {}", "+.0%"),
    "greedy_more_lost": ("{} of its packets lost in the first second", "+.0f"),
    "speed_up": ("speed-up {}", ".2f"),
}
"""Words and number format of each measure of a comparison."""


@dataclass(frozen=True)
class CellQuestion(Question):
    """A question that is judged by cells.

    Attributes
    ----------
    by : tuple of str
        Columns that identify a cell.
    measures : tuple of str
        Measures of a cell that the evidence has, of `FORMS`.
    otherwise : str
        Words on the cells that do not bear it out.
    """

    by: tuple[str, ...]
    measures: tuple[str, ...]
    otherwise: str

    def judged(self, cells: pl.DataFrame, holds: pl.Series, details: pl.DataFrame) -> StudyAnswer:
        """Judge by cells: holds in all, or for some."""
        return StudyAnswer(
            verdict=Verdict.of_cells(holds),
            evidence=f"{numbers(details, _apart(details, self.by), self.measures)}.",
            details=details,
            in_short=f"So of {where(cells, holds, self.by)}{self.otherwise}.",
        )


def _apart(details: pl.DataFrame, by: Sequence[str]) -> list[str]:
    """Name the memory, too, where there are several."""
    is_several = MEMORY not in by and details[MEMORY].n_unique() > 1
    return [MEMORY, *by] if is_several else list(by)


def numbers(details: pl.DataFrame, by: Sequence[str], measures: Sequence[str]) -> str:
    """Format measures of every row, with their intervals."""
    return "; ".join(
        f"{', '.join(str(row[name]) for name in by)}: "
        + ", ".join(_measure_in_words(row, measure) for measure in measures)
        for row in details.iter_rows(named=True)
    )


def _measure_in_words(row: dict[str, float], measure: str) -> str:
    words, form = FORMS[measure]
    low, high = (_written(row[f"{measure}_{end}"], form.lstrip("+")) for end in ("low", "high"))
    return f"{words.format(_written(row[measure], form))} [{low}, {high}]"


def _written(value: float, form: str) -> str:
    """Format a number, without a sign if it rounds to 0."""
    written = f"{value:{form}}"
    return written.lstrip("+-") if not written.strip("+-0.%") else written


def where(details: pl.DataFrame, holds: pl.Series, by: Sequence[str]) -> str:
    """Name the rows of which something holds."""
    chosen = details.filter(holds)
    return "; ".join(
        ", ".join(str(value) for value in row) for row in chosen.select(by).iter_rows()
    )


SAME = "20 Mbit/s"
UNCHANGED = "the same"
SLOWED = ("a quarter", "a tenth")
SMALL_QUEUE = "20 % bdp"

MUCH_RATIO = 0.05
"""Slowdowns above this are counted separately."""

BY_CHANCE_RATIO = 0.05
"""In so many cells a 95 % interval may leave out 1 by chance alone."""

PRICE = ("speed_up", "more_lost", "thin_harm")
"""Measures of a cell in the evidence."""


def price_claims(worse: Results | None) -> list[Claim]:
    """Judge the price for thin streams; these are claims of ours, not of the source."""
    done = None if worse is None else second_transfers(worse, WORSE_AXES)
    priced = None if done is None else against(done, WORSE_AXES)
    return [
        harms_where_worse(priced),
        fills_the_queue_at_first(priced),
        overflows_small_queues(priced),
        careful_is_no_worse(
            priced, None if done is None else against(done, WORSE_AXES, reference=CLASSIC)
        ),
    ]


def map_claims(map_: Results | None) -> list[Claim]:
    """Judge when remembering pays, and when it costs."""
    mapped = None if map_ is None else map_of_speed_ups(map_)
    return [pays_where_long(mapped), costs_where_slowed(mapped)]


LOSES_WHERE_WORSE = CellQuestion(
    statement="Where the path has worsened since, the report's window, which cannot fall, loses "
    "packets and delays others.",
    rule="Second transfers of 3 MB after the rate fell to 5 or 2 Mbit/s, against an initial window "
    "of ten, seed by seed. Holds where more packets are lost, with the whole 95 % interval, and "
    "the thin streams' 99th percentile is greater likewise. Holds: in all cells; for some: in "
    "some; otherwise it fails.",
    by=(AFTER, LIMIT),
    measures=("speed_up", "more_lost", "thin_harm"),
    otherwise="; elsewhere not both are sure",
)


@LOSES_WHERE_WORSE
def harms_where_worse(priced: pl.DataFrame) -> StudyAnswer:
    """Judge the report's cache where the path has become worse."""
    cells = priced.filter((pl.col(MEMORY) == CLASSIC) & (pl.col(AFTER) != SAME))
    holds = (cells["more_lost_low"] > 0) & (cells["thin_harm_low"] > 0)
    return LOSES_WHERE_WORSE.judged(cells, holds, cells)


FILLS_THE_QUEUE = CellQuestion(
    statement="While the burst of the report's window passes, packets wait longer in the "
    "bottleneck's queue.",
    rule="The mean wait of all packets, of which the burst's own are many, in the second after the "
    "call, by windows of 100 ms, against that with an initial window of ten, seed by seed. Holds "
    "where it is longer with its whole 95 % interval. Holds: in all cells; for some: in some; "
    "otherwise it fails.",
    by=(AFTER, LIMIT),
    measures=("longer_wait_s", "thin_more_lost"),
    otherwise="; elsewhere it is not sure",
)


@FILLS_THE_QUEUE
def fills_the_queue_at_first(priced: pl.DataFrame) -> StudyAnswer:
    """Judge the effect of the report's cache on others during its burst."""
    cells = priced.filter(pl.col(MEMORY) == CLASSIC)
    return FILLS_THE_QUEUE.judged(cells, cells["longer_wait_s_low"] > 0, cells)


@Question(
    statement=(
        "A remembered window that exceeds what the bottleneck's queue holds is lost in part, "
        "even over a path that is the same."
    ),
    rule="As before, the rate unchanged, with a queue of a fifth of a bandwidth-delay product. "
    "Holds: more packets are lost than from a window of ten, with the whole 95 % interval; "
    "otherwise it fails.",
)
def overflows_small_queues(priced: pl.DataFrame) -> StudyAnswer:
    """Judge the report's cache with a queue smaller than the window."""
    unchanged = priced.filter((pl.col(MEMORY) == CLASSIC) & (pl.col(AFTER) == SAME))
    cells = unchanged.filter(pl.col(LIMIT) == SMALL_QUEUE)
    return StudyAnswer(
        verdict=Verdict.of_cells(cells["more_lost_low"] > 0),
        evidence=f"{numbers(unchanged, [LIMIT], PRICE)}.",
        details=unchanged,
    )


@Question(
    statement=(
        "Careful Resume, and the report's cache in its safe mode, lose less than the report's "
        "where the path has worsened, and still gain where it is the same."
    ),
    rule=(
        "By memory, seed by seed, each with the whole 95 % interval. Holds where fewer packets "
        "are lost than from the report's in every cell with a lower rate, and the speed-up "
        "over the unchanged path with a queue of a bandwidth-delay product is above 1 against "
        "an initial window of ten, and with a queue of a fifth of that at least 1 against the "
        "report's. Holds: of both; for some: of one; otherwise it fails."
    ),
)
def careful_is_no_worse(priced: pl.DataFrame, by_classic: pl.DataFrame) -> StudyAnswer:
    """Judge whether Careful Resume and the safe mode avoid the price and keep the gain.

    `priced` is against an initial window of ten, `by_classic` against the report's cache.
    """
    names, found = [SAFE, CAREFUL], []
    cells = priced.filter(pl.col(MEMORY).is_in(names))
    beside = by_classic.filter(pl.col(MEMORY).is_in(names))
    for name in names:
        own, other = (part.filter(pl.col(MEMORY) == name) for part in (cells, beside))
        changed = other.filter(pl.col(AFTER) != SAME)
        loses_less = bool((changed["more_lost_high"] < 0).all())
        same = own.filter((pl.col(AFTER) == SAME) & (pl.col(LIMIT) != SMALL_QUEUE))
        small = other.filter((pl.col(AFTER) == SAME) & (pl.col(LIMIT) == SMALL_QUEUE))
        gains = bool((same["speed_up_low"] > 1).all())
        is_no_slower = bool((small["speed_up_low"] >= 1).all())
        found.append(loses_less and gains and is_no_slower)
    by = [MEMORY, AFTER, LIMIT]
    return StudyAnswer(
        verdict=Verdict.of_cells(pl.Series(found)),
        evidence=f"{numbers(cells, by, PRICE)}. Against the report's: "
        f"{numbers(beside, by, ('speed_up', 'more_lost'))}.",
        details=beside,
        in_short=f"So of {_those(names, found, holds=True)}; not of "
        f"{_those(names, found, holds=False)}.",
    )


def _those(names: list[str], found: list[bool], *, holds: bool) -> str:
    return ", ".join(name for name, one in zip(names, found, strict=True) if one is holds)


@Question(
    statement=(
        "Remembering pays most where the round trip is long and the volume neither small nor large."
    ),
    rule=(
        "Speed-up over an unchanged path against an initial window of ten, by the report's "
        "cache, means over the seeds. Holds: the greatest is at the longest round trip and "
        "at neither the least nor the greatest volume; for some: one of both; otherwise it fails."
    ),
)
def pays_where_long(found: pl.DataFrame) -> StudyAnswer:
    """Judge the map: where remembering pays."""
    same = found.filter((pl.col(MEMORY) == CLASSIC) & (pl.col(AFTER) == UNCHANGED))
    best = same.sort("speed_up").row(-1, named=True)
    volumes = same[VOLUME].to_numpy()
    is_inside = bool(volumes.min() < best[VOLUME] < volumes.max())
    is_longest = bool(best[RTT] == same[RTT].to_numpy().max())
    return StudyAnswer(
        verdict=Verdict.of_cells(pl.Series([is_longest, is_inside])),
        evidence=f"The best is {_on_the_map(best)}.",
        details=found,
        in_short=f"The best is {_on_the_map(best)}.",
    )


@Question(
    statement="Where the rate has fallen, a transfer takes longer from a remembered window.",
    rule=(
        "Speed-up against an initial window of ten, by the report's cache, in the cells where "
        "the rate is a quarter or a tenth. Holds: the whole 95 % interval is below 1 in "
        f"more than half of them; for some: in more than {BY_CHANCE_RATIO:.0%}; otherwise it fails."
    ),
)
def costs_where_slowed(found: pl.DataFrame) -> StudyAnswer:
    """Judge the map: whether remembering costs where the rate has fallen."""
    cells = found.filter((pl.col(MEMORY) == CLASSIC) & pl.col(AFTER).is_in(SLOWED))
    if cells["speed_up_high"].is_nan().any():
        evidence = "One seed a cell gives no intervals."
        return StudyAnswer(Verdict.UNDECIDED, evidence, pl.DataFrame())
    slower = cells.filter(pl.col("speed_up_high") < 1)
    faster = cells.filter(pl.col("speed_up_low") > 1)
    share = slower.height / cells.height
    text = "; ".join(
        f"{row[AFTER]} of the rate {_on_the_map(row)}" for row in slower.iter_rows(named=True)
    )
    much = (slower["speed_up_high"] < 1 / (1 + MUCH_RATIO)).sum()
    counted = (
        f"Of {cells.height} cells {slower.height} are slower with the whole interval, {much} of "
        f"them by more than {MUCH_RATIO:.0%}, and {faster.height} are faster"
    )
    return StudyAnswer(
        verdict=Verdict.of(whole=share > 1 / 2, part=share > BY_CHANCE_RATIO),
        evidence=f"{counted}; slower: {text or 'none'}.",
        details=cells,
        in_short=f"{counted}.",
    )


def _on_the_map(row: dict[str, Any]) -> str:
    speed_up = f"{row['speed_up']:.2f} [{row['speed_up_low']:.2f}, {row['speed_up_high']:.2f}]"
    return f"{speed_up}, at {row[RTT] * 1e3:g} ms and {row[VOLUME] / 1e3:g} kB"


MEASURES = ("speed_up", "more_lost", "longer_wait_s")
"""Measures of a cell in the evidence."""

TRANSFERS = (
    "Sixth transfers of 3 MB, of which the first met 20 Mbit/s and the others 5 or 2, by the "
    "report's cache with a forgetfulness of 50 % at the end of each, and of 10 % at a sample every "
    "second as well, "
)


def later_claims(later: Results | None) -> list[Claim]:
    """Judge forgetting against the report's rule and against no memory."""
    done = None if later is None else last_transfers(later, WORSE_AXES)
    return [
        forgetting_loses_less(None if done is None else against(done, WORSE_AXES, CLASSIC)),
        forgetting_loses_no_more(None if done is None else against(done, WORSE_AXES, INITIAL)),
    ]


FINDS_THE_PATH = CellQuestion(
    statement="Where the path has worsened, a memory that forgets comes to lose fewer packets than "
    "the report's windows, which cannot fall.",
    rule=f"{TRANSFERS}against the report's rule (0 %), seed by seed. Holds where fewer packets are "
    "lost, with the whole 95 % interval. Holds: by both in all cells; for some: in some; "
    "otherwise it fails.",
    by=(MEMORY, AFTER, LIMIT),
    measures=MEASURES,
    otherwise="; elsewhere it is not sure",
)

LOSES_NO_MORE = CellQuestion(
    statement="After five transfers over the worsened path a memory that forgets loses no more "
    "packets than none.",
    rule=f"{TRANSFERS}against an initial window of ten, seed by seed. Holds where the 95 % "
    "interval of how many more are lost is not wholly above 0. Holds: by both in all cells; for "
    "some: in some; otherwise it fails. Also reported: speed-up, and how much longer packets wait "
    "in the first second after the call.",
    by=(MEMORY, AFTER, LIMIT),
    measures=MEASURES,
    otherwise="; elsewhere more are lost",
)


@FINDS_THE_PATH
def forgetting_loses_less(by_classic: pl.DataFrame) -> StudyAnswer:
    """Judge whether forgetting helps at all."""
    cells = _forgetful(by_classic)
    return FINDS_THE_PATH.judged(cells, cells["more_lost_high"] < 0, cells)


@LOSES_NO_MORE
def forgetting_loses_no_more(priced: pl.DataFrame) -> StudyAnswer:
    """Judge whether it loses no more than without a memory."""
    cells = _forgetful(priced)
    others = priced.filter(pl.col(MEMORY) != INITIAL)
    return LOSES_NO_MORE.judged(cells, cells["more_lost_low"] <= 0, others)


def _forgetful(compared: pl.DataFrame) -> pl.DataFrame:
    return compared.filter(pl.col(MEMORY).is_in([FORGETTING, FADING]))


SINCE, BEFORE = "has come since", "was there before"
"""When the greedy flow came: after the first transfer, or before it."""


def greedy_claims(greedy: Results | None) -> list[Claim]:
    """Judge the harm to a greedy flow that came later, and to one that came before."""
    beside = None if greedy is None else against(
        second_transfers(greedy, GREEDY_AXES, "greedy"), GREEDY_AXES
    )  # fmt: skip
    return [harms_greedy_flows(beside), harms_those_before(beside)]


TAKES_FROM_GREEDY = CellQuestion(
    statement="A greedy flow that has come since loses goodput to a remembered window in the first "
    "second.",
    rule="Second transfers of 3 MB beside a greedy flow, by the report's cache, against an initial "
    "window of ten, seed by seed; harm is what the flow loses of its goodput. Holds where it is "
    "above 0 with its whole 95 % interval in the second after the call. Holds: in all cells; "
    "for some: in some; otherwise it fails. Also reported: harm from before the call to the end "
    "of the run.",
    by=(AFTER, LIMIT),
    measures=("speed_up", "greedy_first_harm", "greedy_harm", "greedy_more_lost"),
    otherwise="; elsewhere it is not sure",
)

TAKES_FROM_ONE_BEFORE = replace(
    TAKES_FROM_GREEDY,
    statement="A greedy flow that was there before the first transfer loses goodput in the first "
    "second, too, though what is remembered is a share of the path.",
    rule=f"The first transfer was beside the flow, too. {TAKES_FROM_GREEDY.rule}",
)


@TAKES_FROM_GREEDY
def harms_greedy_flows(priced: pl.DataFrame) -> StudyAnswer:
    """Judge the harm of a remembered window to a greedy flow that came later."""
    return _judged(TAKES_FROM_GREEDY, priced, SINCE)


@TAKES_FROM_ONE_BEFORE
def harms_those_before(priced: pl.DataFrame) -> StudyAnswer:
    """Judge the harm of a window that was learned beside a greedy flow."""
    return _judged(TAKES_FROM_ONE_BEFORE, priced, BEFORE)


def _judged(question: CellQuestion, priced: pl.DataFrame, presence: str) -> StudyAnswer:
    beside = priced.filter((pl.col(PRESENCE) == presence) & (pl.col(MEMORY) != INITIAL))
    cells = beside.filter(pl.col(MEMORY) == CLASSIC)
    return question.judged(cells, cells["greedy_first_harm_low"] > 0, beside)


OWNER = "owner"
ONE_HOST, MANY_HOSTS = "one host's", "twenty hosts'"

CROWDED = ("speed_up", "more_lost", "thin_harm", "longer_wait_s")
"""Measures of a crowd in the evidence."""

IN_WORDS = {ONE_HOST: "one host", MANY_HOSTS: "as many hosts"}

RULE = (
    "Of 20 connections at once {whence}, by the report's cache, against initial windows of ten. "
    "Holds: more packets are lost and thin streams' 99th percentile is greater, each with its "
    "whole 95 % interval, and the slowest transfer's speed-up is not above 1 with its whole "
    "interval; for some: more are lost; otherwise it fails."
)


def crowd_claims(crowd: Results | None, hosts: Results | None) -> list[Claim]:
    """Judge many at once: behind one address, with separate addresses, and with care."""
    crowded = None if crowd is None else against(at_once(crowd), [COUNT])
    own = None if hosts is None else against(at_once(hosts, ()), ())
    return [
        crowds_lose(crowded, ONE_HOST),
        crowds_lose(own, MANY_HOSTS),
        careful_crowds_lose_less(largest_crowds(crowd, hosts, CLASSIC)),
    ]


def largest_crowds(
    crowd: Results | None, hosts: Results | None, reference: str = INITIAL
) -> pl.DataFrame | None:
    """Compare memories in the largest crowd of one host, and in that of many; None without both."""
    if crowd is None or hosts is None:
        return None
    of_one = at_once(crowd)
    most = of_one.filter(pl.col(COUNT) == pl.col(COUNT).max()).drop(COUNT)
    both = {ONE_HOST: most, MANY_HOSTS: at_once(hosts, ())}
    return against(
        pl.concat([done.with_columns(pl.lit(owner).alias(OWNER)) for owner, done in both.items()]),
        [OWNER],
        reference,
    )


def crowds_lose(crowded: pl.DataFrame | None, owner: str) -> Claim:
    """Judge many connections that begin at once from windows that one alone had."""
    question = Question(
        statement=(
            f"Where many connections of {IN_WORDS[owner]} begin at once from the window that one "
            "alone had, they lose packets and delay others, and the last of them ends no sooner."
        ),
        rule=RULE.format(whence={ONE_HOST: "behind one address", MANY_HOSTS: "of 20 hosts"}[owner]),
    )
    if crowded is None:
        return question.not_run()
    by = [COUNT] if COUNT in crowded.columns else []
    cells = crowded.filter(pl.col(MEMORY) != INITIAL)
    classic = cells.filter(pl.col(MEMORY) == CLASSIC)
    most = classic.filter(pl.col(COUNT) == pl.col(COUNT).max()) if by else classic
    loses = bool((most["more_lost_low"] > 0).all())
    harms = bool((most["thin_harm_low"] > 0).all())
    is_no_sooner = bool((most["speed_up_low"] <= 1).all())
    others = "others are delayed" if harms else "that others are delayed is not sure"
    last = "the last ends no sooner" if is_no_sooner else "the last still ends sooner"
    return question.answered(
        verdict=Verdict.of(whole=loses and harms and is_no_sooner, part=loses),
        evidence=f"{numbers(cells, [*by, MEMORY], CROWDED)}.",
        details=cells,
        in_short=f"More are lost; {others}, and {last}.",
    )


SPARE_CROWDS = CellQuestion(
    statement="Of many at once, from the report's cache in its safe mode, by RFC 9040's sharing "
    "and by Careful Resume fewer packets are lost than from the report's, whether they are one "
    "host's or as many hosts'.",
    rule="Of 20 connections at once, against the report's cache, seed by seed. Holds where fewer "
    "packets are lost, with the whole 95 % interval. Holds: of all memories in both crowds; "
    "for some: of some; otherwise it fails.",
    by=(MEMORY, OWNER),
    measures=CROWDED,
    otherwise=", but not of the others",
)


@SPARE_CROWDS
def careful_crowds_lose_less(compared: pl.DataFrame) -> StudyAnswer:
    """Judge whether safe mode, sharing and Careful Resume spare crowds the price."""
    cells = compared.filter(pl.col(MEMORY).is_in([SAFE, SHARED, CAREFUL]))
    return SPARE_CROWDS.judged(cells, cells["more_lost_high"] < 0, cells)

"""Claims that a congestion control has a fault, and their evidence in words."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from fairwind.results import Claim, Verdict
from fairwind.studies.panels import interval_in_words, sentence

from .baseline import MOST_RATIO, SOME_RATIO, Fault, Worse, verdict_of_fault
from .measures import ALL_PLACES, BANDWIDTH, CONTROL, LIMIT, NUMBER, RTT, STANDARD
from .steady import WITHIN_S, steady_cells

IN_FULL = {
    "reno": "standard TCP",
    "scalable": "Scalable",
    "highspeed": "HighSpeed",
    "bic": "BIC",
    "fast": "FAST",
    "htcp": "H-TCP",
    "cubic": "CUBIC",
}

NOT_RUN = "The runs that this needs are not there."


def fault_claim(control: str, fault: Fault, compared: pl.DataFrame | None) -> Claim:
    """Judge that a congestion control has a fault, by all cells that were compared."""
    own = rows_of(compared, control)
    side = "smaller" if fault.worse is Worse.LESS else "larger"
    return Claim(
        statement=fault.statement.format(IN_FULL[control]),
        rule=(
            f"{fault.measured}, against {fault.compared}. Worse in a cell: the whole 95 % interval "
            f"of the difference lies beyond {fault.margin:g}{fault.unit} on the {side} side. "
            f"Holds: worse in more than {MOST_RATIO:.0%} of the cells, better in at "
            f"most {SOME_RATIO:.0%}; for some: worse in more than {SOME_RATIO:.0%}, and in more "
            f"than it is better. Fails: at most {SOME_RATIO:.0%} may be worse by their interval, "
            f"or more than {SOME_RATIO:.0%} are better, and as many as may be worse; undecided: "
            "else, and without a second seed."
        ),
        verdict=verdict_of_fault(own) if own.height else Verdict.UNDECIDED,
        evidence=fault_in_words(own, fault)
        + (_standard_itself(compared, fault) if own.height else ""),
        details=own,
        in_short=where_worse({fault: own}),
    )


def rows_of(compared: pl.DataFrame | None, control: str) -> pl.DataFrame:
    """Give the rows of a congestion control; none where nothing was compared."""
    if compared is None or compared.is_empty():
        return pl.DataFrame()
    return compared.filter(pl.col(CONTROL) == control)


def fault_in_words(own: pl.DataFrame, fault: Fault) -> str:
    """Say in how many cells a congestion control is worse and better, and where most."""
    if own.is_empty():
        return NOT_RUN
    worst = own.sort("difference", descending=fault.worse is Worse.MORE).row(0, named=True)
    bounds = interval_in_words(worst["low"], worst["high"], "+.3g")
    other = "bound" if "bound" in own.columns else "mean_standard"
    mean, standard = _mean(own, fault, "mean"), _mean(own, fault, other)
    return (
        f"{fault.name}: worse than {fault.than} in {own['is_worse'].sum()} of {own.height} "
        f"cells, better in {own['is_better'].sum()}; mean over cells {mean} against {standard}; "
        f"worst: {worst['mean']:.3g} against {worst[other]:.3g}{fault.unit}, "
        f"{worst['difference']:+.3g}{bounds} ({place_in_words(worst)}).{_where_steady(own)}"
    )


def where_worse(compared: dict[Fault, pl.DataFrame]) -> str:
    """Count the cells with and without each fault."""
    return sentence(
        [
            f"{fault.name[0].lower()}{fault.name[1:]} is worse than that of {fault.than} in "
            f"{own['is_worse'].sum()} of {own.height} cells, may be in "
            f"{own.filter(pl.col('may_be_worse') & ~pl.col('is_worse')).height} more"
            for fault, own in compared.items()
            if own.height
        ]
    )


def _where_steady(own: pl.DataFrame) -> str:
    """Count the same where standard TCP is in its steady state; empty if that is everywhere."""
    steady = steady_cells(own)
    if steady.height == own.height:
        return ""
    return (
        f" In {steady.height} of these cells standard TCP recovers at least five times in "
        f"{WITHIN_S:.0f} s; there it is worse in {steady['is_worse'].sum()} and better in "
        f"{steady['is_better'].sum()}."
    )


def _standard_itself(compared: pl.DataFrame | None, fault: Fault) -> str:
    """Count the cells in which standard TCP exceeds the bound; empty if it is the baseline."""
    own = rows_of(compared, STANDARD)
    if own.is_empty():
        return ""
    return f" Standard TCP is worse than {fault.than} in {own['is_worse'].sum()} of {own.height}."


def _mean(own: pl.DataFrame, fault: Fault, column: str) -> str:
    return f"{own.select(pl.col(column).mean()).item():.3g}{fault.unit}"


def place_in_words(row: Mapping[str, object]) -> str:
    """Name a cell of the grid."""
    forms = {BANDWIDTH: "{}", LIMIT: "queue {}", RTT: "{} ms", NUMBER: "{} flows"}
    return ", ".join(forms[name].format(row[name]) for name in ALL_PLACES if name in row)

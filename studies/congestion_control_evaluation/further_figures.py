"""Figures of more than two flows, of flows that stop, and of other traffic."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from fairwind.plots import Figure
from fairwind.results import Results
from fairwind.studies import drawn_if_run

from .charts import OF_RTT, SEEDS, Axis, lines, means, with_path_panel
from .further import further_part
from .measures import BANDWIDTH, CONTROL, JOINED, NUMBER, PLACE, RTT, WINDOW_S, shares

ALONE, WITH_CROSS, WITH_REVERSE = "alone", "cross traffic", "traffic the other way"


def further_figures(results: Results) -> list[Figure]:
    """Draw what was run of the parts beyond the source."""
    others = {
        WITH_CROSS: further_part(results, "cross"),
        WITH_REVERSE: further_part(results, "reverse"),
    }
    return [
        *drawn_if_run(further_part(results, "many"), _many),
        *drawn_if_run(further_part(results, "leaving"), _leaving),
        *drawn_if_run(_with_and_without(shares(results), others), _other_traffic),
    ]


def _many(many: pl.DataFrame) -> Figure:
    return Figure(
        name="fairness-by-number",
        title="Fairness of more flows with one congestion control and one round trip",
        caption=f"The smallest goodput by the largest; queue {JOINED}. {SEEDS}",
        chart=lines(
            means(with_path_panel(many), "fairness", ("panel", NUMBER)),
            Axis(NUMBER, "flows"),
            "smallest by largest goodput",
            "panel",
            domain=(0, 1),
        ),
    )


def _leaving(left: pl.DataFrame) -> Figure:
    observed = float(left.select(pl.col("observed_s").max()).item())
    return Figure(
        name="leaving",
        title="How long a flow takes to use what another one leaves that stops",
        caption=(
            "To the end of the first window of a second with 80 % of what the path carries; what "
            f"did not happen is drawn at the end, after {observed:.0f} s. Queue {JOINED}. {SEEDS}"
        ),
        chart=lines(
            means(left, "taken_capped_s", (BANDWIDTH, RTT)),
            OF_RTT,
            "time / s",
            BANDWIDTH,
            domain=(WINDOW_S, observed),
            logarithmic=True,
        ),
    )


def _with_and_without(
    alike: pl.DataFrame, others: Mapping[str, pl.DataFrame | None]
) -> pl.DataFrame | None:
    """Put runs with and without other traffic together, in the cells that all have."""
    frames = {name: frame for name, frame in others.items() if frame is not None}
    if not frames:
        return None
    cells = pl.concat([frame.select(PLACE) for frame in frames.values()]).unique()
    own = alike.join(cells, on=PLACE, how="semi", maintain_order="left")
    return pl.concat(
        frame.select(CONTROL, *PLACE, "seed", "fairness", pl.lit(name).alias("beside"))
        for name, frame in ({ALONE: own} | frames).items()
    )


def _other_traffic(frame: pl.DataFrame) -> Figure:
    return Figure(
        name="fairness-beside-others",
        title="Fairness of two flows alone, beside cross traffic, and beside traffic the other way",
        caption=(
            "The smaller goodput by the larger of two flows; cross traffic: ten streams of "
            "standard TCP that come and go; the other way: two flows of standard TCP. "
            f"Queue {JOINED}. {SEEDS}"
        ),
        chart=lines(
            means(with_path_panel(frame), "fairness", ("panel", "beside")),
            Axis("beside", "other traffic"),
            "smaller by larger goodput",
            "panel",
            domain=(0, 1),
        ),
    )

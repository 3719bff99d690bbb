"""Figures on satellites of today."""

from __future__ import annotations

import polars as pl

from fairwind import plots
from fairwind.plots import Figure
from fairwind.results import Results

from .beyond import (
    CAPACITY,
    CONSTANT,
    FORESEEN,
    HANDOVERS,
    LINK,
    LOSSY,
    ON_DEMAND,
    PLAIN,
    SENDER,
    STEADY,
    VOLUME,
    delays,
    end_to_end,
)

TOLD = "Points: mean over the phases of the start, paired by seed; bars: 95 % interval of it."


def beyond_figures(
    uploads: Results | None, downloads: Results | None, leo: Results | None
) -> list[Figure]:
    """Draw how much longer transfers take, by sender, volume, and what slows them."""
    return [
        *(
            _longer(
                part,
                f"geo-{name}",
                f"How much longer {name} take where slots are assigned on demand",
                "Geostationary link, 40/4 Mbit/s and 600 ms; against constant allocation.",
                CAPACITY,
                {CONSTANT: ON_DEMAND},
            )
            for name, part in (("uploads", uploads), ("downloads", downloads))
            if part is not None
        ),
        *(
            []
            if leo is None
            else [
                _longer(
                    leo,
                    "low-orbit",
                    "What handovers, and slots on demand, cost uploads over a low orbit",
                    "20 Mbit/s and 40 ms. Steps every 15 s against a steady link, in one form "
                    "with 100 ms before each in which nothing gets through; rbdc and forecast "
                    "against constant slots, all with steps of delay.",
                    LINK,
                    {STEADY: (*HANDOVERS, LOSSY), CONSTANT: (PLAIN, FORESEEN)},
                )
            ]
        ),
    ]


def _longer(
    part: Results, name: str, title: str, more: str, axis: str, sides: dict[str, tuple[str, ...]]
) -> Figure:
    done = end_to_end(part)
    found = pl.concat([delays(done, axis, one, others) for one, others in sides.items()])
    frame = found.select(
        pl.col(SENDER).alias("group"),
        VOLUME,
        axis,
        *(
            (pl.col(f"relative_{bound}ratio") * 100).alias(column)
            for bound, column in (("", "mean"), ("low_", "low"), ("high_", "high"))
        ),
    )
    return Figure(
        name=name,
        title=title,
        caption=f"{TOLD} {more}",
        chart=plots.estimates_by_setting(
            frame,
            setting=VOLUME,
            order=done[VOLUME].unique(maintain_order=True).to_list(),
            measure_title="longer / %",
            setting_title="volume",
            panels=axis,
        ),
    )

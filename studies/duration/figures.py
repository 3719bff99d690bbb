"""Table 4.2 as figures, and how the longest run goes on."""

from __future__ import annotations

import altair as alt
import polars as pl

from fairwind.plots import Figure, estimates_by_setting, rate_over_time
from fairwind.results import Results
from fairwind.results.tidy import group_windows
from fairwind.studies.charts import PER_CENT
from fairwind.studies.streams import VARIANT

from .lengths import MEASURES, MINUTES, deviations

NAMES = tuple(MEASURES.values())


def figures(results: Results) -> list[Figure]:
    """Draw measures by length of run, their scatter, and goodput over time."""
    rows = deviations(results)
    return [
        Figure(
            name="measures-by-length",
            title="Measures of shorter runs against those of the longest ones (table 4.2)",
            caption=(
                "Mean over seeds, relative to that of the longest runs with the same seeds. Bars: "
                "95 % interval of the mean; where they end within 5 %, runs are long enough."
            ),
            chart=_by_length(
                rows, "difference_ratio", ("low_ratio", "high_ratio"), "difference / %"
            ),
        ),
        Figure(
            name="scatter-by-length",
            title="How much single runs scatter",
            caption=(
                "Half width of the interval that 95 % of single runs fall into, relative to the "
                "mean over seeds."
            ),
            chart=_by_length(rows, "single_run_ratio", None, "scatter of single runs / %"),
        ),
        Figure(
            name="goodput-over-time",
            title="Goodput over time in the longest runs",
            caption=(
                "Aggregated goodput of each kind in windows of the shortest length; lines: mean "
                "over seeds; bands: from the smallest to the largest seed."
            ),
            chart=_over_time(results),
        ),
    ]


def _by_length(
    rows: pl.DataFrame, measure: str, bounds: tuple[str, str] | None, title: str
) -> alt.TopLevelMixin:
    low, high = bounds or (measure, measure)
    place = pl.col("measure").replace_strict({name: at for at, name in enumerate(NAMES)})
    frame = rows.with_columns(
        (pl.col(measure) * PER_CENT).fill_nan(None).alias("mean"),
        (pl.col(low) * PER_CENT).fill_nan(None).alias("low"),
        (pl.col(high) * PER_CENT).fill_nan(None).alias("high"),
        pl.format("{}: {}", VARIANT, "measure").alias("panel"),
    ).sort(place, maintain_order=True)
    return estimates_by_setting(
        frame,
        setting=MINUTES,
        order=frame[MINUTES].unique().sort().to_list(),
        measure_title=title,
        setting_title="measured time / min",
        panels="panel",
    )


def _over_time(results: Results) -> alt.TopLevelMixin:
    windows = group_windows(results).join(
        results.groups.group_by("cell").agg(pl.col("measured_s").max()), on="cell"
    )
    longest = windows.filter(pl.col("measured_s") == pl.col("measured_s").max())
    return rate_over_time(
        longest,
        measure="goodput_bits_per_second",
        title="aggregated goodput",
        panels=VARIANT,
    )

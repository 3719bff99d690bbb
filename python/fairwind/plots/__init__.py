"""Figures: functions from a tidy frame to a chart; only `save` writes files.

All charts share one theme: plain sans-serif letters, colours that colour-blind readers can tell
apart, greedy flows red and thin flows blue by default. Data is embedded in the chart.

Parameters have one meaning in all functions: `setting` is the column along x (of bars, along y) and
`order` its values in order, `measure` a column, `panels` a column with one panel per value,
`columns` the panels in one row; titles are those of the axes, the measure's with its unit.
"""

from fairwind.plots.curves import (
    Curves,
    carried_over_time,
    completion_by_multiplier,
    completion_by_volume,
    curve_panels,
    curves,
    equivalent_rtt_by_ratio,
    utilisation_by_multiplier,
    window_over_time,
)
from fairwind.plots.estimates import (
    BOX,
    Heat,
    box_numbers,
    boxes_by_setting,
    estimates_by_setting,
    heat_maps,
)
from fairwind.plots.points import brought_together, closer_look, thinned
from fairwind.plots.queues import drops_by_group, loss_by_group, queue_over_time, run_lengths
from fairwind.plots.save import Figure, save, save_all
from fairwind.plots.series import latency_distribution, rate_over_time
from fairwind.plots.theme import PALETTE, are_far_apart, group_colours, group_lines, inline, themed
from fairwind.plots.traces import flow_panels

__all__ = [
    "BOX",
    "PALETTE",
    "Curves",
    "Figure",
    "Heat",
    "are_far_apart",
    "box_numbers",
    "boxes_by_setting",
    "brought_together",
    "carried_over_time",
    "closer_look",
    "completion_by_multiplier",
    "completion_by_volume",
    "curve_panels",
    "curves",
    "drops_by_group",
    "equivalent_rtt_by_ratio",
    "estimates_by_setting",
    "flow_panels",
    "group_colours",
    "group_lines",
    "heat_maps",
    "inline",
    "latency_distribution",
    "loss_by_group",
    "queue_over_time",
    "rate_over_time",
    "run_lengths",
    "save",
    "save_all",
    "themed",
    "thinned",
    "utilisation_by_multiplier",
    "window_over_time",
]

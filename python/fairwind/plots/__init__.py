"""Figures: functions from a tidy frame to a chart; only `save` writes files.

All charts share one theme: plain sans-serif letters, colours that colour-blind readers can tell
apart, greedy flows red and thin flows blue by default. Data is embedded in the chart.

Parameters have one meaning in all functions: `setting` is the column along x (of bars, along y) and
`order` its values in order, `measure` a column, `panels` a column with one panel per value,
`columns` the panels in one row, `curve` the column with one line per value and `curve_title` what
its legend is called; titles are those of the axes, the measure's with its unit.
"""

from fairwind.plots.curves import Curves as Curves
from fairwind.plots.curves import curve_panels as curve_panels
from fairwind.plots.curves import curves as curves
from fairwind.plots.curves import model_curves as model_curves
from fairwind.plots.estimates import BOX as BOX
from fairwind.plots.estimates import Heat as Heat
from fairwind.plots.estimates import box_numbers as box_numbers
from fairwind.plots.estimates import boxes_by_setting as boxes_by_setting
from fairwind.plots.estimates import estimates_by_setting as estimates_by_setting
from fairwind.plots.estimates import heat_maps as heat_maps
from fairwind.plots.points import brought_together as brought_together
from fairwind.plots.points import closer_look as closer_look
from fairwind.plots.points import thinned as thinned
from fairwind.plots.queues import drops_by_group as drops_by_group
from fairwind.plots.queues import loss_by_group as loss_by_group
from fairwind.plots.queues import queue_over_time as queue_over_time
from fairwind.plots.queues import run_lengths as run_lengths
from fairwind.plots.save import Figure as Figure
from fairwind.plots.save import save as save
from fairwind.plots.save import save_all as save_all
from fairwind.plots.series import latency_distribution as latency_distribution
from fairwind.plots.series import rate_over_time as rate_over_time
from fairwind.plots.stacked import Panel as Panel
from fairwind.plots.stacked import stacked_by_setting as stacked_by_setting
from fairwind.plots.tails import tail_distribution as tail_distribution
from fairwind.plots.theme import PALETTE as PALETTE
from fairwind.plots.theme import are_far_apart as are_far_apart
from fairwind.plots.theme import group_colours as group_colours
from fairwind.plots.theme import group_lines as group_lines
from fairwind.plots.theme import inline as inline
from fairwind.plots.theme import subtitled as subtitled
from fairwind.plots.theme import themed as themed
from fairwind.plots.theme import unvalidated as unvalidated
from fairwind.plots.traces import flow_panels as flow_panels

"""Groups differ without colours, too, and no panel is left flat by another's axis."""

from __future__ import annotations

import itertools
import math
import re
import struct
import zlib

import altair as alt
import polars as pl
import pytest
import vl_convert

from fairwind.plots import (
    Heat,
    composed,
    drops_by_group,
    estimates_by_setting,
    heat_maps,
    inline,
    loss_by_group,
    queue_over_time,
    rate_over_time,
    save,
    tail_distribution,
)
from fairwind.plots.save import VEGA_LITE, packed
from fairwind.plots.theme import (
    GROUP_COLOURS,
    are_far_apart,
    group_lines,
    group_points,
    panel_facet,
)

FRAME = pl.DataFrame({"x": [1, 2, 1, 2], "y": [3, 4, 5, 6], "panel": ["a", "a", "b", "b"]})
"""Rows of two panels."""

MANY = [f"group {number}" for number in range(35)]


def test_composed_charts_say_what_altair_would():
    facet = alt.Facet("panel:N", title=None)
    rows, expected_rows = [], []
    for data in (inline(FRAME), inline(FRAME.head(3))):
        base = alt.Chart(data).encode(x="x:Q", y="y:Q")
        parts = base.mark_line(), base.mark_point()
        expected = alt.layer(*parts).properties(width=90, height=80)
        chart = composed.layers(*parts, width=90, height=80)
        assert chart.to_dict() == expected.to_dict()
        expected = expected.facet(facet=facet, columns=2).resolve_scale(y="independent")
        panels = composed.panels(chart, facet, columns=2, resolve=composed.axes(is_own=True))
        assert panels.to_dict() == expected.to_dict()
        rows.append(panels)
        expected_rows.append(expected)
    assert composed.rows(*rows).to_dict() == alt.vconcat(*expected_rows).to_dict()


def test_panels_of_several_frames_are_refused():
    parts = [alt.Chart(inline(FRAME.head(n))).mark_line().encode(x="x:Q") for n in (2, 3)]
    with pytest.raises(ValueError, match="one frame of data"):
        composed.panels(composed.layers(*parts), alt.Facet("panel:N"))


def test_composed_layers_keep_data_of_their_own():
    parts = [alt.Chart(inline(FRAME.head(n))).mark_line().encode(x="x:Q") for n in (2, 3)]
    written = composed.layers(*parts).to_dict()
    assert "data" not in written
    assert [len(written["datasets"][one["data"]["name"]]) for one in written["layer"]] == [2, 3]
    assert [len(part.data.values) for part in parts] == [2, 3]


def ranges(channels) -> list[list]:
    return [list(channel.to_dict()["scale"]["range"]) for channel in channels]


def lightness(colour: str) -> float:
    red, green, blue = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue


@pytest.mark.parametrize("told_apart", [group_lines, group_points])
def test_35_groups_differ_in_colour_or_form_and_neighbours_in_both(told_apart):
    colours, forms = ranges(told_apart(MANY))
    assert len({(colour, str(form)) for colour, form in zip(colours, forms, strict=True)}) == 35
    for kind in (colours, forms):
        assert all(one != other for one, other in itertools.pairwise(kind))


def test_greedy_and_thin_are_light_and_dark_in_grey():
    assert lightness(GROUP_COLOURS["greedy"]) - lightness(GROUP_COLOURS["thin"]) > 0.2


def estimates(*greatest: float) -> pl.DataFrame:
    rows = [
        (f"{place} Mbit/s", "thin", count, most / 2, most / 3, most)
        for place, most in enumerate(greatest)
        for count in (1, 2)
    ]
    columns = ["panel", "group", "count", "mean", "low", "high"]
    return pl.DataFrame(rows, schema=columns, orient="row")


@pytest.mark.parametrize(
    ("greatest", "is_own"),
    [((10.0, 11.0), False), ((10.0, 59.0), False), ((10.0, 61.0), True), ((0.0, 5.0), False)],
)
def test_panels_have_axes_of_their_own_where_their_greatest_values_are_far_apart(greatest, is_own):
    chart = estimates_by_setting(
        estimates(*greatest),
        setting="count",
        order=[1, 2],
        measure_title="goodput / kbit/s",
        setting_title="N",
        panels="panel",
    )
    assert (chart.to_dict().get("resolve") == {"scale": {"y": "independent"}}) == is_own


def test_one_panel_has_one_axis():
    assert not are_far_apart(estimates(1.0, 100.0), None, "high")


def test_rates_over_time_of_panels_far_apart_have_axes_of_their_own():
    rows = [
        (panel, "thin", 1.0 * second, rate)
        for panel, rate in (("a", 1e3), ("b", 1e6))
        for second in range(3)
    ]
    windows = pl.DataFrame(rows, schema=["panel", "group", "start_s", "rate"], orient="row")
    chart = rate_over_time(windows, measure="rate", title="rate", panels="panel").to_dict()
    assert chart["resolve"] == {"scale": {"y": "independent"}}


@pytest.mark.parametrize(("width", "is_split"), [(400, False), (100, True)])
def test_a_title_wider_than_its_panel_has_a_line_for_each_setting(width, is_split):
    facet = panel_facet("cell", ["count 5, variant TCP, early_retrans 3"], width).to_dict()
    lines = '["count 5", "variant TCP", "early_retrans", "3"]'
    assert (lines in facet["header"]["labelExpr"]) == is_split
    assert is_split or facet["header"]["labelExpr"] == "datum.label"


def texts(chart, folder) -> set[str]:
    """Give all that is written on a picture."""
    save(chart, folder / "chart.svg")
    return set(re.findall(r"<t(?:ext|span)[^>]*>([^<]+)<", (folder / "chart.svg").read_text()))


def test_a_value_is_shown_whole_where_its_setting_is_wider_than_the_panel(tmp_path):
    rows = pl.DataFrame({"cell": ["flows_second_tcp_receive_buffer 64 kB, count 5"], "x": [1]})
    facet = panel_facet("cell", rows["cell"].to_list(), 150)
    chart = alt.Chart(rows).mark_point().encode(x="x:Q").properties(width=150).facet(facet=facet)
    assert {"flows_second_tcp_rece", "ive_buffer 64 kB", "count 5"} <= texts(chart, tmp_path)


@pytest.mark.parametrize("draw", [rate_over_time, tail_distribution])
def test_legend_labels_that_differ_at_the_end_differ(draw, tmp_path):
    curves = [f"linear_timeouts false, modified_fast_retransmit {it}" for it in ("false", "true")]
    rows = pl.DataFrame({"curve": curves, "start_s": 0.0, "rate": 1e3, "upper_s": 1.0, "count": 1})
    more = {"measure": "rate"} if draw is rate_over_time else {}
    title = "linear_timeouts, modified_fast_retransmit"
    shown = texts(draw(rows, title="rate", curve="curve", curve_title=title, **more), tmp_path)
    assert {f"modified_fast_retransmit {it}" for it in ("false", "true")} <= shown
    assert {"linear_timeouts,", "modified_fast_retransmit", "linear_timeouts false"} <= shown


@pytest.mark.parametrize("draw", [drops_by_group, loss_by_group])
def test_labels_that_differ_at_the_end_are_whole(draw, tmp_path):
    cells = [f"rtt 162 ms, queue 20 % bdp, bandwidth 100 Mbit/s, {it}" for it in ("reno", "bic")]
    rows = pl.DataFrame({"cell": cells, "group": "greedy", "counted": "packets"}).with_columns(
        pl.lit(3).alias("packets"), pl.lit(0.01).alias("loss_ratio")
    )
    shown = texts(draw(rows, setting="cell", setting_title="cell"), tmp_path)
    assert set(cells) <= shown


def over_time(*starts: float) -> list[dict[str, object]]:
    """Give what is drawn of a queue that was observed in windows of a second from there on."""
    windows = pl.DataFrame({"start_s": starts}).with_columns(
        pl.lit("packets").alias("measure"), pl.lit(1.0).alias("mean"), pl.lit(2.0).alias("most")
    )
    drawn = queue_over_time(windows).to_dict()
    (rows,) = [data for data in drawn["datasets"].values()]
    return rows


def test_lines_of_a_queue_are_broken_where_nothing_was_observed():
    rows = over_time(0.0, 1.0, 2.0, 5.0, 6.0, 9.0)
    assert [row["stretch"] for row in rows] == [0, 0, 0, 1, 1, 2]
    assert [row["is_alone"] for row in rows] == [False] * 5 + [True]
    assert {row["stretch"] for row in over_time(3.0)} == {0}


@pytest.mark.parametrize(("starts", "has_points"), [((0.0, 1.0), False), ((0.0, 1.0, 9.0), True)])
def test_layer_of_single_windows_is_there_only_if_it_has_rows(starts, has_points):
    windows = pl.concat(
        pl.DataFrame({"start_s": all_starts}).with_columns(
            pl.lit(measure).alias("measure"), pl.lit(1.0).alias("mean"), pl.lit(2.0).alias("most")
        )
        for measure, all_starts in (("packets", starts), ("time", (0.0, 1.0, 5.0)))
    )
    packets, time = queue_over_time(windows).to_dict()["vconcat"]
    assert (len(packets["layer"]), len(time["layer"])) == (3 if has_points else 2, 3)


def test_heat_is_as_strong_for_a_factor_as_for_its_inverse():
    frame = pl.DataFrame(
        {"row": "a", "column": "b", "x": ["1", "2"], "y": "3", "value": [4.0, 0.5]}
    )
    drawn = heat_maps(Heat(frame, "x", "y", "value", ["1", "2"], ["3"], "x", "y", "value"))
    (cells, _) = drawn.to_dict()["spec"]["layer"]
    assert cells["encoding"]["color"]["scale"]["domain"] == pytest.approx(
        [-math.log(4), math.log(4)]
    )


def pixels(png: bytes) -> bytes:
    """Give the filtered rows of a PNG file, and check every chunk's checksum."""
    place, stream = 8, b""
    while place < len(png):
        (length,) = struct.unpack_from(">I", png, place)
        name, content = png[place + 4 : place + 8], png[place + 8 : place + 8 + length]
        (checksum,) = struct.unpack_from(">I", png, place + 8 + length)
        assert checksum == zlib.crc32(name + content)
        stream += content if name == b"IDAT" else b""
        place += length + 12
    return zlib.decompress(stream)


def test_packed_pictures_are_smaller_and_have_the_same_pixels():
    chart = alt.Chart(pl.DataFrame({"x": [1, 2]})).mark_line().encode(x="x:Q", y="x:Q")
    drawn = vl_convert.vegalite_to_png(chart.to_dict(), vl_version=VEGA_LITE)
    small = packed(drawn)
    assert len(small) < len(drawn)
    assert pixels(small) == pixels(drawn)
    with pytest.raises(ValueError, match="PNG"):
        packed(b"GIF89a")

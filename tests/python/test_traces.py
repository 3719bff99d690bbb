"""Traces of flows: thinned without losing what is rare or extreme, drawn, zoomed into, harmless."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess

import polars as pl
import pytest
import vl_convert

from fairwind.execution.execute import RunSettings, run_plan
from fairwind.plots import flow_panels, save, thinned
from fairwind.plots.points import (
    brought_together,
    closer_look,
    csv_data,
)
from fairwind.plots.save import VEGA_LITE
from fairwind.plots.series import FEW_WINDOWS, percentile_curves, rate_over_time, value_over_time
from fairwind.plots.theme import lines, quantity_axis
from fairwind.plots.traces import SIGNS
from fairwind.plots.xplot import save_xplot
from fairwind.report.captured import MOST_FLOWS, percentiles_of, trace_figures
from fairwind.report.page import write_report
from fairwind.results import Results
from made_up import ScriptedEngine, plan
from made_up_traces import NAME, SEGMENT, empty_trace, flow_trace

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
PAGE_BYTES = 1_500_000
EXTREMES = [pl.col("low").min(), pl.col("high").max(), pl.col("points").sum()]


def traced(out, traces: list[pl.DataFrame]) -> Results:
    """Give a run's folder with traces in it."""
    results = run_plan(plan((1,), replicates=1), ScriptedEngine(), RunSettings(1, out))
    keys = [pl.lit(0).alias("cell"), pl.lit(0).alias("replicate"), pl.lit(1).alias("seed")]
    pl.concat(traces).select(*keys, pl.all()).write_parquet(out / "traces.parquet")
    return results


@pytest.mark.parametrize("most", [100, 1000, 10_000])
def test_thinning_keeps_the_extremes_and_the_count_of_every_kind(most):
    before = flow_trace(rounds=300)
    after = thinned(before, most)
    assert after.height < before.height
    keys = ["name", "series", "kind"]
    expected = before.group_by(keys).agg(EXTREMES).sort(keys)
    assert after.group_by(keys).agg(EXTREMES).sort(keys).equals(expected)


def test_thinning_keeps_points_of_rare_kinds():
    before = flow_trace(rounds=300)
    after = thinned(before, 5000)
    for series, kind in [("data", "timeout"), ("data", "fast_retransmit"), ("lost", "")]:
        chosen = (pl.col("series") == series) & (pl.col("kind") == kind)
        assert before.filter(chosen).height > 10
        assert after.filter(chosen).equals(before.filter(chosen))


def test_thinned_points_are_about_as_many_as_there_is_room_for():
    for most in (2000, 10_000, 30_000):
        assert most / 3 < thinned(flow_trace(rounds=900), most).height <= most


def test_points_at_random_places_are_never_thinned_away():
    seed = random.randrange(2**32)
    generator = random.Random(seed)
    kinds = [("data", "new"), ("rtt", ""), ("sack", "sack")]
    rows = []
    for _ in range(3000):
        at, low = generator.choice([0.0, generator.random(), 1e5]), generator.random()
        rows.append(("a>b", *generator.choice(kinds), at, low, low + generator.random(), 1))
    before = pl.DataFrame(rows, schema=empty_trace().schema, orient="row")
    after = thinned(before, 200)
    assert after.select(EXTREMES).equals(before.select(EXTREMES)), f"seed {seed}"
    assert after["time_s"].is_sorted(), f"seed {seed}"


def test_what_was_brought_together_is_said():
    before = flow_trace(rounds=300)
    assert brought_together(before) == ""
    after = thinned(before, 1000)
    assert f"{after.height:,} marks stand for {before.height:,} points" in brought_together(after)


@pytest.mark.parametrize(
    "trace",
    [
        empty_trace(),
        flow_trace(rounds=1).head(1),
        flow_trace(rounds=1).filter(pl.col("series") == "rtt"),
        flow_trace(rounds=1).filter(pl.col("series") == "acknowledged").head(1),
        flow_trace(rounds=2, is_joined=False),
        thinned(flow_trace(rounds=900), 10_000),
    ],
    ids=["empty", "a SYN alone", "round trips alone", "one ACK", "tiny", "large"],
)
def test_traces_of_any_size_are_drawn(trace, tmp_path):
    save(flow_panels(trace), tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_every_kind_of_point_has_its_own_sign(tmp_path):
    trace = pl.concat(
        flow_trace(rounds=1)
        .head(1)
        .with_columns(
            pl.lit(sign.series).alias("series"),
            pl.lit(sign.kind).alias("kind"),
            pl.lit(float(place)).alias("time_s"),
            pl.lit(place * SEGMENT + 100.0).alias("high"),
        )
        for place, sign in enumerate(SIGNS)
    )
    save(flow_panels(trace), tmp_path / "signs.svg")
    drawn = (tmp_path / "signs.svg").read_text(encoding="utf-8")
    for sign in SIGNS:
        assert f">{sign.label}<" in drawn
        assert sign.colour in drawn


def test_embedded_points_are_what_they_were():
    frame = pl.DataFrame({"time_s": [0.1234567891, 2e5], "what": ['a "b", c', "</script>"]})
    data = csv_data(frame).to_dict()
    assert data["values"].splitlines()[1] == '0.1234568,"a ""b"", c"'
    assert data["format"]["parse"] == {"time_s": "number", "what": "string"}


def test_a_page_shows_the_traced_flows_and_stays_small(tmp_path):
    long = [flow_trace(rounds=900, name=f"10.0.0.{n}:1>10.0.1.1:2") for n in range(3)]
    results = traced(tmp_path / "run", long)
    page = write_report(results, figure_folder=tmp_path / "run" / "figures").page
    text = page.read_text(encoding="utf-8")
    assert "Flow 10.0.0.2:1&gt;10.0.1.1:2" in text
    assert "marks stand for" in text
    assert page.stat().st_size < PAGE_BYTES
    assert (page.parent / "figures" / "flow-3.svg").exists()


def test_of_many_traced_flows_some_are_drawn_and_the_rest_is_counted(tmp_path):
    many = [flow_trace(rounds=1, name=f"{n}>b") for n in range(MOST_FLOWS + 2)]
    figures = trace_figures(traced(tmp_path / "run", many))
    assert len(figures) == MOST_FLOWS
    assert figures[-1].caption.endswith(
        "2 further flows were traced; their points are in traces.parquet: 12>b, 13>b."
    )


def test_a_direction_of_next_to_no_data_is_not_drawn_beside_the_other_one(tmp_path):
    there, back = flow_trace(rounds=3, name="a>b"), flow_trace(rounds=1, name="b>a")
    few = back.filter((pl.col("series") != "data") | (pl.col("low") == 0))
    figures = trace_figures(traced(tmp_path / "run", [there, few]))
    assert [figure.title for figure in figures] == ["Flow a>b"]
    assert "the other direction is not drawn" in figures[0].caption


def test_a_connection_of_one_segment_each_way_is_drawn(tmp_path):
    one = flow_trace(rounds=1).filter((pl.col("series") != "data") | (pl.col("low") == 0))
    both = [one.with_columns(pl.lit(name).alias("name")) for name in ("a>b", "b>a")]
    assert len(trace_figures(traced(tmp_path / "run", both))) == 2


def test_round_trips_are_not_drawn_where_a_flow_arrives(tmp_path):
    results = traced(tmp_path / "run", [flow_trace(rounds=3)])
    flows = pl.read_parquet(results.folder / "flows.parquet")
    arriving = flows.with_columns(
        pl.lit(NAME).alias("name"), pl.lit(None, pl.UInt64).alias("packets_sent")
    )
    arriving.write_parquet(results.folder / "flows.parquet")
    (figure,) = trace_figures(results)
    drawn = json.dumps(figure.chart.to_dict())
    assert "captured where it arrives" in figure.caption
    assert "place in the stream" in drawn
    assert "round-trip time" not in drawn


@pytest.mark.parametrize(("window", "top"), [(300_000.0, 1.04), (1400.0, 1.456)])
def test_a_window_far_above_the_data_leaves_the_drawing_and_one_near_stays(window, top):
    rows = [("data", "new", 0.0, 0.0, 1000.0), ("window_edge", "", 0.0, window, window)]
    schema = empty_trace().schema
    points = pl.DataFrame([("a>b", *row, 1) for row in rows], schema=schema, orient="row")
    panel = flow_panels(points).to_dict()["vconcat"][0]
    domain = panel["layer"][0]["encoding"]["y"]["scale"]["domain"]
    # 4 % of what is drawn is left free above it.
    assert domain[1] == pytest.approx(top)


def test_an_axis_begins_and_ends_where_the_values_do():
    scale, axis = (part.to_dict() for part in quantity_axis(pl.Series([0.0, 50.0, 900.0])))
    assert scale["type"] == "log"
    assert scale["domain"] == pytest.approx([50 / 1.1, 990])
    assert axis["values"] == [50, 100, 200, 500]
    even, _ = quantity_axis(pl.Series([100.0, 110.0]))
    assert even.to_dict() == {"domain": [99.6, 110.4], "nice": False, "zero": False}
    assert lines(0.0009, 2e6) == [10.0**power for power in range(-3, 7)]


def test_many_windows_are_a_line_without_markers():
    def drawn(windows: int) -> str:
        rows = {"group": "thin", "start_s": [n / 10 for n in range(windows)], "rate": 1e6}
        frame = pl.DataFrame(rows)
        return json.dumps(rate_over_time(frame, measure="rate", title="rate").to_dict())

    assert '"point": true' in drawn(FEW_WINDOWS)
    assert '"point": true' not in drawn(FEW_WINDOWS + 1)


def test_a_page_has_more_points_to_look_closer_at_than_a_file_has_room_for(tmp_path):
    (figure,) = trace_figures(traced(tmp_path / "run", [flow_trace(rounds=900)]))
    page, file = (len(json.dumps(chart.to_dict())) for chart in (figure.chart, figure.still))
    assert page > 2 * file
    assert figure.chart.to_dict()["params"], "the page draws on a canvas what can be zoomed"


def test_names_of_flows_cannot_break_the_page(tmp_path):
    hostile = '</script><img src=x onerror=alert(1)>"'
    page = write_report(traced(tmp_path / "run", [flow_trace(rounds=1, name=hostile)])).page
    assert "<img src=x" not in page.read_text(encoding="utf-8")


@pytest.mark.skipif(BROWSER is None, reason="no Chromium found; install the package chromium")
def test_the_wheel_zooms_into_all_panels_alike(tmp_path):
    before, after = (_axis_labels(text) for text in _labels_around_a_turn_of_the_wheel(tmp_path))
    assert len(before) == len(after) == 8
    times_before, times_after = before[::2], after[::2]
    assert len(set(map(tuple, times_before))) == len(set(map(tuple, times_after))) == 1
    width = times_before[0][1] - times_before[0][0]
    assert 0 < times_after[0][1] - times_after[0][0] < width / 1.5


def _axis_labels(text: str) -> list[tuple[float, float]]:
    """Give the least and the greatest label of each axis."""
    axes = [[float(label.replace(",", "")) for label in axis.split()] for axis in text.split("|")]
    return [(min(axis), max(axis)) for axis in axes]


def _labels_around_a_turn_of_the_wheel(folder) -> tuple[str, str]:
    """Open a drawing in a browser, turn the wheel over its first panel, and read the axes."""
    drawing = json.dumps(flow_panels(flow_trace()).to_dict()).replace("<", "\\u003c")
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", VEGA_LITE)
    page = folder / "zoom.html"
    page.write_text(
        f"""<!DOCTYPE html><meta charset="utf-8"><div id="place"></div>
<script>{bundle.replace("</script", "<" + chr(92) + "/script")}</script><script>
const labels = () => [...document.querySelectorAll(".role-axis-label")].map(
  (axis) => [...axis.querySelectorAll("text")].map((text) => text.textContent).join(" ")).join("|");
const tell = (name, text) => document.body.append(Object.assign(
  document.createElement("pre"), {{ id: name, textContent: text }}));
vegaEmbed("#place", {drawing}, {{ renderer: "svg" }}).then(async (drawn) => {{
  tell("before", labels());
  const panel = document.querySelector(".concat_0_group path.background");
  const box = panel.getBoundingClientRect();
  for (let turn = 0; turn < 6; turn += 1) {{
    panel.dispatchEvent(new WheelEvent("wheel", {{ bubbles: true, cancelable: true, deltaY: -120,
      clientX: box.x + box.width / 2, clientY: box.y + box.height / 2 }}));
    await drawn.view.runAsync();
  }}
  tell("after", labels());
}});
</script>""",
        encoding="utf-8",
    )
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--dump-dom"]
    dom = subprocess.run(
        [str(BROWSER), *options, "--virtual-time-budget=10000", f"--user-data-dir={folder}",
         page.as_uri()],
        check=True, capture_output=True, text=True, timeout=120,
    ).stdout  # fmt: skip
    found = [re.search(f'<pre id="{name}">([^<]*)</pre>', dom) for name in ("before", "after")]
    assert found[0] is not None
    assert found[1] is not None
    return found[0][1], found[1][1]


def test_a_closer_look_is_taken_where_most_is_repaired_and_only_at_long_flows():
    assert closer_look(flow_trace(rounds=20)) is None
    calm = flow_trace(rounds=900).filter(~pl.col("kind").is_in(["timeout", "fast_retransmit"]))
    begin, end = closer_look(calm)
    middle = calm.filter(pl.col("series") == "data")["time_s"].median()
    assert begin < middle < end
    burst = [("a>b", "data", "timeout", 60 + n / 1000, 0.0, 1.0, 1) for n in range(9)]
    repaired = pl.concat([calm, pl.DataFrame(burst, schema=calm.schema, orient="row")])
    begin, end = closer_look(repaired)
    assert begin < 60.001 < end
    inside = repaired.filter(pl.col("time_s").is_between(begin, end) & (pl.col("series") == "data"))
    assert 100 < inside.height < 1000


def test_files_for_xplot_have_head_signs_and_end_and_one_flow_each(tmp_path):
    rows = [
        ("data", "new", 1.5, 0.0, 100.0),
        ("data", "timeout", 1.7, 0.0, 100.0),
        ("acknowledged", "", 1.75, 40.0, 40.0),
        ("acknowledged", "", 1.8, 100.0, 100.0),
        ("mark", "fin", 1.9, 100.0, 100.0),
    ]
    trace = pl.DataFrame(
        [("a>b\ngo", *row, 1) for row in rows], schema=empty_trace().schema, orient="row"
    )
    first, second = save_xplot(pl.concat([trace, flow_trace(rounds=2)]), tmp_path / "graphs")
    assert (first.name, second.name) == ("001-a-b-go.xpl", "002-10.0.0.1-49152-10.0.1.1-60000.xpl")
    text = first.read_text(encoding="utf-8")
    assert text.startswith("double double\ntitle\na>bgo (time sequence graph)\nxlabel\n")
    assert text.endswith("\ngo\n")
    assert text.count("\ngo\n") == 1
    for part in (
        "white\nline 1.500000 0 1.500000 100\n",
        "red\nline 1.700000 0 1.700000 100\n",
        "atext 1.700000 100\nR\n",
        "green\nline 1.750000 40 1.800000 40\nline 1.800000 40 1.800000 100\n",
        "magenta\natext 1.900000 100\nFIN\n",
    ):
        assert part in text


def test_percentiles_and_extremes_become_points_of_distributions(tmp_path):
    rows = pl.DataFrame(
        {
            "scope": ["group"],
            "group": ["thin"],
            "min_s": [0.0],
            "mean_s": [7.0],
            "p50_s": [0.1],
            "p99_9_s": [0.4],
            "max_s": [0.5],
        }
    )
    curve = percentiles_of(rows)
    assert dict(curve.select("percentile", "value").rows()) == {0: 0, 50: 0.1, 99.9: 0.4, 100: 0.5}
    save(percentile_curves(curve, title="time", is_time=True), tmp_path / "curve.svg")
    assert "time / ms" in (tmp_path / "curve.svg").read_text(encoding="utf-8")


def test_a_single_window_is_drawn_as_a_point(tmp_path):
    window = pl.DataFrame({"group": ["thin"], "start_s": [0.0], "lost": [0.02]})
    save(value_over_time(window, pl.col("lost") * 100, "lost / %"), tmp_path / "loss.svg")
    drawn = (tmp_path / "loss.svg").read_text(encoding="utf-8")
    assert "lost / %" in drawn
    assert "mark-symbol" in drawn

"""Reports: the page is valid, self-contained, and draws itself in a browser."""

from __future__ import annotations

import base64
import io
import json
import math
import shutil
import zlib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from jinja2 import FileSystemBytecodeCache

from browser import shown
from fairwind.errors import FairwindError
from fairwind.execution.execute import RunSettings, run_plan
from fairwind.plots import BOX, boxes_by_setting, estimates_by_setting, latency_distribution, save
from fairwind.plots.series import STEPS, cumulative, rate_over_time, thinned
from fairwind.plots.tails import survivors
from fairwind.report.drawing import packed_drawing_code
from fairwind.report.figures import coarser, default_figures
from fairwind.report.main_figure import main_figure
from fairwind.report.overlay import MOST_CURVES, MOST_PANELS, chosen_labels, overlaid, overlaid_axes
from fairwind.report.page import write_report
from fairwind.report.tables import numeric_columns
from fairwind.report.warnings import warnings
from fairwind.results import Results
from fairwind.scenario import Scenario
from fairwind.scenario.plan import Axis
from fairwind.studies import study_named
from made_up import VARIANTS, ScriptedEngine, plan
from process import SCENARIO

VOID = {"meta", "br", "link", "img", "input", "hr"}


class Page(HTMLParser):
    """Checks that elements nest, and collects what a test asks about."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.identifiers: list[str] = []
        self.headings: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, f"elements left open: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name in ("src", "href") and value is not None:
                self.links.append(value)
            if name == "id" and value is not None:
                self.identifiers.append(value)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> does not close the last element"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("h1", "h2"):
            self.headings.append(data.strip())


@pytest.fixture(scope="module")
def study_run(tmp_path_factory) -> Results:
    """Give a run of the first study's shape."""
    return run_plan(
        plan((1, 4, 16), VARIANTS, replicates=3),
        ScriptedEngine(),
        RunSettings(2, tmp_path_factory.mktemp("study") / "run"),
    )


@pytest.fixture(scope="module")
def page(study_run) -> Path:
    """Write the report of the study's run."""
    study = study_named("application-limited-streams")
    figures, claims = study.figures(study_run), study.claims(study_run)
    folder = study_run.folder / "figures"
    return write_report(study_run, figures, claims, figure_folder=folder).page


def test_the_page_is_well_formed_and_names_its_parts(page):
    parsed = Page(page.read_text(encoding="utf-8"))
    assert parsed.headings[0] == "made up"
    parts = {
        "Claims of the source",
        "Answer",
        "Results",
        "Tables",
        "Seeds, versions and fingerprint",
    }
    assert parts <= set(parsed.headings)
    assert len(parsed.identifiers) == len(set(parsed.identifiers))


def test_the_page_loads_nothing_from_elsewhere(page):
    assert Page(page.read_text(encoding="utf-8")).links == []


def test_main_figure_has_the_measures_of_the_answer(tmp_path):
    results = Scenario("two.toml", SCENARIO).run(jobs=1, out=tmp_path / "run")
    (figure,) = main_figure(results)
    drawing = figure.chart.to_dict()
    times, goodput = drawing["vconcat"]
    titles = [one["layer"][1]["encoding"]["y"]["axis"]["title"] for one in (times, goodput)]
    assert titles == ["time / ms", "goodput / kbit/s"]
    values = drawing["datasets"][times["data"]["name"]]
    drawn = {(one["flows_count"], one["series"]): one["mean"] for one in values}
    series = ("thin delivery latency p50", "thin delivery latency p99")
    assert set(drawn) == {(count, one) for count in (1, 2) for one in series}
    expected = results.groups.filter(group="thin", flows_count=2)["delivery_latency_p99_s"].mean()
    assert drawn[2, series[1]] == pytest.approx(1e3 * expected)
    assert all(one["low"] > 0 for one in values)
    assert default_figures(results)[0].name == figure.name


def test_one_run_alone_has_no_interval_in_the_main_figure(tmp_path):
    results = run_plan(plan((1,), VARIANTS, 1), ScriptedEngine(), RunSettings(1, tmp_path))
    (figure,) = main_figure(results)
    drawing = figure.chart.to_dict()
    for panel in drawing["vconcat"]:
        assert len(panel["layer"]) == 2  # lines and points
        values = drawing["datasets"][panel["data"]["name"]]
        assert all(one["low"] is None for one in values)


def test_main_figure_needs_a_single_axis(study_run, tmp_path):
    alone = run_plan(plan((1,)), ScriptedEngine(), RunSettings(1, tmp_path))
    assert [*main_figure(study_run), *main_figure(alone)] == []


def test_seeds_are_listed_once_at_the_end(tmp_path):
    results = run_plan(plan((1,), replicates=8), ScriptedEngine(), RunSettings(2, tmp_path))
    text = write_report(results).page.read_text(encoding="utf-8")
    assert text.count("107, 108") == 1
    assert text.index("107, 108") > text.index('id="origin"')


def test_figures_are_files_only_where_a_folder_is_given(study_run, tmp_path):
    written = write_report(study_run, page=tmp_path / "elsewhere" / "page.html")
    assert written.figures == ()
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["page.html"]


def test_drawing_code_is_kept_and_a_damaged_copy_is_replaced(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    code = packed_drawing_code()
    (kept,) = (tmp_path / "fairwind" / "drawing").iterdir()
    kept.write_text(code[:1000], encoding="ascii")
    assert packed_drawing_code() == code == kept.read_text(encoding="ascii")
    assert b"vegaEmbed" in zlib.decompress(base64.b64decode(code))
    monkeypatch.setattr("vl_convert.javascript_bundle", None)
    assert packed_drawing_code() == code


def test_compiled_templates_are_kept(study_run, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    first = write_report(study_run, page=tmp_path / "first.html").page.read_bytes()
    monkeypatch.setattr("jinja2.Environment.compile", None)
    assert write_report(study_run, page=tmp_path / "second.html").page.read_bytes() == first


@pytest.mark.parametrize("damage", ["file in the way", "nonsense", "cut short", "read-only"])
def test_pages_need_no_cache_of_templates(study_run, tmp_path, monkeypatch, damage):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    first = write_report(study_run, page=tmp_path / "first.html").page.read_bytes()
    (kept,) = (tmp_path / "cache" / "fairwind" / "templates").iterdir()
    assert [*kept.iterdir()]
    if damage == "nonsense":
        for file in kept.iterdir():
            file.write_bytes(b"nonsense")
    elif damage == "cut short":
        for file in kept.iterdir():
            file.write_bytes(file.read_bytes()[:20])
    elif damage == "file in the way":
        shutil.rmtree(kept)
        kept.write_text("")
    else:
        monkeypatch.setattr(
            FileSystemBytecodeCache, "dump_bytecode", raising(PermissionError(13, "read-only"))
        )
        shutil.rmtree(kept)
    assert write_report(study_run, page=tmp_path / "second.html").page.read_bytes() == first


def raising(error):
    def call(*_):
        raise error

    return call


def test_every_figure_is_there_in_three_formats(page):
    figures = page.parent / "figures"
    for name in ("throughput-by-variant", "ack-latency-by-variant", "goodput", "queue-drops"):
        assert (figures / f"{name}.svg").read_text(encoding="utf-8").startswith("<svg")
        assert (figures / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (figures / f"{name}.pdf").read_bytes().startswith(b"%PDF")


def test_the_same_run_gives_the_same_page_and_drawings(study_run, page):
    before = page.read_bytes(), (page.parent / "figures" / "goodput.svg").read_bytes()
    study = study_named("application-limited-streams")
    figures, claims = study.figures(study_run), study.claims(study_run)
    write_report(study_run, figures, claims, figure_folder=page.parent / "figures")
    assert before == (page.read_bytes(), (page.parent / "figures" / "goodput.svg").read_bytes())


@pytest.mark.browser
@pytest.mark.parametrize("counts", [(1,), (1, 4)])
def test_runs_of_one_and_of_several_cells_leave_no_console_message(browser, tmp_path, counts):
    results = run_plan(plan(counts, VARIANTS), ScriptedEngine(), RunSettings(2, tmp_path / "run"))
    with shown(browser, write_report(results).page) as found:
        assert found.messages == []
        assert found.undrawn() == []


def test_a_page_names_axes_as_the_scenario_does(study_run, page):
    text = page.read_text(encoding="utf-8")
    before, _, _ = text.partition("<h2>Tables</h2>")
    assert "flows_count" not in before
    (figure,) = [one for one in default_figures(study_run) if one.name == "queue-drops"]
    drawn = json.dumps(figure.chart.to_dict())
    assert '["count,", "variant"]' in drawn
    assert '"4, LT"' in drawn


def test_columns_of_numbers_are_right_aligned():
    rows = [["1 Mbit/s", "18.8 ± 0.2", None, "thin"], ["2 Mbit/s", "26.4 (2 equal)", 3, "5 %"]]
    assert numeric_columns(rows) == {1, 2}
    assert numeric_columns([[True, "-3 %", "[-0.4, +5.3] %"]]) == {1, 2}
    assert numeric_columns([]) == frozenset()


def test_wide_tables_fit_into_the_window(page):
    text = page.read_text(encoding="utf-8")
    assert "max-width: 100rem" in text
    assert ".wide { overflow: auto; max-width: 100%" in text


def test_one_run_has_no_interval_in_its_words(tmp_path):
    results = run_plan(plan((1,), replicates=1), ScriptedEngine(), RunSettings(1, tmp_path))
    text = write_report(results).page.read_text(encoding="utf-8")
    assert "Student" not in text


@pytest.mark.browser
def test_one_run_leaves_no_console_message(browser, tmp_path):
    results = run_plan(plan((1,), replicates=1), ScriptedEngine(), RunSettings(1, tmp_path / "run"))
    with shown(browser, write_report(results).page) as found:
        assert found.messages == []


def test_headers_of_captured_panels_are_no_wider_than_the_panel():
    names = ["10.20.30.40:50000 to 10.20.30.41:443", "10.20.30.40:50001 to 10.20.30.41:443"]
    windows = pl.DataFrame(
        [(name, "all", 1.0 * start, 0.1) for name in names for start in range(3)],
        schema=["panel", "group", "start_s", "loss"],
        orient="row",
    )
    chart = rate_over_time(windows, measure="loss", title="loss", panels="panel").to_dict()
    assert chart["facet"]["header"]["labelLimit"] == chart["spec"]["width"]


def test_text_of_a_scenario_cannot_break_the_page(tmp_path):
    grid = plan((1,))
    name = '</script><script>alert("x")</script> & co'
    document = grid.document | {"name": name, "description": "<b>bold</b>"}
    results = run_plan(
        type(grid).from_document(document, ()), ScriptedEngine(), RunSettings(1, tmp_path / "run")
    )
    text = write_report(results).page.read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert "<b>bold" not in text
    assert Page(text).headings[0] == name


def test_warnings_tell_of_failures_and_few_runs(tmp_path):
    def script(number: int) -> None:
        if number == 1:
            raise ValueError("the sea is rough")

    results = run_plan(plan(), ScriptedEngine(script), RunSettings(1, tmp_path))
    text = write_report(results).page.read_text(encoding="utf-8")
    assert "the sea is rough" in text
    assert "Only 2 runs per cell" in text


def test_runs_that_do_not_differ_are_warned_of(tmp_path):
    grid = plan()
    twins = type(grid).from_document(grid.document | {"seeds": [7, 7]}, ())
    results = run_plan(twins, ScriptedEngine(), RunSettings(1, tmp_path / "twins"))
    assert any("the seed has no effect" in warning for warning in warnings(results))
    results = run_plan(grid, ScriptedEngine(), RunSettings(1, tmp_path / "run"))
    assert not any("the seed has no effect" in warning for warning in warnings(results))


def test_a_run_without_a_grid_has_a_report(tmp_path):
    grid = plan((1,), replicates=1)
    cell = grid.document["cells"][0] | {"settings": {}}
    document = grid.document | {"axes": [], "cells": [cell]}
    results = run_plan(
        type(grid).from_document(document, ()), ScriptedEngine(), RunSettings(1, tmp_path / "run")
    )
    assert "One run per cell" in write_report(results).page.read_text(encoding="utf-8")


def test_large_grids_show_a_choice_of_cells_and_say_so(tmp_path):
    results = run_plan(
        plan(tuple(range(1, 31)), replicates=1), ScriptedEngine(), RunSettings(2, tmp_path)
    )
    figure = next(f for f in default_figures(results) if f.name == "ack-latency")
    assert f"{MOST_CURVES} of 30 cells are shown: flows.*.count = 1, 5, " in figure.caption
    drawn = overlaid(results, results.groups)
    assert drawn.frame["curve"].n_unique() == MOST_CURVES
    assert drawn.frame["panel"].unique(maintain_order=True).to_list() == ["greedy", "thin"]


def test_variants_lie_over_one_another_and_counts_separate_panels(study_run):
    drawn = overlaid(study_run, study_run.groups)
    assert drawn.frame["curve"].unique(maintain_order=True).to_list() == list(VARIANTS)
    assert drawn.frame["panel"].unique(maintain_order=True).to_list() == [
        f"{group}, count {count}" for group in ("greedy", "thin") for count in (1, 4, 16)
    ]
    assert (drawn.columns, drawn.curve_title, drawn.note) == (3, "variant", "")


def test_axes_of_one_value_separate_nothing(tmp_path):
    results = run_plan(plan((4,), VARIANTS), ScriptedEngine(), RunSettings(1, tmp_path))
    drawn = overlaid(results, results.groups)
    assert (drawn.curve_title, set(drawn.frame["panel"])) == ("variant", {"greedy", "thin"})


def test_all_cells_of_a_small_grid_share_a_panel(tmp_path):
    results = run_plan(plan((1, 4), ("TCP", "LT")), ScriptedEngine(), RunSettings(1, tmp_path))
    drawn = overlaid(results, results.groups)
    assert "count 4, variant LT" in drawn.frame["curve"]
    assert set(drawn.frame["panel"]) == {"greedy", "thin"}


def test_axes_are_laid_over_one_another_as_long_as_curves_differ():
    def axes(**labels: int) -> list[Axis]:
        return [Axis(n, n, tuple(map(str, range(many)))) for n, many in labels.items()]

    def over(**labels: int) -> list[str]:
        return [axis.name for axis in overlaid_axes(axes(**labels))]

    assert over(a=2, b=2, c=2) == ["a", "b", "c"]
    assert over(a=9, b=2) == ["b"]
    assert over(a=2, b=12) == ["b"]


def test_tails_are_shares_that_took_longer():
    histogram = pl.DataFrame(
        {"group": "thin", "upper_s": [0.001, 0.01, 0.1, 1.0], "count": [900, 90, 9, 1]}
    )
    points = survivors(histogram, ["group"])
    assert points["latency_ms"].to_list() == [1, 1, 10, 100, 1000]
    assert points["share_ratio"].to_list() == pytest.approx([1, 0.1, 0.01, 0.001, 0.001])


def test_tail_of_many_buckets_is_thin_and_exact():
    counts = np.random.default_rng(1).integers(1, 100, 5000)
    upper = np.geomspace(0.001, 100, counts.size)
    points = survivors(pl.DataFrame({"group": "a", "upper_s": upper, "count": counts}), ["group"])
    assert points.height < 400
    longer = 1 - np.cumsum(counts) / counts.sum()
    drawn = points["share_ratio"].to_numpy()[
        np.searchsorted(points["latency_ms"], upper * 1000, side="right").clip(1) - 1
    ]
    # Rounding a time to four digits may shift it by one bucket, which is 2 % of the samples left.
    seen = longer > 0.01
    assert (np.abs(drawn - longer) / np.maximum(drawn, 1e-9))[seen].max() < 0.1


@pytest.mark.parametrize(
    ("sizes", "kept"),
    [((30,), (12,)), ((10, 4), (3, 4)), ((2, 10), (2, 6)), ((5, 5, 5), (2, 2, 3))],
)
def test_a_choice_thins_the_longest_axes_and_keeps_their_ends(sizes, kept):
    axes = [[str(label) for label in range(size)] for size in sizes]
    chosen = chosen_labels(axes)
    assert tuple(len(labels) for labels in chosen) == kept
    for labels, every in zip(chosen, axes, strict=True):
        assert (labels[0], labels[-1]) == (every[0], every[-1])
        assert len(set(labels)) == len(labels)


def test_a_choice_has_room_for_any_number_of_axes():
    chosen = chosen_labels([["a", "b"]] * 6)
    assert math.prod(len(labels) for labels in chosen) <= MOST_PANELS
    assert all(labels[-1] == "b" for labels in chosen)


def test_a_thinned_distribution_stays_within_half_a_percent_and_keeps_its_ends():
    counts = np.random.default_rng(1).integers(0, 100, 5000)
    histogram = pl.DataFrame(
        {
            "group": ["thin"] * counts.size,
            "upper_s": np.geomspace(0.001, 100, counts.size),
            "count": counts,
        }
    )
    whole = cumulative(histogram, ["group"])
    few = thinned(whole, ["group"])
    assert few.height <= STEPS + 2
    assert few["share_ratio"][-1] == 1
    assert few["latency_ms"][0] == pytest.approx(whole["latency_ms"][0], rel=1e-3)
    assert few["latency_ms"][-1] == pytest.approx(whole["latency_ms"][-1], rel=1e-3)
    drawn = (
        few.select("share_ratio")
        .to_series()
        .to_numpy()[
            np.searchsorted(few["latency_ms"], whole["latency_ms"], side="right").clip(1) - 1
        ]
    )
    assert np.abs(drawn - whole["share_ratio"].to_numpy()).max() <= 1 / STEPS + 0.001


def test_groups_have_the_colours_of_the_literature(study_run):
    figure = next(f for f in default_figures(study_run) if f.name == "queue-drops")
    scale = figure.chart.to_dict()["encoding"]["color"]["scale"]
    assert dict(zip(scale["domain"], scale["range"], strict=True)) == {
        "greedy": "#e0604a",
        "thin": "#164a88",
    }


def test_queues_are_drawn_by_loss_runs_and_waiting(study_run):
    def drawn(name):
        chart = next(f for f in default_figures(study_run) if f.name == name).chart.to_dict()
        values = [*chart.get("datasets", {}).values(), chart.get("data", {}).get("values")][0]
        return pl.read_csv(io.StringIO(values)).to_dicts() if isinstance(values, str) else values

    losses = {(row["counted"], row["loss_ratio"]) for row in drawn("queue-loss")}
    assert losses == {("packets", 2), ("bytes", 1)}
    # Of 4 runs of one packet and 3 of two, 4 of 10 losses are alone.
    shares = {row["length_packets"]: row["share_ratio"] for row in drawn("loss-runs")}
    assert shares == pytest.approx({1: 0.4, 2: 0.6})
    waits = drawn("queue-waiting")
    assert {row["latency_ms"] for row in waits} == {20, 40}
    assert {round(row["share_ratio"], 3) for row in waits} == {1, 0.7, 0.1}


def test_what_waited_is_drawn_over_time_in_packets_and_in_milliseconds(study_run):
    figure = next(f for f in default_figures(study_run) if f.name == "queue-over-time")
    assert "windows of 1 s" in figure.caption
    (values,) = figure.chart.to_dict()["datasets"].values()
    drawn = {(row["measure"], row["start_s"], row["mean"], row["most"]) for row in values}
    assert drawn == {
        ("waiting packets found by arrivals", 0, 1.5, 4),
        ("waiting packets found by arrivals", 1, 2.5, 6),
        ("waiting time / ms", 0, 10, 20),
        ("waiting time / ms", 1, 30, 60),
    }


def test_many_windows_of_a_queue_are_brought_together():
    starts = [0.1 * number for number in range(30)]
    windows = pl.DataFrame({"start_s": starts, "interval_s": 0.1})
    assert coarser(windows, 30) is windows
    drawn = coarser(windows, 10)
    assert drawn["start_s"].n_unique() == 10
    assert drawn["start_s"].unique().sort().to_list() == pytest.approx([0.3 * n for n in range(10)])
    assert drawn["interval_s"].to_list() == pytest.approx([0.3] * 30)


def test_chart_can_be_saved_as_html(study_run, tmp_path):
    save(default_figures(study_run)[0].chart, tmp_path / "goodput.html")
    text = (tmp_path / "goodput.html").read_text(encoding="utf-8")
    assert 'src="http' not in text


def test_an_unknown_kind_of_picture_is_refused(study_run, tmp_path):
    with pytest.raises(FairwindError, match=r"\.gif"):
        save(default_figures(study_run)[0].chart, tmp_path / "goodput.gif")


def test_the_labels_of_groups_do_not_touch_in_a_figure_of_one_cell():
    names = ["from-program", "to-program", "other"]
    values = {"group": names, "mean": [1.0, 2.0, 3.0], "low": [1.0, 2.0, 3.0]}
    frame = pl.DataFrame(values).with_columns(high=pl.col("low"))
    chart = estimates_by_setting(
        frame, setting="group", order=names, measure_title="goodput", setting_title="group"
    ).to_dict()
    longest = max(map(len, names))
    assert chart["width"] / len(names) > 6 * longest, "six points a character"
    assert "xOffset" not in str(chart), "a point stands over its own label"


def test_the_labels_of_boxes_of_one_group_do_not_touch():
    names = ["pfifo", "fq_codel", "fq_pie", "a-discipline-of-twenty"]
    boxes = pl.DataFrame({"discipline": names, "group": ["thin"] * len(names)}).with_columns(
        pl.lit(1.0).alias(number) for number in BOX
    )
    chart = boxes_by_setting(
        boxes, setting="discipline", order=names, measure_title="delivery latency / ms"
    ).to_dict()
    assert chart["width"] / len(names) > 6 * max(map(len, names)), "six points a character"


def test_lines_are_labelled_where_the_curves_are_not():
    # Half of all samples take up to 10 ms, so the curve is low at 2 ms and high at 90 ms.
    histogram = pl.DataFrame(
        {
            "group": ["thin"] * 4,
            "upper_s": [0.001, 0.01, 0.05, 0.1],
            "count": [10, 40, 40, 10],
        }
    )
    marks = pl.DataFrame({"label": ["early", "late"], "latency_ms": [2.0, 90.0]})
    chart = latency_distribution(histogram, marks=marks).to_dict()
    labels = [layer for layer in chart["layer"][0]["layer"] if layer["mark"]["type"] == "text"]
    drawn = {
        row["label"]: layer["encoding"]["y"]["value"]
        for layer in labels
        for row in chart["datasets"][layer["data"]["name"]]
    }
    assert drawn == {"early": 0, "late": 260}, "early above the curve, late below it"

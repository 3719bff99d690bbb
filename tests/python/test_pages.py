"""Pages of runs in Chromium, in a wide window and in a narrow one."""

from __future__ import annotations

import itertools
from pathlib import Path

import polars as pl
import pytest

from browser import PICTURES, TOLERANCE, assert_looks_as_before, moved_ink, shown, spots
from fairwind.execution.execute import RunSettings, run_plan
from fairwind.report.page import write_report
from fairwind.scenario import Scenario, load
from fairwind.statistics import EffectVerdict
from fairwind.studies import study_named
from made_up import VARIANTS, ScriptedEngine, plan
from made_up_traces import flow_trace
from test_captured_folder import captured_folder

pytestmark = pytest.mark.browser
WIDTHS = (1280, 400)
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def study_page(tmp_path_factory) -> Path:
    """Write the page of a made-up run of the first study."""
    folder = tmp_path_factory.mktemp("study") / "run"
    results = run_plan(plan((1, 4, 16), VARIANTS, 3), ScriptedEngine(), RunSettings(1, folder))
    study = study_named("application-limited-streams")
    return write_report(results, study.figures(results), study.claims(results)).page


@pytest.fixture(scope="module")
def web_page(tmp_path_factory) -> Path:
    """Write the page of a short run of web pages over two lengths of a queue."""
    scenario = load(EXAMPLES / "web-against-greedy.toml").with_settings(
        {"duration": "12 s", "measure.warmup": "2 s", "sweep.repeat": "2"}
    )
    return write_report(scenario.run(jobs=1, out=tmp_path_factory.mktemp("web") / "run")).page


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("which", ["study_page", "web_page"])
def test_page_is_drawn_whole_and_fits_the_window(request, browser, which, width):
    with shown(browser, request.getfixturevalue(which), width) as found:
        assert found.messages == []
        assert found.undrawn() == []
        assert found.page.locator(".chart").count() >= 8
        assert found.overflow == 0


def test_page_asks_for_nothing_but_itself(browser, study_page):
    with shown(browser, study_page) as found:
        assert [url for url in found.requests if not url.startswith(("data:", "blob:"))] == [
            study_page.as_uri()
        ]


def test_tables_sort_by_any_column_both_ways(browser, study_page):
    with shown(browser, study_page) as found:
        table = found.page.locator("#results table").first
        header = table.locator("th", has_text="goodput")
        place = header.evaluate("cell => cell.cellIndex")

        def column() -> list[float]:
            cells = table.locator(f"tbody td:nth-child({place + 1})").all_inner_texts()
            return [float(text.split()[0].replace(",", "")) for text in cells]

        before = column()
        header.get_by_role("button").click()
        assert column() == sorted(before)
        assert header.get_attribute("aria-sort") == "ascending"
        header.get_by_role("button").click()
        assert column() == sorted(before, reverse=True)
        assert before not in (sorted(before), sorted(before, reverse=True))


def test_header_stays_when_a_table_scrolls(browser, study_page):
    with shown(browser, study_page, 1280) as found:
        box = found.page.locator("#results .wide").first
        box.scroll_into_view_if_needed()
        box.evaluate("box => box.scrollTo(0, 200)")
        top = box.evaluate(
            "box => box.querySelector('th').getBoundingClientRect().top"
            " - box.getBoundingClientRect().top"
        )
        assert box.evaluate("box => box.scrollTop") > 50
        assert abs(top) <= 1


def test_contents_lead_to_every_section(browser, study_page):
    with shown(browser, study_page) as found:
        links = found.page.locator("nav a")
        headings = found.page.locator("main > section > h2").all_inner_texts()
        assert links.all_inner_texts() == headings
        links.last.click()
        assert (
            found.page.locator("#origin").evaluate("part => part.getBoundingClientRect().top") < 900
        )


def test_seeds_and_fingerprint_are_folded_at_the_end(browser, study_page):
    with shown(browser, study_page) as found:
        assert found.page.locator("main > section").last.get_attribute("id") == "origin"
        fingerprint = found.page.get_by_text("Fingerprint", exact=True)
        assert not fingerprint.is_visible()
        found.page.get_by_text("How this page was made").click()
        assert fingerprint.is_visible()


def test_print_opens_details_and_needs_no_scrolling(browser, study_page):
    with shown(browser, study_page) as found:
        found.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        found.page.emulate_media(media="print")
        boxes = found.page.evaluate(
            "[...document.querySelectorAll('main .wide')].map("
            "(box) => getComputedStyle(box).overflowY + box.checkVisibility())"
        )
        assert {box for box in boxes if box.endswith("true")} == {"visibletrue"}
        assert found.page.get_by_text("Fingerprint", exact=True).is_visible()
        assert found.page.pdf().startswith(b"%PDF")
        found.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        assert not found.page.get_by_text("Fingerprint", exact=True).is_visible()


def test_narrow_window_has_fewer_panels_in_a_row(browser, study_page):
    def panels_in_first_row(width: int) -> int:
        with shown(browser, study_page, width) as found:
            tops = found.page.evaluate(
                "[...document.querySelectorAll('#ack-latency .role-scope.cell > g')].map("
                "(panel) => Math.round(panel.getBoundingClientRect().top))"
            )
            assert len(tops) >= 3
            return int(tops.count(min(tops)))

    assert panels_in_first_row(400) == 1
    assert panels_in_first_row(1280) > 1


def test_figures_are_redrawn_when_the_window_becomes_narrow(browser, study_page):
    with shown(browser, study_page, 1280) as found:
        found.page.set_viewport_size({"width": 400, "height": 900})
        found.page.wait_for_function("document.documentElement.dataset.drawn === '400'")
        assert found.undrawn() == []
        assert found.overflow == 0


def test_response_times_have_a_table_and_a_figure(browser, web_page):
    with shown(browser, web_page) as found:
        headers = found.page.locator("#response-times th").all_inner_texts()
        assert any(text.startswith("response time p99") for text in headers)
        assert found.page.locator("#response-time .chart svg.marks").count() == 1


@pytest.fixture(scope="module")
def two_axes_page(tmp_path_factory) -> Path:
    """Write the page of short transfers by two keys with long names."""
    two_keys = {f"flows.web.tcp.{key}": [False, True] for key in LONG_KEYS}
    scenario = Scenario.from_dict(
        {
            "name": "two keys",
            "duration": "8 s",
            "path": {"rate": "2 Mbit/s", "rtt": "40 ms", "queue": "tc: pfifo limit 20"},
            "flows": [{"name": "web", "count": 2, "workload": TRANSFERS}],
            "sweep": {"repeat": 2, **two_keys},
        }
    )
    return write_report(scenario.run(jobs=1, out=tmp_path_factory.mktemp("two") / "run")).page


LONG_KEYS = ("modified_fast_retransmit", "linear_timeouts")
TRANSFERS = {"kind": "transfers", "transfers": 50, "request": "100 B", "volume": "20 kB"}


@pytest.mark.parametrize("width", WIDTHS)
def test_legends_of_two_axes_differ_in_every_label(browser, two_axes_page, width):
    with shown(browser, two_axes_page, width) as found:
        assert found.messages == []
        assert found.overflow == 0
        labels = found.page.locator(
            "#completion-time .role-legend-entry .role-legend-label text"
        ).all_text_contents()
        assert len(set(labels)) == len(labels) == 4
        assert not any("…" in label for label in labels)


@pytest.mark.parametrize("width", WIDTHS)
def test_verdict_is_seen_without_scrolling(browser, web_page, width):
    with shown(browser, web_page, width) as found:
        box = found.page.locator("#answer .wide").first
        cell = box.locator("tbody tr").first.locator("td").nth(1)
        assert box.locator("th").nth(1).inner_text().startswith("verdict")
        assert cell.inner_text() in {str(verdict) for verdict in EffectVerdict}
        right = "part => part.getBoundingClientRect().right"
        assert cell.evaluate(right) <= box.evaluate(right)


def test_figures_of_a_queue_name_its_discipline_and_limit(browser, web_page):
    with shown(browser, web_page) as found:
        for name in ("queue-over-time", "queue-waiting"):
            titles = found.page.locator(f"#{name} .role-title-text").all_text_contents()
            assert any(text.startswith("reverse: pfifo, 34 to 267 packets") for text in titles)


def test_undrawn_figures_have_room_and_no_words(browser, study_page):
    text = study_page.read_text(encoding="utf-8")
    undrawn = text.replace("drawFigures();\n</script>", "</script>")
    assert undrawn != text
    assert undrawn.count("<noscript>This figure needs JavaScript") >= 8
    page = browser.new_page()
    page.set_content(undrawn)
    chart = page.locator(".chart").first
    assert chart.evaluate("part => part.innerText.trim()") == ""
    assert chart.evaluate("part => part.getBoundingClientRect().height") >= 300
    page.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_capture_begins_with_its_time_sequence_graph(browser, tmp_path, width):
    results = captured_folder(tmp_path / "seen")
    keys = [pl.lit(0).alias("cell"), pl.lit(0).alias("replicate")]
    flow_trace(rounds=20).select(*keys, pl.all()).write_parquet(results.folder / "traces.parquet")
    page = write_report(results).page
    with shown(browser, page, width) as found:
        assert found.messages == []
        assert found.undrawn() == []
        assert found.overflow == 0
        assert (
            found.page.locator("main > section:not(.warnings)").first.get_attribute("id")
            == "flow-1"
        )
        assert found.page.locator("#flow-1 canvas").count() == 1


@pytest.mark.parametrize("width", WIDTHS)
def test_beginning_of_the_page_looks_as_before(browser, study_page, width):
    with shown(browser, study_page, width) as found:
        assert_looks_as_before(browser, f"page-{width}", found.page.screenshot())


@pytest.mark.parametrize("name", ["goodput", "ack-latency", "queue-over-time"])
def test_figure_looks_as_before(browser, study_page, name):
    with shown(browser, study_page) as found:
        picture = found.page.locator(f"#{name} .chart").screenshot()
        assert_looks_as_before(browser, name, picture)


def test_path_looks_as_before(browser, web_page):
    with shown(browser, web_page, 400) as found:
        assert_looks_as_before(browser, "path", found.page.locator("#path svg").screenshot())


def test_other_and_blank_pictures_are_told_apart(browser):
    page = browser.new_page()
    files = sorted(PICTURES.glob("*.png"))
    found = [spots(page, file.read_bytes()) for file in files]
    page.close()
    assert len(found) >= 5
    for one, other in itertools.combinations([*found, [0.0] * len(found[0])], 2):
        assert moved_ink(one, other) > TOLERANCE

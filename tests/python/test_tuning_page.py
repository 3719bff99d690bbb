"""The page of a search in Chromium, and one click to the scenario of a point."""

from __future__ import annotations

import tomllib
from pathlib import Path
from urllib.parse import unquote, urlsplit

import polars as pl
import pytest

from browser import shown
from closed_form import RTO, THRESHOLD, ClosedForms, tuning
from fairwind.results import Claim, Verdict
from fairwind.tuning.page import write_page
from fairwind.tuning.settings import read_tuning
from fairwind.tuning.tuning import TuningRun, run_tuning

PART = Verdict.HOLDS_FOR_SOME
CLAIM = Claim("It <pays>.", "By rule.", PART, "Numbers.", pl.DataFrame(), "Some.")


MARK_WITH_LINK = """() => {
  const marks = [...document.querySelectorAll('.chart[data-figure="front"] .mark-symbol path')];
  const mark = marks.find((one) => one.__data__?.datum?.href);
  mark.scrollIntoView({ block: "center" });
  const box = mark.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
}"""
"""The middle of a mark of the front that leads somewhere."""


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    """Write the page of a search with every part: limits, known settings, three objectives."""
    document = tuning(
        known={"short": {RTO: "50 ms"}, "first": {THRESHOLD: 1}},
        objectives=[
            {"minimise": "thin.delivery_latency_p99"},
            {"maximise": "greedy.goodput"},
            {"maximise": "thin.goodput"},
        ],
        constraints=[{"fail_if": "greedy.goodput < -5%"}],
        confirm={"seeds": 3, "points": 3, "paths": {"far": {"path.rtt": "400 ms"}}},
    )
    search = read_tuning(document, "search.toml")
    run = TuningRun(tmp_path_factory.mktemp("search"), jobs=1)
    return write_page(run_tuning(search, ClosedForms(), run)[0], [CLAIM])


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 400])
def test_page_of_a_search_leaves_no_console_message(browser, page, width):
    with shown(browser, page, width) as found:
        assert found.messages == []
        assert found.undrawn() == []
        assert found.page.locator(".chart").count() == 3
        assert found.overflow == 0
        assert all(one.startswith(("file:", "data:", "blob:")) for one in found.requests)


@pytest.mark.browser
def test_links_of_points_lead_to_their_scenarios(browser, page):
    with shown(browser, page) as found:
        links = found.page.locator("#points a")
        files = [
            Path(unquote(urlsplit(address).path))
            for address in links.evaluate_all("all => all.map(one => one.href)")
        ]
    assert len(files) == 5
    for file in files:
        assert tomllib.loads(file.read_text(encoding="utf-8"))["name"] == "closed form"


@pytest.mark.browser
def test_click_on_a_mark_opens_the_scenario_of_its_point(browser, page):
    with shown(browser, page) as found:
        place = found.page.evaluate(MARK_WITH_LINK)
        with found.page.expect_event("request", lambda one: one.url.endswith(".toml")) as event:
            found.page.mouse.click(*place)
    assert Path(unquote(urlsplit(event.value.url).path)).parent == page.parent / "points"


@pytest.mark.browser
def test_claims_of_a_study_stand_on_the_page(browser, page):
    with shown(browser, page) as found:
        row = found.page.locator("#claims tbody tr").inner_text()
    for words in ("It <pays>.", "holds for some", "Some. Numbers."):
        assert words in row

"""The report of a run: its HTML page, the connections of captures, and the files of figures."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import polars as pl
import vl_convert
from jinja2 import Environment, StrictUndefined

from fairwind.analysis.summary import (
    ARRIVED,
    KEYS,
    TITLES,
    frames_of,
    readable_rows,
    readable_slowest,
    summary_of,
    upright,
)
from fairwind.folder.store import storage_errors, write_file
from fairwind.plots import Figure, save_all
from fairwind.plots.save import VEGA_LITE
from fairwind.quantities import parse_seconds
from fairwind.report.figures import default_figures
from fairwind.report.warnings import warnings
from fairwind.results import Claim, Results, lateness_in_words, readable_overview

PREVIEW_ROWS = 20
"""Rows shown of each table."""

WAITS_SHOWN = 100
"""Longest waits on the page."""


def render(results: Results, figures: Sequence[Figure], claims: Sequence[Claim]) -> str:
    """Write the page of a run as text."""
    manifest = results.manifest
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters["number"] = number
    environment.filters["numeric_columns"] = numeric_columns
    template = environment.from_string(_part("page.html"))
    return template.render(
        manifest=manifest,
        plan=manifest.plan,
        duration=duration_in_words(results),
        claims=claims,
        figures=figures,
        specifications=_script_safe({figure.name: figure.chart.to_dict() for figure in figures}),
        axis_names={axis.column: axis.name for axis in manifest.plan.axes},
        main=captured_overview(results) or readable_overview(results),
        connections=connections_of(results),
        waits=readable_slowest(results, WAITS_SHOWN),
        lateness=lateness_in_words(results),
        previews={name: results.first_rows(name, PREVIEW_ROWS) for name in results.table_names},
        preview_rows=PREVIEW_ROWS,
        definitions=_definitions(results),
        warnings=warnings(results),
        redraw=shlex.join(["fairwind", "report", str(results.folder)]),
        style=_part("page.css"),
        script=_part("page.js"),
        bundle=_drawing_code(),
    )


def number(value: object) -> str:
    """Write a cell of a table for people: four significant digits, a dash where nothing is."""
    match value:
        case None:
            return "-"
        case float():
            return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
        case _:
            return str(value)


def numeric_columns(rows: Sequence[Sequence[object]]) -> frozenset[int]:
    """Give the places of numeric columns; cells may have an uncertainty or a unit."""
    if not rows:
        return frozenset()
    return frozenset(
        place
        for place in range(len(rows[0]))
        if all(row[place] is None or _is_numeric(row[place]) for row in rows)
        and any(row[place] is not None for row in rows)
    )


def _is_numeric(value: object) -> bool:
    match value:
        case bool():
            return False
        case int() | float():
            return True
        case _:
            return isinstance(value, str) and NUMERIC.fullmatch(value) is not None


NUMERIC = re.compile(r"[-+]?[\d.,]+(e[-+]?\d+)?( ± \S+| \(\d+ equal\)| to [-+]?[\d.]+)?( %)?")
"""How cells of numbers are written."""


def _part(name: str) -> str:
    return (files("fairwind.report") / name).read_text(encoding="utf-8")


def _definitions(results: Results) -> dict[str, str]:
    """Meaning of each column, as ``table.column``."""
    return {
        f"{row['table']}.{row['column']}": row["definition"] for row in results.manifest.columns
    }


def _script_safe(value: object) -> str:
    """Encode as JSON that cannot end the script element it stands in."""
    return json.dumps(value).replace("<", "\\u003c")


@lru_cache(maxsize=1)
def _drawing_code() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script."""
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", VEGA_LITE)
    return bundle.replace("</script", "<\\/script")


MOST_ROWS = 100

ORDERS = {
    "delivery_latency_max_s": "the longest delivery",
    "ack_latency_max_s": "the longest ACK latency",
    None: "most payload",
}
"""Sort keys of connections, and their directions."""

FIRST = tuple(
    f"{kind}_latency_{which}_s" for kind in ("delivery", "ack") for which in ("p50", "p99", "max")
)
"""Shown before everything else."""

LEFT_OUT = ("flows", "goodput_bits_per_second", "throughput_bits_per_second")
"""Rates over the measured time say little of connections that were open for a part of it."""


@dataclass(frozen=True)
class Connections:
    """Table of connections on the page.

    Attributes
    ----------
    rows : list of lists
        One for each, at most `MOST_ROWS`.
    total : int
        How many there are.
    order : str
        Which come first.
    """

    headers: list[str]
    rows: list[list[object]]
    total: int
    order: str


def captured_overview(results: Results) -> list[tuple[list[str], list[list[object]]]]:
    """Give what a capture tells of groups; nothing of a run."""
    if not _is_single_capture(results):
        return []
    groups = summary_of(frames_of(results), "group", MOST_ROWS)
    return [upright(groups)] if groups.height else []


def _is_single_capture(results: Results) -> bool:
    return results.manifest.captured is not None and results.manifest.plan.runs == 1


def connections_of(results: Results) -> Connections | None:
    """Give the connections of a capture; none of a run, because its plan has the flows."""
    if not _is_single_capture(results) or not results.has_table("flows"):
        return None
    flows = results.scan("flows")
    known = [name for name in ORDERS if name in flows.collect_schema().names()]
    counts = (
        flows.select(pl.len().alias("flows"), pl.col(known).count()).collect().row(0, named=True)
    )
    sort = next((name for name in known if counts[name]), None)
    rows = summary_of(frames_of(results), "connection", MOST_ROWS, sort)
    if rows.is_empty():
        return None
    left = "packets_sent" in rows.columns and not rows["packets_sent"].null_count()
    hidden = {*LEFT_OUT, *(ARRIVED if left else ())}
    known = [name for name in dict.fromkeys((*FIRST, *TITLES)) if name in rows.columns]
    parts = [name for name in known if name not in hidden and (rows[name] != 0).any()]
    headers, cells = readable_rows(rows.select(*KEYS, *parts), parts)
    return Connections(headers, cells, counts["flows"], ORDERS[sort])


ENDED_EARLY_S = 1.0
"""A run that is so much shorter than it was described was ended by somebody."""


def duration_in_words(results: Results) -> str:
    """Format the duration of the scenario, or those of runs that ended before it.

    A program behind a path ends when it likes: its scenario only says how long it may last at most.

    Returns
    -------
    str
        Empty where nothing is said of a duration.
    """
    experiment = results.manifest.plan.cells[0].experiment
    described = str(experiment.get("duration", ""))
    lasted = _lasted_s(results)
    if not described or lasted is None:
        return described
    lasted += parse_seconds(experiment.get("measure", {}).get("warmup", "0 s"))
    if parse_seconds(described) - lasted < ENDED_EARLY_S:
        return described
    return f"{lasted:.1f} s"


def _lasted_s(results: Results) -> float | None:
    """Find the longest time that was measured."""
    groups = results.groups
    if "measured_s" not in groups.columns:
        return None
    times: list[float] = groups["measured_s"].cast(pl.Float64).drop_nulls().to_list()
    return max(times, default=None)


@dataclass(frozen=True)
class Report:
    """Files of a report.

    Attributes
    ----------
    page : Path
        The HTML page.
    figures : tuple of Path
        SVG, PNG and PDF files.
    """

    page: Path
    figures: tuple[Path, ...]


def write_report(
    results: Results,
    figures: Sequence[Figure] = (),
    claims: Sequence[Claim] = (),
    watch: Callable[[int, int], None] | None = None,
    *,
    page: Path | None = None,
    draw_files: bool = True,
) -> Report:
    """Write the page and the figures of a run into its folder.

    Parameters
    ----------
    figures : sequence of Figure
        A study's own figures, shown before those that every run gets.
    claims : sequence of Claim
        A study's judged claims.
    watch : callable, optional
        Told how many files are drawn, and of how many.
    page : path, optional
        The file of the page; ``report.html`` in the run's folder if not given.
    draw_files : bool
        Write the figures as files as well, not only into the page.

    Raises
    ------
    FairwindError
        If a table is missing or damaged, or the folder cannot be written.
    """
    every = [*figures, *default_figures(results)]
    page = page or results.folder / "report.html"
    folder, again = results.folder, f"run `fairwind report {results.folder}`"
    errors = storage_errors(
        folder,
        f"the report of {folder} could not be written",
        f"free some space, then {again}; the tables are whole",
        f"cannot write the report of {folder}:",
        f"copy the run to a folder of yours (cp -r {folder} COPY), then run `fairwind report COPY`",
    )
    with errors:
        paths = save_all(every, results.folder / "figures", watch) if draw_files else []
        write_file(page, render(results, every, claims).encode())
    return Report(page, tuple(paths))

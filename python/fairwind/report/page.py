"""The HTML page of a run."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files

import vl_convert
from jinja2 import Environment, StrictUndefined

from fairwind.analysis.slowest import readable_slowest
from fairwind.plots import Figure
from fairwind.plots.save import VEGA_LITE
from fairwind.report.connections import captured_overview, connections_of
from fairwind.report.lasted import duration_in_words
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
    """Give the places of columns whose cells are numbers, perhaps with a uncertainty or a unit."""
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

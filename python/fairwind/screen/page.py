"""Verdict page of a screening: one HTML file that asks for nothing."""

from __future__ import annotations

import math
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from fairwind.screen.record import Change, ScreenRecord
from fairwind.screen.series import Curve, Series
from fairwind.screen.verdicts import Finding, Verdict, worst
from fairwind.screen.words import (
    interval_in_words,
    limit_in_words,
    name_in_words,
    number_in_words,
)

COLOURS = {
    Verdict.PASS: "#0072b2",
    Verdict.CAUTION: "#b07d00",
    Verdict.FAIL: "#d55e00",
    Verdict.SKIPPED: "#999999",
}
LINES = ("#d55e00", "#0072b2", "#009e73", "#b07d00")
"""Colours of groups' curves, in their order."""

BAR, HEIGHT = 160, 18
"""Size of a drawn interval, in points."""

WIDTH, TALL, GAP = 330, 90, 4
"""Size of a drawn series, in points."""


def page_of(record: ScreenRecord, changes: list[Change] | None, command: str) -> str:
    """Write the page.

    Parameters
    ----------
    changes : list of Change, optional
        What changed since a baseline; None without one.
    command : str
        The command that made it.
    """
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "number": lambda one: number_in_words(one.estimate, one.unit),
        "interval": interval_in_words,
        "limit": limit_in_words,
        "check": name_in_words,
        "bar": interval_picture,
    }
    here = Path(__file__).parent
    template = environment.from_string((here / "page.html").read_text(encoding="utf-8"))
    areas = [
        {
            "name": name,
            "title": title,
            "verdict": str(verdict),
            "seconds": record.seconds.get(name, 0.0),
            "scenarios": _scenarios(record, name),
        }
        for name, title, verdict in record.judged_areas()
    ]
    return template.render(record=record, areas=areas, changes=changes, command=command)


def _scenarios(record: ScreenRecord, area: str) -> list[dict[str, object]]:
    """Give the scenarios of an area with their findings and pictures."""
    found = record.of_area(area)
    names = list(dict.fromkeys((one.engine, one.scenario) for one in found))
    scenarios: list[dict[str, object]] = []
    for engine, name in names:
        findings = [one for one in found if (one.engine, one.scenario) == (engine, name)]
        series = [one for one in record.series if (one.engine, one.scenario) == (engine, name)]
        scenarios.append(
            {
                "name": name,
                "engine": engine,
                "title": findings[0].title,
                "findings": findings,
                "is_open": worst([one.verdict for one in findings]) in BAD,
                "pictures": [picture for one in series for picture in _pictures(one)],
            }
        )
    return scenarios


BAD = (Verdict.FAIL, Verdict.CAUTION)


def interval_picture(finding: Finding) -> Markup:
    """Draw the interval of a finding, and its threshold with the good side in grey."""
    known = [end for end in (finding.low, finding.high) if math.isfinite(end)]
    ends = [*known, finding.limit, 0.0]
    low, high = min(ends), max(ends)
    margin = 0.1 * ((high - low) or 1.0)
    low, high = low - margin, high + margin

    def place(value: float) -> float:
        return BAR * (value - low) / (high - low)

    limit, middle = place(finding.limit), HEIGHT / 2
    begin, width = (limit, BAR - limit) if finding.is_least else (0.0, limit)
    parts = [
        f'<rect x="{begin:.1f}" y="0" width="{width:.1f}" height="{HEIGHT}" fill="#e8eef4"/>',
        f'<path d="M{limit:.1f},0V{HEIGHT}" stroke="#444"/>',
    ]
    colour = COLOURS[finding.verdict]
    if len(known) == 2:
        line = f"M{place(known[0]):.1f},{middle}H{max(place(known[1]), place(known[0]) + 1):.1f}"
        parts.append(f'<path d="{line}" stroke="{colour}" stroke-width="3"/>')
    if math.isfinite(finding.estimate):
        x = place(min(max(finding.estimate, low), high))
        parts.append(f'<circle cx="{x:.1f}" cy="{middle}" r="3.5" fill="{colour}"/>')
    return Markup(
        f'<svg width="{BAR}" height="{HEIGHT}" viewBox="0 0 {BAR} {HEIGHT}" role="img" '
        f'aria-label="interval and threshold">{"".join(parts)}</svg>'
    )


def _pictures(series: Series) -> list[Markup]:
    """Draw goodput and queue of a scenario, with the control and with the standard."""
    sides = [(series.control_name, series.control)]
    if series.standard and series.against != series.control_name:
        sides.append((f"{series.against} in its place", series.standard))
    pictures = []
    for is_queue in (False, True):
        chosen = [
            (title, [one for one in curves if (one.name == "queue") is is_queue])
            for title, curves in sides
        ]
        top = max((value for _, each in chosen for one in each for value in one.values), default=0)
        what = f"queueing delay, up to {1000 * top:.3g} ms" if is_queue else ""
        what = what or f"goodput, up to {top / 1e6:.3g} Mbit/s"
        pictures += [_picture(f"{title}: {what}", each, top or 1.0) for title, each in chosen]
    return pictures


def _picture(title: str, curves: list[Curve], top: float) -> Markup:
    times = [time for one in curves for time in one.times_s]
    begin, end = min(times, default=0.0), max(times, default=1.0)
    lines, legend = [], []
    for curve, colour in zip(curves, LINES, strict=False):
        points = " ".join(
            f"{WIDTH * (time - begin) / ((end - begin) or 1):.1f},"
            f"{TALL - GAP - (TALL - 2 * GAP) * value / top:.1f}"
            for time, value in zip(curve.times_s, curve.values, strict=True)
        )
        lines.append(f'<polyline points="{points}" fill="none" stroke="{colour}"/>')
        legend.append(f'<span style="color:{colour}">{escape(curve.name)}</span>')
    return Markup(
        f"<figure><figcaption>{escape(title)}; {begin:.0f} to {end:.0f} s: {' '.join(legend)}"
        f'</figcaption><svg width="{WIDTH}" height="{TALL}" viewBox="0 0 {WIDTH} {TALL}" '
        f'role="img" aria-label="{escape(title)}">'
        f'<rect width="{WIDTH}" height="{TALL}" fill="none" stroke="#ccc"/>{"".join(lines)}</svg>'
        "</figure>"
    )

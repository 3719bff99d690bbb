"""Figures of a search: its front, and the importance of parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from fairwind.plots import Figure, inline, themed
from fairwind.tuning.scores import UNKNOWN

Document = Mapping[str, Any]
"""The content of ``tune.json``."""

KINDS = {
    "tried": "#c8c8c8",
    "dropped early": "#e6d3b3",
    "front, confirmed": "#164a88",
    "known mechanism": "#e0604a",
    "reference": "#222222",
}
"""What a point is, and its colour."""

SHAPES = ("circle", "cross", "circle", "square", "diamond")

SIZES = {"tried": 25, "dropped early": 25, "front, confirmed": 70, "known mechanism": 70}

WIDTH, HEIGHT = 620, 380
"""Of the picture of a front, in points."""

LABEL = (60, 14)
"""Room that a label takes at least, in points."""

MOST_TIMES_AS_FAR = 1.0
"""Settings that were tried further out than this, seen from the confirmed ones, are not drawn."""


def figures(document: Document) -> list[Figure]:
    """Make the figures of a search."""
    found = [front_figure(document, place) for place in range(1, len(document["objectives"]))]
    if document["importance"]:
        found.append(importance_figure(document))
    return found


def change(document: Document, place: int, cost: float) -> float:
    """Give the relative difference of an objective's measure to the reference, in per cent."""
    sign = -1 if document["objectives"][place]["direction"] == "maximise" else 1
    return 100 * sign * cost


def _title(document: Document, place: int) -> str:
    objective = document["objectives"][place]
    better = "more is better" if objective["direction"] == "maximise" else "less is better"
    over = "worst path" if objective["over"] == "worst" else "mean of paths"
    return f"{objective['measure']}, {over}: change / % ({better})"


def front_figure(document: Document, place: int) -> Figure:
    """Draw one objective against the first, with intervals of confirmed points."""
    rows = pl.DataFrame(_rows(document, place), infer_schema_length=None)
    kinds = [kind for kind in KINDS if kind in set(rows["kind"])]
    colours = alt.Scale(domain=kinds, range=[KINDS[kind] for kind in kinds])
    shapes = alt.Scale(domain=kinds, range=[SHAPES[list(KINDS).index(kind)] for kind in kinds])
    base = alt.Chart(inline(rows))
    x = alt.X("x:Q", title=_title(document, place), scale=alt.Scale(zero=False))
    y = alt.Y("y:Q", title=_title(document, 0), scale=alt.Scale(zero=False))
    colour = alt.Color("kind:N", scale=colours, title=None)
    tips = [alt.Tooltip(name) for name in ("name:N", "setting:N", "y:Q", "x:Q", "limits:N")]
    points = base.mark_point(filled=True, opacity=0.9).encode(
        x=x,
        y=y,
        color=colour,
        shape=alt.Shape("kind:N", scale=shapes, title=None),
        size=alt.Size("size:Q", scale=None),
        tooltip=tips,
        href=alt.condition("!!datum.href", alt.Href("href:N"), alt.value("")),
    )
    confirmed = base.transform_filter("isValid(datum.y_low) && isValid(datum.x_low)")
    upright = confirmed.mark_rule(opacity=0.5).encode(
        x="x:Q", y="y_low:Q", y2="y_high:Q", color=colour
    )
    level = confirmed.mark_rule(opacity=0.5).encode(
        y="y:Q", x="x_low:Q", x2="x_high:Q", color=colour
    )
    # Many rows are embedded as comma-separated values, where an empty text is null.
    labels = base.transform_filter("!!datum.label").mark_text(
        align="left", dx=7, dy=-7, fontSize=11
    )
    chart = (upright + level + points + labels.encode(x="x:Q", y="y:Q", text="label:N")).properties(
        width=WIDTH, height=HEIGHT
    )
    return Figure(
        name=f"front-{place}" if place > 1 else "front",
        title="Front of settings, and known mechanisms",
        caption=(
            "Changes against the reference. Large marks were run by themselves on seeds that the "
            "search has not seen; lines are 95 % intervals. Small marks are estimates of the "
            "search. A click on a large mark opens its scenario."
        ),
        chart=themed(chart),
    )


def _rows(document: Document, place: int) -> list[dict[str, Any]]:
    rows = (_confirmed_row(document, point, place) for point in document["points"])
    confirmed = [row for row in rows if row is not None]
    confirmed.append(_row("reference", "reference", "the reference", 0.0, 0.0, limits="passed"))
    names = {row["name"] for row in confirmed}
    tried = [
        _row(
            one["name"],
            "dropped early" if one["dropped"] else "tried",
            _words(one["setting"]),
            change(document, place, one["costs"][place]),
            change(document, 0, one["costs"][0]),
        )
        for one in document["candidates"]
        if one["name"] not in names and max(one["costs"]) < UNKNOWN
    ]
    found = [*(row for row in tried if _is_near(row, confirmed)), *confirmed]
    _drop_hidden_labels(found)
    return found


def _drop_hidden_labels(rows: Sequence[dict[str, Any]]) -> None:
    """Leave out labels upon others.

    Known mechanisms keep theirs before points of the front; what is as the reference comes last.
    """
    scales = {}
    for axis, size in (("x", WIDTH), ("y", HEIGHT)):
        values = [row[axis] for row in rows]
        scales[axis] = size / max(max(values) - min(values), 1e-9)
    kept: list[dict[str, Any]] = []
    ranks = {"known mechanism": 0, "front, confirmed": 1}
    for row in sorted(
        rows, key=lambda one: (not one["x"] and not one["y"], ranks.get(one["kind"], 2))
    ):
        if not row["label"]:
            continue
        apart = [[abs(row[axis] - one[axis]) * scales[axis] for axis in ("x", "y")] for one in kept]
        if any(x < LABEL[0] and y < LABEL[1] for x, y in apart):
            row["label"] = ""
        else:
            kept.append(row)


def _is_near(row: Mapping[str, Any], confirmed: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a point is so near the confirmed ones that it does not flatten them."""
    for axis in ("x", "y"):
        values = [one[axis] for one in confirmed]
        room = MOST_TIMES_AS_FAR * max(max(values) - min(values), 1.0)
        if not min(values) - room <= row[axis] <= max(values) + room:
            return False
    return True


def _row(name: str, kind: str, setting: str, x: float, y: float, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    label = name if kind in ("known mechanism", "front, confirmed") else ""
    nothing = dict.fromkeys(("x_low", "x_high", "y_low", "y_high"), None)
    row = {"name": name, "kind": kind, "setting": setting, "x": x, "y": y, "label": label}
    unconfirmed = {"limits": "not confirmed", "href": None}
    return row | nothing | {"size": SIZES.get(kind, 90)} | unconfirmed | more


def _confirmed_row(document: Document, point: Document, place: int) -> dict[str, Any] | None:
    costs = point["costs"]
    if max(costs[place]["cost"], costs[0]["cost"]) >= UNKNOWN:
        return None
    bounds = {
        f"{axis}_{end}": None if costs[at][end] is None else change(document, at, costs[at][end])
        for axis, at in (("x", place), ("y", 0))
        for end in ("low", "high")
    }
    return _row(
        point["name"],
        "known mechanism" if point["is_known"] else "front, confirmed",
        _words(point["setting"]) or point["name"],
        change(document, place, costs[place]["cost"]),
        change(document, 0, costs[0]["cost"]),
        **bounds,
        limits=point["limits"],
        href=point["scenario"],
    )


def _words(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{name.rsplit('.', 1)[-1]} {label}" for name, label in labels.items())


def importance_figure(document: Document) -> Figure:
    """Draw the share of each parameter, objective by objective."""
    rows = pl.DataFrame(
        [
            {"objective": objective, "parameter": name, "share": 100 * share}
            for objective, shares in document["importance"].items()
            for name, share in shares.items()
        ]
    )
    bars = alt.Chart(inline(rows)).mark_bar(color="#164a88")
    chart = bars.encode(
        x=alt.X("share:Q", title="importance / %", scale=alt.Scale(domain=[0, 100])),
        y=alt.Y("parameter:N", title=None, sort="-x", axis=alt.Axis(labelLimit=0)),
        tooltip=[alt.Tooltip("parameter:N"), alt.Tooltip("share:Q", format=".1f")],
    ).properties(width=260, height=alt.Step(24))
    return Figure(
        name="importance",
        title="Importance of parameters",
        caption=(
            "How much a parameter decides whether a setting is among the best tenth (PED-ANOVA), "
            "as a share of all parameters."
        ),
        chart=themed(chart.facet(facet=alt.Facet("objective:N", title=None), columns=2)),
    )

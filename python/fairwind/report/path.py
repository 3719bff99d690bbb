"""Picture of a run's path as SVG: routers from top to bottom, links, queues, and groups of flows.

It is 380 points wide, so that its letters have their size on a telephone. Lanes on the left are
groups of flows, from where they enter the routers to where they leave them; on the right stands
what each link is, in both directions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from fairwind.plots.theme import group_colours, wrapped
from fairwind.report.link_words import FREE, link_lines, workload_words
from fairwind.results.tidy import ANSWERED_KINDS
from fairwind.scenario.plan import Plan

WIDTH = 380
LINE = 16
"""Height of a line of text, in points."""

LANE = 14
"""Width of a group's lane."""

MOST_LANES = 10
"""Groups with a lane; the others are only counted."""

LETTERS = 6.4
"""Width of a letter of 12 points, at most."""

ROUTER_WIDTH, ROUTER_HEIGHT = 92, 24
MARGIN = 8


@dataclass(frozen=True)
class Lane:
    """One group of flows.

    Attributes
    ----------
    name, words, colour : str
        Of the legend and the lane.
    start, end : int
        Places of the routers where its data enters and leaves.
    is_answered : bool
        Whether data goes back, too.
    """

    name: str
    words: str
    colour: str
    start: int
    end: int
    is_answered: bool


def path_picture(plan: Plan) -> str:
    """Draw the path of an experiment as an SVG element; empty for captures, whose path is unknown.

    What differs between the cells of the grid is written as its values.
    """
    experiments = [cell.experiment for cell in plan.cells]
    network = experiments[0].get("network", {})
    if not network.get("nodes") or not network.get("links"):
        return ""
    routers = routers_in_order(network)
    lanes = _lanes(experiments, routers)
    lines = {
        (link["from"], link["to"]): link_lines(experiments, link["name"])
        for link in network["links"]
    }
    return _svg(routers, lanes, lines)


def routers_in_order(network: Mapping[str, Any]) -> list[str]:
    """Give the nodes that stand in the middle, neighbours next to each other where that goes.

    These are the routers; where hosts are linked directly, the hosts. The order is that of a walk
    along the links, from a router with one neighbour.
    """
    kinds = {node["name"]: node["kind"] for node in network["nodes"]}
    middle = [name for name, kind in kinds.items() if kind == "router"] or list(kinds)
    ways: dict[str, list[str]] = {name: [] for name in middle}
    for link in network["links"]:
        if link["from"] in ways and link["to"] in ways and link["to"] not in ways[link["from"]]:
            ways[link["from"]].append(link["to"])
    order: list[str] = []
    for first in sorted(middle, key=lambda name: len(ways[name]) > 1):
        pending = [first]
        while pending:
            name = pending.pop()
            if name not in order:
                order.append(name)
                pending.extend(reversed(ways[name]))
    return order


def _lanes(experiments: Sequence[Mapping[str, Any]], routers: Sequence[str]) -> list[Lane]:
    """Give a lane to each group of flows, with its routers of entry and exit."""
    network, flows = experiments[0]["network"], experiments[0]["flows"]
    known = [group for group in flows if "from" in group and "to" in group]
    scale = group_colours(group["name"] for group in known).to_dict()
    colours = dict(zip(scale["domain"], scale["range"], strict=True))
    return [
        Lane(
            group["name"],
            workload_words(experiments, group["name"]),
            colours[group["name"]],
            _place_beside(group["from"], network, routers),
            _place_beside(group["to"], network, routers),
            group["workload"]["kind"] in ANSWERED_KINDS,
        )
        for group in known
    ]


def _place_beside(host: str, network: Mapping[str, Any], routers: Sequence[str]) -> int:
    """Find the place of a host's router; its own if it stands in the middle itself."""
    if host in routers:
        return routers.index(host)
    nearest = (link["to"] for link in network["links"] if link["from"] == host)
    return next((routers.index(name) for name in nearest if name in routers), 0)


def _svg(
    routers: Sequence[str], lanes: Sequence[Lane], lines: Mapping[tuple[str, str], list[str]]
) -> str:
    drawn = lanes[:MOST_LANES]
    left = MARGIN + LANE * len(drawn) + (6 if drawn else 0)
    middle = left + ROUTER_WIDTH / 2
    text_at = middle + 34
    letters = int((WIDTH - text_at - MARGIN) / LETTERS)
    parts: list[str] = []
    places: list[float] = []
    y = float(MARGIN)
    for place, router in enumerate(routers):
        places.append(y + ROUTER_HEIGHT / 2)
        parts += _router(router, left, y)
        y += ROUTER_HEIGHT
        if place + 1 < len(routers):
            there = lines.get((router, routers[place + 1]))
            back = lines.get((routers[place + 1], router))
            drawing, y = _between(there, back, middle, text_at, letters, y)
            parts += drawing
    y += 12
    parts += _lanes_drawn(drawn, places)
    notes = [*_further(routers, lines), *_access(routers, lines)]
    legend, y = _legend(lanes, notes, y)
    style = 'font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="12" fill="#222"'
    return (
        f'<svg viewBox="0 0 {WIDTH} {y:.0f}" width="{WIDTH}" height="{y:.0f}" {style} '
        f'role="img" aria-label="Path of the experiment"><title>Path of the experiment</title>'
        f"{''.join([*parts, *legend])}</svg>"
    )


def _router(name: str, x: float, y: float) -> list[str]:
    short = name if len(name) * LETTERS < ROUTER_WIDTH - 8 else f"{name[:12]}…"
    return [
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{ROUTER_WIDTH}" height="{ROUTER_HEIGHT}" rx="4" '
        'fill="#eef2f6" stroke="#5b6b7b"/>',
        f'<text x="{x + ROUTER_WIDTH / 2:.0f}" y="{y + 16:.0f}" text-anchor="middle">'
        f"<title>{escape(name)}</title>{escape(short)}</text>",
    ]


def _between(
    there: Sequence[str] | None,
    back: Sequence[str] | None,
    middle: float,
    text_at: float,
    letters: int,
    y: float,
) -> tuple[list[str], float]:
    """Draw the links between two routers, and give where the next one begins."""
    if there is None and back is None:
        return [], y + LINE  # no neighbours: their links are written below
    rows: list[tuple[str, str]] = []
    for sign, words in (("↓", there), ("↑", back)):
        pieces = [piece for text in words or () for piece in wrapped(text, letters)]
        rows += [("" if number else sign, piece) for number, piece in enumerate(pieces)]
        if words:
            rows.append(("", ""))  # half a line between the directions
    height = LINE * sum(1 if text else 0.4 for _, text in rows) + 12
    end = y + height
    parts = []
    for shift, is_there, words in ((-8, True, there), (8, False, back)):
        if words is not None:
            first, last = (y, end) if is_there else (end, y)
            parts.append(_arrow(middle + shift, first, last, "#5b6b7b", 1.6))
    row_y = y + 16
    for sign, text in rows:
        if sign:
            parts.append(f'<text x="{text_at - 14:.0f}" y="{row_y:.0f}">{sign}</text>')
        weight = ' font-weight="600"' if sign else ""
        parts.append(f'<text x="{text_at:.0f}" y="{row_y:.0f}"{weight}>{escape(text)}</text>')
        row_y += LINE * (1 if text else 0.4)
    return parts, end


def _arrow(x: float, start: float, end: float, colour: str, width: float) -> str:
    """Draw a vertical arrow from one height to another."""
    head = -5 if end > start else 5
    return (
        f'<path d="M{x:.1f},{start:.1f}V{end:.1f}M{x - 3.5:.1f},{end + head:.1f}L{x:.1f},{end:.1f}'
        f'L{x + 3.5:.1f},{end + head:.1f}" fill="none" stroke="{colour}" stroke-width="{width}"/>'
    )


def _lanes_drawn(lanes: Sequence[Lane], places: Sequence[float]) -> Iterator[str]:
    for number, lane in enumerate(lanes):
        x = MARGIN + LANE * number + LANE / 2
        start, end = places[lane.start], places[lane.end]
        if start == end:
            start, end = start - 8, end + 8
        yield f"<g><title>{escape(lane.name)}: {escape(lane.words)}</title>"
        yield _arrow(x, start, end, lane.colour, 2.4)
        if lane.is_answered:
            yield _arrow(x, end, start, lane.colour, 2.4)
        yield "</g>"


def _legend(lanes: Sequence[Lane], notes: Sequence[str], y: float) -> tuple[list[str], float]:
    """Name the groups and write notes below the picture, and give its height."""
    parts = []
    letters = int((WIDTH - 3 * MARGIN - 14) / LETTERS)
    for lane in lanes[:MOST_LANES]:
        parts.append(
            f'<rect x="{MARGIN}" y="{y - 1:.0f}" width="10" height="10" fill="{lane.colour}"/>'
        )
        for text in wrapped(f"{lane.name}: {lane.words}", letters):
            parts.append(f'<text x="{MARGIN + 16}" y="{y + 9:.0f}">{escape(text)}</text>')
            y += LINE
    if len(lanes) > MOST_LANES:
        notes = [f"and {len(lanes) - MOST_LANES} further groups", *notes]
    for note in notes:
        for text in wrapped(note, letters):
            parts.append(f'<text x="{MARGIN}" y="{y + 9:.0f}" fill="#555">{escape(text)}</text>')
            y += LINE
    return parts, y + MARGIN


def _further(routers: Sequence[str], lines: Mapping[tuple[str, str], list[str]]) -> Iterator[str]:
    """Write links between routers that do not stand next to each other."""
    for (start, end), words in lines.items():
        are_routers = start in routers and end in routers
        if are_routers and abs(routers.index(start) - routers.index(end)) != 1:
            yield f"{start} → {end}: {'; '.join(words)}"


MOST_ACCESS = 6
"""Access links that are written; more than these are counted."""


def _access(routers: Sequence[str], lines: Mapping[tuple[str, str], list[str]]) -> list[str]:
    """Write the links between hosts and routers that have a rate, a delay or losses.

    Both directions share a line where they are alike.
    """
    found: list[str] = []
    for (start, end), words in lines.items():
        if (start in routers) == (end in routers) or words == [FREE]:
            continue
        if lines.get((end, start)) == words and start in routers:
            continue
        arrow = "↔" if lines.get((end, start)) == words else "→"
        found.append(f"{start} {arrow} {end}: {'; '.join(words)}")
    if len(found) > MOST_ACCESS:
        return [*found[:MOST_ACCESS], f"and {len(found) - MOST_ACCESS} further access links"]
    return found

"""The page of a search, made from its folder alone."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairwind.folder.store import write_file
from fairwind.plots import unvalidated
from fairwind.quantities import percent, percent_interval
from fairwind.report.frame import framed_page
from fairwind.results import Claim
from fairwind.tuning.charts import figures
from fairwind.tuning.kernel_lines import kernel_settings
from fairwind.tuning.outcome import REFERENCE, read_outcome
from fairwind.tuning.scores import UNKNOWN

PAGE = "tune.html"

MOST_CANDIDATES = 300
"""Settings that were tried, on the page; all are in ``tune.json``."""

Document = Mapping[str, Any]


def write_page(folder: Path, claims: Sequence[Claim] = ()) -> Path:
    """Write the page of a finished search into its folder.

    Parameters
    ----------
    claims : sequence of Claim
        What a study judges by it.

    Raises
    ------
    FairwindError
        If the folder holds no finished search.
    """
    document = read_outcome(folder)
    with unvalidated():
        drawn = figures(document)
    head = json.loads((folder / "tuning.json").read_text(encoding="utf-8"))
    text = framed_page(
        "fairwind.tuning",
        drawn,
        title=document["name"],
        description=document["description"],
        version=head["versions"].get("fairwind", ""),
        tune=document,
        head=head,
        figures=drawn,
        sentences=sentences(document),
        claims=claims,
        points=[point_row(document, one) for one in document["points"]],
        advice=[advice_row(document, one) for one in document["advice"]],
        kernel=kernel_rows(document),
        candidates=[
            candidate_row(document, one) for one in document["candidates"][:MOST_CANDIDATES]
        ],
        most=MOST_CANDIDATES,
        folder=str(folder),
    )
    page = folder / PAGE
    write_file(page, text.encode())
    return page


def change_in_words(document: Document, place: int, cost: Document) -> str:
    """Write the change of an objective's measure with its interval: ``-12 % [-15, -9]``."""
    if cost["cost"] >= UNKNOWN:
        return "unknown"
    sign = -1 if document["objectives"][place]["direction"] == "maximise" else 1
    ends = [None if cost[end] is None else sign * cost[end] for end in ("low", "high")]
    low, high = ends if sign > 0 else ends[::-1]
    interval = percent_interval(low, high)
    return f"{percent(sign * cost['cost'])} %" + (f" {interval}" if interval else "")


def sentences(document: Document) -> list[str]:
    """Give the answer in words: what is recommended, what it brings, how sure it is."""
    if document["nearest"] is not None:
        return [nearest_in_words(document)]
    overall, *by_path = document["advice"]
    found = [_advice_in_words(document, overall)]
    if open_points := undecided_points(document, overall):
        found.append(
            f"Whether {', '.join(open_points)} keep the limits is undecided, and they would be "
            "better: more seeds under [confirm] decide."
        )
    names = {one["name"] for one in by_path}
    if len(names) == 1 and names == {overall["name"]}:
        if len(by_path) > 1:
            found.append("The same setting is the best one on every path.")
    elif len(by_path) > 1:
        apart = [one for one in by_path if one["name"] != overall["name"]]
        found.append(
            f"On {len(apart)} of {len(by_path)} paths another setting is better than this one: "
            + "; ".join(f"{one['path']}: {one['name']}" for one in apart)
            + "."
        )
    dominated = [
        one["name"]
        for one in document["points"]
        if one["is_known"] and one["name"] not in document["confirmed_front"]
    ]
    if dominated:
        found.append(
            f"Of the known settings {', '.join(dominated)} are dominated by another point, or "
            "surely exceed a limit."
        )
    return found


def undecided_points(document: Document, advice: Document) -> list[str]:
    """Give points that are better than the recommended one if they keep the limits."""
    least = math.fsum(one["cost"] for one in advice["costs"])
    return [
        one["name"]
        for one in document["points"]
        if one["limits"] == "undecided" and math.fsum(it["cost"] for it in one["costs"]) < least
    ]


def nearest_in_words(document: Document) -> str:
    """Write that no setting keeps the limits, and which comes nearest."""
    nearest = document["nearest"]
    worst = max(nearest["excesses"])
    place = nearest["excesses"].index(worst)
    limits = document["limits"]
    limit = limits[place] if place < len(limits) else "what can be measured"
    where = nearest["worst_paths"][place] if nearest["worst_paths"] else "a path"
    settings = ", ".join(f"{name} = {label}" for name, label in nearest["setting"].items())
    return (
        f"None of {len(document['candidates'])} settings keeps all limits. The nearest is "
        f"{nearest['name']} ({settings}): it misses {limit!r} by {100 * worst:.1f} percentage "
        f"points on the path {where}."
    )


def _advice_in_words(document: Document, advice: Document) -> str:
    if advice["name"] == REFERENCE:
        return "Keep the reference: no point that surely keeps all limits is better over all paths."
    point = next(one for one in document["points"] if one["name"] == advice["name"])
    setting = ", ".join(f"{name} = {label}" for name, label in point["setting"].items())
    changes = "; ".join(
        f"{objective['measure']} {change_in_words(document, place, advice['costs'][place])}"
        for place, objective in enumerate(document["objectives"])
    )
    kept = " It surely keeps all limits on every path." if document["limits"] else ""
    return f"Over all paths: {advice['name']}{f' ({setting})' if setting else ''}. {changes}.{kept}"


def point_row(document: Document, point: Document) -> dict[str, Any]:
    """Give a confirmed point as the page shows it."""
    return {
        "name": point["name"],
        "kind": "known" if point["is_known"] else "found",
        "setting": [point["setting"].get(name, "-") for name in document["parameters"]],
        "changes": [
            change_in_words(document, place, cost) for place, cost in enumerate(point["costs"])
        ],
        "limits": point["limits"] if document["limits"] else "-",
        "is_front": point["name"] in document["confirmed_front"],
        "scenario": point["scenario"],
        "judgements": point["judgements"],
        "by_path": [
            [
                path,
                *(change_in_words(document, at, cost) for at, cost in enumerate(found["costs"])),
                found["limits"] if document["limits"] else "-",
            ]
            for path, found in point["by_path"].items()
        ],
    }


def advice_row(document: Document, advice: Document) -> list[str]:
    """Give the recommended point of a path as a row."""
    changes = [change_in_words(document, at, cost) for at, cost in enumerate(advice["costs"])]
    return [advice["path"] or "all", advice["name"], *changes, advice["runner_up"] or "-"]


def kernel_rows(document: Document) -> list[dict[str, Any]]:
    """Give the points of the front as lines for a kernel, and what their runs there showed."""
    confirmed = document.get("on_kernel") or {}
    found = []
    for point in document["points"]:
        if point["name"] not in document["confirmed_front"]:
            continue
        told = kernel_settings(point["keys"], document["base"])
        there = confirmed.get("points", {}).get(point["name"])
        changes: Sequence[str] = (
            [change_in_words(document, at, cost) for at, cost in enumerate(there)] if there else []
        )
        found.append(
            {
                "name": point["name"],
                "lines": told.lines,
                "untold": told.untold,
                "changes": changes,
                "refused": confirmed.get("refused", {}).get(point["name"], ""),
            }
        )
    return found


def candidate_row(document: Document, candidate: Document) -> list[Any]:
    """Give a setting that was tried as a row."""
    signs = [-1 if one["direction"] == "maximise" else 1 for one in document["objectives"]]
    costs = [
        "unknown" if cost >= UNKNOWN else percent(sign * cost)
        for sign, cost in zip(signs, candidate["costs"], strict=True)
    ]
    labels = [candidate["setting"].get(name, "-") for name in document["parameters"]]
    return [candidate["name"], *labels, *costs, candidate["dropped"].splitlines()[0][:80]
            if candidate["dropped"] else "complete"]  # fmt: skip

"""Claims about the confirmed points of a search: dominated or not, one setting or several."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from fairwind.compare import Comparison
from fairwind.quantities import percent, significant
from fairwind.results import Claim, Question, Results, StudyAnswer, Verdict, open_results
from fairwind.statistics import holm
from fairwind.tuning.outcome import REFERENCE, read_outcome
from fairwind.tuning.page import change_in_words

LATENCY = "delivery_latency_p99_s"

Point = Mapping[str, Any]


@dataclass(frozen=True)
class Found:
    """What a search found, with the runs of its points."""

    folder: Path

    @cached_property
    def document(self) -> dict[str, Any]:
        """The content of ``tune.json``."""
        return read_outcome(self.folder)

    @property
    def points(self) -> list[Point]:
        """Confirmed points."""
        found: list[Point] = self.document["points"]
        return found

    def point(self, name: str) -> Point:
        """Give a confirmed point."""
        return next(one for one in self.points if one["name"] == name)

    def results(self, name: str) -> Results:
        """Open the run of a point, or of the reference."""
        scenario = self.point(name)["scenario"] if name != REFERENCE else f"points/{name}.toml"
        return open_results((self.folder / scenario).with_suffix(""))

    def changes(self, point: Point) -> str:
        """Write the changes of a point against the reference."""
        objectives = self.document["objectives"]
        return "; ".join(
            f"{one['measure']} {change_in_words(self.document, place, point['costs'][place])}"
            for place, one in enumerate(objectives)
        )

    def details(self) -> pl.DataFrame:
        """Give all points as a table: costs with their intervals, limits, whether on the front."""
        rows = [
            {"point": one["name"], "limits": one["limits"], "is_front": self.is_front(one)}
            | {
                f"{objective['measure']} {end}": one["costs"][place][end]
                for place, objective in enumerate(self.document["objectives"])
                for end in ("cost", "low", "high")
            }
            for one in self.points
        ]
        return pl.DataFrame(rows)

    def is_front(self, point: Point) -> bool:
        """Return whether no other point dominates this one."""
        return point["name"] in self.document["confirmed_front"]


def sign_of(estimate: Mapping[str, float | None]) -> int:
    """Give -1 or 1 where the whole interval of a cost is below or above zero, else 0."""
    low, high = estimate["low"], estimate["high"]
    return 0 if low is None or high is None else (low > 0) - (high < 0)


def is_lower(estimate: Mapping[str, float | None]) -> bool:
    """Return whether the whole interval of a cost is below zero."""
    return sign_of(estimate) < 0


@Question(
    statement="A more aggressive recovery of thin streams shortens their slowest hundredth and "
    "harms nobody.",
    rule="Confirmed points on unseen seeds. Holds: one that surely keeps all limits on every "
    "path lowers the first objective over all paths, its 95 % interval below zero; for some: one "
    "that no path surely forbids; otherwise it fails.",
)
def pays_without_harm(found: Found) -> StudyAnswer:
    """Judge whether thin streams gain within the limits."""
    return _gains_within_limits(found)


def _gains_within_limits(found: Found) -> StudyAnswer:
    lower = [one for one in found.points if is_lower(one["costs"][0])]
    sure = [one for one in lower if one["limits"] == "passed"]
    open_ones = [one for one in lower if one["limits"] == "undecided"]
    best = min(sure or open_ones or found.points, key=lambda one: one["costs"][0]["cost"])
    front = [one for one in found.points if found.is_front(one)]
    words = "; ".join(f"{one['name']} ({found.changes(one)})" for one in front)
    return StudyAnswer(
        Verdict.of(whole=bool(sure), part=bool(open_ones)),
        evidence=f"{_named(best)}: {found.changes(best)}; limits {best['limits']}. "
        f"Not dominated: {words}.",
        details=found.details(),
        in_short="Its limits are undecided on some path.",
    )


@Question(
    statement="Linear time-outs, six of them, are not dominated.",
    rule="Confirmed points. Holds: no other point dominates LT, and it lowers the first "
    "objective, its 95 % interval below zero; for some: not dominated, but not surely lower; "
    "fails: dominated, or beyond a limit.",
)
def linear_timeouts_stand(found: Found) -> StudyAnswer:
    """Judge where LT stands."""
    point = found.point("LT")
    is_front, is_better = found.is_front(point), is_lower(point["costs"][0])
    costs = [one["cost"] for one in point["costs"]]
    better = [
        one["name"]
        for one in found.points
        if all(it["cost"] <= own for it, own in zip(one["costs"], costs, strict=True))
        and one["name"] != "LT"
    ]
    words = f" As good or better in all objectives: {', '.join(better)}." if better else ""
    return StudyAnswer(
        Verdict.of(whole=is_front and is_better, part=is_front),
        evidence=f"LT: {found.changes(point)}; limits {point['limits']}.{words}",
        details=found.details(),
        in_short="Nothing dominates it, but its own change is not distinguishable from none.",
    )


@Question(
    statement="One setting serves all paths.",
    rule="First objective of the best setting over all paths that no path surely forbids, against "
    "every point that keeps the limits on a path, there: differences paired by seed, "
    "Holm-corrected over all pairs. Holds: none is surely better on any path; otherwise it fails.",
)
def one_setting_serves_all(found: Found) -> StudyAnswer:
    """Judge whether another setting is surely better on some path."""
    kept = [one for one in found.points if one["limits"] != "failed"]
    if not kept:
        evidence = "Every point surely exceeds a limit on some path."
        return StudyAnswer(Verdict.UNDECIDED, evidence, found.details())
    chosen = min(kept, key=lambda one: one["costs"][0]["cost"])
    rows = [
        {"path": path, "point": other["name"], "difference": relative, "p": p}
        for other in found.points
        if other is not chosen
        for path, (relative, p) in _differences(found, chosen, other).items()
        if other["by_path"][path]["limits"] != "failed" and not math.isnan(p)
    ]
    details = pl.DataFrame(rows, schema=["path", "point", "difference", "p"]).with_columns(
        pl.Series("holm_p", holm([one["p"] for one in rows])),
    )
    surely = details.filter((pl.col("holm_p") < 0.05) & (pl.col("difference") < 0))
    best = surely.sort("difference").unique("path", keep="first", maintain_order=True)
    words = "; ".join(
        f"{row['path']}: {row['point']} {percent(row['difference'])} %"
        for row in best.iter_rows(named=True)
    )
    loss = _loss(found)
    where = ", ".join(f"{path} {_rate(ratio)}" for path, ratio in loss.items())
    return StudyAnswer(
        Verdict.of(whole=best.is_empty()),
        evidence=f"{_named(chosen)} is the best over all paths. Surely better on single paths: "
        f"{words or 'none'}. Loss of thin streams without it: {where}.",
        details=details,
    )


@Question(
    statement="Linear time-outs pay where the loss rate is high, and only there.",
    rule="Change of the first objective by LT on each path, 95 % intervals, and the packet loss "
    "of the reference there. Holds: every path on which LT surely gains has more loss than "
    "every other; for some: LT gains somewhere, but loss does not divide the paths; fails: it "
    "gains nowhere.",
)
def linear_timeouts_follow_loss(found: Found) -> StudyAnswer:
    """Judge whether a loss rate divides the paths on which LT gains from the others."""
    by_path, loss = found.point("LT")["by_path"], _loss(found)
    gains = {path for path, one in by_path.items() if is_lower(one["costs"][0])}
    least = min((loss[path] for path in gains), default=math.inf)
    most = max((loss[path] for path in by_path if path not in gains), default=-math.inf)
    is_divided = bool(gains) and least > most
    words = "; ".join(
        f"{path} (loss {_rate(loss[path])}) {change_in_words(found.document, 0, one['costs'][0])}"
        for path, one in sorted(by_path.items(), key=lambda it: loss[it[0]])
    )
    bound = f" The bound lies between {_rate(most)} and {_rate(least)}." if is_divided else ""
    return StudyAnswer(
        Verdict.of(whole=is_divided, part=bool(gains)),
        evidence=f"{words}.{bound}",
        details=pl.DataFrame(
            [{"path": path, "loss": loss[path]} | one["costs"][0] for path, one in by_path.items()]
        ),
        in_short="It gains on some paths, which their loss does not divide from the others.",
    )


@Question(
    statement="The setting that is best in the first objective exceeds a limit of harm.",
    rule="Confirmed points over all paths. Holds: the best point in the first objective surely "
    "fails a limit on some path; for some: it is undecided there; fails: it keeps all limits.",
)
def limits_decide(found: Found) -> StudyAnswer:
    """Judge whether the limits decide, and at which price."""
    ranked = sorted(found.points, key=lambda one: one["costs"][0]["cost"])
    best = ranked[0]
    sure = next((one for one in ranked if one["limits"] == "passed"), None)
    missed = [
        f"{one['path']}: {one['limit']} ({one['evidence']})"
        for one in best["judgements"]
        if one["outcome"] != "passed"
    ]
    kept = f"{_named(sure)}, {found.changes(sure)}" if sure else "none"
    return StudyAnswer(
        Verdict.of(whole=best["limits"] == "failed", part=best["limits"] == "undecided"),
        evidence=f"{_named(best)}: {found.changes(best)}; limits {best['limits']}"
        + (f" ({'; '.join(missed)})" if missed else "")
        + f". The best that surely keeps all: {kept}.",
        details=found.details(),
        in_short="Whether the best setting keeps them is undecided.",
    )


@Question(
    statement="Greedy streams gain goodput by a more aggressive recovery that does not harm thin "
    "ones.",
    rule="Confirmed points on unseen seeds. Holds: one that surely keeps all limits on every "
    "path raises the goodput of greedy streams over all paths, its 95 % interval above zero; for "
    "some: one that no path surely forbids; otherwise it fails.",
)
def greedy_streams_may(found: Found) -> StudyAnswer:
    """Judge the question in reverse."""
    return _gains_within_limits(found)


@Question(
    statement="A kernel in virtual time confirms what the simulator finds, as far as it can be "
    "told.",
    rule="First objective over all paths, points that the kernel supports. Holds: its change "
    "has the sign of the simulator's for each point with an interval that excludes none there, "
    "and its interval excludes none as well; for some: in some; fails: the kernel surely has the "
    "other sign for one.",
)
def kernel_confirms(found: Found) -> StudyAnswer | None:
    """Judge the runs on a kernel against those of the simulator."""
    there = found.document["on_kernel"]
    if there is None:
        return None
    rows = [
        {"point": name, "simulator": here, "kernel": sign_of(costs[0])}
        for name, costs in there["points"].items()
        if (here := sign_of(found.point(name)["costs"][0]))
    ]
    agree = sum(row["simulator"] == row["kernel"] for row in rows)
    refused = ", ".join(there["refused"]) or "none"
    words = "; ".join(
        f"{name}: {change_in_words(found.document, 0, found.point(name)['costs'][0])}, "
        f"kernel {change_in_words(found.document, 0, costs[0])}"
        for name, costs in there["points"].items()
    )
    return StudyAnswer(
        Verdict.of(
            whole=bool(rows) and agree == len(rows),
            part=agree,
            refuted=any(row["simulator"] == -row["kernel"] for row in rows),
        ),
        evidence=f"Linux {there['engine']}. {words}. Not supported: {refused}.",
        details=pl.DataFrame(rows),
        in_short=f"{agree} of {len(rows)} points.",
    )


def claims(folder: Path) -> list[Claim]:
    """Judge what a search of the recovery of thin streams has found."""
    found = Found(folder)
    return [
        pays_without_harm(found),
        linear_timeouts_stand(found),
        one_setting_serves_all(found),
        linear_timeouts_follow_loss(found),
        limits_decide(found),
    ]


def claims_in_reverse(folder: Path) -> list[Claim]:
    """Judge what a search of the recovery of greedy streams has found."""
    found = Found(folder)
    return [greedy_streams_may(found), limits_decide(found)]


def claims_with_kernel(folder: Path) -> list[Claim]:
    """Judge what a search with the TCP of a kernel has found, and what the kernel says."""
    found = Found(folder)
    return [pays_without_harm(found), linear_timeouts_stand(found), kernel_confirms(found)]


def _named(point: Point) -> str:
    settings = ", ".join(
        f"{name.rsplit('.', 1)[-1]} {label}" for name, label in point["setting"].items()
    )
    return f"{point['name']} ({settings})" if settings else str(point["name"])


def _differences(found: Found, chosen: Point, other: Point) -> dict[str, tuple[float, float]]:
    """Give the relative difference of another point to the chosen one on each path, with its p."""
    first, second = (found.results(one["name"]) for one in (chosen, other))
    group = found.document["objectives"][0]["measure"].partition(".")[0]
    return {
        str(labels["on_path"]): (one.relative(one.test.estimate), one.test.p_value)
        for labels, one in Comparison(first, second).contrasts([LATENCY])
        if labels["name"] == group
    }


def _loss(found: Found) -> dict[str, float]:
    """Give the packet loss of unmodified thin streams with the reference, by path."""
    groups = found.results(REFERENCE).groups.filter(pl.col("group") == "thin")
    means = groups.group_by("on_path", maintain_order=True).agg(pl.col("packet_loss_ratio").mean())
    return {str(path): ratio for path, ratio in means.iter_rows()}


def _rate(ratio: float) -> str:
    """Write a loss rate, which has no sign."""
    return f"{significant(100 * ratio, 2)} %"

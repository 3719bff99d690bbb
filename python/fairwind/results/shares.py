"""Shares of a bottleneck: what groups of greedy flows get of it, against equal shares of flows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from fairwind.preview.network import Network, bottleneck_of
from fairwind.quantities import parse_seconds
from fairwind.results.answer import Share
from fairwind.results.results import Results
from fairwind.results.tidy import is_of_a_volume
from fairwind.statistics import Difference, EffectVerdict, decide, jain_index, paired_difference

GOODPUT = "goodput_bits_per_second"

LATEST_START = 0.05
"""Flows that begin later than after this part of the measured time are not compared."""


def shares_of(
    results: Results, contexts: Mapping[int, str], margin: float, alpha: float
) -> tuple[Share, ...]:
    """Give the shares of greedy groups that compete behind one bottleneck, cell by cell.

    Groups count that send without end, from the beginning of the measured time to its end. Of two
    groups the first one is given, since the other has the rest.

    Parameters
    ----------
    contexts : mapping of int to str
        The values of the axes of each cell.
    margin : float
        The largest difference from an equal share that counts as none, relative to it.
    alpha : float
        Probability of any false verdict.
    """
    found = [
        (replace(share, context=contexts[cell.index], link=link), test)
        for cell in results.manifest.plan.cells
        for warm_up_s in [parse_seconds(cell.experiment.get("measure", {}).get("warmup", "0 s"))]
        for link, names in _competitors(cell.experiment).items()
        for share, test in _of_one_link(results, cell.index, warm_up_s, names)
    ]
    margins = [(-margin * share.equal, margin * share.equal) for share, _ in found]
    decisions = decide([test for _, test in found], margins, alpha)
    return tuple(
        replace(
            share,
            verdict=one.verdict,
            low=None if math.isnan(one.low) else max(share.equal + one.low, 0.0),
            high=None if math.isnan(one.high) else min(share.equal + one.high, 1.0),
        )
        for (share, _), one in zip(found, decisions, strict=True)
    )


def _of_one_link(
    results: Results, cell: int, warm_up_s: float, names: Sequence[str]
) -> Iterator[tuple[Share, Difference]]:
    """Give undecided shares, each with the test of its difference from an equal share."""
    flows = results.flows.filter(pl.col("cell") == cell, pl.col("group").is_in(names))
    latest = warm_up_s + LATEST_START * pl.col("measured_s")
    if flows.is_empty() or flows.select((pl.col("start_s") > latest).any()).item():
        return
    # Without goodput there is nothing to share.
    flows = flows.filter(pl.col(GOODPUT).sum().over("replicate") > 0).sort("replicate")
    if flows.is_empty():
        return
    replicates = flows.partition_by("replicate")
    jain = float(np.mean([jain_index(one[GOODPUT].to_numpy()) for one in replicates]))
    counts = {name: flows.filter(group=name).height / len(replicates) for name in names}
    for name in names if len(names) > 2 else names[:1]:
        of_group = pl.col(GOODPUT).filter(pl.col("group") == name).sum() / pl.col(GOODPUT).sum()
        own = flows.group_by("replicate", maintain_order=True).agg(of_group)[GOODPUT].to_numpy()
        equal = counts[name] / sum(counts.values())
        test = paired_difference([equal] * len(own), own)
        others = tuple(one for one in names if one != name)
        undecided = (None, None, EffectVerdict.UNDECIDED)
        yield Share("", "", name, others, test.mean_b, equal, *undecided, jain, len(own)), test


def _competitors(experiment: Mapping[str, Any]) -> dict[str, list[str]]:
    """Give the groups that send without end over the same bottleneck, by its name; two or more."""
    if len(_endless(experiment)) < 2:
        return {}
    return {link: names for link, names in fillers_of(experiment).items() if len(names) > 1}


def fillers_of(experiment: Mapping[str, Any]) -> dict[str, list[str]]:
    """Give the groups that send without end, by the name of their bottleneck.

    Parameters
    ----------
    experiment : mapping
        A resolved experiment of a plan's cell.
    """
    groups = _endless(experiment)
    if not groups or "network" not in experiment:
        return {}
    network = Network.of(experiment["network"])
    found: dict[str, list[str]] = {}
    for group in groups:
        link = bottleneck_of(network.route(group["from"], group["to"]))
        if link is not None:
            found.setdefault(link.name, []).append(group["name"])
    return found


def _endless(experiment: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Give the groups that send without end."""
    return [
        group
        for group in experiment.get("flows", ())
        if group.get("workload", {}).get("kind") == "greedy"
        and not is_of_a_volume(group["workload"])
        and "stop" not in group
    ]

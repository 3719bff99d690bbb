"""Tables of the page on what of the search's answer gains.

    fairwind run ablation.toml --out DIR
    python -m fairwind_studies.right_aggressiveness.ablation DIR

First the 99th percentile of the delivery latency of `modified`, by path; then what the other thin
streams have of each variant, by the rule of all studies.
"""

from __future__ import annotations

import sys

import numpy as np
import polars as pl

import fairwind
from fairwind.results import Results
from fairwind.statistics import mean_interval
from fairwind.studies.comparisons import differences
from fairwind.studies.effects import (
    DELIVERY_LATENCIES,
    EFFECT,
    GOODPUT,
    LOSS,
    Effect,
    with_effects,
    without_harm,
)
from fairwind.studies.panels import REFERENCE, VARIANT

PLACE = "place"

UNSEEN = ("reordered", "jittery", "overtaken", "spikes", "answered")
"""Paths beyond those of the search and its confirmation, which the mean over paths leaves out."""

SLOWEST = "delivery_latency_p99_s"

OF_OTHERS = DELIVERY_LATENCIES | GOODPUT | LOSS
"""What the other thin streams may not lose."""


def main(folder: str) -> None:
    """Print both tables."""
    results = fairwind.open(folder)
    print("\n".join([*gains(results), "", *harms(results)]))


def variants(results: Results) -> list[str]:
    """Give the variants but for the reference, in the order of the scenario."""
    names: list[str] = results.groups[VARIANT].unique(maintain_order=True).to_list()
    return [name for name in names if name != REFERENCE]


def gains(results: Results) -> list[str]:
    """Write what each variant changes for its own streams: over the paths, and on each."""
    chosen = variants(results)
    found = differences(results, "modified", [SLOWEST], chosen, [PLACE])
    places = found[PLACE].unique(maintain_order=True).to_list()
    lines = [f"| variant | mean | {' | '.join(places)} |", f"|---|{'---:|' * (1 + len(places))}"]
    for variant in chosen:
        own = {row[PLACE]: row for row in found.filter(pl.col(VARIANT) == variant).to_dicts()}
        cells = [f"{100 * own[place]['relative_ratio']:+.0f}" for place in places]
        lines.append(f"| {variant} | {over_paths(results, variant)} | {' | '.join(cells)} |")
    return lines


def over_paths(results: Results, variant: str) -> str:
    """Write the mean change over the paths of the search and its confirmation, seed by seed.

    As in the search, each path counts in units of the reference's mean over its seeds.
    """
    own = results.groups.filter(pl.col("group") == "modified").filter(~pl.col(PLACE).is_in(UNSEEN))
    wide = own.pivot(VARIANT, index=[PLACE, "seed"], values=SLOWEST, aggregate_function="first")
    unit = pl.col(REFERENCE).mean().over(PLACE)
    changes = wide.with_columns(((pl.col(variant) - pl.col(REFERENCE)) / unit).alias("change"))
    by_seed = changes.group_by("seed", maintain_order=True).agg(pl.col("change").mean())
    mean = mean_interval(100 * by_seed["change"].to_numpy().astype(np.float64))
    return f"{mean.estimate:+.1f} [{mean.low:+.1f}, {mean.high:+.1f}]"


def harms(results: Results) -> list[str]:
    """Write in how many places the other thin streams are harmed, and what harms them most."""
    chosen = variants(results)
    lines = [
        "| variant | harm excluded | harmed | undecided | where, and how much |",
        "|---|---:|---:|---:|---|",
    ]
    found = with_effects(differences(results, "thin", list(OF_OTHERS), chosen, [PLACE]))
    for variant in chosen:
        own = found.filter(pl.col(VARIANT) == variant)
        judged = without_harm(own, [PLACE])
        excluded, harmed = (judged.filter(side).height for side in ("holds", "fails"))
        undecided = judged.height - excluded - harmed
        worst = own.filter(pl.col(EFFECT) == Effect.HARM)
        where = "; ".join(_harm_in_words(row) for row in worst.iter_rows(named=True))
        lines.append(f"| {variant} | {excluded} | {harmed} | {undecided} | {where or '-'} |")
    return lines


def _harm_in_words(row: dict[str, float | str]) -> str:
    change, low, high = (
        100 * float(row[f"relative_{name}ratio"]) for name in ("", "low_", "high_")
    )
    return f"{row[PLACE]}, {OF_OTHERS[str(row['measure'])]} {change:+.1f} [{low:+.1f}, {high:+.1f}]"


if __name__ == "__main__":
    main(*sys.argv[1:2])

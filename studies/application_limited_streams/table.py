"""Markdown table of the results of a run of this study.

    python -m fairwind_studies.application_limited_streams.table DIR

It is how the table in README.md is made.
"""

import sys

import polars as pl

import fairwind

from .study import share_ratios

COLUMNS = (
    "N",
    "variant",
    "greedy / kbit/s",
    "thin / kbit/s",
    "thin / fair share",
    "thin ACK p50 / s",
    "thin ACK p99 / s",
    "established / %",
)


def main(folder: str) -> None:
    """Print one line per panel and variant."""
    results = fairwind.open(folder)
    keys = ["flows_count", "variant"]
    shares = share_ratios(results)
    groups = results.groups.group_by([*keys, "group"]).agg(
        pl.col("throughput_bits_per_second", "ack_latency_p50_s", "ack_latency_p99_s").mean()
    )
    thin = groups.filter(pl.col("group") == "thin")
    greedy = groups.filter(pl.col("group") == "greedy").select(
        *keys, greedy_bits_per_second="throughput_bits_per_second"
    )
    established = results.flows.group_by(keys).agg(pl.col("established").mean())
    rows = shares.join(thin, on=keys).join(greedy, on=keys).join(established, on=keys)

    print("|", " | ".join(COLUMNS), "|")
    print("|---:|---|---:|---:|---|---:|---:|---:|")
    for row in rows.sort("flows_count", maintain_order=True).iter_rows(named=True):
        cells = [
            str(row["flows_count"]),
            row["variant"],
            f"{row['greedy_bits_per_second'] / 1000:.1f}",
            f"{row['throughput_bits_per_second'] / 1000:.4g}",
            f"{row['ratio']:.3f} [{row['low_ratio']:.3f}, {row['high_ratio']:.3f}]",
            f"{row['ack_latency_p50_s']:.3f}",
            f"{row['ack_latency_p99_s']:.3g}",
            f"{100 * row['established']:.1f}",
        ]
        print("|", " | ".join(cells), "|")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Print measures of a run as a Markdown table: `python table.py DIR MEASURE [MEASURE ...]`.

One line per cell and group, means over seeds with their 95 % intervals; `fairwind columns` lists
the measures. The tables in the studies' pages are made with it.
"""

import sys

import fairwind
from fairwind.results import summarise


def main(folder: str, *measures: str) -> None:
    """Print one line per cell and group."""
    results = fairwind.open(folder)
    estimates = summarise(results, measures)
    names = list(estimates.keys)
    print("|", " | ".join([*names, *measures]), "|")
    print("|", " | ".join(["---"] * len(names) + ["---:"] * len(measures)), "|")
    for key, part in estimates.frame.group_by(names, maintain_order=True):
        values = {row["measure"]: _cell(row) for row in part.iter_rows(named=True)}
        print("|", " | ".join([*map(str, key), *(values[measure] for measure in measures)]), "|")


def _cell(row: dict[str, float | None]) -> str:
    if row["low"] is None or row["high"] is None:
        return f"{row['mean']:.4g}"
    return f"{row['mean']:.4g} [{row['low']:.4g}, {row['high']:.4g}]"


if __name__ == "__main__":
    main(*sys.argv[1:])

"""How long packets waited in the queues that an answer is about, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import polars as pl

from fairwind.quantities import significant, time_in_words
from fairwind.results import Results
from fairwind.results.summary import QUEUES, is_known, rows_of

MOST_CELLS = 4
"""With more cells the line would be a table; `compare` and `show` have it."""


def queues_in_words(
    results: Results, links: Iterable[str], contexts: Mapping[int, str]
) -> Iterator[str]:
    """Say for each link what its queue made packets wait, and how many it dropped, cell by cell.

    Means over the seeds, without a verdict.

    Parameters
    ----------
    links : iterable of str
    contexts : mapping of int to str
        The values of the axes of each cell.
    """
    rows = rows_of(results, QUEUES)
    if len(contexts) > MOST_CELLS or not is_known(rows, "sojourn_mean_s"):
        return
    means = rows.group_by("queue", "cell").agg(pl.mean("sojourn_mean_s", "drops_packets"))
    for link in dict.fromkeys(links):
        cells = means.filter(queue=link).sort("cell").iter_rows(named=True)
        parts = [
            f"{time_in_words(cell['sojourn_mean_s'])} and {significant(cell['drops_packets'], 3)} "
            f"drops{f' with {context}' if (context := contexts[cell['cell']]) else ''}"
            for cell in cells
            if cell["sojourn_mean_s"] is not None
        ]
        if parts:
            yield f"Queue of link {link}, mean wait: {'; '.join(parts)}."

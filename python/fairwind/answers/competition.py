"""What competition for a link did to its queue and to those who share it, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import polars as pl

from fairwind.quantities import significant, time_in_words
from fairwind.results import Results
from fairwind.results.summary import GROUPS, QUEUES, Subject, is_known, rows_of

MOST_CELLS = 4
"""With more cells the line would be a table; `compare` and `show` have it."""


def queues_in_words(
    results: Results, links: Iterable[str], contexts: Mapping[int, str]
) -> Iterator[str]:
    """Say how long packets waited in the queue of each link, and how many were dropped, by cell.

    Means over the seeds, without a verdict. Packets lost on the link behind the queue count as
    dropped, as in the table of queues.

    Parameters
    ----------
    links : iterable of str
    contexts : mapping of int to str
        The values of the axes of each cell.
    """
    measures = ("sojourn_mean_s", "drops_packets")
    for link, cells in _means(results, QUEUES, links, contexts, measures):
        parts = [
            f"{time_in_words(wait)} and {significant(drops, 3)} drops{where}"
            for where, wait, drops in cells
        ]
        yield f"Queue of link {link}, mean wait: {'; '.join(parts)}."


def losses_in_words(
    results: Results, groups: Iterable[str], contexts: Mapping[int, str]
) -> Iterator[str]:
    """Say how much each group lost, and its ACK latency, by cell.

    Means over the seeds, without a verdict. Parameters as of `queues_in_words`.
    """
    measures = ("packet_loss_ratio", "ack_latency_p99_s")
    for group, cells in _means(results, GROUPS, groups, contexts, measures):
        parts = [
            f"{significant(100 * loss, 3)} % and {time_in_words(latency)}{where}"
            for where, loss, latency in cells
        ]
        yield f"Packet loss and ACK latency p99 of {group}: {'; '.join(parts)}."


def _means(
    results: Results,
    subject: Subject,
    names: Iterable[str],
    contexts: Mapping[int, str],
    measures: tuple[str, str],
) -> Iterator[tuple[str, list[tuple[str, float, float]]]]:
    """Give the means of two measures in each cell, of each thing of which they are known."""
    chosen = tuple(dict.fromkeys(names))
    if not chosen or len(contexts) > MOST_CELLS:
        return
    rows = rows_of(results, subject)
    if not all(is_known(rows, measure) for measure in measures):
        return
    means = rows.group_by(subject.column, "cell").agg(pl.mean(*measures)).drop_nulls()
    for name in chosen:
        cells = means.filter(pl.col(subject.column) == name).sort("cell")
        found = [
            (f" at {context}" if (context := contexts[cell]) else "", first, second)
            for cell, first, second in cells.select("cell", *measures).iter_rows()
        ]
        if found:
            yield name, found

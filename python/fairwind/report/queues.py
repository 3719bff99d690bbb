"""Figures of what the busiest queue did to whom."""

from __future__ import annotations

from fairwind.plots import (
    Figure,
    latency_distribution,
    loss_by_group,
    queue_over_time,
    run_lengths,
)
from fairwind.report.layout import choice, columns, panels
from fairwind.results import Results
from fairwind.results.tidy import (
    central_queue,
    of_queue,
    queue_windows,
    relative_losses,
    with_cell_label,
)


def queue_figures(results: Results) -> list[Figure]:
    """Draw relative losses, how losses came together, and what waited for how long, and when."""
    queue = central_queue(results)
    if queue is None:
        return []
    return [
        *_losses(results, queue),
        *_runs(results, queue),
        *_waiting(results, queue),
        *backlog_figures(results, queue),
    ]


def _losses(results: Results, queue: str) -> list[Figure]:
    losses = relative_losses(results, queue)
    if not losses.height or losses["loss_ratio"].sum() == 0:
        return []
    return [
        Figure(
            name="queue-loss",
            title="Relative loss at the queue",
            caption=(
                "What share of the packets, and of the bytes, that a group offered to the queue "
                f"{queue} was dropped there, mean over replicates."
            ),
            chart=loss_by_group(
                with_cell_label(results, losses), setting="cell_label", setting_title="cell"
            ),
        )
    ]


def _runs(results: Results, queue: str) -> list[Figure]:
    lengths = of_queue(results, "queue_loss_run_lengths", queue)
    if not lengths.height:
        return []
    shown, note = choice(results, lengths)
    return [
        Figure(
            name="loss-runs",
            title="How losses came together",
            caption=(
                f"Losses of each group at the queue {queue} by the length of the run that they "
                "were in: packets of the group lost one after another; all replicates together."
                f"{note}"
            ),
            chart=run_lengths(shown, panels=panels(results), columns=columns(results)),
        )
    ]


def _waiting(results: Results, queue: str) -> list[Figure]:
    waiting = of_queue(results, "queue_sojourn_histogram", queue)
    if not waiting.height:
        return []
    shown, note = choice(results, waiting)
    return [
        Figure(
            name="queue-waiting",
            title="Waiting in the queue",
            caption=(
                f"How long packets of each group waited in the queue {queue} before they were "
                f"sent; all replicates together, read off histograms (1 % error).{note}"
            ),
            chart=latency_distribution(
                shown, panels=panels(results), columns=columns(results), title="waiting time"
            ),
        )
    ]


def backlog_figures(results: Results, queue: str) -> list[Figure]:
    """Draw what waited in a queue over time, and how long."""
    windows = queue_windows(results, queue)
    if not windows.height:
        return []
    shown, note = choice(results, windows)
    seconds = shown["interval_s"][0]
    return [
        Figure(
            name="queue-over-time",
            title="The queue over time",
            caption=(
                f"What packets found waiting when the queue {queue} took them, and how long they "
                f"waited before they were sent, in windows of {seconds:g} s. Line: mean of the "
                f"window and of all replicates; band: up to the most of any of them.{note}"
            ),
            chart=queue_over_time(shown, panels=panels(results), columns=columns(results)),
        )
    ]

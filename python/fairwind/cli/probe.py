"""The command `probe`: a live queue."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairwind.cli.output import Format, OutputFormat, Wide, log, print_json, print_rows
from fairwind.cli.settings import read_option
from fairwind.quantities import parse_seconds

if TYPE_CHECKING:
    from fairwind.probe import QueueMeasurement

Device = Annotated[
    str,
    typer.Argument(
        metavar="DEV", help="A network device, such as eth0, of this network namespace."
    ),
]
Time = Annotated[
    str,
    typer.Option("--for", metavar="TIME", help="How long to watch; Ctrl-C ends it early."),
]
Interval = Annotated[
    str, typer.Option(metavar="TIME", help="Length of the windows over time in the tables.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="DIR",
        help="Write the tables into this folder, which `fairwind report` draws. Default: only "
        "print.",
    ),
]
Limit = Annotated[int, typer.Option(min=0, metavar="ROWS", help="Connections to print.")]


def probe(
    device: Device,
    *,
    duration: Time = "10s",
    interval: Interval = "100ms",
    out: Out = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace another run in the folder of --out.")
    ] = False,
    limit: Limit = 10,
    output: Format = OutputFormat.TABLE,
    wide: Wide = False,
) -> None:
    """Measure the queue at a device as it is: drops, backlog and waits; needs root.

    Nothing is changed: programs at the kernel's tracepoints report what the queue discipline takes,
    sends and drops. Events that were missed are counted, and the kernel's own counters stand
    beside.
    """
    from fairwind.probe import check_folder, probe_queue

    duration_s = read_option("--for", duration, parse_seconds)
    interval_s = read_option("--interval", interval, parse_seconds)
    if out is not None:
        check_folder(out, force=force)
    found = probe_queue(device, duration_s, interval_s=interval_s)
    if output is OutputFormat.JSON:
        print_json(_document(found, limit))
    else:
        _print_tables(found, limit, output, is_wide=wide)
    if found.is_interrupted:
        log(f"interrupted: the measures are of the first {found.measured_s:.1f} s")
    for caveat in found.caveats:
        log(f"note: {caveat}")
    if out is not None:
        found.write(out, force=force)
        log(f"tables: {out}; `fairwind report {out}` draws them")


def _document(found: QueueMeasurement, limit: int) -> dict[str, object]:
    return {
        "device": found.device,
        "discipline": asdict(found.discipline),
        "measured_s": found.measured_s,
        "is_interrupted": found.is_interrupted,
        "loss_ratio": found.loss_ratio,
        "sent_without_event": found.sent_without_event,
        "dropped_without_event": found.dropped_without_event,
        "events": asdict(found.counts),
        "queues": found.tables["queues"].to_dicts(),
        "connections": [asdict(one) for one in found.connections[:limit]],
    }


MILLISECONDS = 1000
"""In a second."""


def _print_tables(
    found: QueueMeasurement, limit: int, output: OutputFormat, *, is_wide: bool
) -> None:
    if output is OutputFormat.TABLE:
        log(f"{found.device}: {found.discipline.words}, watched for {found.measured_s:.2f} s")
        print_rows(("measure", "value"), _summary(found), output, is_wide=is_wide)
    columns = (
        "protocol",
        "source",
        "destination",
        "packets",
        "bytes",
        "dropped",
        "mean wait (ms)",
        "longest (ms)",
    )
    rows = [
        (
            one.protocol,
            one.source,
            one.destination,
            one.sent_packets,
            one.sent_bytes,
            one.dropped_packets,
            None if one.mean_wait_s is None else one.mean_wait_s * MILLISECONDS,
            one.longest_wait_s * MILLISECONDS,
        )
        for one in found.connections[:limit]
    ]
    if rows or output is not OutputFormat.TABLE:
        print_rows(columns, rows, output, is_wide=is_wide)
    if output is OutputFormat.TABLE and len(found.connections) > limit:
        log(f"{len(found.connections) - limit} more connections; --limit shows more")


def _summary(found: QueueMeasurement) -> list[tuple[str, object]]:
    """Give the measures of the whole device."""
    rate = found.discipline.sent_bytes * 8 / found.measured_s
    loss = "-" if found.loss_ratio is None else f"{found.loss_ratio:.3%}"
    rows: list[tuple[str, object]] = [
        ("sent", f"{found.discipline.sent_packets} packets, {rate / 1e6:.3f} Mbit/s"),
        ("dropped", f"{found.discipline.dropped_packets} packets, {loss}"),
    ]
    for queue in found.tables["queues"].iter_rows(named=True):
        name = "" if len(found.queues) == 1 else f" of {queue['queue']}"
        rows += [(f"{measure}{name}", text) for measure, text in _waits(queue)]
    rows.append(("events missed", found.counts.missed_events))
    return rows


def _waits(queue: dict[str, float | None]) -> list[tuple[str, str]]:
    """Give backlog and waits of one queue in words; of an empty one nothing."""
    if not queue["enqueued_packets"]:
        return []

    def times(*names: str) -> str:
        known = [queue[f"sojourn_{name}_s"] for name in names]
        return " / ".join("-" if one is None else f"{one * MILLISECONDS:.3g} ms" for one in known)

    most = queue["arrival_backlog_max_packets"]
    return [
        (
            "backlog, mean / most",
            f"{queue['backlog_mean_packets']:.4g} / {most:.0f} packets",
        ),
        ("wait, median / p99 / longest", times("p50", "p99", "max")),
        (
            "drops: full / early",
            f"{queue['drops_queue_full_packets']} / {queue['drops_early_packets']} packets",
        ),
    ]

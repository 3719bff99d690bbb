"""The command `analyse`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fairwind.analysis.settings import (
    AnalysisSettings,
    Draw,
    draw_of,
    group_of,
    percentiles_of,
    span_ns,
    translation_of,
    when,
)
from fairwind.cli.output import (
    Format,
    OutputFormat,
    Wide,
    aligned,
    log,
    log_left_out,
    print_fitted,
    print_frame,
    print_json,
)
from fairwind.cli.tables import divided
from fairwind.errors import FairwindError, RunInterrupted
from fairwind.scenario.plan import LEADING_COLUMNS

if TYPE_CHECKING:
    from fairwind.results import Results

ALL_TABLES = "all"

ROWS_SHOWN = 10
"""Connections in the summary, and rows of a table that is printed for people."""

WAITS_SHOWN = 5
MOST_WAITS = 100_000
"""Rows of the longest waits: what is shown unless said, and the most that can be kept."""


Sender = Annotated[
    str,
    typer.Argument(
        metavar="SENDER",
        help="Capture at the side that sends the data: a file (pcap or pcapng, plain, gzip "
        "or zstd), a folder of rotated files, - for standard input, or the folder of a "
        "run with captures.",
    ),
]
Receiver = Annotated[
    str | None,
    typer.Argument(metavar="[RECEIVER]", help="Capture of the same traffic at the other side."),
]
Also = Annotated[
    list[str] | None,
    typer.Option("--also", metavar="FILE", help="Continuation of SENDER; repeatable."),
]
AlsoReceiver = Annotated[
    list[str] | None,
    typer.Option("--also-receiver", metavar="FILE", help="Continuation of RECEIVER; repeatable."),
]
Filter = Annotated[
    str | None,
    typer.Option(
        "--filter",
        "-f",
        metavar="EXPRESSION",
        help="Read only these packets, in pcap-filter syntax: 'host 10.0.0.1 and port 80'. "
        "Default: all.",
    ),
]
Groups = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        "-g",
        metavar="NAME=EXPRESSION",
        help="Group of connections, like 'thin=dst port 5000'. The first match counts. Repeatable.",
    ),
]
Intervals = Annotated[
    list[str] | None,
    typer.Option(
        "--interval",
        "-t",
        metavar="TIME",
        help="Window of time series, like 100ms; repeatable. Default: 1s.",
    ),
]
Percentiles = Annotated[
    str | None,
    typer.Option(
        "--percentiles",
        "-i",
        metavar="LIST",
        help="Percentiles of distributions. Default: 1,25,50,75,90,95,99,99.9.",
    ),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="WHEN",
        help="Ignore everything before this time: time since the first packet (90s), date with "
        "time, or @SECONDS since 1970.",
    ),
]
To = Annotated[
    str | None,
    typer.Option(
        "--to", metavar="WHEN", help="Ignore everything after this time, written as for --from."
    ),
]
TimeOption = partial(typer.Option, metavar="TIME")
ConnectionFrom = Annotated[
    str | None,
    TimeOption(help="Ignore the first TIME of each connection, like 10s. Default: nothing."),
]
ConnectionTo = Annotated[
    str | None, TimeOption(help="Ignore each connection after TIME, like 60s. Default: nothing.")
]
DrawOption = Annotated[
    str | None,
    typer.Option(
        "--draw",
        metavar="EXPRESSION|NUMBER",
        help="Keep the points of these connections, or of the NUMBER largest, for figures of "
        "`fairwind report`; needs --out. Default: none.",
    ),
]
PerFlow = Annotated[
    bool,
    typer.Option("--per-flow", help="Write time series of each connection, not only of groups."),
]
IdleTimeout = Annotated[
    str | None,
    TimeOption(help="End a connection after this idle time, like 10min. Default: never."),
]
VantageOption = Annotated[
    Literal["auto", "sender", "receiver", "opener", "answerer"],
    typer.Option(help="Side of a single capture. Default: inferred from handshakes."),
]
Nat = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A[:PORT]=B[:PORT]",
        help="Address A of the sender's capture is B in the receiver's; repeatable.",
    ),
]
ClockOption = Annotated[
    Literal["auto", "same", "free"],
    typer.Option(
        help="Clocks of the two captures: same, free (independent), or auto (same for "
        "Fairwind's own).",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="DIR",
        help="Write the tables into this folder, as a run does. Default: only print them.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace another run in the folder of --out.")]
TableNames = Annotated[
    list[str] | None,
    typer.Option(
        "--table",
        metavar="NAME",
        help="Print this table instead of the summary; repeatable. 'all' with --format json.",
    ),
]
Follow = Annotated[
    bool,
    typer.Option("--follow", help="Wait for more packets and update the output until Ctrl-C."),
]
Xplot = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Write the points of --draw as time-sequence graphs for xplot."
    ),
]
Sort = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="Sort rows by this column, largest first. Default: payload."
    ),
]
Limit = Annotated[
    int | None, typer.Option(min=0, metavar="ROWS", help="Rows to print. Default: 10 connections.")
]

Slowest = Annotated[
    int,
    typer.Option(
        min=0,
        max=MOST_WAITS,
        metavar="ROWS",
        help="Number of slowest segments to print, with the cause of their delay.",
    ),
]


@dataclass(frozen=True)
class Shown:
    """Output options of an analysis."""

    tables: tuple[str, ...]
    output: OutputFormat
    sort: str | None
    limit: int | None
    slowest: int
    is_wide: bool


def analyse(
    sender: Sender,
    receiver: Receiver = None,
    *,
    also: Also = None,
    also_receiver: AlsoReceiver = None,
    packet_filter: Filter = None,
    groups: Groups = None,
    intervals: Intervals = None,
    percentiles: Percentiles = None,
    from_: From = None,
    to: To = None,
    connection_from: ConnectionFrom = None,
    connection_to: ConnectionTo = None,
    per_flow: PerFlow = False,
    idle_timeout: IdleTimeout = None,
    vantage: VantageOption = "auto",
    nat: Nat = None,
    clock: ClockOption = "auto",
    out: Out = None,
    force: Force = False,
    table: TableNames = None,
    output: Format = OutputFormat.TABLE,
    follow: Follow = False,
    draw: DrawOption = None,
    xplot: Xplot = None,
    sort: Sort = None,
    limit: Limit = None,
    slowest: Slowest = WAITS_SHOWN,
    wide: Wide = False,
) -> None:
    """Analyse the TCP connections of captures, per connection and per group.

    With a second capture, of the other side, losses and delays are seen and not estimated.
    Defects of a capture are reported on standard error; the readable part is analysed.
    """
    usual = AnalysisSettings()
    lengths = tuple(span_ns(text, "--interval") for text in intervals or ())
    settings = AnalysisSettings(
        packet_filter=packet_filter,
        groups=tuple(group_of(text) for text in groups or ()),
        intervals_ns=lengths or usual.intervals_ns,
        percentiles=percentiles_of(percentiles) if percentiles else usual.percentiles,
        per_flow=per_flow,
        start=when(from_, "--from") if from_ else None,
        end=when(to, "--to") if to else None,
        connection_from_ns=_span(connection_from, "--connection-from"),
        connection_to_ns=_span(connection_to, "--connection-to"),
        idle_timeout_ns=_span(idle_timeout, "--idle-timeout"),
        vantage=vantage,
        nat=tuple(translation_of(text) for text in nat or ()),
        clock=clock,
        slowest=max(slowest, usual.slowest),
        draw=_drawn(draw, out, xplot),
    )
    captures = [sender, *(also or ())], [*([receiver] if receiver else ()), *(also_receiver or ())]
    with nullcontext(out) if out else TemporaryDirectory(prefix="fairwind-") as folder:
        results = _analysed(captures, settings, Path(folder), force=force, follow=follow)
        _print(results, Shown(tuple(table or ()), output, sort, limit, slowest, wide))
        _print_end(results, out, xplot, shows_windows=bool(lengths) or "intervals" in (table or ()))


def _analysed(
    captures: tuple[list[str], list[str]],
    settings: AnalysisSettings,
    folder: Path,
    *,
    force: bool,
    follow: bool,
) -> Results:
    from rich.console import Console

    from fairwind.analysis.execute import analyse_source
    from fairwind.analysis.source import find_source
    from fairwind.cli.progress import shown_analysis

    source = find_source(*captures)
    with shown_analysis(Console(stderr=True), is_live=follow) as watch:
        return analyse_source(source, settings, folder, force=force, follow=follow, watch=watch)


def _drawn(text: str | None, out: Path | None, xplot: Path | None) -> Draw | None:
    if text is None and xplot is not None:
        raise FairwindError(
            "--xplot needs --draw", "choose connections: --draw 3, or --draw 'port 80'"
        )
    if text is None:
        return None
    if out is None and xplot is None:
        raise FairwindError("--draw needs a folder", "name one with --out")
    return draw_of(text)


def _span(text: str | None, option: str) -> int | None:
    return None if text is None else span_ns(text, option)


def _print(results: Results, shown: Shown) -> None:
    from fairwind.analysis import summary
    from fairwind.analysis.findings import findings

    connections = ROWS_SHOWN if shown.limit is None else shown.limit
    if shown.output is OutputFormat.JSON:
        names = results.table_names if ALL_TABLES in shown.tables else _known(results, shown.tables)
        document = summary.json_document(results, connections, shown.sort, names)
        waits = summary.slowest_rows(results, shown.slowest)
        short = [asdict(one) for one in findings(results)]
        print_json(document | {"slowest": waits, "findings": short})
    elif shown.tables:
        for name in _known(results, shown.tables):
            _print_table(results, name, shown)
        if "intervals" in shown.tables and shown.output is OutputFormat.TABLE:
            log(f"note: {_other_windows(results)}")
    elif shown.output is OutputFormat.CSV:
        print_frame(summary.summary_frame(results, connections, shown.sort), shown.output)
    else:
        tables = summary.readable_summary(results, connections, shown.sort)
        _print_tables([*tables, summary.readable_slowest(results, shown.slowest)], shown)
        _print_findings(results)


def _print_tables(tables: Sequence[tuple[list[str], list[list[object]]]], shown: Shown) -> None:
    """Print the summary: groups in columns, as many beside each other as fit, then the rest."""
    from fairwind.analysis.summary import dispensable_headers

    left_out: list[str] = []
    number = 0
    for headers, rows in tables:
        has_groups = headers[:1] == [""]
        parts = divided(headers, rows) if has_groups and not shown.is_wide else [(headers, rows)]
        for columns, cells in parts:
            if cells:
                sys.stdout.write("\n" if number else "")
                spare = [] if has_groups else dispensable_headers(columns)
                left_out += print_fitted(columns, cells, spare, is_wide=shown.is_wide)
                number += 1
    log_left_out(left_out)


def _other_windows(results: Results) -> str:
    """Say where the measures are that the table of intervals does not have."""
    also = ""
    if results.has_table("queueing"):
        also = "--table losses (of payload) and --table queueing (delays) have the same windows; "
    return f"{also}round trips, ACK latencies, causes and limits need a part: --from 15s --to 20s"


def _print_findings(results: Results) -> None:
    """Print what the capture shows first, last, so that it is seen."""
    from fairwind.analysis.findings import findings

    found = findings(results)
    if found:
        rows = [(one.topic, one.text) for one in found]
        sys.stdout.write(f"\n{aligned(('in short', ''), rows)}")


def _known(results: Results, names: Sequence[str]) -> list[str]:
    for name in names:
        if name not in results.table_names:
            raise FairwindError(
                f"there is no table {name!r}", f"there are {', '.join(results.table_names)}"
            )
    return list(names)


def _print_table(results: Results, name: str, shown: Shown) -> None:
    """Print a table; for people, without the columns of runs."""
    frame = results.scan(name)
    columns = frame.collect_schema().names()
    if shown.sort is not None:
        if shown.sort not in columns:
            raise FairwindError(
                f"--sort {shown.sort}: the table {name} has no such column",
                f"it has {', '.join(columns)}",
            )
        frame = frame.sort(shown.sort, descending=True, nulls_last=True, maintain_order=True)
    if shown.limit is not None:
        frame = frame.head(shown.limit)
    if not results.manifest.plan.seeds:
        frame = frame.drop(LEADING_COLUMNS)
    if shown.output is OutputFormat.CSV:
        frame.sink_csv(sys.stdout.buffer)
    else:
        print_frame(frame.collect(), shown.output, is_wide=shown.is_wide)


def _print_end(
    results: Results, out: Path | None, xplot: Path | None, *, shows_windows: bool
) -> None:
    """Print warnings, the places of tables and drawings, and whether all was read."""
    if xplot is not None:
        from fairwind.plots.xplot import save_xplot

        traces = results.table("traces") if results.has_table("traces") else None
        graphs = [] if traces is None or traces.is_empty() else save_xplot(traces, xplot)
        log(f"xplot graphs: {len(graphs)} files in {xplot}")
    captured = results.manifest.captured
    assert captured is not None, "the folder of a capture"
    for caveat in captured.caveats:
        log(f"warning: {caveat}")
    for note in captured.notes:
        log(f"note: {note}")
    if shows_windows:
        from fairwind.analysis.caveats import incomplete_windows

        for sentence in incomplete_windows(results):
            log(f"note: {sentence}")
    if out is not None:
        log(f"tables: {out}")
    if not captured.is_complete:
        kept = f" and kept in {out}" if out is not None else ""
        raise RunInterrupted(f"interrupted: the packets read so far are analysed{kept}")

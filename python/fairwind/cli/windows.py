"""The command `windows`: start, stop, show, clear."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from fairwind.cli.model import read_option
from fairwind.cli.output import OutputFormat, print_frame, print_json
from fairwind.quantities import parse_seconds
from fairwind.windows import RememberedWindow, WindowOptions, clear, show, start, stop

USUAL = WindowOptions()

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    help="Congestion windows that the running kernel remembers by the peer's address, for the "
    "programs of a control group; needs root.",
)

Group = Annotated[
    Path,
    typer.Option("--cgroup", metavar="PATH", help="The folder of a control group of version 2."),
]


@app.command("start")
def start_(
    group: Group,
    *,
    lifetime: Annotated[
        str, typer.Option(help="Age at which a window is used no more.")
    ] = "10 min",
    entries: Annotated[
        int,
        typer.Option(min=0, max=10_000_000, help="Peers that are remembered at most."),
    ] = USUAL.entries,
    largest_window: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=2**31,
            help="Packets that a connection begins with at most.  [default: 100, and without limit "
            "if --exact]",
            show_default=False,
        ),
    ] = None,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact",
            help="Begin with the largest window that is remembered, which only age lowers, as in "
            "the report; otherwise with half of it, and losses halve it.",
        ),
    ] = False,
    outgoing: Annotated[
        bool,
        typer.Option(
            "--outgoing", help="Also where the connection is opened here, not only by the peer."
        ),
    ] = False,
    at_close: Annotated[
        bool,
        typer.Option(
            "--at-close",
            help="Take a window when the application closes the connection, as in the report, even "
            "if much is still to be sent; otherwise when all is acknowledged.",
        ),
    ] = False,
) -> None:
    """Begin: new connections begin with windows of ended ones. It goes on until `stop`."""
    largest = (
        largest_window if exact or largest_window is not None else USUAL.largest_window_packets
    )
    lifetime_s = read_option("--lifetime", lifetime, parse_seconds)
    options = WindowOptions(lifetime_s, entries, largest, exact, outgoing, at_close)
    name = start(group, options)
    if _is_root(group):
        sys.stderr.write(
            f"warning: {group} is the root of all control groups: this concerns every program on "
            "this machine; mkdir makes a group below it for the programs that are meant\n"
        )
    sys.stderr.write("it concerns connections whose sockets are made in the group from now on\n")
    sys.stdout.write(f"{name}\n")


@app.command("stop")
def stop_(group: Group) -> None:
    """End it, and forget the windows."""
    stop(group)


@app.command("show")
def show_(
    group: Group,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Short for --format json.")] = False,
    output: Annotated[
        OutputFormat, typer.Option("--format", help="How to print data.")
    ] = OutputFormat.TABLE,
) -> None:
    """Print the remembered windows with their ages, the youngest first.

    JSON also has the options and how often what has happened, which otherwise goes to standard
    error.
    """
    found = show(group)
    if as_json or output is OutputFormat.JSON:
        print_json(asdict(found))
        return
    print_frame(_listed(found.windows), output)
    counts = ", ".join(f"{number} {name}" for name, number in asdict(found.counts).items())
    sys.stderr.write(f"{len(found.windows)} of {found.options.entries} entries; {counts}\n")


@app.command("clear")
def clear_(group: Group) -> None:
    """Forget the windows, and go on."""
    sys.stderr.write(f"forgot {clear(group)}\n")


def _is_root(group: Path) -> bool:
    """Tell whether it is the group above all others: only that has no type."""
    return not (group / "cgroup.type").exists()


def _listed(windows: list[RememberedWindow]) -> pl.DataFrame:
    schema = {
        "peer": pl.String,
        "window_packets": pl.Int64,
        "age_s": pl.Float64,
        "is_outdated": pl.Boolean,
        "least_rtt_s": pl.Float64,
    }
    return pl.DataFrame([asdict(one) for one in windows], schema=schema)

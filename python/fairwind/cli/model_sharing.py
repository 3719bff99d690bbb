"""The command `model sharing`: transfers that begin with a remembered window, in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Annotated

import polars as pl
import typer

from fairwind.cli.model import app, read_option
from fairwind.cli.output import OutputFormat, print_frame
from fairwind.errors import FairwindError
from fairwind.models.sharing import rounds, speed_up, transfer_time_s
from fairwind.quantities import parse_bits_per_second, parse_bytes, parse_seconds

__all__ = ["app", "sharing"]

Segments = Annotated[
    list[float], typer.Option("--segments", help="Segments of a transfer; repeatable.")
]
Remembered = Annotated[
    list[float], typer.Option("--remembered", help="Remembered window in segments; repeatable.")
]
Initial = Annotated[float, typer.Option(help="Initial window without memory, in segments.")]
Rtt = Annotated[str, typer.Option(help="Round trip without queues.")]
Rate = Annotated[str | None, typer.Option(help="Rate of the path. Default: unlimited.")]
Segment = Annotated[str, typer.Option(help="Size of a full packet with headers.")]
Offered = Annotated[
    float | None,
    typer.Option(help="Initial receive window in segments. Default: unlimited."),
]
Opening = Annotated[
    str | None,
    typer.Option(
        help="Time to open a connection where only acknowledgments are delayed. Default: the "
        "round trip."
    ),
]
Format = Annotated[OutputFormat, typer.Option("--format", help="Output format.")]


@app.command()
def sharing(
    *,
    segments: Segments = [5.0, 10.0, 20.0, 40.0, 80.0, 200.0],  # noqa: B006 - read only
    remembered: Remembered = [32.0],  # noqa: B006 - read only
    initial: Initial = 1.0,
    rtt: Rtt = "100 ms",
    rate: Rate = None,
    segment: Segment = "1500 B",
    offered: Offered = None,
    opening: Opening = None,
    output: Format = OutputFormat.TABLE,
) -> None:
    """Print the speed-up of transfers that begin with a remembered window.

    Times end when the last byte is read. The path is idle, loses nothing, and every segment is
    acknowledged at once.
    """
    rtt_s = _read_positive("--rtt", rtt, parse_seconds)
    bits = 8 * _read_positive("--segment", segment, parse_bytes)
    each = 0.0 if rate is None else bits / _read_positive("--rate", rate, parse_bits_per_second)
    _check("--segments", segments)
    _check("--remembered", remembered)
    _check("--initial", [initial])
    _check("--offered", [] if offered is None else [offered])
    most = math.inf if offered is None else offered
    opening_s = rtt_s if opening is None else _read_positive("--opening", opening, parse_seconds)
    path = (rtt_s, each, most, opening_s)
    rows = [
        {
            "remembered_segments": window,
            "segments": volume,
            "rounds_initially": float(rounds(volume, initial, most)),
            "rounds_remembered": float(rounds(volume, window, most)),
            "initially_s": float(transfer_time_s(volume, initial, *path)),
            "remembered_s": float(transfer_time_s(volume, window, *path)),
            "speed_up_ratio": float(
                speed_up(volume, window, rtt_s, each, initial, most, opening_s)
            ),
        }
        for window in remembered
        for volume in segments
    ]
    print_frame(pl.DataFrame(rows), output)


def _read_positive(option: str, text: str, parse: Callable[[str], float]) -> float:
    """Give a quantity that is more than nothing."""
    value = read_option(option, text, parse)
    if value <= 0:
        raise FairwindError(
            f"{option} is {text}: it must be above zero", "without one there is nothing to compare"
        )
    return value


def _check(option: str, counts: Iterable[float]) -> None:
    for count in counts:
        if not 1 <= count < math.inf:
            raise FairwindError(
                f"{option} is {count:g}: it must be one or more, and finite", "count segments"
            )

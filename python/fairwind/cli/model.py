"""The command `model`: closed-form models as numbers and as a picture."""

from __future__ import annotations

import math
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fairwind.cli import model_tables
from fairwind.cli.output import (
    Format,
    OutputFormat,
    command_group,
    print_frame,
    print_json,
    print_rows,
)
from fairwind.cli.settings import read_option
from fairwind.errors import FairwindError
from fairwind.quantities import parse_bits_per_second, parse_bytes, parse_seconds

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

    from fairwind.models.dama import DemandAssignedLink

app = command_group("Closed-form models to compare runs with.")


class Table(StrEnum):
    """The model's tables."""

    LINK = "link"
    GROWTH = "growth"
    MULTIPLIERS = "multipliers"
    COMPLETION = "completion"
    CARRIED = "carried"


LawName = Literal["slide", "strict", "two-root", "exact"]
"""Solutions of the start-up equation, as in `fairwind.models.dama.Law`."""


MOST_TIMES = 1000.0
"""As in scenarios."""


OPTIONS = {
    "rtt_s": ("--rtt", '"840 ms"'),
    "frame_s": ("--frame", '"273 ms"'),
    "slots": ("--slots", "48"),
    "slot_bits_per_second": ("--slot-rate", '"44 kbit/s"'),
    "request_period_s": ("--request-period", '"819 ms"'),
    "allocation_period_s": ("--allocation-period", '"546 ms"'),
    "terminals": ("--terminals", "18"),
    "guaranteed_bits_per_second": ("--guaranteed", '"44 kbit/s"'),
    "available_bits_per_second": ("--available", '"1.2 Mbit/s"'),
    "segment_bytes": ("--segment", '"1500 B"'),
    "initial_window_segments": ("--initial-window", "1, 3 or 10"),
    "multiplier": ("--multiplier", "1 or 4.8"),
    "volume_segments": ("--volume", "20, 100 or 500"),
    "within_s": ("--within", '"20 s"'),
}
"""Options with something that each may be, by the parameter of the model that it sets."""

Rtt = Annotated[str, typer.Option(help="Round-trip time without waiting for capacity.")]
Frame = Annotated[str, typer.Option(help="Duration of a frame of slots.")]
Slots = Annotated[int, typer.Option(help="Number of slots in a frame.")]
SlotRate = Annotated[str, typer.Option(help="Rate of one slot in every frame.")]
RequestPeriod = Annotated[
    str,
    typer.Option(
        help="Time between two requests of a terminal; only the sum of both periods matters."
    ),
]
AllocationPeriod = Annotated[str, typer.Option(help="Time between two allocations of slots.")]
Terminals = Annotated[int, typer.Option(help="Number of terminals.")]
Guaranteed = Annotated[
    str,
    typer.Option(help="Guaranteed rate of each terminal; checked against the slots, not modelled."),
]
Available = Annotated[str, typer.Option(help="Highest rate that one terminal can get.")]
Segment = Annotated[str, typer.Option(help="Size of a full packet, headers included.")]
InitialWindows = Annotated[
    list[float], typer.Option("--initial-window", help="Initial window in segments; repeatable.")
]
Multipliers = Annotated[
    list[float],
    typer.Option(
        "--multiplier", help="Requested capacity divided by the measured rate (k); repeatable."
    ),
]
Volumes = Annotated[
    list[float], typer.Option("--volume", help="Size of a transfer in segments; repeatable.")
]
Within = Annotated[
    str, typer.Option(help="Time in which the table `carried` counts what is carried.")
]
Tables = Annotated[
    list[Table] | None,
    typer.Option(
        "--table", help="Print only this table; repeatable. Default: all; for CSV: completion."
    ),
]
Picture = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Draw the curves into a file: .svg, .png, .pdf or .html. Default: none.",
    ),
]
Drawn = Annotated[
    LawName, typer.Option("--law", help="Solution of the start-up equation that the picture shows.")
]


@app.command()
def dama(
    *,
    rtt: Rtt = "840 ms",
    frame: Frame = "273 ms",
    slots: Slots = 48,
    slot_rate: SlotRate = "44 kbit/s",
    request_period: RequestPeriod = "819 ms",
    allocation_period: AllocationPeriod = "546 ms",
    terminals: Terminals = 18,
    guaranteed: Guaranteed = "44 kbit/s",
    available: Available = "1.2 Mbit/s",
    segment: Segment = "1500 B",
    initial_windows: InitialWindows = [1.0, 3.0, 10.0],  # noqa: B006 - read only
    multipliers: Multipliers = [1.0, 4.8],  # noqa: B006 - read only
    volumes: Volumes = [20.0, 50.0, 100.0, 200.0, 500.0],  # noqa: B006 - read only
    within: Within = "20 s",
    chosen: Tables = None,
    picture: Picture = None,
    law: Drawn = "exact",
    output: Format = OutputFormat.TABLE,
) -> None:
    """Print how TCP starts up over a link whose capacity is assigned on demand.

    It covers requests by rate (rbdc) and no others. Tables: growth of the window, how much to
    request, completion times and volumes. The model is that of the paper by Gotta, Potorti and
    Secchi (IWSSC 2006); the defaults are its satellite platform, with inferred periods.
    """
    from fairwind.models.dama import DemandAssignedLink
    from fairwind.models.errors import ModelWarning, positive
    from fairwind.plots import save

    _check(multipliers, picture)
    warnings.simplefilter("always", ModelWarning)
    with _errors_by_option():
        texts = {
            "rtt_s": (rtt, parse_seconds),
            "frame_s": (frame, parse_seconds),
            "slot_bits_per_second": (slot_rate, parse_bits_per_second),
            "request_period_s": (request_period, parse_seconds),
            "allocation_period_s": (allocation_period, parse_seconds),
            "guaranteed_bits_per_second": (guaranteed, parse_bits_per_second),
            "available_bits_per_second": (available, parse_bits_per_second),
            "segment_bytes": (segment, parse_bytes),
        }
        link = DemandAssignedLink(
            slots=slots,
            terminals=terminals,
            **{name: read_option(OPTIONS[name][0], *text) for name, text in texts.items()},
        )
        within_s = float(
            positive("within_s", read_option("--within", within, parse_seconds), "20 s")
        )
        cases = Cases(link, initial_windows, multipliers, volumes, within_s)
        usual = [Table.COMPLETION] if output is OutputFormat.CSV else list(Table)
        _print({name: cases.frame(name) for name in dict.fromkeys(chosen or usual)}, output)
        if picture is not None:
            save(cases.picture(law), picture)
            sys.stderr.write(f"picture: {picture}\n")


@dataclass(frozen=True)
class Cases:
    """Parameters of the model; every combination is computed."""

    link: DemandAssignedLink
    initial_windows: Sequence[float]
    multipliers: Sequence[float]
    volumes: Sequence[float]
    within_s: float

    def frame(self, name: Table) -> pl.DataFrame:
        """Compute a table."""
        from fairwind.models.dama import tables

        link, initials, multipliers = self.link, self.initial_windows, self.multipliers
        match name:
            case Table.LINK:
                return tables.link_table(link)
            case Table.GROWTH:
                return tables.growth_table(link, multipliers)
            case Table.MULTIPLIERS:
                return tables.multiplier_table(link, initials, self.volumes)
            case Table.COMPLETION:
                return tables.completion_table(link, initials, multipliers, self.volumes)
            case Table.CARRIED:
                return tables.carried_table(link, initials, multipliers, self.within_s)

    def picture(self, law_name: LawName) -> alt.TopLevelMixin:
        """Draw window, equivalent round trip, transfer times, use of slots and volume."""
        from fairwind import plots
        from fairwind.models.dama import Law, curves

        law = Law(law_name)
        link, initial, multiplier = self.link, self.initial_windows[0], self.multipliers[0]
        multipliers, volumes, within_s = self.multipliers, self.volumes, self.within_s
        by_volume = curves.completion_by_volume(
            link, initial, multipliers, most_segments=max(volumes), law=law
        )
        by_multiplier = curves.completion_by_multiplier(link, volumes, initial, law=law)
        carried = curves.carried_over_time(link, self.initial_windows, within_s, law)
        window = curves.window_over_time(link, initial, multiplier)
        panels = {
            f"Window (initially {initial:g}, k = {multiplier:g})": window,
            "Equivalent round trip": curves.equivalent_rtt_by_ratio(multipliers),
            f"Transfer time against volume (initial window {initial:g})": by_volume,
            f"Transfer time against k (initial window {initial:g})": by_multiplier,
            "Slots used against k": curves.utilisation_by_multiplier(link, volumes),
            f"Volume over {within_s:g} s": carried,
        }
        return plots.curve_panels(
            [plots.model_curves(frame, title) for title, frame in panels.items()]
        )


def _check(multipliers: Sequence[float], picture: Path | None) -> None:
    """Refuse options for which nothing can be computed."""
    for multiplier in multipliers:
        if multiplier > MOST_TIMES:
            raise FairwindError(
                f"--multiplier is {multiplier:g}: a terminal asks for at most {MOST_TIMES:g} times "
                "what it measured",
                "use a smaller multiplier; the paper recommends 4.8",
            )
    if picture is not None and not picture.parent.is_dir():
        raise FairwindError(
            f"--picture is {picture}: there is no folder {picture.parent}",
            f"create it: mkdir -p {picture.parent}",
        )


@contextmanager
def _errors_by_option() -> Iterator[None]:
    """Translate errors of a parameter into the option that sets it."""
    from fairwind.models.errors import ModelError

    try:
        yield
    except ModelError as error:
        first = OPTIONS.get(error.message.split(" ", 1)[0])
        is_value = first is not None and "it must be" in error.message
        hint = f"such as {first[1]}" if first is not None and is_value else error.hint
        raise FairwindError(_with_options(error.message), hint) from error


def _with_options(text: str) -> str:
    """Call parameters of the model by their options."""
    known = re.compile(r"\b(" + "|".join(name for name in OPTIONS if "_" in name) + r")\b")
    named = known.sub(lambda found: OPTIONS[found[0]][0], text)
    first, *rest = named.split(" ", 1)
    return " ".join([OPTIONS[first][0] if first in OPTIONS else first, *rest])


def _print(frames: Mapping[Table, pl.DataFrame], output: OutputFormat) -> None:
    match output:
        case OutputFormat.JSON:
            print_json({name: frame.to_dicts() for name, frame in frames.items()})
        case OutputFormat.CSV:
            for frame in frames.values():
                print_frame(frame, output)
        case OutputFormat.TABLE:
            texts = (model_tables.LAYOUTS[name](frame) for name, frame in frames.items())
            sys.stdout.write("\n".join(texts))


Segments = Annotated[
    list[float], typer.Option("--segments", help="Size of a transfer in segments; repeatable.")
]
Remembered = Annotated[
    list[float], typer.Option("--remembered", help="Remembered window in segments; repeatable.")
]
Initial = Annotated[
    float, typer.Option(help="Initial window of connections without memory, in segments.")
]
PathRtt = Annotated[str, typer.Option(help="Round-trip time without queues.")]
Rate = Annotated[str | None, typer.Option(help="Rate of the bottleneck. Default: unlimited.")]
Offered = Annotated[
    float | None, typer.Option(help="Initial receive window in segments. Default: unlimited.")
]
Opening = Annotated[
    str | None,
    typer.Option(
        help="Time to open a connection where only acknowledgments are delayed. Default: the "
        "round trip."
    ),
]


@app.command()
def sharing(
    *,
    segments: Segments = [5.0, 10.0, 20.0, 40.0, 80.0, 200.0],  # noqa: B006 - read only
    remembered: Remembered = [32.0],  # noqa: B006 - read only
    initial: Initial = 1.0,
    rtt: PathRtt = "100 ms",
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
    from fairwind.models.sharing import rounds, speed_up, transfer_time_s

    rtt_s = _read_positive("--rtt", rtt, parse_seconds)
    bits = 8 * _read_positive("--segment", segment, parse_bytes)
    each = 0.0 if rate is None else bits / _read_positive("--rate", rate, parse_bits_per_second)
    counts = {"--segments": segments, "--remembered": remembered, "--initial": [initial]}
    for option, values in (counts | {"--offered": [] if offered is None else [offered]}).items():
        _check_counts(option, values)
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
    if output is OutputFormat.TABLE:
        sys.stdout.write(model_tables.sharing_text(rows, initial))
    else:
        print_rows(list(rows[0]), [list(row.values()) for row in rows], output)


def _read_positive(option: str, text: str, parse: Callable[[str], float]) -> float:
    value = read_option(option, text, parse)
    if value <= 0:
        raise FairwindError(
            f"{option} is {text}: it must be above zero", "give a number above zero with its unit"
        )
    return value


def _check_counts(option: str, counts: Iterable[float]) -> None:
    for count in counts:
        if not 1 <= count < math.inf:
            raise FairwindError(
                f"{option} is {count:g}: it must be at least 1, and finite",
                "give a number of segments",
            )

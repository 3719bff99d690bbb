"""Tables of the page, from a run of the whole study.

    python -m fairwind_studies.remembered_windows.tables DIR

Packets lost transfer by transfer after the path has worsened, many at once, and the map; means
over seeds, speed-ups with their 95 % intervals. Parts that were not run are left out.
"""

import itertools
import sys
from collections.abc import Sequence

import polars as pl

import fairwind
from fairwind.results import Results

from .measures import (
    AFTER,
    COUNT,
    INITIAL,
    LIMIT,
    LOST,
    MEMORY,
    RTT,
    VOLUME,
    WORSE_AXES,
    after_the_change,
    against,
    at_once,
    in_words,
    map_of_speed_ups,
)
from .price_claims import CAREFUL, CLASSIC


def row(cells: Sequence[str]) -> str:
    """Give a line of a table."""
    return f"| {' | '.join(cells)} |"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Give a table with its head."""
    return "\n".join([row(head), f"|{'---|' * len(head)}", *map(row, rows)])


def forgetting(later: Results) -> str:
    """Give the packets that the second and further transfers lose, by memory and path."""
    done = after_the_change(later)
    paths = done.select(*WORSE_AXES).unique(maintain_order=True)
    head = ["memory", "transfer", *(f"{limit}, {after}" for limit, after in paths.iter_rows())]
    rows = []
    by = [MEMORY, "number"]
    for (memory, number), own in done.sort("number").group_by(by, maintain_order=True):
        cells = [
            f"{own.row(by_predicate=_path(limit, after), named=True)[LOST]:.0f}"
            for limit, after in paths.iter_rows()
        ]
        rows.append([str(memory), str(number), *cells])
    rows.sort(key=lambda row: done[MEMORY].to_list().index(row[0]))
    return table(head, rows)


def _path(limit: str, after: str) -> pl.Expr:
    return (pl.col(LIMIT) == limit) & (pl.col(AFTER) == after)


def crowds(crowd: Results, hosts: Results) -> str:
    """Give the losses of crowds, and the speed-up of the last transfer against no memory."""
    of_one = against(at_once(crowd), (COUNT,)).filter(pl.col(COUNT) > 1)
    of_many = against(at_once(hosts, ()), ())
    counts = of_one[COUNT].unique(maintain_order=True)
    columns = {f"{count} of one host": of_one.filter(pl.col(COUNT) == count) for count in counts}
    columns["a host for each"] = of_many
    rows = [
        [memory, *(_crowd(frame, memory) for frame in columns.values())]
        for memory in of_one[MEMORY].unique(maintain_order=True)
    ]
    return table(["memory", *columns], rows)


def _crowd(frame: pl.DataFrame, memory: str) -> str:
    found = frame.row(by_predicate=pl.col(MEMORY) == memory, named=True)
    lost = f"{found['lost']:.0f}"
    if memory == INITIAL:
        return lost
    return "{}; {speed_up:.2f} [{speed_up_low:.2f}, {speed_up_high:.2f}]".format(lost, **found)


def pays(map_: Results) -> str:
    """Give the speed-ups by the report's cache and by Careful Resume."""
    found = map_of_speed_ups(map_)
    volumes = found[VOLUME].unique().sort()
    rows = []
    rates, trips = (found[axis].unique(maintain_order=True) for axis in (AFTER, RTT))
    for after, rtt, memory in itertools.product(rates, trips, (CLASSIC, CAREFUL)):
        here = found.filter(pl.col(AFTER) == after, pl.col(RTT) == rtt)
        speed_ups = [
            f"{here.row(by_predicate=_cell(volume, memory), named=True)['speed_up']:.2f}"
            for volume in volumes
        ]
        rows.append([str(after), in_words(RTT, rtt), memory, *speed_ups])
    sizes = (in_words(VOLUME, volume) for volume in volumes)
    return table(["rate since", "round trip", "memory", *sizes], rows)


def _cell(volume: float, memory: str) -> pl.Expr:
    return (pl.col(VOLUME) == volume) & (pl.col(MEMORY) == memory)


def main(folder: str) -> None:
    """Print them."""
    results = fairwind.open(folder)
    later, crowd, hosts, map_ = map(results.part, ("later", "crowd", "hosts", "map"))
    if later is not None:
        print(forgetting(later), end="\n\n")
    if crowd is not None and hosts is not None:
        print(crowds(crowd, hosts), end="\n\n")
    if map_ is not None:
        print(pays(map_))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("name the folder of a run of the study: python tables.py DIR")
    main(sys.argv[1])

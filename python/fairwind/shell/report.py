"""The folder of a run, for the flows of a program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from fairwind.engine import Kernel
from fairwind.errors import FairwindError
from fairwind.folder.cell_tables import write_tables
from fairwind.folder.lock import locked
from fairwind.folder.manifest import MANIFEST, Manifest
from fairwind.folder.store import CELLS, new_cell
from fairwind.run.merge import merge_tables, with_leading_columns
from fairwind.run.prepare import discard, make_folder
from fairwind.scenario.plan import Plan

OTHER = "other"
"""The group of what is no connection."""


@dataclass
class Keep:
    """Record of a program in a run's folder.

    Attributes
    ----------
    folder : Path
        Captures go there.
    tables : dict of str to DataFrame
        To be filled until the program has ended.
    """

    folder: Path
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)


@contextmanager
def new_report(out: Path, plan: Plan) -> Iterator[Keep]:
    """Make a run's folder of one cell and write into it what the block leaves.

    What a program does is never the same again, so no earlier run is taken up or replaced; and if
    the block fails, nothing of it is left.

    Raises
    ------
    FairwindError
        If the folder is none, or holds something.
    """
    make_folder(out)
    with locked(out):
        if (out / MANIFEST).exists():
            raise FairwindError(f"{out} holds a run already", "name another folder with --report")
        engine = Kernel()
        manifest = Manifest.of_run(
            plan,
            engine.name,
            engine.versions(),
            columns=engine.columns(),
            facts=engine.facts(),
            study=None,
        )
        manifest.write(out)
        cell = plan.cells[0]
        try:
            (out / CELLS).mkdir()
            with new_cell(out, cell.index, 0) as folder:
                keep = Keep(folder)
                yield keep
                tables = _among_connections(keep.tables)
                write_tables(folder, with_leading_columns(tables, plan, cell, 0))
        except BaseException:  # whoever tries again shall find the folder free
            discard(out)
            raise
        merge_tables(out, plan)


def _among_connections(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Leave the fairness among the connections of one direction.

    What is no connection has no goodput, and the two directions of a path do not compete.
    """
    if "fairness" not in tables:
        return tables
    among = pl.col("scope").eq("group") & pl.col("name").ne(OTHER)
    return tables | {"fairness": tables["fairness"].filter(among)}

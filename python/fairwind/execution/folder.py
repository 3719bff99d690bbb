"""The folder that a run is written into: made, taken up again, or refused."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from fairwind.congestion.used import NO_DIGEST
from fairwind.errors import FairwindError
from fairwind.folder.cell_tables import CellTables, DamagedFileError
from fairwind.folder.looks import LOOKS
from fairwind.folder.manifest import FAILURES, MANIFEST, Manifest, read_manifest
from fairwind.folder.store import (
    CELLS,
    LOCK,
    PARTS,
    TEMPORARY,
    cell_folder,
    remove_unfinished,
)
from fairwind.scenario.plan import LEADING_COLUMNS, Axis, Cell, Plan

Frame = TypeVar("Frame", bound=pl.DataFrame | pl.LazyFrame)


def default_folder(manifest: Manifest) -> Path:
    """Folder of a run that names none: the same scenario comes back to the same one."""
    name = re.sub(r"[^0-9a-z]+", "-", manifest.plan.name.lower()).strip("-")[:60] or "run"
    return Path("runs") / f"{name}-{manifest.fingerprint[:10]}"


def make_folder(out: Path) -> None:
    """Make the folder, or refuse one that is none of ours before anything is written to it."""
    if out.exists() and not out.is_dir():
        raise FairwindError(f"{out} is a file", "name a folder with --out")
    out.mkdir(parents=True, exist_ok=True)
    foreign = (
        path.name
        for path in out.iterdir()
        if path.name != LOCK and not path.name.startswith(TEMPORARY)
    )
    if not (out / MANIFEST).exists() and any(foreign):
        raise FairwindError(
            f"{out} is not empty and does not hold a run of Fairwind",
            "name another folder with --out",
        )


def prepare(out: Path, manifest: Manifest, *, force: bool, grows: bool = False) -> None:
    """Make an earlier run ready to go on, or the folder ready for a new one.

    Parameters
    ----------
    force : bool
        Discard an earlier run of another plan.
    grows : bool
        Take up an earlier run with fewer of the same seeds.
    """
    if (out / MANIFEST).exists():
        earlier = read_manifest(out)
        is_same = earlier.fingerprint == manifest.fingerprint
        if is_same or (grows and is_beginning(earlier, manifest)):
            remove_unfinished(out)
            if not is_same:
                # Its simulations stay; what was made of them goes.
                for file in [*out.glob("*.parquet"), out / "report.html"]:
                    file.unlink(missing_ok=True)
                manifest.write(out)
            (out / CELLS).mkdir(exist_ok=True)
            return
        if not force:
            _refuse_unknown_classes(out, manifest)
            if differs_in_seeds_only(earlier, manifest):
                raise _other_seeds(out, earlier, manifest)
            raise FairwindError(
                f"{out} holds a run of {_what_differs(earlier, manifest)}",
                "name another folder with --out, or discard that run with --force",
            )
        discard(out)
    manifest.write(out)
    (out / CELLS).mkdir(exist_ok=True)


def is_beginning(earlier: Manifest, manifest: Manifest) -> bool:
    """Return whether an earlier run has fewer of the same seeds, and is the same otherwise."""
    seeds = earlier.plan.seeds
    return differs_in_seeds_only(earlier, manifest) and manifest.plan.seeds[: len(seeds)] == seeds


def differs_in_seeds_only(earlier: Manifest, manifest: Manifest) -> bool:
    """Return whether two runs are the same but for the number of seeds, or the seeds."""
    plans = [
        {key: value for key, value in one.plan.document.items() if key not in ("repeat", "seeds")}
        for one in (earlier, manifest)
    ]
    return (
        plans[0] == plans[1]
        and earlier.engine == manifest.engine
        and earlier.versions == manifest.versions
        and earlier.captured is None
    )


def _other_seeds(out: Path, earlier: Manifest, manifest: Manifest) -> FairwindError:
    there, wanted = len(earlier.plan.seeds), len(manifest.plan.seeds)
    if there == wanted:
        return FairwindError(
            f"{out} holds a run of the same scenario with other seeds",
            "name another folder with --out, or discard that run with --force",
        )
    return FairwindError(
        f"{out} holds a run of the same scenario with {there} instead of {wanted} seeds",
        f"show it with `fairwind show {out}`, ask for as many with --set repeat={there} and "
        f"--out {out}, add seeds with --until-decided, name another folder with --out, or discard "
        "that run with --force",
    )


def _refuse_unknown_classes(out: Path, manifest: Manifest) -> None:
    """Refuse to go on where a class refers to a value that cannot be compared."""
    for name, version in manifest.versions.items():
        if version.startswith(NO_DIGEST):
            control = name.removeprefix("congestion_")
            reason = version.removeprefix(f"{NO_DIGEST}: ").rpartition(" (")[0]
            raise FairwindError(
                f"{out} holds an earlier run, and it is unknown whether its congestion control "
                f"{control} was the same: {reason}",
                "pass such values to the class as parameters, "
                f'congestion = {{ name = "{control}", ... }}; '
                "or name another folder with --out, or discard that run with --force",
            )


def _what_differs(earlier: Manifest, manifest: Manifest) -> str:
    if earlier.engine != manifest.engine:
        return f"another engine, {earlier.engine}"
    if earlier.plan.document == manifest.plan.document:
        names = sorted(
            name
            for name in earlier.versions.keys() | manifest.versions.keys()
            if earlier.versions.get(name) != manifest.versions.get(name)
        )
        return f"the same scenario, made by another version ({', '.join(names)})"
    return "another scenario or other settings"


def discard(out: Path) -> None:
    """Remove what Fairwind wrote into a folder, and nothing else."""
    (out / MANIFEST).rename(out / f"{TEMPORARY}{MANIFEST}")
    for folder in (CELLS, PARTS, "figures"):
        shutil.rmtree(out / folder, ignore_errors=True)
    for file in [*out.glob("*.parquet"), out / FAILURES, out / LOOKS, out / "report.html"]:
        file.unlink(missing_ok=True)
    remove_unfinished(out)


def with_leading_columns(
    tables: Mapping[str, Frame], axes: Iterable[Axis], cell: Cell, replicate: int, seed: int | None
) -> dict[str, Frame]:
    """Put cell, replicate, seed and one column per axis in front of every table."""
    number, which, drawn_from = LEADING_COLUMNS
    leading = [
        pl.Series(number, [cell.index], pl.UInt32),
        pl.Series(which, [replicate], pl.UInt32),
        pl.Series(drawn_from, [seed], pl.UInt64),
        *(
            pl.Series(
                axis.column,
                [axis.value(cell.settings[axis.name])],
                pl.Int64 if axis.is_numeric else pl.String,
            )
            for axis in axes
        ),
    ]
    return {name: _behind(leading, frame) for name, frame in tables.items()}


def _behind(leading: list[pl.Series], frame: Any) -> Any:  # noqa: ANN401 - as it is given
    """Put these values in front of every row.

    A table in memory gets one column after the other: it has few rows, and to plan an expression
    would take longer than to carry it out.
    """
    if isinstance(frame, pl.LazyFrame):
        values = (pl.lit(one[0], one.dtype).alias(one.name) for one in leading)
        return frame.select(*values, pl.all())
    if not frame.width:
        return frame
    behind = frame.clone()  # the columns are the same, so this copies no rows
    for place, one in enumerate(leading):
        behind.insert_column(place, one.new_from_index(0, frame.height))
    return behind


def finished_cells(out: Path, plan: Plan) -> list[Path]:
    """Give the folders of all finished simulations, in the order of the plan."""
    return [
        folder
        for cell, replicate in plan.simulations()
        if (folder := cell_folder(out, cell.index, replicate)).is_dir()
    ]


def damaged_cells(out: Path, plan: Plan) -> list[DamagedFileError]:
    """Give one error for each finished simulation with a file that cannot be decoded."""
    damaged = []
    for folder in finished_cells(out, plan):
        try:
            CellTables(folder).check()
        except DamagedFileError as error:
            damaged.append(error)
    return damaged

"""Safe writing: a file or folder is there whole or not at all, and one run at a time writes."""

from __future__ import annotations

import errno
import fcntl
import io
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fairwind.errors import FairwindError

if TYPE_CHECKING:
    import polars as pl

CELLS = "cells"
"""Folder, inside a run's folder, that holds one folder per cell and replicate."""

PARTS = "parts"
"""Folder, inside the folder of a study's run, that holds the runs of its further parts."""

TEMPORARY = ".tmp-"
"""Prefix of the names of unfinished files."""


@contextmanager
def _replaced(path: Path) -> Iterator[Path]:
    """Replace a file in one step by what the block writes: readers never see a part."""
    temporary = path.with_name(f"{TEMPORARY}{path.name}")
    try:
        yield temporary
        _sync(temporary)
        temporary.replace(path)
    except BaseException:  # an interruption, too, leaves nothing half written
        temporary.unlink(missing_ok=True)
        raise
    _sync(path.parent)


def write_file(path: Path, content: bytes) -> None:
    """Replace a file in one step: readers see the old content or the new, never a part."""
    with _replaced(path) as temporary:
        temporary.write_bytes(content)


def write_frame(path: Path, frame: pl.DataFrame) -> None:
    """Replace a Parquet file in one step."""
    write_file(path, parquet_bytes(frame))


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """Encode a frame; the bytes depend on its content alone, so it is made contiguous first.

    Encoding in memory leaves writing to plain files, which report errors with their number.
    """
    buffer = io.BytesIO()
    frame.rechunk().write_parquet(buffer, compression="zstd", statistics=True)
    return buffer.getvalue()


def cell_folder(out: Path, cell: int, replicate: int) -> Path:
    """Return the folder of one cell and replicate."""
    return out / CELLS / f"{cell:04}-{replicate:04}"


def part_folder(out: Path, name: str) -> Path:
    """Return the folder of a further part of a study."""
    return out / PARTS / name


@contextmanager
def new_cell(out: Path, cell: int, replicate: int) -> Iterator[Path]:
    """Store what belongs to one cell and replicate in one step.

    Yields
    ------
    Path
        A folder to write into. At the end of the block it gets its final name; if the block fails,
        nothing of it is left.

    Notes
    -----
    The files and their names are synced, the folder's own name is not. After a power loss the
    newest results may be missing; the same command computes them again.
    """
    final = cell_folder(out, cell, replicate)
    temporary = final.with_name(f"{TEMPORARY}{final.name}")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir(parents=True)
        yield temporary
        for file in temporary.iterdir():
            _sync(file)
        _sync(temporary)
        temporary.rename(final)
    except BaseException:  # an interruption, too, leaves nothing half written
        shutil.rmtree(temporary, ignore_errors=True)
        raise


ROWS_AT_ONCE = 1 << 17
"""Rows that stand together in a file that is written while it is read; the bytes depend on it."""


def write_lazily(file: Path, frame: pl.LazyFrame) -> None:
    """Write rows as they are read, without holding all of them.

    Raises
    ------
    OSError
        If they cannot be written.
    """
    frame.sink_parquet(
        file, compression="zstd", statistics=True, row_group_size=ROWS_AT_ONCE, maintain_order=True
    )


def replace_lazily(path: Path, frame: pl.LazyFrame) -> None:
    """Replace a Parquet file in one step by rows that are not held all at once."""
    with _replaced(path) as temporary:
        write_lazily(temporary, frame)


def remove_unfinished(out: Path) -> None:
    """Remove what an earlier, killed run left half written."""
    for leftover in [*out.glob(f"{TEMPORARY}*"), *(out / CELLS).glob(f"{TEMPORARY}*")]:
        if leftover.is_dir():
            shutil.rmtree(leftover)
        else:
            leftover.unlink()


@contextmanager
def storage_errors(
    folder: Path,
    full: str,
    hint: str,
    refused: str = "cannot use",
    remedy: str = "choose another folder with --out",
) -> Iterator[None]:
    """Raise `FairwindError` in the place of an `OSError`.

    Parameters
    ----------
    folder : Path
        Named in errors without a file.
    full, hint : str
        Message about a full disk, and what to do.
    refused, remedy : str
        Beginning of the message about any other error, and what to do.
    """
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise FairwindError(f"the disk is full: {full}", hint) from error
        file, reason = error.filename or folder, error.strerror or error
        raise FairwindError(f"{refused} {file}: {reason}", remedy) from error


def damaged(path: Path) -> FairwindError:
    """Refuse a file of a run's folder that cannot be parsed."""
    return FairwindError(
        f"{path} is damaged and cannot be read",
        "run the scenario again into a new folder, or restore the file from a copy",
    )


def _sync(path: Path) -> None:
    """Make a file's content, or the names in a folder, outlast a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


LOCK = ".lock"
"""The file that a run holds; it stays behind empty, since removing it would open a gap."""

WITHOUT_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)
"""Errors of file systems without locks."""


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Keep every other run out of an existing folder while the block lasts.

    The system gives the lock back even if the process is killed.

    Raises
    ------
    FairwindError
        If another run, of this process or another, is using the folder.
    """
    with (out / LOCK).open("a+", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            raise _in_use(out, file.read().strip()) from error
        except OSError as error:
            if error.errno not in WITHOUT_LOCKS:
                raise
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)


def _in_use(out: Path, holder: str) -> FairwindError:
    who = f"process {holder}" if holder.isdigit() else "another process"
    return FairwindError(
        f"{out} is in use by {who}",
        "wait until it has ended, or name another folder with --out",
    )

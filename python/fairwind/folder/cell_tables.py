"""The tables of one simulation in its folder, until all are merged.

They are Arrow streams in one file: writing and reading a small table costs a tenth of what Parquet
does, a file for each as much again, and a study has a hundred thousand of them. Tables that memory
might not hold are Parquet, written while they are read.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Literal

import polars as pl

from fairwind.errors import FairwindError
from fairwind.folder.store import parquet_bytes, write_lazily

LARGE = frozenset({"queue_events"})
"""Tables that memory might not hold, so that they are put together file by file."""

SMALL = "tables.arrows"
"""The file of all others: a stream with the name of each table, and the stream that it is."""

STREAM, PARQUET = ".arrows", ".parquet"
"""Suffixes of files with one table, which earlier versions wrote."""


class DamagedFileError(FairwindError):
    """A file of a finished simulation cannot be decoded.

    Parameters
    ----------
    file : Path
        The file; its folder holds the tables of one cell and replicate.
    reason : str
        The reader's message.
    """

    def __init__(self, file: Path, reason: str) -> None:
        super().__init__(
            f"{file} is damaged: {reason}",
            f"remove {file.parent} and run the scenario again; only that simulation is repeated",
        )
        self.file = file


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    """Raise `DamagedFileError` for whatever a reader makes of damaged bytes."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise DamagedFileError(file, str(error).splitlines()[0]) from error
    except OSError as error:
        if error.errno is not None:  # the system could not read it
            raise
        raise DamagedFileError(file, str(error)) from error


def write_tables(folder: Path, tables: Mapping[str, pl.DataFrame | pl.LazyFrame]) -> None:
    """Write all tables into a folder that nobody reads yet; parts become one."""
    small: dict[str, bytes] = {}
    for name, frame in tables.items():
        if isinstance(frame, pl.LazyFrame):
            write_lazily(folder / f"{name}{PARQUET}", frame)
        elif name in LARGE and frame.height:
            (folder / f"{name}{PARQUET}").write_bytes(parquet_bytes(frame))
        else:
            small[name] = stream_bytes(frame)
    together = {"table": list(small), "stream": list(small.values())}
    schema = {"table": pl.String, "stream": pl.Binary}
    content = stream_bytes(pl.DataFrame(together, schema=schema), "uncompressed")
    (folder / SMALL).write_bytes(content)
    for parts in folder.glob(".parts-*"):
        shutil.rmtree(parts)


def stream_bytes(
    frame: pl.DataFrame, compression: Literal["zstd", "uncompressed"] = "zstd"
) -> bytes:
    """Encode a frame; frames that were made in the same steps give the same bytes.

    Other than in Parquet, what no row shows may differ after other steps: the bits behind the last
    row. Encoding in memory leaves writing to plain files, which report errors with their number.
    """
    buffer = io.BytesIO()
    frame.rechunk().write_ipc_stream(buffer, compression=compression)
    return buffer.getvalue()


KEPT_BYTES = 1 << 17
"""Files up to this size stay in memory, as they are stored, until all of their tables are read."""


@lru_cache(maxsize=1024)
def _shared(names: frozenset[str]) -> frozenset[str]:
    """Give equal names as one object: a million simulations would hold gigabytes of them."""
    return names


class CellTables:
    """Tables of a simulation's folder.

    Parameters
    ----------
    folder : Path
        Of a simulation that is done.
    most_kept : int
        Bytes of small tables that stay in memory, at most; above that they are read each time.
    """

    def __init__(self, folder: Path, most_kept: int = KEPT_BYTES) -> None:
        self._folder = folder
        streams = self._streams()
        self._together = _shared(frozenset(streams))
        size = sum(map(len, streams.values()))
        self._kept = streams if size <= most_kept else None
        self.kept_bytes = size if size <= most_kept else 0

    def _streams(self) -> dict[str, bytes]:
        """Read the small tables as they are stored."""
        if not (file := self._folder / SMALL).exists():
            return {}
        with _reading(file):
            together = pl.read_ipc_stream(file)
            streams = dict(zip(together["table"], together["stream"], strict=True))
        if not streams:  # cut off between two messages
            raise DamagedFileError(file, "it holds no table")
        return streams

    @property
    def names(self) -> set[str]:
        """The names of all its tables; every finished simulation has some."""
        files = (file for file in self._folder.iterdir() if file.name != SMALL)
        alone = {file.stem for file in files if file.suffix in {STREAM, PARQUET}}
        if names := alone | self._together:
            return names
        raise DamagedFileError(self._folder / SMALL, "it is missing")

    def read(self, name: str) -> pl.DataFrame:
        """Read a table that memory holds; one without columns if the simulation has none."""
        if name in self._together:
            streams = self._streams() if self._kept is None else self._kept
            with _reading(self._folder / SMALL):
                return pl.read_ipc_stream(streams[name])
        stream, parquet = (self._folder / f"{name}{ending}" for ending in (STREAM, PARQUET))
        if stream.exists():
            with _reading(stream):
                return pl.read_ipc_stream(stream)
        if not parquet.exists():
            return pl.DataFrame()
        with _reading(parquet):
            return pl.read_parquet(parquet)

    def check(self) -> None:
        """Read everything once, large tables without holding them.

        Raises
        ------
        DamagedFileError
            For the first file that cannot be decoded.
        """
        for name in self.names:
            file = self._folder / f"{name}{PARQUET}"
            if name in LARGE and name not in self._together and file.exists():
                with _reading(file):
                    for column in pl.read_parquet_schema(file):
                        pl.scan_parquet(file).select(pl.col(column).hash().sum()).collect()
            else:
                self.read(name)


def large_tables(folders: Iterable[Path], name: str) -> list[pl.LazyFrame]:
    """Give the rows of each simulation that has some of a large table, to be read when needed."""
    files = [file for folder in folders if (file := folder / f"{name}{PARQUET}").exists()]
    scans = []
    for file in files:
        with _reading(file):
            if pl.read_parquet_schema(file):
                scans.append(pl.scan_parquet(file))
    return scans

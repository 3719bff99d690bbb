"""The tables of one simulation in its folder, until all are merged.

They are Arrow streams in one file: writing and reading a small table costs a tenth of what Parquet
does, a file for each as much again, and a study has a hundred thousand of them. The streams are
compressed together, which takes a fifth of the space of each alone. Tables that memory might not
hold are Parquet, written while they are read.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
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
"""Suffixes of files with one table."""

MOST_VALUES_TOGETHER = 1 << 23
"""A table of more values, 64 MiB of numbers, is a file by itself: the others are held together."""


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
        elif frame.height * frame.width > MOST_VALUES_TOGETHER:
            (folder / f"{name}{STREAM}").write_bytes(stream_bytes(frame, "zstd"))
        else:
            small[name] = stream_bytes(frame, "uncompressed")
    together = {"table": list(small), "stream": list(small.values())}
    schema = {"table": pl.String, "stream": pl.Binary}
    (folder / SMALL).write_bytes(stream_bytes(pl.DataFrame(together, schema=schema), "zstd"))
    for parts in folder.glob(".parts-*"):
        shutil.rmtree(parts)


def stream_bytes(frame: pl.DataFrame, compression: Literal["zstd", "uncompressed"]) -> bytes:
    """Encode a frame; frames that were made in the same steps give the same bytes.

    Other than in Parquet, what no row shows may differ after other steps: the bits behind the last
    row. Encoding in memory leaves writing to plain files, which report errors with their number.
    """
    buffer = io.BytesIO()
    frame.rechunk().write_ipc_stream(buffer, compression=compression)
    return buffer.getvalue()


class CellTables:
    """Tables of a simulation's folder, of which the small ones are in memory as Arrow streams.

    Parameters
    ----------
    folder : Path
        Of a simulation that is done.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._file = folder, folder / SMALL
        self._together = self._streams()

    def _streams(self) -> dict[str, bytes]:
        """Read the streams of the small tables."""
        if not self._file.exists():
            return {}
        with _reading(self._file):
            together = pl.read_ipc_stream(self._file)
            streams = dict(zip(together["table"], together["stream"], strict=True))
        if not streams:  # cut off between two messages
            raise DamagedFileError(self._file, "it holds no table")
        return streams

    @property
    def names(self) -> set[str]:
        """The names of all its tables; every finished simulation has some."""
        files = (file for file in self._folder.iterdir() if file.name != SMALL)
        alone = {file.stem for file in files if file.suffix in {STREAM, PARQUET}}
        if names := alone | self._together.keys():
            return names
        raise DamagedFileError(self._file, "it is missing")

    def read(self, name: str) -> pl.DataFrame:
        """Read a table that memory holds; one without columns if the simulation has none."""
        if name in self._together:
            with _reading(self._file):
                return pl.read_ipc_stream(self._together[name])
        stream, parquet = (self._folder / f"{name}{ending}" for ending in (STREAM, PARQUET))
        if stream.exists():
            with _reading(stream):
                return pl.read_ipc_stream(stream)
        if not parquet.exists():
            return pl.DataFrame()
        with _reading(parquet):
            return pl.read_parquet(parquet)

    def is_large(self, name: str) -> bool:
        """Return whether memory might not hold a table; it is a file by itself."""
        if name not in LARGE or name in self._together:
            return False
        return (self._folder / f"{name}{PARQUET}").exists()

    def check(self) -> None:
        """Read everything once, large tables without holding them.

        Raises
        ------
        DamagedFileError
            For the first file that cannot be decoded.
        """
        for name in self.names:
            if self.is_large(name):
                file = self._folder / f"{name}{PARQUET}"
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

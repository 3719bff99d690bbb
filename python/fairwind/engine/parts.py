"""A table that is written down while it grows, because memory would not hold it."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from fairwind import _core


class Parts:
    """The rows of one table, in files of their own until they are put together.

    Parameters
    ----------
    folder : Path
        Where the files are put, below a folder whose name begins with a dot.
    name : str
        The table's name.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder / f".parts-{name}"
        self.files: list[Path] = []

    def add(self, table: _core.Table) -> None:
        """Write down the rows that come next.

        Raises
        ------
        OSError
            If they cannot be written.
        """
        self._folder.mkdir(exist_ok=True)
        file = self._folder / f"{len(self.files):06}.parquet"
        pl.DataFrame(table).write_parquet(file, compression="zstd")
        self.files.append(file)

    def whole(self) -> pl.LazyFrame:
        """Give all rows in their order, to be read when they are needed."""
        return pl.scan_parquet(self.files)

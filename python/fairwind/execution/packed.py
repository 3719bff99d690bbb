"""The files of one simulation as one Arrow stream, for their way from a worker."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl

SCHEMA = {"file": pl.String, "content": pl.Binary}


def pack(folder: Path) -> bytes:
    """Give all files of a folder; what is compressed already stays as it is."""
    files = sorted(file for file in folder.iterdir() if file.is_file())
    content = {
        "file": [file.name for file in files],
        "content": [file.read_bytes() for file in files],
    }
    buffer = io.BytesIO()
    pl.DataFrame(content, schema=SCHEMA).write_ipc_stream(buffer, compression="uncompressed")
    return buffer.getvalue()


def unpack(packed: bytes, folder: Path) -> None:
    """Write all files into an empty folder.

    Raises
    ------
    ValueError
        If these are not the files of a simulation.
    """
    try:
        files = pl.read_ipc_stream(io.BytesIO(packed))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise ValueError(f"damaged on the way: {error}") from error
    if files.schema != SCHEMA or not files.height:
        raise ValueError("damaged on the way: it holds no files")
    for name, content in files.iter_rows():
        (folder / Path(name).name).write_bytes(content)

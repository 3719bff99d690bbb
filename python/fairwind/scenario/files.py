"""Files that a scenario names, which lie beside it: writes, rates, losses, delays as recorded."""

from __future__ import annotations

from pathlib import Path

from fairwind.engine import NamedFile, captured_writes
from fairwind.errors import FairwindError

WHAT = {
    "writes": "the writes to be replayed",
    "rate-trace": "the recorded rate",
    "losses": "the recorded losses",
    "delays": "the table of delays",
}
"""Names of file kinds in errors."""

FORM = {
    "writes": "give the name of a capture, or of a text file with lines such as 0.035,1200",
    "rate-trace": "give the name of a file in Mahimahi's form: one number of milliseconds a line",
    "losses": "give the name of a text file with 1 for each lost packet and 0 for each other",
    "delays": "give the name of a file such as netem's .dist: numbers with blanks between them",
}
"""Hints on the expected format, by file kind."""


CAPTURES = (
    b"\x0a\x0d\x0d\x0a",
    b"\xa1\xb2\xc3\xd4",
    b"\xd4\xc3\xb2\xa1",
    b"\xa1\xb2\x3c\x4d",
    b"\x4d\x3c\xb2\xa1",
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
)
"""Magic numbers of captures: pcapng, pcap in both byte orders and resolutions, gzip, zstd."""


def text_of(folder: Path, named: NamedFile) -> str:
    """Read a file that a scenario in the folder names; of a capture, what an application wrote.

    Raises
    ------
    FairwindError
        If it cannot be read, or is not what the scenario takes it for.
    """
    file = folder / named.name
    if named.content == "writes" and is_capture(file):
        return captured_writes(file, named.connection)
    if named.connection is not None:
        raise FairwindError(
            f"cannot take a connection out of {file}: it is no capture",
            "name a capture (pcap, pcapng), or leave connection out",
        )
    return read_text(file, WHAT[named.content], FORM[named.content])


def is_capture(file: Path) -> bool:
    """Return whether a file begins with the magic number of a capture; False if unreadable."""
    try:
        with file.open("rb") as opened:
            return opened.read(4).startswith(CAPTURES)
    except OSError:
        return False


def read_text(file: Path, what: str, hint: str) -> str:
    """Read a file of text, or say why it cannot be.

    Raises
    ------
    FairwindError
        Names what it was to hold, the file, the reason and the hint.
    """
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise FairwindError(f"cannot read {what} {file}: {reason}", hint) from error

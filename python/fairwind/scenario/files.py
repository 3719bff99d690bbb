"""Files that a scenario names, which lie beside it: writes, rates, losses, delays as recorded."""

from __future__ import annotations

from pathlib import Path

from fairwind.engine import NamedFile
from fairwind.errors import FairwindError

WHAT = {
    "writes": "the writes to be replayed",
    "rate-trace": "the recorded rate",
    "losses": "the recorded losses",
    "delays": "the table of delays",
}
"""What a file is called in an error, by what it is to hold."""

FORM = {
    "writes": "give the name of a text file with lines such as 0.035,1200",
    "rate-trace": "give the name of a file in Mahimahi's form: one number of milliseconds a line",
    "losses": "give the name of a text file with 1 for each lost packet and 0 for each other",
    "delays": "give the name of a file such as netem's .dist: numbers with blanks between them",
}
"""What such a file should be, by what it is to hold."""


def text_of(folder: Path, named: NamedFile) -> str:
    """Read a file that a scenario in the folder names.

    Raises
    ------
    FairwindError
        If it cannot be read as text.
    """
    return read_text(folder / named.name, WHAT[named.content], FORM[named.content])


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

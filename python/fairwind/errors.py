"""The errors that a person can meet and do something about.

Anything else that leaves this package is a defect of Fairwind itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class FairwindError(Exception):
    """Something expected went wrong: what, where, and what to do about it.

    Parameters
    ----------
    message : str
        What went wrong and where, without a full stop.
    hint : str, optional
        What to do about it.
    """

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message if hint is None else f"{message}\n  hint: {hint}")
        self.message = message
        self.hint = hint


class ControlClassError(FairwindError):
    """A class that serves as a congestion control has raised an exception, which ends the run."""


class RunInterrupted(FairwindError):
    """The run was stopped by the person who started it; what was finished is kept."""


def read_text(file: Path, hint: str, what: str = "") -> str:
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
        raise FairwindError(f"cannot read {what}{file}: {reason}", hint) from error


@contextmanager
def translated(refusal: type[Exception], error: type[FairwindError]) -> Iterator[None]:
    """Raise what the core refuses as an error of this package, with the same text."""
    try:
        yield
    except refusal as refused:
        raise error(str(refused)) from refused

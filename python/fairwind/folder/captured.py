"""Record of the input in the folder of an analysis."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class CaptureInput:
    """One input of an analysis: a file, a folder of rotated files, or the standard input.

    Attributes
    ----------
    name : str
        As the person named it.
    point : str
        Whose side it was taken at: ``sender`` or ``receiver``.
    bytes : int, optional
        Its size; None for what has none, such as the standard input.
    head_sha256 : str, optional
        Digest of its first 64 KiB, which tells whether a file is the same.
    cell, replicate : int
        Where its rows stand in the tables.
    """

    name: str
    point: str
    bytes: int | None = None
    head_sha256: str | None = None
    cell: int = 0
    replicate: int = 0


@dataclass(frozen=True)
class Captured:
    """Input of an analysis: files, settings, and defects.

    Attributes
    ----------
    inputs : tuple of CaptureInput
    settings : dict
        How it was analysed.
    made_by : str, optional
        The engine of the run that wrote the captures, if it was one of ours.
    facts : list of dict
        What each pair of inputs is in numbers: packets, bytes, first and last instant, clock.
    notes : tuple of str
        What was wrong with the captures, and where.
    caveats : tuple of str
        What a reader must know before believing a number.
    is_complete : bool
        Whether all was read; False after an interruption.
    """

    inputs: tuple[CaptureInput, ...]
    settings: dict[str, Any]
    made_by: str | None = None
    facts: tuple[dict[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    is_complete: bool = True

    @property
    def document(self) -> dict[str, Any]:
        """Give it as it stands in a manifest."""
        return asdict(self)

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Captured:
        """Read it out of a manifest."""
        return cls(
            inputs=tuple(CaptureInput(**entry) for entry in document["inputs"]),
            settings=document["settings"],
            made_by=document["made_by"],
            facts=tuple(document["facts"]),
            notes=tuple(document["notes"]),
            caveats=tuple(document["caveats"]),
            is_complete=document["is_complete"],
        )

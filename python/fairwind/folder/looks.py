"""How the answer of a run was asked for, `looks.json`: at how many seeds, and with which margin.

A run with ``--until-decided`` keeps its error rate only if whoever reads it later knows the looks,
and the margin belongs to the question. Tables and manifest are those of a run that asked for the
last number of seeds from the beginning.
"""

from __future__ import annotations

import json
from pathlib import Path

from fairwind.folder.store import damaged, write_file

LOOKS = "looks.json"


def write_looks(out: Path, looks: list[int], margin: float) -> None:
    """Store at which numbers of seeds, ascending, a run was looked at, and with which margin."""
    content = json.dumps({"seeds": looks, "margin": margin})
    write_file(out / LOOKS, f"{content}\n".encode())


def write_margin(out: Path, margin: float) -> None:
    """Store the margin of a run's answer; the looks are kept.

    Raises
    ------
    FairwindError
        If the file is there and damaged.
    """
    write_looks(out, read_looks(out), margin)


def read_looks(out: Path) -> list[int]:
    """Read at which numbers of seeds a run was looked at; empty for a run of a given number.

    Raises
    ------
    FairwindError
        If the file is damaged.
    """
    return _read(out)[0]


def read_margin(out: Path) -> float | None:
    """Read the margin that a run was asked with, as a ratio; None for the usual one.

    Raises
    ------
    FairwindError
        If the file is damaged.
    """
    return _read(out)[1]


def _read(out: Path) -> tuple[list[int], float | None]:
    path = out / LOOKS
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        looks, margin = content["seeds"], content.get("margin")
        if looks != sorted({int(seeds) for seeds in looks}) or (looks and looks[0] < 1):
            raise ValueError(looks)
        if (margin is None and not looks) or (margin is not None and not 0 < margin < 1):
            raise ValueError(margin)
    except FileNotFoundError:
        return [], None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise damaged(path) from error
    return [int(seeds) for seeds in looks], margin

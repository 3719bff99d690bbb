"""Looks at a run while seeds were added, `looks.json`: at how many seeds an answer was asked for.

A run with ``--until-decided`` keeps its error rate only if whoever reads it later knows the looks.
Tables and manifest are those of a run that asked for the last number of seeds from the beginning.
"""

from __future__ import annotations

import json
from pathlib import Path

from fairwind.errors import FairwindError
from fairwind.folder.store import write_file

LOOKS = "looks.json"


def write_looks(out: Path, looks: list[int]) -> None:
    """Store at which numbers of seeds a run was looked at, in ascending order."""
    write_file(out / LOOKS, (json.dumps({"seeds": looks}) + "\n").encode())


def read_looks(out: Path) -> list[int]:
    """Read at which numbers of seeds a run was looked at; empty for a run of a given number.

    Raises
    ------
    FairwindError
        If the file is damaged.
    """
    path = out / LOOKS
    try:
        looks = json.loads(path.read_text(encoding="utf-8"))["seeds"]
        if looks != sorted({int(seeds) for seeds in looks}) or not looks or looks[0] < 1:
            raise ValueError(looks)
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError) as error:
        raise FairwindError(
            f"{path} is damaged and cannot be read",
            "run the scenario again into a new folder, or restore the file from a copy",
        ) from error
    return [int(seeds) for seeds in looks]

"""Named tests: scenarios that come with the package, such as ``rrul``."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from fairwind.errors import FairwindError
from fairwind.scenario.scenario import Scenario, load

FOLDER = Path(__file__).parent.parent / "scenarios"


@dataclass(frozen=True)
class NamedTest:
    """A scenario that comes with the package.

    Attributes
    ----------
    name : str
        What it is run by.
    description : str
        What it shows, in a line.
    file : Path
        Its scenario.
    """

    name: str
    description: str
    file: Path


def named_tests() -> list[NamedTest]:
    """Give all named tests, by name."""
    return [_read(file) for file in sorted(FOLDER.glob("*.toml"))]


def named_test_names() -> list[str]:
    """Give the names of all named tests without reading them."""
    return sorted(file.stem for file in FOLDER.glob("*.toml"))


@lru_cache
def _read(file: Path) -> NamedTest:
    described = tomllib.loads(file.read_text(encoding="utf-8"))
    return NamedTest(file.stem, described["description"], file)


def find_scenario(word: str) -> Scenario:
    """Read the named test or the scenario file that a word stands for.

    The name of a test always means the test, so that a command does the same in every folder; a
    file of that name is reached as ``./NAME``.

    Raises
    ------
    FairwindError
        If there is neither.
    """
    names = named_test_names()
    if word in names:
        return load(FOLDER / f"{word}.toml")
    file = Path(word)
    if file.exists() or file.name != word or file.suffix:
        return load(file)
    close = difflib.get_close_matches(word, names, 1)
    hint = f"did you mean {close[0]}? " if close else ""
    raise FairwindError(
        f"cannot read the scenario {word}: there is neither a file nor a named test of that name",
        f"{hint}`fairwind tests` lists the named tests",
    )

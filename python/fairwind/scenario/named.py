"""Named tests: scenarios that come with the package, such as ``rrul``."""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path

from fairwind.errors import FairwindError
from fairwind.scenario.scenario import Scenario, load

FOLDER = Path(__file__).parent.parent / "scenarios"


def named_tests() -> dict[str, str]:
    """Give what each named test shows, in a line, by its name."""
    texts = {name: (FOLDER / f"{name}.toml").read_text("utf-8") for name in named_test_names()}
    return {name: tomllib.loads(text)["description"] for name, text in texts.items()}


def named_test_names() -> list[str]:
    """Give the names of all named tests without reading them."""
    return sorted(file.stem for file in FOLDER.glob("*.toml"))


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

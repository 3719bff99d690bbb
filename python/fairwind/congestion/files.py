"""C files that a scenario names as congestion controls: compiled, and replaced by their names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from fairwind.congestion.sources import control_of_file
from fairwind.errors import FairwindError

COMMENT_OR_STRING = re.compile(r"#[^\n]*|\"[^\"\n]*\"|'[^'\n]*'")
"""Comments are found as well, so that what stands in them is left alone."""


def with_compiled_files(
    text: str, overrides: Iterable[tuple[str, str]], folder: Path
) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Compile the C files that a scenario names, and put the names of the controls there.

    Parameters
    ----------
    text : str
        The scenario in TOML.
    overrides : iterable of (str, str)
        Key paths and their values, as `Scenario` has them.
    folder : Path
        The scenario's. A file lies there, or else in the current folder.

    Returns
    -------
    tuple of str and tuple
        Text and overrides. A name of which there is no file is left as it is.

    Raises
    ------
    FairwindError
        If the compiler refuses a file.
    """
    files: dict[str, Path] = {}

    def named(word: str) -> str | None:
        if not word.endswith(".c"):
            return None
        found = next((file for file in (folder / word, Path(word)) if file.is_file()), None)
        if found is None:
            return None
        name = control_of_file(found)[0].name
        if files.setdefault(name, found.resolve()) != found.resolve():
            raise FairwindError(
                f"{files[name]} and {found} would both be the control {name}",
                "rename one of the files",
            )
        return name

    def replaced(match: re.Match[str]) -> str:
        name = None if match[0].startswith("#") else named(match[0][1:-1])
        return match[0] if name is None else f'"{name}"'

    def compiled(value: str) -> str:
        # A value from the command line may be without quotation marks.
        return named(value) or COMMENT_OR_STRING.sub(replaced, value)

    return (
        COMMENT_OR_STRING.sub(replaced, text) if ".c" in text else text,
        tuple((key, compiled(value)) for key, value in overrides),
    )

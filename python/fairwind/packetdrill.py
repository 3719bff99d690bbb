"""Packetdrill scripts: our endpoint, or the running kernel, is followed and judged line by line.

`find_scripts` makes a list of script files out of files and folders; `follow` runs one of them.
Nothing is printed here.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from fairwind import _core
from fairwind.errors import FairwindError
from fairwind.kernels.catalogue import is_virtual, kernel_named, worker

SUFFIX = ".pkt"


class UnreadableScriptError(FairwindError):
    """The file of a script cannot be read, or is not a text."""


class Verdict(StrEnum):
    """Verdict on a script."""

    PASSED = "passed"
    FAILED = "failed"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True)
class ScriptOutcome:
    """Result of one script.

    Attributes
    ----------
    verdict : Verdict
        `UNSUPPORTED` says that something is needed which is not there; it is not passed.
    line : int or None
        The line that does not hold, from 1; None where it is not one line's fault.
    message : str
        What is wrong or missing; empty for a passed script.
    dialogue : str
        What was expected beside what was seen, up to the failing line.
    """

    script: Path
    verdict: Verdict
    line: int | None
    message: str
    dialogue: str

    def __str__(self) -> str:
        """Format the result as one line."""
        place = f"{self.script}:{self.line}" if self.line else f"{self.script}"
        what = f": {self.message}" if self.message else ""
        return f"{self.verdict:<11}  {place}{what}"


@dataclass(frozen=True)
class FollowSettings:
    """Settings for running scripts.

    Attributes
    ----------
    on : str
        ``sim`` (our endpoint, in virtual time), ``kernel`` (the running one, in real time; needs
        root), or a built kernel such as ``linux-6.12`` (in virtual time).
    profile : str
        Profile of Fairwind's endpoint.
    strict : bool
        Compare more than the tool that the language comes from: ``TSecr``, how packets are divided,
        and packets of all connections.
    strict_echo : bool
        Compare ``TSecr``.
    definitions : mapping of str to str
        Names that stand for something else, as with ``-D`` in a script.
    options : mapping of str to (str or None)
        Option lines that count as if they stood in the script.
    """

    on: str = "sim"
    profile: str = "linux-6.18"
    strict: bool = False
    strict_echo: bool = False
    definitions: Mapping[str, str] | None = None
    options: Mapping[str, str | None] | None = None


def kernel_problem() -> str | None:
    """Return why scripts cannot run on the kernel; None if they can."""
    return _core.kernel_problem()


def find_scripts(places: Iterable[Path]) -> list[Path]:
    """List the script files among files and below folders.

    Raises
    ------
    FairwindError
        If a place does not exist, or a folder has no script in it.
    """
    found: list[Path] = []
    for place in places:
        if not place.is_dir():
            found.append(place)
            continue
        inside = sorted(place.rglob(f"*{SUFFIX}"))
        if not inside:
            raise FairwindError(f"{place} has no scripts", f"names of scripts end in {SUFFIX}")
        found += inside
    missing = [place for place in found if not place.exists()]
    if missing:
        raise FairwindError(
            f"there is no script {missing[0]}", f"give a file or a folder with *{SUFFIX} files"
        )
    return found


def follow(script: Path, settings: FollowSettings | None = None) -> ScriptOutcome:
    """Run one script.

    Raises
    ------
    UnreadableScriptError
        If the file cannot be read as text.
    FairwindError
        If the kernel cannot be used.
    """
    settings = settings or FollowSettings()
    text = _text_of(script)
    definitions, options = list((settings.definitions or {}).items()), dict(settings.options or {})
    judging = {"strict": settings.strict, "strict_echo": settings.strict_echo}
    options |= {name: None for name, is_on in judging.items() if is_on}
    if is_virtual(settings.on):
        programs = kernel_named(settings.on).program, worker()
        with tempfile.TemporaryDirectory(prefix="fairwind-") as folder:
            (answer,) = _core.follow_on_virtual_kernel(
                programs,
                [(script, text)],
                f"{folder}/instance",
                definitions=definitions,
                options=list(options.items()),
            )
        return _outcome(script, answer)
    try:
        answer = _core.follow_script(
            str(script),
            text,
            on=settings.on,
            profile=settings.profile,
            definitions=definitions,
            options=list(options.items()),
        )
    except _core.KernelUnavailable as error:
        raise FairwindError(
            f"the kernel cannot be used: {error}",
            "use --on sim, or a built kernel such as --on linux-6.12",
        ) from error
    except ValueError as error:
        raise FairwindError(str(error)) from error
    return _outcome(script, answer)


def _outcome(script: Path, answer: Mapping[str, Any]) -> ScriptOutcome:
    return ScriptOutcome(
        script, Verdict(answer["outcome"]), answer["line"], answer["message"], answer["dialogue"]
    )


def first_difference(one: ScriptOutcome, other: ScriptOutcome) -> int | None:
    """Return the line at which two systems first differ in what a script tells of them.

    Both keep to the script up to the line that one of them breaks, so they differ where only one
    does, or where each does in its own way. None if they do not differ; 0 if a line is not known.
    """
    if (one.verdict, one.line, one.message) == (other.verdict, other.line, other.message):
        return None
    lines = [at.line or 0 for at in (one, other) if at.verdict is not Verdict.PASSED]
    return min(lines)


def _text_of(script: Path) -> str:
    try:
        return script.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UnreadableScriptError(f"{script} is not UTF-8 text: {error.reason}") from error
    except OSError as error:
        raise UnreadableScriptError(f"{script}: {error.strerror}") from error

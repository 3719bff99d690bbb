"""What is screened: a known congestion control, a C file, or a class of Python."""

from __future__ import annotations

import difflib
import importlib.util
import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fairwind.congestion.sources import (
    ENDPOINTS_OWN,
    built_in,
    control_of_file,
    free_name,
    own_controls,
)
from fairwind.congestion.used import HOOKS, ControlClass
from fairwind.errors import FairwindError


@dataclass(frozen=True)
class ScreenedControl:
    """A congestion control as scenarios name it.

    Attributes
    ----------
    name : str
        In scenarios.
    classes : dict
        Its class, where it is one of Python.
    warnings : tuple of str
        What a compiler said.
    """

    name: str
    classes: Mapping[str, ControlClass] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def control_named(word: str, *, for_kernel: bool = False) -> ScreenedControl:
    """Find the congestion control that a word stands for; compile it if it is a C file.

    Parameters
    ----------
    word : str
        A name, ``FILE.c``, ``FILE.py`` with one class that has hooks, or ``FILE.py:CLASS``. A C
        file is registered under its name without the ending, as `fairwind congestion build` does.
    for_kernel : bool
        Whether a C file is also compiled for a kernel, which needs clang.

    Raises
    ------
    FairwindError
        If there is none, a compiler refuses it, or the file has no such class.
    """
    if word.endswith(".c"):
        compiled, said = control_of_file(Path(word), with_object=for_kernel)
        return ScreenedControl(compiled.name, warnings=tuple(said))
    file, _, name = word.rpartition(":") if ".py:" in word else (word, "", "")
    if file.endswith(".py"):
        written = _class_in(Path(file), name)
        free = free_name(written.__name__.lower())
        return ScreenedControl(free, {free: written})
    own = [one.name for one in own_controls()]
    names = [*ENDPOINTS_OWN, *(one.name for one in built_in()), *own]
    if word in names:
        return ScreenedControl(word)
    close = difflib.get_close_matches(word, names, 1)
    hint = f"did you mean {close[0]}? " if close else ""
    raise FairwindError(
        f"there is no congestion control {word!r}",
        f"{hint}give a name of `fairwind congestion list`, a C file, or FILE.py:CLASS",
    )


def _class_in(file: Path, name: str) -> ControlClass:
    """Import a file and give its class of this name, or the only one that has hooks."""
    if not file.is_file():
        raise FairwindError(f"cannot read {file}: there is no such file", "give FILE.py:CLASS")
    module_name = f"fairwind_screened_{file.stem}"
    specification = importlib.util.spec_from_file_location(module_name, file.resolve())
    if specification is None or specification.loader is None:
        raise FairwindError(f"{file} is no module of Python", "give FILE.py:CLASS")
    module = importlib.util.module_from_spec(specification)
    sys.modules[module_name] = module
    try:
        specification.loader.exec_module(module)
    except Exception as error:
        raise FairwindError(
            f"{file} cannot be imported: {type(error).__name__}: {error}", "correct it"
        ) from error
    found = {
        key: value
        for key, value in vars(module).items()
        if inspect.isclass(value)
        and value.__module__ == module_name
        and any(hasattr(value, hook) for hook in HOOKS)
    }
    if name in found or (not name and len(found) == 1):
        return found[name] if name else next(iter(found.values()))
    what = f"no class {name!r} with hooks" if name else f"{len(found) or 'no'} classes with hooks"
    words = f"choose one of {', '.join(found)}: " if found else ""
    raise FairwindError(f"{file} has {what} of a congestion control", f"{words}FILE.py:CLASS")

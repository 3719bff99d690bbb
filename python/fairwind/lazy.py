"""Public names that are imported on first use, so that the command starts quickly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Make the ``__getattr__`` of a package (PEP 562).

    Parameters
    ----------
    package : str
        Its ``__name__``.
    homes : mapping of str to str
        The module below the package that defines each public name.
    """

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(f"{package}.{homes[name]}"), name)
        return value

    return find


def module_named(name: str) -> Any:  # noqa: ANN401 - its functions are found by name
    """Import a module of this package when a method needs it.

    It is for public classes only, whose methods lead to rooms that know the class.

    Parameters
    ----------
    name : str
        Below ``fairwind``, such as ``notebook.drawing``.
    """
    return import_module(f"fairwind.{name}")

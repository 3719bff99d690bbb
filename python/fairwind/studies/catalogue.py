"""Installed studies, found by the entry points of the group ``fairwind.studies``."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from fairwind.errors import FairwindError
from fairwind.studies.study import Study

GROUP = "fairwind.studies"
"""Entry points of this group are studies: ``NAME = "package.module:STUDY"``."""


def study_names() -> list[str]:
    """Give the names of the installed studies, sorted; imports none of them."""
    return sorted({entry.name for entry in entry_points(group=GROUP)})


def studies() -> dict[str, Study]:
    """Import every installed study.

    Raises
    ------
    FairwindError
        As `study_named` does.
    """
    return {name: study_named(name) for name in study_names()}


def study_named(name: str) -> Study:
    """Import one study.

    Raises
    ------
    FairwindError
        If none or several are installed under this name, or its module has no such study.
    """
    found = tuple(entry_points(group=GROUP, name=name))
    if not found:
        known = ", ".join(study_names())
        hint = f"there are: {known}" if known else "install a package with studies, or `make build`"
        raise FairwindError(f"there is no study {name!r}", hint)
    if len({entry.value for entry in found}) > 1:
        packages = " and ".join(sorted(_package(entry) for entry in found))
        raise FairwindError(
            f"several packages have a study {name!r}: {packages}", "uninstall or rename one of them"
        )
    return _loaded(found[0])


def _loaded(entry: EntryPoint) -> Study:
    hint = f"correct or uninstall the package {_package(entry)}"
    try:
        study = entry.load()
    except (ImportError, AttributeError) as error:
        message = f"cannot load the study {entry.name!r} from {entry.value}: {error}"
        raise FairwindError(message, hint) from error
    if not isinstance(study, Study) or study.name != entry.name:
        raise FairwindError(f"{entry.value} is not a study named {entry.name!r}", hint)
    return study


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else entry.module

"""Studies: what one consists of, and those that are installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from fairwind.errors import FairwindError
from fairwind.results import Claim, Results
from fairwind.scenario import Scenario
from fairwind.scenario.settings import Setting

if TYPE_CHECKING:
    from fairwind.plots import Figure

Read = TypeVar("Read")
"""Results of a part of a study, or what was read of them."""


@dataclass(frozen=True)
class Part:
    """One scenario of several that a form of a study consists of.

    Attributes
    ----------
    file : str
        The scenario file, beside the study's package.
    settings : mapping of str to Setting
        Keys that this form sets otherwise than the file, as `Scenario.with_settings` takes them.
    """

    file: str
    settings: Mapping[str, Setting] = field(default_factory=dict)


def full_and_reduced(fewer: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, Part]]:
    """Give the forms of a study that is whole in one and has less of every part in the other.

    Parameters
    ----------
    fewer : mapping of str to mapping of str to str
        Settings of the reduced form by part; the file of a part has its name.

    Returns
    -------
    dict of str to dict of str to Part
        All parts by name, by form, as `leading_and_further` takes them.
    """
    return {
        "full": {name: Part(f"{name}.toml") for name in fewer},
        "reduced": {name: Part(f"{name}.toml", settings) for name, settings in fewer.items()},
    }


def leading_and_further(
    forms: Mapping[str, Mapping[str, Part]], leading: str
) -> tuple[dict[str, Part], dict[str, dict[str, Part]]]:
    """Divide the parts of each form into the one that leads and the further ones.

    Parameters
    ----------
    forms : mapping of str to mapping of str to Part
        All parts by name, by form.
    leading : str
        Name of the part that leads: its run is the study's own.

    Returns
    -------
    forms, parts
        As `Study` takes them.
    """
    further = {
        form: {name: part for name, part in parts.items() if name != leading}
        for form, parts in forms.items()
    }
    return {form: parts[leading] for form, parts in forms.items()}, further


@dataclass(frozen=True)
class Study:
    """A published experiment.

    Attributes
    ----------
    name : str
        As on the command line.
    title : str
        One line.
    source : str
        The publication.
    package : str
        The Python package that holds the scenario files.
    forms : mapping of str to str or Part
        Scenario file by form. ``full`` is the published experiment, ``reduced`` a short one.
    parts : mapping of str to mapping of str to Part
        By form: further scenarios, by name, where one file cannot hold all. Their runs lie in the
        folder ``parts`` of the form's own one, and `Results.part` gives them.
    figures : callable
        From results to figures; the first is the source's own.
    claims : callable
        From results to judged claims.
    kernel_forms : mapping of str to str
        The form that stands for ``full`` and ``reduced`` on the kernel, which has not every
        mechanism of the publication and takes its time; empty where it is the same.
    kernel_jobs : int
        So many runs at once are punctual on a machine of two processors: what a run needs is small
        at its rates, and its lateness is still reported.
    """

    name: str
    title: str
    source: str
    package: str
    forms: Mapping[str, str | Part]
    figures: Callable[[Results], list[Figure]]
    claims: Callable[[Results], list[Claim]]
    parts: Mapping[str, Mapping[str, Part]] = field(default_factory=dict)
    kernel_forms: Mapping[str, str] = field(default_factory=dict)
    kernel_jobs: int = 1

    def form_on_kernel(self, form: str) -> str:
        """Give the form that is run on the kernel where this one is asked for."""
        return self.kernel_forms.get(form, form)

    def scenario(self, form: str = "full") -> Scenario:
        """Give the scenario of one form.

        Raises
        ------
        FairwindError
            If the study has no such form.
        """
        if form not in self.forms:
            raise _no_form(self, form)
        form_of = self.forms[form]
        return self._scenario(Part(form_of) if isinstance(form_of, str) else form_of)

    def further_scenarios(self, form: str = "full") -> dict[str, Scenario]:
        """Give the scenarios of a form's further parts, by their names."""
        return {name: self._scenario(part) for name, part in self.parts.get(form, {}).items()}

    def _scenario(self, part: Part) -> Scenario:
        file = files(self.package) / part.file
        text = file.read_text(encoding="utf-8")
        return Scenario(str(file), text, study=self.name).with_settings(part.settings)


@dataclass(frozen=True)
class SearchForm:
    """One form of a study that searches.

    Attributes
    ----------
    file : str
        The file of the search, as `fairwind tune` takes it, beside the study's package.
    claims : callable
        From the folder of the finished search to judged claims.
    """

    file: str
    claims: Callable[[Path], list[Claim]]


@dataclass(frozen=True)
class SearchStudy:
    """A question that a search for settings answers.

    Attributes
    ----------
    name, title, source, package : str
        As of `Study`.
    forms : mapping of str to SearchForm
        ``full``, ``reduced``, and perhaps more.
    """

    name: str
    title: str
    source: str
    package: str
    forms: Mapping[str, SearchForm]

    def form(self, form: str = "full") -> SearchForm:
        """Give one form.

        Raises
        ------
        FairwindError
            If the study has no such form.
        """
        if form not in self.forms:
            raise _no_form(self, form)
        return self.forms[form]

    def file(self, form: str = "full") -> Path:
        """Give the path of a form's file."""
        return Path(str(files(self.package) / self.form(form).file))


AnyStudy: TypeAlias = Study | SearchStudy


def _no_form(study: AnyStudy, form: str) -> FairwindError:
    message = f"the study {study.name} has no form {form!r}"
    return FairwindError(message, f"there are {', '.join(study.forms)}")


def drawn_if_run(part: Read | None, *draw: Callable[[Read], Figure | list[Figure]]) -> list[Figure]:
    """Draw figures of a part of a study, or of what was read of it; none if it was not run."""
    if part is None:
        return []
    found = (one(part) for one in draw)
    return [figure for one in found for figure in (one if isinstance(one, list) else [one])]


GROUP = "fairwind.studies"
"""Entry points of this group are studies: ``NAME = "package.module:STUDY"``."""


def study_names() -> list[str]:
    """Give the names of the installed studies, sorted; imports none of them."""
    return sorted({entry.name for entry in entry_points(group=GROUP)})


def studies() -> dict[str, AnyStudy]:
    """Import every installed study.

    Raises
    ------
    FairwindError
        As `study_named` does.
    """
    return {name: study_named(name) for name in study_names()}


def study_named(name: str) -> AnyStudy:
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


def _loaded(entry: EntryPoint) -> AnyStudy:
    hint = f"correct or uninstall the package {_package(entry)}"
    try:
        study = entry.load()
    except (ImportError, AttributeError) as error:
        message = f"cannot load the study {entry.name!r} from {entry.value}: {error}"
        raise FairwindError(message, hint) from error
    if not isinstance(study, (Study, SearchStudy)) or study.name != entry.name:
        raise FairwindError(f"{entry.value} is not a study named {entry.name!r}", hint)
    return study


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else entry.module

"""Suites of a screening, as data: scenarios with checks, thresholds and sources.

A suite is a file ``suites/NAME.toml`` of this package, or ``suite.toml`` in a folder of one's own.
It names scenarios, each a file of the pool (``scenarios/NAME.toml``) or of the suite's folder. Such
a file is a scenario of Fairwind in which ``$control`` stands for the congestion control that is
screened and ``$standard`` for the one it is held against. Its table ``screen`` has the area and the
checks. `docs/guides/screening.md` lists all keys.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

from fairwind.errors import FairwindError, read_text
from fairwind.quantities import parse_ratio, parse_seconds

POOL = Path(__file__).parent / "scenarios"
SUITES = Path(__file__).parent / "suites"
SUITE_FILE = "suite.toml"

CONTROL, STANDARD = "$control", "$standard"
"""Words of a template."""


class Scale(StrEnum):
    """What a threshold is held against.

    ``value``: the measure. ``change``: the measure with the control over that with the standard
    control in its place, less 1. ``difference``: one less the other. ``harm``: the harm that the
    control does beyond that of the standard control in its place (Ware and others, 2019).
    """

    VALUE = "value"
    CHANGE = "change"
    DIFFERENCE = "difference"
    HARM = "harm"


class Unit(StrEnum):
    """Unit of a measure's limit."""

    RATIO = "ratio"
    SECONDS = "s"
    NUMBER = ""


@dataclass(frozen=True)
class Check:
    """One number of a scenario, with its threshold.

    Attributes
    ----------
    name : str
        Unique in its scenario.
    measure : dict
        As `fairwind.screen.measures.measured` takes it.
    limit : float
        In the unit; the control is on the good side at or beyond it.
    is_least : bool
        Whether good values are above the limit, else below.
    more_is_better : bool
        Of the measure; for harm only.
    caution_at_worst : bool
        Whether the control never fails here: the number informs, no standard demands it.
    source : str
        Where threshold or measure come from.
    """

    name: str
    measure: Mapping[str, Any]
    scale: Scale
    limit: float
    unit: Unit
    is_least: bool
    more_is_better: bool
    caution_at_worst: bool
    source: str


@dataclass(frozen=True)
class Template:
    """A scenario of a suite.

    Attributes
    ----------
    name : str
        That of its file.
    area : str
        The area that it belongs to.
    title : str
        What it shows, in a line.
    settings : dict
        The scenario's tables, with `CONTROL` and `STANDARD` in the place of names.
    checks : tuple of Check
    folder : Path
        Where files that the scenario names lie.
    """

    name: str
    area: str
    title: str
    settings: Mapping[str, Any]
    checks: tuple[Check, ...]
    folder: Path

    @cached_property
    def has_standard(self) -> bool:
        """Whether a standard flow is on the path besides the control's."""
        return STANDARD in _words(self.settings)


@dataclass(frozen=True)
class Suite:
    """Scenarios that are run together.

    Attributes
    ----------
    against : tuple of str
        Standard congestion controls, the first one for scenarios without a standard flow.
    seeds : int
        Runs of each scenario.
    areas : dict
        Titles by the names of areas, in the order in which they are shown.
    """

    name: str
    description: str
    against: tuple[str, ...]
    seeds: int
    areas: Mapping[str, str]
    templates: tuple[Template, ...]

    def of_areas(self, names: tuple[str, ...]) -> tuple[Template, ...]:
        """Give the scenarios of some areas, of all if none is named.

        Raises
        ------
        FairwindError
            If an area is not in the suite.
        """
        for name in names:
            if name not in self.areas:
                close = difflib.get_close_matches(name, [*self.areas], 1)
                hint = f"did you mean {close[0]}? " if close else ""
                raise FairwindError(
                    f"the suite {self.name} has no area {name!r}",
                    f"{hint}its areas: {', '.join(self.areas)}",
                )
        return tuple(one for one in self.templates if not names or one.area in names)


def suite_names() -> list[str]:
    """Give the names of the package's suites."""
    return sorted(file.stem for file in SUITES.glob("*.toml"))


def suite_named(word: str) -> Suite:
    """Read the suite of this name, or that of a folder.

    Raises
    ------
    FairwindError
        If there is neither, or something in its files is wrong.
    """
    if word in suite_names():
        return _read_suite(SUITES / f"{word}.toml", word, POOL)
    folder = Path(word)
    if (folder / SUITE_FILE).is_file():
        return _read_suite(folder / SUITE_FILE, folder.resolve().name, folder)
    raise FairwindError(
        f"there is no suite {word!r}",
        f"choose one of {', '.join(suite_names())}, or a folder with a {SUITE_FILE}",
    )


def _read_suite(file: Path, name: str, folder: Path) -> Suite:
    written = _Table(file, _parsed(file))
    areas = written.table("areas")
    chosen = written.tables("scenarios")
    templates = tuple(_read_entry(entry, folder, areas) for entry in chosen)
    suite = Suite(
        name=name,
        description=written.text("description"),
        against=written.texts("against"),
        seeds=written.number("seeds", 2),
        areas={area: str(title) for area, title in areas.items()},
        templates=templates,
    )
    written.refuse_others()
    names = [one.name for one in templates]
    for twice in sorted({one for one in names if names.count(one) > 1}):
        raise FairwindError(f"{file}: the scenario {twice!r} is there twice", "remove one of them")
    return suite


def _read_entry(entry: _Table, folder: Path, areas: Mapping[str, Any]) -> Template:
    name = entry.text("name")
    changes = entry.table("set", {})
    entry.refuse_others()
    own = folder / f"{name}.toml"
    file = own if own.is_file() else POOL / f"{name}.toml"
    template = _read_template(file, name, changes)
    if template.area not in areas:
        raise FairwindError(
            f"{file}: the suite {entry.file} has no area {template.area!r}",
            "add it to the suite's table `areas`, which has their titles",
        )
    return template


def _read_template(file: Path, name: str, changes: Mapping[str, Any]) -> Template:
    settings = _parsed(file)
    if not isinstance(settings.get("screen"), dict):
        raise FairwindError(
            f"{file} has no table `screen`", "add one with the area and the checks of the scenario"
        )
    about = _Table(file, settings.pop("screen"), "screen.")
    for key, value in changes.items():
        _set(settings, key, value, file)
    checks = tuple(_read_check(check) for check in about.tables("checks"))
    template = Template(
        name=name,
        area=about.text("area"),
        title=about.text("title"),
        settings={"name": name, **settings},
        checks=checks,
        folder=file.parent,
    )
    about.refuse_others()
    if CONTROL not in _words(template.settings):
        raise FairwindError(
            f"{file}: no flow has the control", f'set `congestion = "{CONTROL}"` for a group'
        )
    return template


def _read_check(written: _Table) -> Check:
    bounds = [key for key in ("least", "most") if key in written.values]
    if len(bounds) != 1:
        raise FairwindError(
            f"{written.file}: a check needs either `least` or `most`",
            "set the one that the good side begins with",
        )
    limit, unit = _limit(written.taken(bounds[0], (str, int, float)), written)
    better = written.choice("better", ("more", "less"), "more")
    worst = written.choice("at_worst", ("fail", "caution"), "fail")
    check = Check(
        name=written.text("name"),
        measure=written.table("measure"),
        scale=Scale(written.choice("scale", tuple(Scale), Scale.VALUE)),
        limit=limit,
        unit=unit,
        is_least=bounds == ["least"],
        more_is_better=better == "more",
        caution_at_worst=worst == "caution",
        source=written.text("source"),
    )
    written.refuse_others()
    return check


def _limit(value: str | float, written: _Table) -> tuple[float, Unit]:
    """Read a limit: a number, a share such as ``-20 %``, or a time such as ``50 ms``."""
    if not isinstance(value, str):
        return float(value), Unit.NUMBER
    sign, text = (-1, value[1:].strip()) if value.startswith("-") else (1, value)
    unit = Unit.RATIO if re.search(r"%$", text) else Unit.SECONDS
    try:
        size = parse_ratio(text) if unit is Unit.RATIO else parse_seconds(text)
    except FairwindError as error:
        raise FairwindError(f"{written.file}: {error.message}", error.hint) from error
    return sign * size, unit


def _set(settings: dict[str, Any], key: str, value: object, file: Path) -> None:
    """Set a key path; a name after a list means the entry of that name."""
    *path, last = key.split(".")
    place: Any = settings
    for step in path:
        if isinstance(place, list):
            place = next((one for one in place if one.get("name") == step), None)
        else:
            place = place.get(step) if isinstance(place, dict) else None
        if place is None:
            raise FairwindError(
                f"{file} has no {step!r}, so {key!r} cannot be set", "correct the suite's `set`"
            )
    place[last] = value


def _words(value: object) -> set[str]:
    """Give all texts within values."""
    if isinstance(value, Mapping):
        return set().union(*(_words(one) for one in value.values()))
    if isinstance(value, list):
        return set().union(*(_words(one) for one in value))
    return {value} if isinstance(value, str) else set()


def _parsed(file: Path) -> dict[str, Any]:
    text = read_text(file, "give the name of a scenario of the suite, or of the pool", "the suite ")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FairwindError(f"{file}: {error}", "correct the TOML") from error


class _Table:
    """A table of a suite's file, read key by key; what is left over is refused."""

    def __init__(self, file: Path, values: Mapping[str, Any], where: str = "") -> None:
        self.file, self.values, self.where = file, dict(values), where
        self._asked: set[str] = set()

    def taken(self, key: str, kinds: tuple[type, ...], default: Any = None) -> Any:  # noqa: ANN401
        """Give a value of one of these kinds."""
        self._asked.add(key)
        value = self.values.get(key, default)
        if value is None or not isinstance(value, kinds):
            is_there = "is not a" if key in self.values else "is missing, a"
            words = " or ".join(kind.__name__ for kind in kinds)
            raise FairwindError(f"{self.file}: {self.where}{key} {is_there} {words}", "set it")
        return value

    def text(self, key: str) -> str:
        """Give a text."""
        return str(self.taken(key, (str,)))

    def number(self, key: str, least: int) -> int:
        """Give a whole number that is at least so large."""
        value = int(self.taken(key, (int,)))
        if value < least:
            raise FairwindError(f"{self.file}: {key} must be at least {least}", "set a larger one")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Give a list of texts, one at least."""
        value = self.taken(key, (list,))
        if not value or not all(isinstance(one, str) for one in value):
            raise FairwindError(f"{self.file}: {key} is not a list of texts", 'write ["cubic"]')
        return tuple(value)

    def table(self, key: str, default: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """Give a table as it is."""
        found: Mapping[str, Any] = self.taken(key, (dict,), default)
        return found

    def tables(self, key: str) -> list[_Table]:
        """Give a list of tables, one at least."""
        value = self.taken(key, (list,))
        if not value or not all(isinstance(one, dict) for one in value):
            raise FairwindError(
                f"{self.file}: {self.where}{key} is not a list of tables", "add one"
            )
        return [_Table(self.file, one, f"{self.where}{key}.") for one in value]

    def choice(self, key: str, choices: tuple[str, ...], default: str) -> str:
        """Give one of several words."""
        value = str(self.taken(key, (str,), default))
        if value not in choices:
            words = ", ".join(choices)
            raise FairwindError(f"{self.file}: {self.where}{key} = {value!r}", f"one of {words}")
        return value

    def refuse_others(self) -> None:
        """Refuse keys that nobody asked for."""
        for key in self.values:
            if key not in self._asked:
                close = difflib.get_close_matches(key, sorted(self._asked), 1)
                hint = f"did you mean {close[0]}?" if close else "remove it"
                raise FairwindError(f"{self.file}: there is no key {self.where}{key}", hint)

"""The TOML file of a search, read and checked: everything that is wrong in it comes at once."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from fairwind.errors import FairwindError, read_text
from fairwind.scenario.named import find_scenario
from fairwind.scenario.scenario import Scenario
from fairwind.scenario.settings import toml_document
from fairwind.tuning.keys import base_document
from fairwind.tuning.known import mechanisms_of
from fairwind.tuning.limits import Limit, contradictions, read_limit
from fairwind.tuning.parameters import Keys, Number, Parameter, read_parameter

T = TypeVar("T")


class Method(StrEnum):
    """How settings are proposed."""

    TPE = "tpe"
    NSGA2 = "nsga2"
    RANDOM = "random"
    GRID = "grid"


class Over(StrEnum):
    """Which value counts of those on several paths."""

    WORST = "worst"
    MEAN = "mean"


@dataclass(frozen=True)
class Objective:
    """What is to become as small, or as large, as possible.

    Attributes
    ----------
    text : str
        The measure of a group as it was written: ``thin.delivery_latency_p99``.
    name, measure : str
        The group (or queue, or members of a fairness index), and the column, perhaps without unit.
    is_maximised : bool
    over : Over
    """

    text: str
    name: str
    measure: str
    is_maximised: bool
    over: Over


@dataclass(frozen=True)
class Confirmation:
    """How the front is confirmed.

    Attributes
    ----------
    seeds : int
        For each point and path, all of them unseen by the search.
    points : int
        Points of the front at most.
    paths : dict
        Further paths, which the search has not seen, by name.
    """

    seeds: int
    points: int
    paths: dict[str, Keys]


@dataclass(frozen=True)
class Tuning:
    """A search, as its file describes it.

    Attributes
    ----------
    file : str
        Named in errors.
    name, description : str
    scenario : Scenario
        The base, without axes.
    base : dict
        Its document.
    parameters, objectives, limits
        What may change, what counts, and what must not happen.
    reference : dict
        Key paths of the setting that effects are relative to.
    paths : dict
        Key paths of each path, by name; one path without keys if the file names none.
    known : dict
        Key paths of settings to compare with, by name.
    seeds, first_seeds : int
        Seeds of each path, and those of the first look.
    first_paths : tuple of str
        Paths of the first look.
    budget : int
        Settings that are tried at most.
    batch : int
        Settings that are proposed at once; it influences the result, other than jobs do.
    seed : int
        Of simulations and proposals.
    method : Method
    confirmation : Confirmation
    document : dict
        The file as it was read.
    """

    file: str
    name: str
    description: str
    scenario: Scenario
    base: dict[str, Any]
    parameters: tuple[Parameter, ...]
    objectives: tuple[Objective, ...]
    limits: tuple[Limit, ...]
    reference: Keys
    paths: dict[str, Keys]
    known: dict[str, Keys]
    seeds: int
    first_seeds: int
    first_paths: tuple[str, ...]
    budget: int
    batch: int
    seed: int
    method: Method
    confirmation: Confirmation
    document: dict[str, Any] = field(repr=False)

    def keys(self, numbers: Mapping[str, Number]) -> Keys:
        """Give the key paths of a setting, those of the reference included."""
        keys = dict(self.reference)
        for parameter in self.parameters:
            keys |= parameter.keys(numbers[parameter.name])
        return keys


TABLES = (
    "name", "description", "tune", "scenario", "reference", "parameters", "objectives",
    "constraints", "paths", "known", "confirm",
)  # fmt: skip
TUNE_KEYS = (
    "scenario", "seeds", "first_seeds", "first_paths", "budget", "batch", "seed", "method", "over",
    "mechanisms",
)  # fmt: skip
CONFIRM_KEYS = ("seeds", "points", "paths")

ONE_PATH = "path"
"""Name of the path of a search that names none."""

DEFAULTS = {"seeds": 10, "budget": 200, "batch": 4, "seed": 1}


def load_tuning(path: str | os.PathLike[str]) -> Tuning:
    """Read the file of a search.

    Raises
    ------
    FairwindError
        With everything that is wrong in it.
    """
    file = Path(path)
    text = read_text(file, "give the path of a TOML file with [tune]", "the search ")
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FairwindError(
            f"{file}: this is not TOML: {error}", "see docs/guides/tuning.md"
        ) from None
    return read_tuning(document, str(file))


def read_tuning(document: Mapping[str, Any], file: str = "<dict>") -> Tuning:
    """Read a search from the tables of its file; see `load_tuning`."""
    return _Reader(dict(document), file).tuning()


class _Reader:
    """Reads tables and notes what is wrong, to report all of it at once."""

    def __init__(self, document: dict[str, Any], file: str) -> None:
        self.document, self.file = document, file
        self.errors: list[FairwindError] = []
        self.tune = self._table("tune")

    def tuning(self) -> Tuning:
        self._known_keys("", self.document, TABLES)
        self._known_keys("tune.", self.tune, TUNE_KEYS)
        if "tune" not in self.document:
            self._wrong(
                "there is no table [tune]", 'for example [tune] with scenario = "FILE.toml"'
            )
        scenario = self._try(self._scenario)
        base = self._try(lambda: base_document(scenario)) if scenario else None
        parameters = tuple(
            one
            for name, entry in self._table("parameters").items()
            if (one := self._try(partial(read_parameter, name, entry)))
        )
        if not self._table("parameters"):
            self._wrong(
                "there are no parameters, so there is nothing to search",
                '[parameters] with "flows.thin.tcp.minimum_rto" = { from = "50 ms", to = "1 s" }',
            )
        self._overlaps(parameters)
        over = self._word("over", Over, Over.WORST)
        objectives = tuple(filter(None, (self._objective(one, over) for one in self._objectives())))
        limits = tuple(filter(None, map(self._limit, self._list("constraints"))))
        self.errors += contradictions(limits)
        paths = self._named("paths", self._table("paths")) or {ONE_PATH: {}}
        sizes = self._sizes(paths)
        method = self._word("method", Method, Method.TPE)
        self._grid(method, parameters)
        known = self._mechanisms() | self._named("known", self._table("known"))
        confirmation = self._confirmation(sizes["seeds"], paths)
        self._refuse()
        if scenario is None or base is None:
            raise AssertionError("an error was noted where these are missing")
        return Tuning(
            file=self.file,
            name=str(self.document.get("name", f"search of {base.get('name', self.file)}")),
            description=str(self.document.get("description", "")),
            scenario=scenario,
            base=base,
            parameters=parameters,
            objectives=objectives,
            limits=limits,
            reference=dict(self._table("reference")),
            paths=paths,
            known=known,
            first_paths=_first_paths(list(paths), sizes.pop("first_paths")),
            method=method,
            confirmation=confirmation,
            document=self.document,
            **sizes,
        )

    def _wrong(self, message: str, hint: str) -> None:
        self.errors.append(FairwindError(message, hint))

    def _try(self, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except FairwindError as error:
            self.errors.append(error)
            return None

    def _refuse(self) -> None:
        if not self.errors:
            return
        lines = [
            f"{self.file}: {one.message}" + (f"\n  hint: {one.hint}" if one.hint else "")
            for one in self.errors
        ]
        lines = list(dict.fromkeys(lines))
        # The hint of the last one is that of the error.
        message, _, hint = lines[-1].partition("\n  hint: ")
        raise FairwindError("\n".join([*lines[:-1], message]), hint)

    def _table(self, name: str) -> dict[str, Any]:
        found = self.document.get(name, {})
        if isinstance(found, dict):
            return found
        self._wrong(f"{name} is a table, not {found!r}", f"write [{name}]")
        return {}

    def _list(self, name: str) -> list[Any]:
        found = self.document.get(name, [])
        if isinstance(found, list):
            return found
        self._wrong(f"{name} is a list of tables", f"write [[{name}]]")
        return []

    def _known_keys(self, where: str, table: Mapping[str, Any], known: Sequence[str]) -> None:
        for key in table:
            if key not in known:
                close = difflib.get_close_matches(key, known, 1)
                hint = f"did you mean {close[0]}? " if close else ""
                self._wrong(f"there is no key {where}{key}", f"{hint}known: {', '.join(known)}")

    def _scenario(self) -> Scenario:
        inline = self.document.get("scenario")
        named = self.tune.get("scenario")
        if (inline is None) == (named is None):
            raise FairwindError(
                "a search has one base scenario: a file or named test, or the table [scenario]",
                'scenario = "FILE.toml" in [tune]',
            )
        folder = Path(self.file).parent
        if isinstance(inline, dict):
            return Scenario(str(folder / Path(self.file).name), toml_document(inline))
        beside = folder / str(named)
        return find_scenario(str(beside) if beside.exists() else str(named))

    def _overlaps(self, parameters: Sequence[Parameter]) -> None:
        """Refuse two parameters that set the same key: the last one alone would count."""
        owners: dict[str, str] = {}
        for parameter in parameters:
            for key in {key for number in parameter.ends for key in parameter.keys(number)}:
                for other, owner in owners.items():
                    if owner != parameter.name and _is_part(key, other):
                        self._wrong(
                            f"parameters.{owner} and parameters.{parameter.name} both set {key}",
                            "make them one parameter with named choices",
                        )
                owners[key] = parameter.name

    def _word(self, key: str, words: Callable[[str], T], default: T) -> T:
        word = self.tune.get(key)
        if word is None:
            return default
        try:
            return words(word)
        except ValueError:
            known = ", ".join(one.value for one in words)  # type: ignore[attr-defined]
            self._wrong(f"tune.{key} = {word!r} is unknown", f"one of {known}")
            return default

    def _objectives(self) -> list[Any]:
        found = self._list("objectives")
        if not found:
            self._wrong("there is no objective", '[[objectives]] with minimise = "GROUP.MEASURE"')
        return found

    def _objective(self, entry: Any, over: Over) -> Objective | None:  # noqa: ANN401
        ways = [way for way in ("minimise", "maximise") if isinstance(entry, dict) and way in entry]
        name, dot, measure = str(entry[ways[0]]).rpartition(".") if ways else ("", "", "")
        if len(ways) != 1 or not dot or entry.keys() - {"minimise", "maximise", "over"}:
            self._wrong(
                f"{entry!r} is no objective",
                'minimise or maximise = "GROUP.MEASURE", as "thin.delivery_latency_p99"',
            )
            return None
        if "over" in entry:
            try:
                over = Over(entry["over"])
            except ValueError:
                self._wrong(f"over = {entry['over']!r} is unknown", "one of worst, mean")
        return Objective(str(entry[ways[0]]), name, measure, ways[0] == "maximise", over)

    def _limit(self, entry: Any) -> Limit | None:  # noqa: ANN401
        if (
            not isinstance(entry, dict)
            or not isinstance(entry.get("fail_if"), str)
            or len(entry) > 1
        ):
            self._wrong(f"{entry!r} is no constraint", 'fail_if = "greedy.goodput < -5%"')
            return None
        return self._try(partial(read_limit, entry["fail_if"]))

    def _named(self, where: str, tables: Mapping[str, Any]) -> dict[str, Keys]:
        found = {}
        for name, keys in tables.items():
            if isinstance(keys, dict):
                found[name] = dict(keys)
            else:
                self._wrong(
                    f"{where}.{name} is a table of key paths", f'{{ "path.rtt" = "{keys}" }}'
                )
        return found

    def _sizes(self, paths: Mapping[str, Keys]) -> dict[str, int]:
        sizes = {key: self._count(self.tune, key, value) for key, value in DEFAULTS.items()}
        sizes["first_seeds"] = self._count(
            self.tune, "first_seeds", min(3, sizes["seeds"]), sizes["seeds"]
        )
        most = len(paths)
        sizes["first_paths"] = self._count(
            self.tune, "first_paths", min(most, max(2, most // 3)), most
        )
        return sizes

    def _count(
        self, table: Mapping[str, Any], key: str, default: int, most: int | None = None
    ) -> int:
        value = table.get(key, default)
        is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 1
        if is_count and (most is None or value <= most):
            return int(value)
        bound = "at least 1" if most is None else f"from 1 to {most}"
        self._wrong(f"{key} = {value!r} is no whole number {bound}", "change or remove it")
        return default

    def _grid(self, method: Method, parameters: Sequence[Parameter]) -> None:
        for one in parameters:
            if method is Method.GRID and one.numbers is None:
                self._wrong(
                    f"parameters.{one.name} is a range, and a grid needs values",
                    "add steps = 5 to the range, or list the values",
                )

    def _mechanisms(self) -> dict[str, Keys]:
        group = self.tune.get("mechanisms")
        if group is None:
            return {}
        if isinstance(group, str):
            return mechanisms_of(group)
        self._wrong(f"tune.mechanisms = {group!r} is no group", 'the name of one: "thin"')
        return {}

    def _confirmation(self, seeds: int, paths: Mapping[str, Keys]) -> Confirmation:
        table = self._table("confirm")
        self._known_keys("confirm.", table, CONFIRM_KEYS)
        further = self._named("confirm.paths", table.get("paths", {}))
        for name in further:
            if name in paths:
                self._wrong(f"confirm.paths.{name} is there in [paths]", "give it another name")
        points = self._count(table, "points", 12)
        return Confirmation(self._count(table, "seeds", max(seeds, 3)), points, further)


def _is_part(key: str, other: str) -> bool:
    """Return whether one of two key paths leads through the other."""
    return key == other or key.startswith(f"{other}.") or other.startswith(f"{key}.")


def _first_paths(names: Sequence[str], number: int) -> tuple[str, ...]:
    """Choose paths of the first look evenly, in their order."""
    places = sorted({place * len(names) // number for place in range(number)})
    return tuple(names[place] for place in places)


def all_paths(tuning: Tuning) -> Iterator[tuple[str, Keys]]:
    """Give the paths of the search, then those of the confirmation alone."""
    yield from tuning.paths.items()
    yield from tuning.confirmation.paths.items()

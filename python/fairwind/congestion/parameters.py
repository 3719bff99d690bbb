"""Parameters of congestion controls: what there is to set, and what is wrong with what is set."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from fairwind import _core
from fairwind.congestion.sources import own_named
from fairwind.congestion.used import ControlClass, ControlSetting
from fairwind.errors import FairwindError

TYPES: dict[type[Any], str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
}
"""Types that a scenario can set, in words."""


@dataclass(frozen=True)
class Parameter:
    """What can be set.

    Attributes
    ----------
    types : tuple of type
        Any of these; empty if the class does not say.
    default : str, optional
        The value where the scenario sets none, as text; None if it has to.
    least, largest : int, optional
        Bounds of a whole number.
    """

    name: str
    types: tuple[type[Any], ...]
    default: str | None
    least: int | None = None
    largest: int | None = None

    def __str__(self) -> str:
        """Write it for a list of what there is."""
        return self.name if self.default is None else f"{self.name} ({self.default})"

    def fault(self, value: object) -> str | None:
        """Say what is wrong with a value."""
        allowed = {*self.types, int} if float in self.types else set(self.types)
        if allowed and type(value) not in allowed:
            expected = " or ".join(words for kind, words in TYPES.items() if kind in self.types)
            return f"expected {expected}, found {TYPES.get(type(value), 'something else')}"
        if not isinstance(value, int) or self.least is None or self.largest is None:
            return None
        if self.least <= value <= self.largest:
            return None
        return f"it must be between {self.least} and {self.largest}"


@dataclass(frozen=True)
class ParameterFault:
    """Something wrong with the parameters of a congestion control.

    Attributes
    ----------
    key : str
        Where in the scenario.
    value : object
        What is set; None if nothing is.
    rule, hint : str
        What is wrong, and what to do about it.
    """

    key: str
    value: object
    rule: str
    hint: str

    def __str__(self) -> str:
        """Write it as the core writes an error of a scenario."""
        value = "" if self.value is None else f" = {_toml(self.value)}"
        return f"{self.key}{value}: {self.rule}\n  hint: {self.hint}"


def parameter_faults(
    setting: ControlSetting, classes: Mapping[str, ControlClass]
) -> Iterator[ParameterFault]:
    """Give everything that is wrong with the parameters that a scenario sets."""
    takes_any, known = _parameters(setting.name, classes)
    has = f"{setting.name} has {', '.join(map(str, known.values())) or 'no parameters'}"
    for name, value in setting.parameters.items():
        key = f"{setting.key}.{name}"
        if name not in known:
            if not takes_any:
                yield ParameterFault(key, value, "there is no such parameter", has)
        elif fault := known[name].fault(value):
            yield ParameterFault(key, value, fault, has)
    for name, parameter in known.items():
        if parameter.default is None and name not in setting.parameters:
            example = f'congestion = {{ name = "{setting.name}", {name} = ... }}'
            rule = f"the parameter {name} of {setting.name} is missing, and has no default"
            yield ParameterFault(setting.key, None, rule, f"write {example}")


def _parameters(
    name: str, classes: Mapping[str, ControlClass]
) -> tuple[bool, dict[str, Parameter]]:
    """Give the parameters of a congestion control by name, and whether it takes any others."""
    if name in classes:
        return _of_class(name, classes[name])
    if (own := own_named(name)) is None:
        return False, {}
    try:
        rows = _core.control_parameters(own.library)
    except _core.ControlError as error:
        raise FairwindError(str(error)) from error
    found = {}
    for parameter, c_type, default, least, largest in rows:
        is_bool = c_type in ("bool", "_Bool")
        kind = bool if is_bool else int
        text = _toml(bool(default)) if is_bool else str(default)
        found[parameter] = Parameter(parameter, (kind,), text, least, largest)
    return False, found


def _of_class(name: str, written: ControlClass) -> tuple[bool, dict[str, Parameter]]:
    """Give the keyword arguments of a class."""
    try:
        arguments = inspect.signature(written).parameters.values()
    except (TypeError, ValueError) as error:
        raise FairwindError(
            f"the congestion control {name!r}: its arguments are not known ({error})",
            "give the class an __init__ written in Python",
        ) from error
    hints = _hints(written)
    takes_any, found = False, {}
    for argument in arguments:
        if argument.kind is argument.VAR_KEYWORD:
            takes_any = True
        elif argument.kind in (argument.POSITIONAL_OR_KEYWORD, argument.KEYWORD_ONLY):
            is_set = argument.default is not argument.empty
            kinds = _types(hints.get(argument.name), argument.default if is_set else None)
            default = _toml(argument.default) if is_set else None
            found[argument.name] = Parameter(argument.name, kinds, default)
    return takes_any, found


def _hints(written: ControlClass) -> dict[str, Any]:
    for where in (written.__init__, written):  # a dataclass has them at the class
        try:
            if hints := get_type_hints(where):
                return hints
        except (NameError, TypeError):  # they cannot be evaluated, and tell nothing then
            continue
    return {}


def _types(hint: Any, default: object) -> tuple[type[Any], ...]:  # noqa: ANN401 - any annotation
    """Give the types that an annotation names, or else that of the default."""
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    named = [option for option in options if option is not NoneType]
    if hint is None or not named or any(option not in TYPES for option in named):
        return (type(default),) if type(default) in TYPES and hint is None else ()
    return tuple(named)


def _toml(value: object) -> str:
    """Write a value as TOML has it."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case _:
            return str(value)

"""Congestion controls of an experiment, their digests, and the hooks of Python classes."""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeAlias, Union, get_args, get_origin, get_type_hints

from fairwind import _core
from fairwind.congestion.identity import NoDigestError, digest_of
from fairwind.congestion.sources import ENDPOINTS_OWN, BuiltIn, Own, built_in_named, own_named
from fairwind.errors import FairwindError, translated

ControlClass: TypeAlias = type[Any]
"""A class with the hooks of a congestion control as methods."""


@dataclass(frozen=True)
class UsedControls:
    """The congestion controls of an experiment that are not the endpoint's own.

    Attributes
    ----------
    classes : dict
        Classes of Python by their names in the scenario.
    """

    built_in: tuple[BuiltIn, ...]
    own: tuple[Own, ...]
    classes: dict[str, ControlClass]

    def for_simulator(self) -> list[tuple[str, Path | ControlClass]]:
        """Give those that the core has not itself, as it takes them for a simulation."""
        return [*((own.name, own.library) for own in self.own), *self.classes.items()]

    def for_kernel(self) -> list[tuple[str, str, bytes]]:
        """Give those that the core has not itself, as it takes them for a run on the kernel."""
        return [(own.name, own.kernel_name, own.object_bytes) for own in self.own]


def used_controls(
    experiment: Mapping[str, Any], classes: Mapping[str, ControlClass] | None = None
) -> UsedControls:
    """Find the congestion controls that a resolved experiment names.

    Raises
    ------
    FairwindError
        If one was there when the scenario was checked, and is no more.
    """
    classes = classes or {}
    names = sorted({one.name for one in control_settings(experiment)} - set(ENDPOINTS_OWN))
    ours, own, written = [], [], {}
    for name in names:
        if name in classes:
            written[name] = classes[name]
        elif (one := built_in_named(name)) is not None:
            ours.append(one)
        elif (compiled := own_named(name)) is not None:
            own.append(compiled)
        else:
            raise FairwindError(
                f"there is no congestion control {name!r}",
                f"compile it with `fairwind congestion build {name}.c`, or give its class",
            )
    return UsedControls(tuple(ours), tuple(own), written)


@dataclass(frozen=True)
class ControlSetting:
    """A congestion control as one end of a group has it.

    Attributes
    ----------
    key : str
        Where in the scenario, such as ``flows.thin.tcp.congestion``.
    parameters : dict
        What the scenario sets, by name.
    """

    key: str
    name: str
    parameters: dict[str, Any]


def control_settings(experiment: Mapping[str, Any]) -> Iterator[ControlSetting]:
    """Give every congestion control that a resolved experiment sets, with its parameters."""
    for group in experiment.get("flows", ()):
        for end in ("tcp", "receiver_tcp"):
            written = (group.get(end) or {}).get("congestion")
            if not written:
                continue
            parameters = {"name": written} if isinstance(written, str) else dict(written)
            name = parameters.pop("name")
            yield ControlSetting(f"flows.{group.get('name')}.{end}.congestion", name, parameters)


NO_DIGEST = "no digest"
"""How the version of a class begins that cannot be compared with that of an earlier run."""


def control_versions(
    experiments: Iterable[Mapping[str, Any]], classes: Mapping[str, ControlClass] | None = None
) -> dict[str, str]:
    """Give digests of all congestion controls that experiments use.

    Returns
    -------
    dict
        ``congestion_NAME``, then the SHA-256 of the source, or of a class and of all that it refers
        to, in hexadecimal digits. A class that cannot be described has a text that no other run
        has, so that none goes on in another one's folder.
    """
    versions: dict[str, str] = {}
    for experiment in experiments:
        used = used_controls(experiment, classes)
        sources: list[BuiltIn | Own] = [*used.built_in, *used.own]
        for one in sources:
            versions[f"congestion_{one.name}"] = one.sha256
        for name, written in used.classes.items():
            if f"congestion_{name}" not in versions:
                versions[f"congestion_{name}"] = _version_of(written)
    return versions


def _version_of(written: ControlClass) -> str:
    try:
        return digest_of(written)
    except NoDigestError as error:
        return f"{NO_DIGEST}: {error} ({secrets.token_hex(8)})"


HOOKS = (
    "init",
    "release",
    "ssthresh",
    "on_ack",
    "cong_avoid",
    "on_loss",
    "set_state",
    "cwnd_event",
    "in_ack_event",
    "pkts_acked",
    "cong_control",
    "undo_cwnd",
)
"""Methods that are called, each with the sender first."""

ALIKE = 0.75
"""From so much likeness on, a name is taken for a hook's with a mistake in it."""


def check_hooks(name: str, written: ControlClass) -> None:
    """See to it that the hooks of a class are called what hooks are called.

    Parameters
    ----------
    name : str
        The congestion control's name in the scenario.
    written : type
        The class.

    Raises
    ------
    FairwindError
        If a method would never be called and its name is nearly a hook's, or nothing of the class
        would be called at all.
    """
    methods = [one for one in dir(written) if callable(getattr(written, one, None))]
    what = getattr(written, "__name__", repr(written))
    for method in methods:
        near = get_close_matches(method, HOOKS, 1, ALIKE)
        if near and method not in HOOKS and not method.startswith("_"):
            raise FairwindError(
                f"the congestion control {name!r}: the method {method} of {what} is not a hook, "
                "so it is never called",
                f"rename it to {near[0]}, or to a name that begins with _ if it is not a hook",
            )
    if not set(methods) & set(HOOKS):
        raise FairwindError(
            f"the congestion control {name!r}: {what} has no hook, so it would do nothing",
            f"add one of {', '.join(HOOKS)}; see docs/guides/congestion-controls.md",
        )


TYPES: dict[type[Any], str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
}
"""Types that a scenario can set, in words."""


ENDS_OF_TYPES = (2**32 - 1, 2**64 - 1)
"""Largest values that say nothing to a person."""


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
        if value < self.least and self.largest in ENDS_OF_TYPES:
            return f"it must be {self.least} or more"
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
    with translated(_core.ControlError, FairwindError):
        rows = _core.control_parameters(own.library)
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

"""Congestion controls of an experiment, their digests, and the hooks of Python classes."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeAlias

from fairwind.congestion.identity import NoDigestError, digest_of
from fairwind.congestion.sources import ENDPOINTS_OWN, BuiltIn, Own, built_in_named, own_named
from fairwind.errors import FairwindError

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
                f"the congestion control {name!r}: the method {method} of {what} is no hook, and "
                "nobody calls it",
                f"call it {near[0]} if that is meant; else begin its name with _",
            )
    if not set(methods) & set(HOOKS):
        raise FairwindError(
            f"the congestion control {name!r}: {what} has no method that is called",
            f"give it some of {', '.join(HOOKS)}; docs/guides/congestion-controls.md has them",
        )

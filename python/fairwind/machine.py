"""Facilities of the machine for experiments on the kernel, and leftovers of runs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from fairwind import _core

State = Literal["ok", "limited", "missing", "needed"]


@dataclass(frozen=True)
class Capability:
    """Something that experiments use.

    Attributes
    ----------
    what : str
        What it is.
    state : str
        ``ok``; ``limited``: experiments run, though something is worse; ``missing``: something
        cannot be done, which the remedy names; ``needed``: a main job does not work.
    found : str
        What was found.
    remedy : str
        What it is for and how to get it; empty where all is well.
    """

    what: str
    state: State
    found: str
    remedy: str


@dataclass(frozen=True)
class Leftover:
    """Something that a run has left which lives no more.

    Attributes
    ----------
    what : str
        What and where it is, and of which run.
    problem : str or None
        Why it could not be removed; None where it was, or nobody tried.
    """

    what: str
    problem: str | None


def capabilities() -> list[Capability]:
    """Try what experiments on the kernel use; empty where there is no Linux."""
    return [Capability(**one) for one in json.loads(_core.capabilities())]


def leftovers(*, remove: bool = False) -> list[Leftover]:
    """List, or remove, leftovers of dead runs: namespaces, processes, control groups, folders."""
    return [Leftover(**one) for one in json.loads(_core.leftovers(remove=remove))]

"""Manifest of a run's folder, `manifest.json`, its analysed captures, and its failures."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shlex
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from fairwind.errors import FairwindError
from fairwind.folder.store import damaged, write_file
from fairwind.scenario.plan import Plan


@dataclass(frozen=True)
class CaptureInput:
    """One input of an analysis: a file, a folder of rotated files, or the standard input.

    Attributes
    ----------
    name : str
        As the person named it.
    point : str
        Whose side it was taken at: ``sender`` or ``receiver``.
    bytes : int, optional
        Its size; None for what has none, such as the standard input.
    head_sha256 : str, optional
        Digest of its first 64 KiB, which tells whether a file is the same.
    cell, replicate : int
        Where its rows stand in the tables.
    """

    name: str
    point: str
    bytes: int | None = None
    head_sha256: str | None = None
    cell: int = 0
    replicate: int = 0


@dataclass(frozen=True)
class Captured:
    """Input of an analysis: files, settings, and defects.

    Attributes
    ----------
    settings : dict
        How it was analysed.
    made_by : str, optional
        The engine of the run that wrote the captures, if it was one of ours.
    facts : list of dict
        What each pair of inputs is in numbers: packets, bytes, first and last instant, clock.
    notes : tuple of str
        What was wrong with the captures, and where.
    caveats : tuple of str
        What a reader must know before believing a number.
    is_complete : bool
        Whether all was read; False after an interruption.
    """

    inputs: tuple[CaptureInput, ...]
    settings: dict[str, Any]
    made_by: str | None = None
    facts: tuple[dict[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    is_complete: bool = True

    @property
    def document(self) -> dict[str, Any]:
        """Give it as it stands in a manifest."""
        return asdict(self)

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Captured:
        """Read it out of a manifest."""
        inputs = tuple(CaptureInput(**entry) for entry in document["inputs"])
        lists = {name: tuple(document[name]) for name in ("facts", "notes", "caveats")}
        return cls(**document | lists | {"inputs": inputs})


FORMAT_VERSION = 1
"""Version of a run folder's layout; raised when an older reader would misread it."""

REAL_TIME_ENGINE = "kernel"
"""The name of the engine that runs in real time."""

CAPTURE_ENGINE = "capture"
"""Engine name of analysed captures."""

MANIFEST = "manifest.json"
FAILURES = "failures.json"


@dataclass(frozen=True)
class Manifest:
    """A run's folder in words: everything needed to repeat it and to read its tables.

    Attributes
    ----------
    plan : Plan
        Resolved experiments and seeds.
    versions : dict
        Versions that decide results.
    columns : list of dict
        What the tables' columns mean: ``table``, ``column``, ``unit``, ``definition``.
    study : str, optional
        The study that this run belongs to.
    command : str
        How the run was started.
    platform : dict
        The machine and what the engine tells of it; it has no influence on simulated results.
    fingerprint : str
        Digest of plan, engine and versions: equal means the same results.
    captured : Captured, optional
        What was read, if the tables were not measured while it happened, but found in captures.
        The plan is that of the run that made them, or of one cell without seeds.
    """

    plan: Plan
    engine: str
    versions: dict[str, str]
    columns: list[dict[str, str]]
    study: str | None
    command: str
    platform: dict[str, str]
    fingerprint: str
    captured: Captured | None = None

    @classmethod
    def of_run(
        cls,
        plan: Plan,
        engine: str,
        versions: dict[str, str],
        *,
        columns: list[dict[str, str]],
        facts: dict[str, str],
        study: str | None,
        captured: Captured | None = None,
    ) -> Manifest:
        """Describe a run that is about to be made by this process."""
        return cls(
            plan=plan,
            engine=engine,
            versions=versions,
            columns=columns,
            study=study,
            command=shlex.join([Path(sys.argv[0]).name or "python", *sys.argv[1:]]),
            platform={
                "system": platform.platform(),
                "machine": platform.machine(),
                "python": platform.python_version(),
                "processors": str(os.cpu_count() or 1),
                **facts,
            },
            fingerprint=fingerprint(plan, engine, versions, captured),
            captured=captured,
        )

    @property
    def is_real_time(self) -> bool:
        """Whether it took place in real time, so that a seed does not decide all that happened.

        Captures are what the run was that made them; others' networks are always real.
        """
        if self.captured is None:
            return self.engine == REAL_TIME_ENGINE
        return self.captured.made_by in (REAL_TIME_ENGINE, None)

    @property
    def is_foreign(self) -> bool:
        """Whether captures were analysed that no run of ours made: no scenario tells of them."""
        return self.captured is not None and self.captured.made_by is None

    def write(self, out: Path) -> None:
        """Store the manifest in a run's folder."""
        document = {
            "format_version": FORMAT_VERSION,
            "name": self.plan.name,
            "engine": self.engine,
            "fingerprint": self.fingerprint,
            "study": self.study,
            "command": self.command,
            "versions": self.versions,
            "platform": self.platform,
            "axis_columns": {axis.name: axis.column for axis in self.plan.axes},
            "plan": self.plan.document,
            "columns": self.columns,
        }
        if self.captured is not None:
            document["captured"] = self.captured.document
        write_file(out / MANIFEST, (json.dumps(document, indent=2) + "\n").encode())


@dataclass(frozen=True)
class Failure:
    """One cell and replicate that could not be run."""

    cell: int
    replicate: int
    seed: int
    settings: dict[str, str]
    message: str

    def __str__(self) -> str:
        """Format a failure with its reason and how to repeat it."""
        where = ", ".join(f"{name} = {label}" for name, label in self.settings.items())
        place = f" ({where})" if where else ""
        return f"cell {self.cell}{place}, seed {self.seed}: {self.message}"


def fingerprint(
    plan: Plan, engine: str, versions: dict[str, str], captured: Captured | None = None
) -> str:
    """Digest everything that decides the results of a run."""
    content: dict[str, Any] = {"format": FORMAT_VERSION, "engine": engine, "versions": versions}
    if captured is not None:
        read = captured.document
        content["captured"] = {"inputs": read["inputs"], "settings": read["settings"]}
    canonical = json.dumps(content | {"plan": plan.document}, sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


def read_manifest(out: Path) -> Manifest:
    """Read the manifest of a run's folder.

    Raises
    ------
    FairwindError
        If there is none, or it cannot be understood.
    """
    path = out / MANIFEST
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        version = document["format_version"]
    except FileNotFoundError as error:
        raise FairwindError(
            f"{out} is not the folder of a run: it has no {MANIFEST}",
            "give the folder that `fairwind run --out` or `fairwind analyse --out` wrote",
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise damaged(path) from error
    if version != FORMAT_VERSION:
        raise FairwindError(
            f"{path} has format version {version}, and this Fairwind reads {FORMAT_VERSION}",
            "run the scenario again, or use the Fairwind version named in the manifest",
        )
    try:
        columns, captured = document["axis_columns"], document.get("captured")
        plan = Plan.from_document(document["plan"], ())
        axes = tuple(replace(axis, column=columns[axis.name]) for axis in plan.axes)
        return Manifest(
            plan=replace(plan, axes=axes),
            engine=document["engine"],
            versions=document["versions"],
            columns=document["columns"],
            study=document["study"],
            command=document["command"],
            platform=document["platform"],
            fingerprint=document["fingerprint"],
            captured=Captured.from_document(captured) if captured else None,
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise damaged(path) from error


def write_failures(out: Path, failures: list[Failure]) -> None:
    """Store what failed, or remove an older list if nothing did."""
    path = out / FAILURES
    if failures:
        content = json.dumps([asdict(failure) for failure in failures], indent=2) + "\n"
        write_file(path, content.encode())
    else:
        path.unlink(missing_ok=True)


def read_failures(out: Path) -> list[Failure]:
    """Read what failed in a run; empty if nothing did."""
    path = out / FAILURES
    if not path.exists():
        return []
    try:
        return [Failure(**row) for row in json.loads(path.read_text(encoding="utf-8"))]
    except (ValueError, TypeError) as error:
        raise damaged(path) from error

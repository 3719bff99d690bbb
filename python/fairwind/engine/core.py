"""The compiled part: schema, columns, plans, versions, and the start of host processes."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from fairwind.errors import FairwindError

try:
    from fairwind import _core
except ImportError as missing:  # pragma: no cover - only in a broken installation
    raise ImportError(
        "the compiled part of Fairwind (fairwind._core) is missing; "
        "build it with `maturin develop --release` in the repository, or install a wheel"
    ) from missing


STUB = Path(__file__).parent.parent / "_core.pyi"
"""Version of the interface that the Python package expects of the core."""


def misfit(built: str | None, stub: Path = STUB) -> str | None:
    """Describe how the compiled core differs from what the Python package expects.

    Parameters
    ----------
    built : str, optional
        The stub that the compiled part was built with; None of one so old that it does not tell.
    stub : Path
        The stub beside the Python files.
    """
    if not stub.exists() or built == stub.read_text(encoding="utf-8"):
        return None
    return (
        "the compiled part of Fairwind (fairwind._core) was built from another version than the "
        "Python files around it; build it again with `make build`"
    )


_MISFIT = misfit(_core.interface() if hasattr(_core, "interface") else None)
if _MISFIT is not None:  # pragma: no cover - only in a broken installation
    raise ImportError(_MISFIT)

ScenarioError = _core.ScenarioError
SimulationError = _core.SimulationError


def core_version() -> str:
    """Give the version of the compiled core, which is the version of Fairwind."""
    return _core.version()


def core_file() -> Path | None:
    """Give the file of the compiled core, if it has one."""
    file = getattr(_core, "__file__", None)
    return None if file is None else Path(file)


def scenario_schema() -> dict[str, Any]:
    """Give the JSON Schema of scenarios."""
    schema: dict[str, Any] = json.loads(_core.schema())
    return schema


def table_columns() -> list[dict[str, str]]:
    """Give every column that tables can have: ``table``, ``column``, ``unit``, ``definition``."""
    columns: list[dict[str, str]] = json.loads(_core.columns())
    return columns


def analysis_columns() -> list[dict[str, str]]:
    """Give the columns of tables that only captures have, as `table_columns` does."""
    columns: list[dict[str, str]] = json.loads(_core.analysis_columns())
    return columns


def plan_document(
    file: str,
    text: str,
    overrides: Sequence[tuple[str, str]],
    provided: Sequence[str] = (),
    controls: Sequence[str] = (),
) -> dict[str, Any]:
    """Resolve a scenario's text into its plan.

    Parameters
    ----------
    file, text : str
        The scenario.
    overrides : sequence of (str, str)
        Key path and TOML value of each change.
    provided : sequence of str
        The text of each of `named_files`, in their order.
    controls : sequence of str
        Names of congestion controls that are not the repository's.

    Raises
    ------
    ScenarioError
        With everything that is wrong at once.
    """
    resolved = _core.plan(file, text, list(overrides), list(provided), list(controls))
    document: dict[str, Any] = json.loads(resolved)
    return document


@dataclass(frozen=True)
class NamedFile:
    """A file that a scenario names.

    Attributes
    ----------
    name : str
        As the scenario has it, seen from the scenario's folder.
    content : str
        What it is to hold: ``writes``, ``rate-trace``, ``losses`` or ``delays``.
    connection : str, optional
        Of a capture, which connection.
    """

    name: str
    content: str
    connection: str | None


def named_files(file: str, text: str, overrides: Sequence[tuple[str, str]]) -> list[NamedFile]:
    """Give the files that a scenario names, at any point of its grid.

    Raises
    ------
    ScenarioError
        If the scenario is no scenario at all.
    """
    return [NamedFile(*named) for named in _core.named_files(file, text, list(overrides))]


def captured_writes(file: Path, connection: str | None) -> str:
    """Give what an application wrote, out of a capture: lines with seconds, a comma and bytes.

    Parameters
    ----------
    file : Path
        The capture.
    connection : str, optional
        Which connection, as a filter of addresses and ports; the largest unless said.

    Raises
    ------
    FairwindError
        If it cannot be read, or there is no such connection.
    """
    try:
        return _core.captured_writes(str(file), connection)
    except _core.CaptureError as error:
        hint = "name another capture, or another connection: 'host 10.0.0.1 and port 80'"
        raise FairwindError(
            f"cannot read an application's writes from {file}: {error}", hint
        ) from error


def recorded_applications() -> list[dict[str, Any]]:
    """Give the recorded applications with the statistics of their traffic."""
    applications: list[dict[str, Any]] = json.loads(_core.recorded_applications())
    return applications


@lru_cache(maxsize=1)
def core_versions() -> dict[str, str]:
    """Give the core's version and a digest of its file.

    With the digest, a rebuilt core never resumes an older core's run.
    """
    file = core_file()
    digest = "" if file is None else hashlib.sha256(file.read_bytes()).hexdigest()
    return {"fairwind": core_version(), "core_sha256": digest}


PROGRAM = """\
import importlib.machinery as machinery, importlib.util as util, sys

def load(name, file, loader):
    module = util.module_from_spec(util.spec_from_loader(name, loader(name, file), origin=file))
    sys.modules[name] = module
    module.__spec__.loader.exec_module(module)
    return module

# An import of a module asks for its package as well.
sys.modules["fairwind"] = util.module_from_spec(machinery.ModuleSpec("fairwind", None))
load("fairwind.errors", sys.argv[2], machinery.SourceFileLoader)
core = load("fairwind._core", sys.argv[1], machinery.ExtensionFileLoader)
sys.exit(getattr(core, sys.argv[3])(*sys.argv[4:]))
"""
"""Isolated from the environment (-I) and from installed packages (-S), it depends on no path."""


def host_command(entry: str = "serve_as_host") -> list[str]:
    """Give the program and arguments that a host process is started with.

    A host process needs one function of the compiled core. Importing the package would load its
    libraries a dozen times over, so the interpreter starts bare and loads the core by its path,
    after the module of its errors.

    Parameters
    ----------
    entry : str
        The function of the core that such a process is; arguments added to the command are its
        arguments.

    Raises
    ------
    FairwindError
        If the interpreter or the core has no file, as when Python is embedded in a program.
    """
    core = core_file()
    if core is None or not sys.executable:
        raise FairwindError(
            "host processes cannot be started: this Python does not know its own files",
            "run on the kernel with the command line `fairwind`",
        )
    errors = Path(__file__).resolve().parent.parent / "errors.py"
    return [sys.executable, "-I", "-S", "-c", PROGRAM, str(core.resolve()), str(errors), entry]

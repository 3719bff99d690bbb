"""A scenario as a person holds it: text, changes to it, and what can be done with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from fairwind.engine import engine_named, named_files, plan_document, table_columns
from fairwind.scenario.files import read_text, text_of
from fairwind.scenario.plan import Plan

if TYPE_CHECKING:
    from fairwind.results import Results
    from fairwind.run import RunState


@dataclass(frozen=True)
class Scenario:
    """A scenario's text with the settings changed from outside.

    Attributes
    ----------
    file : str
        Where the text came from; named in errors.
    text : str
        The TOML text.
    overrides : tuple of (str, str)
        Key path and TOML value of each change, in the order they are applied.
    study : str, optional
        The study this scenario belongs to; its figures are added to the report.
    """

    file: str
    text: str
    overrides: tuple[tuple[str, str], ...] = ()
    study: str | None = None

    @cached_property
    def plan(self) -> Plan:
        """The resolved grid.

        Raises
        ------
        ScenarioError
            With everything that is wrong in the scenario at once.
        """
        document = plan_document(self.file, self.text, self.overrides, self._provided())
        return Plan.from_document(document, (row["column"] for row in table_columns()))

    def _provided(self) -> list[str]:
        """Read the files that the scenario names; they lie beside it."""
        folder = Path(self.file).parent
        return [
            text_of(folder, named) for named in named_files(self.file, self.text, self.overrides)
        ]

    def check(self) -> Plan:
        """Validate the scenario and give its resolved grid (see `plan`)."""
        return self.plan

    def with_settings(self, settings: Mapping[str, str]) -> Scenario:
        """Give a scenario in which further keys are set.

        Parameters
        ----------
        settings : mapping of str to str
            Key path to value, as with ``--set``: ``{"flows.thin.count": "4"}``.
        """
        return replace(self, overrides=(*self.overrides, *settings.items()))

    def run(
        self,
        on: str = "sim",
        *,
        jobs: int | None = None,
        out: str | os.PathLike[str] | None = None,
        seed: int | None = None,
        progress: Callable[[RunState], None] | None = None,
        force: bool = False,
    ) -> Results:
        """Run every cell and replicate, and give the results.

        Finished parts of an earlier run of the same scenario in the same folder are kept and not
        repeated.

        Parameters
        ----------
        on : str
            The engine: ``"sim"`` for virtual time, ``"kernel"`` for the running kernel.
        jobs : int, optional
            How many simulations run at once; if not given, all processors in virtual time, where it
            has no influence on the results, and one on the kernel, which is disturbed by others.
        out : path, optional
            The run's folder; ``runs/<name>-<fingerprint>`` if not given.
        seed : int, optional
            Replaces the scenario's seed.
        progress : callable, optional
            Called with a `fairwind.run.RunState` a few times a second.
        force : bool
            Discard an earlier run of another scenario in the same folder.

        Raises
        ------
        ScenarioError
            If the scenario is wrong.
        FairwindError
            If the engine cannot do what the scenario asks for, the folder cannot be used, the disk
            is full, or the run was interrupted.
        """
        from fairwind.run import RunSettings, run_plan

        scenario = self if seed is None else self.with_settings({"seed": str(seed)})
        return run_plan(
            scenario.plan,
            engine_named(on),
            RunSettings(
                jobs=jobs,
                out=None if out is None else Path(out),
                force=force,
                study=self.study,
            ),
            progress,
        )


def load(path: str | os.PathLike[str]) -> Scenario:
    """Read a scenario file; it is validated when its `plan` is first asked for.

    Raises
    ------
    FairwindError
        If the file cannot be read as text.
    """
    file = Path(path)
    hint = "give the path of a TOML scenario file"
    return Scenario(str(file), read_text(file, "the scenario", hint))

"""A scenario as a person holds it: text, changes to it, and what can be done with it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from fairwind.congestion import (
    ENDPOINTS_OWN,
    ControlClass,
    built_in,
    check_hooks,
    control_settings,
    own_controls,
    parameter_faults,
)
from fairwind.engine import (
    ScenarioError,
    engine_named,
    named_files,
    plan_document,
    table_columns,
)
from fairwind.errors import FairwindError
from fairwind.scenario.files import read_text, text_of
from fairwind.scenario.plan import Plan
from fairwind.scenario.settings import Setting, toml_of

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
    classes : tuple of (str, type)
        Classes that serve as congestion controls, with their names in the scenario.
    """

    file: str
    text: str
    overrides: tuple[tuple[str, str], ...] = ()
    study: str | None = None
    classes: tuple[tuple[str, ControlClass], ...] = ()

    @cached_property
    def plan(self) -> Plan:
        """The resolved grid.

        Raises
        ------
        ScenarioError
            With everything that is wrong in the scenario at once.
        """
        controls = [*(own.name for own in own_controls()), *(name for name, _ in self.classes)]
        document = plan_document(self.file, self.text, self.overrides, self._provided(), controls)
        plan = Plan.from_document(document, (row["column"] for row in table_columns()))
        self._check_parameters(plan)
        return plan

    def _check_parameters(self, plan: Plan) -> None:
        """Refuse parameters that a congestion control does not have, all at once."""
        settings = {
            json.dumps([one.key, one.name, one.parameters]): one
            for cell in plan.cells
            for one in control_settings(cell.experiment)
            if one.name not in ENDPOINTS_OWN
        }
        faults = dict.fromkeys(
            fault
            for setting in settings.values()
            for fault in parameter_faults(setting, dict(self.classes))
        )
        if faults:
            error = ScenarioError("\n".join(f"{self.file}: {fault}" for fault in faults))
            error.errors = [{"file": self.file, "line": None, **asdict(fault)} for fault in faults]
            raise error

    def _provided(self) -> list[str]:
        """Read the files that the scenario names; they lie beside it."""
        folder = Path(self.file).parent
        return [
            text_of(folder, named) for named in named_files(self.file, self.text, self.overrides)
        ]

    def check(self) -> Plan:
        """Validate the scenario and give its resolved grid (see `plan`)."""
        return self.plan

    def with_settings(self, settings: Mapping[str, Setting]) -> Scenario:
        """Give a scenario in which further keys are set; what was set before for one is forgotten.

        Parameters
        ----------
        settings : mapping of str to str, bool, int, float, list or dict
            Key path to value: ``{"flows.thin.count": 4, "path.rate": ["1 Mbit/s", "2 Mbit/s"]}``. A
            text is read as with ``--set``, so that ``"4"`` is a number, too.

        Raises
        ------
        FairwindError
            If a value is nothing that TOML can say, such as None.
        """
        written = {key: toml_of(value, key) for key, value in settings.items()}
        kept = [(key, value) for key, value in self.overrides if key not in written]
        return replace(self, overrides=(*kept, *written.items()))

    def with_congestion(self, classes: Mapping[str, ControlClass]) -> Scenario:
        """Give a scenario in which classes of Python are known as congestion controls.

        An object of the class is made for each connection. Its methods are called as the kernel
        calls a congestion control's hooks, each with the sender first, whose attributes have the
        names of the kernel's fields: ``on_ack(sender, acked)``, ``on_loss(sender)``,
        ``ssthresh(sender)`` and further ones; `docs/guides/congestion-controls.md` has them all.

        Parameters
        ----------
        classes : mapping of str to type
            Classes by the names that the scenario has for them.

        Raises
        ------
        FairwindError
            If a name is that of a congestion control that is there already, or a class has a method
            that is nearly called as a hook is, or none that is.
        """
        taken = {*ENDPOINTS_OWN, *(one.name for one in built_in())}
        for name in classes:
            if name in taken:
                raise FairwindError(
                    f"there is a congestion control {name!r} already", "give the class another name"
                )
        for name, written in classes.items():
            check_hooks(name, written)
        return replace(self, classes=(*self.classes, *classes.items()))

    def run(
        self,
        on: str = "sim",
        *,
        jobs: int | None = None,
        out: str | os.PathLike[str] | None = None,
        seed: int | None = None,
        progress: Callable[[RunState], None] | None = None,
        force: bool = False,
        congestion: Mapping[str, ControlClass] | None = None,
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
        congestion : mapping of str to type, optional
            Classes that serve as congestion controls in the simulator, by the names that the
            scenario has for them (``congestion = "mine"``); see `with_congestion`.

        Raises
        ------
        ScenarioError
            If the scenario is wrong.
        FairwindError
            If the engine cannot do what the scenario asks for, the folder cannot be used, the disk
            is full, or the run was interrupted.
        """
        from fairwind.run import RunSettings, run_plan

        scenario = self if seed is None else self.with_settings({"seed": seed})
        scenario = scenario.with_congestion(congestion or {})
        return run_plan(
            scenario.plan,
            engine_named(on, dict(scenario.classes)),
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

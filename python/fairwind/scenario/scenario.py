"""Scenarios: text, settings, named files, and the calls that check and run them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairwind.congestion.files import with_compiled_files
from fairwind.congestion.sources import ENDPOINTS_OWN, built_in, own_controls
from fairwind.congestion.used import ControlClass, check_hooks, control_settings, parameter_faults
from fairwind.engine.core import (
    NamedFile,
    ScenarioError,
    captured_writes,
    named_files,
    plan_document,
    recorded_applications,
    table_columns,
)
from fairwind.engine.selection import engine_named
from fairwind.errors import FairwindError, read_text
from fairwind.execution.address import LOCAL
from fairwind.html import shown
from fairwind.quantities import parse_bytes, parse_seconds
from fairwind.scenario.plan import Plan
from fairwind.scenario.settings import Setting, flattened, toml_document

if TYPE_CHECKING:
    import polars as pl

    from fairwind.answers.until import Growth, Look
    from fairwind.engine.engines import Engine
    from fairwind.execution.execute import RunSettings, RunState
    from fairwind.results import Results
    from fairwind.scenario.typed import ScenarioSettings

FROM_DICT = "<dict>"
"""The name of scenarios from Python values in errors."""


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

    @classmethod
    def from_dict(
        cls, settings: ScenarioSettings | Mapping[str, Any], *, folder: str | os.PathLike[str] = "."
    ) -> Scenario:
        """Make a scenario of Python values; it is validated when its `plan` is first asked for.

        Parameters
        ----------
        settings : ScenarioSettings or mapping
            The keys of a scenario file with their values: dicts are tables, lists of dicts are
            lists of tables. A quantity is a text with its unit (``"100 ms"``), or a number times a
            unit of `fairwind.units` (``100 * ms``).
        folder : path
            The folder of files that the scenario names.

        Returns
        -------
        Scenario
            Its `text` is the scenario as a file would have it; errors name lines of this text.

        Raises
        ------
        FairwindError
            If a value is nothing that TOML can express, such as None.
        """
        return cls(str(Path(folder) / FROM_DICT), toml_document(settings))

    @cached_property
    def plan(self) -> Plan:
        """The resolved grid.

        Raises
        ------
        ScenarioError
            With everything that is wrong in the scenario at once.
        """
        # Files that the scenario names lie beside it.
        folder = Path(self.file).parent
        written = (self.file, *with_compiled_files(self.text, self.overrides, folder))
        controls = [*(own.name for own in own_controls()), *(name for name, _ in self.classes)]
        provided = [text_of(folder, named) for named in named_files(*written)]
        document = plan_document(*written, provided, controls)
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

    def _repr_html_(self) -> str:
        """Show in a notebook what would run, or all errors of the scenario."""
        return shown(lambda: self.plan._repr_html_(), self.file)

    def check(self) -> Plan:
        """Validate the scenario and give its resolved grid (see `plan`)."""
        return self.plan

    def with_settings(self, settings: Mapping[str, Setting]) -> Scenario:
        """Give a scenario in which further keys are set; what was set before for one is forgotten.

        Parameters
        ----------
        settings : mapping of str to str, bool, int, float, quantity, list or dict
            Key path to value: ``{"flows.thin.count": 4, "path.rate": "2 Mbit/s"}``, or nested:
            ``{"flows": {"thin": {"count": 4}}, "path": {"rate": 2 * Mbit_s}}``. A dict sets its
            keys in a table such as ``path`` or ``tcp``, and leaves others as they are. It replaces
            a queue, a workload or a congestion control as a whole. ``sweep`` takes axes:
            ``{"sweep": {"path.rate": ["1 Mbit/s", "2 Mbit/s"]}}``. A text at a key path is read as
            with ``--set``, so that ``"4"`` is a number, too.

        Raises
        ------
        FairwindError
            If a value is nothing that TOML can express, such as None.
        """
        written = flattened(settings)
        kept = [(key, value) for key, value in self.overrides if key not in written]
        return replace(self, overrides=(*kept, *written.items()))

    def with_congestion(self, classes: Mapping[str, ControlClass]) -> Scenario:
        """Give a scenario in which classes of Python are known as congestion controls.

        An object of the class is made for each connection. Its methods are called as the kernel
        calls a congestion control's hooks, each with the sender first; its attributes have the
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
        until_decided: int | None = None,
        margin: float | None = None,
        workers: str = LOCAL,
    ) -> Results:
        """Run every cell and replicate, and give the results.

        Finished parts of an earlier run of the scenario in the folder are kept, not repeated.

        Parameters
        ----------
        on : str
            The engine: ``"sim"`` for virtual time, ``"kernel"`` for the running kernel.
        jobs : int, optional
            Simulations at once; if not given, all processors in virtual time, where it has no
            influence on results, and one on the kernel, which is disturbed by others.
        out : path, optional
            The run's folder; ``runs/<name>-<fingerprint>`` if not given.
        seed : int, optional
            Replaces the scenario's seed.
        progress : callable, optional
            Called with a `fairwind.execution.RunState` a few times a second.
        force : bool
            Discard an earlier run of another scenario in the same folder.
        congestion : mapping of str to type, optional
            Classes that serve as congestion controls in the simulator; see `with_congestion`.
        until_decided : int, optional
            Add seeds until every effect is decided, at most so many for each cell.
        margin : float, optional
            The largest relative difference that counts as none, above 0 and below 1, kept in the
            folder for `Results.answer`. If not given, that of an earlier run there, else 5 %.
        workers : str
            ``"local"``, or a cluster such as ``"dask://HOST:PORT"`` (`docs/guides/clusters.md`).

        Raises
        ------
        ScenarioError
            If the scenario is wrong.
        FairwindError
            If engine, folder, disk or workers cannot be used, or the run was interrupted.
        """
        from fairwind.answers.until import Growth
        from fairwind.execution.execute import RunSettings

        scenario = self if seed is None else self.with_settings({"seed": seed})
        scenario = scenario.with_congestion(congestion or {})
        engine = engine_named(on, dict(scenario.classes))
        place = None if out is None else Path(out)
        settings = RunSettings(jobs, place, force, self.study, workers=workers)
        growth = None if until_decided is None else Growth(until_decided, margin)
        return scenario.run_on(engine, settings, growth, margin, progress)

    def run_on(
        self,
        engine: Engine,
        settings: RunSettings,
        growth: Growth | None = None,
        margin: float | None = None,
        on_progress: Callable[[RunState], None] | None = None,
        on_look: Callable[[Look], None] | None = None,
    ) -> Results:
        """Run as `run` does; ``on_look`` is as in `fairwind.answers.run_until_decided`."""
        from fairwind.answers.answer import keep_margin
        from fairwind.answers.effects import check_margin
        from fairwind.answers.until import run_until_decided
        from fairwind.execution.execute import run_plan

        if growth is None:
            if margin is not None:
                check_margin(margin)  # a wrong one is refused before anything runs
            results = run_plan(self.plan, engine, settings, on_progress)
            keep_margin(results, margin)
            return results

        def plan_of(seeds: int) -> Plan:
            return self.with_settings({"repeat": seeds}).plan

        return run_until_decided(plan_of, self.plan, engine, settings, growth, on_progress, on_look)


def load(path: str | os.PathLike[str]) -> Scenario:
    """Read a scenario file; it is validated when its `plan` is first asked for.

    Raises
    ------
    FairwindError
        If the file cannot be read as text.
    """
    file = Path(path)
    hint = "give the path of a TOML scenario file"
    return Scenario(str(file), read_text(file, hint, "the scenario "))


KINDS = {
    "writes": ("the recorded writes", "a capture, or of a text file with lines such as 0.035,1200"),
    "rate-trace": (
        "the recorded rate",
        "a file in Mahimahi's form: one number of milliseconds a line",
    ),
    "losses": (
        "the recorded losses",
        "a text file with 1 for each lost packet and 0 for each other",
    ),
    "delays": ("the table of delays", "a file such as netem's .dist: numbers separated by blanks"),
}
"""Kinds of files in errors, and what has the expected format."""

CAPTURES = (
    b"\x0a\x0d\x0d\x0a",
    b"\xa1\xb2\xc3\xd4",
    b"\xd4\xc3\xb2\xa1",
    b"\xa1\xb2\x3c\x4d",
    b"\x4d\x3c\xb2\xa1",
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
)
"""Magic numbers of captures: pcapng, pcap in both byte orders and resolutions, gzip, zstd."""


def text_of(folder: Path, named: NamedFile) -> str:
    """Read a file that a scenario in the folder names; of a capture, what an application wrote.

    Raises
    ------
    FairwindError
        If it cannot be read, or is not what the scenario takes it for.
    """
    file = folder / named.name
    if named.content == "writes" and is_capture(file):
        return captured_writes(file, named.connection)
    if named.connection is not None:
        raise FairwindError(
            f"`connection` does not apply to {file}: it is not a capture",
            "name a capture (pcap, pcapng), or leave connection out",
        )
    what, form = KINDS[named.content]
    return read_text(file, f"give the name of {form}", f"{what} ")


def is_capture(file: Path) -> bool:
    """Return whether a file begins with the magic number of a capture; False if unreadable."""
    try:
        with file.open("rb") as opened:
            return opened.read(4).startswith(CAPTURES)
    except OSError:
        return False


INTERVALS = ("mean", "median", "min", "max", "percentile_1", "percentile_99")


def recorded_streams() -> pl.DataFrame:
    """Give one row for each application that ``kind = "profile"`` knows, in the table's order.

    Returns
    -------
    polars.DataFrame
        Columns ``application``, ``recorded_over`` (``tcp`` or ``udp``), ``payload_min_bytes`` and
        so on, ``interval_mean_s`` and so on (missing for greedy streams), ``packets_per_second``
        and ``bits_per_second`` as they were printed.
    """
    import polars as pl

    return pl.DataFrame([_row(each) for each in recorded_applications()], infer_schema_length=None)


def _row(recording: dict[str, Any]) -> dict[str, Any]:
    payload, interval = recording["payload"], recording["interval"]
    return {
        "application": recording["application"],
        "recorded_over": recording["transport"],
        **{f"payload_{name}_bytes": round(parse_bytes(size)) for name, size in payload.items()},
        **{
            f"interval_{name}_s": None if interval is None else parse_seconds(interval[name])
            for name in INTERVALS
        },
        "packets_per_second": recording["packets_per_second"],
        "bits_per_second": recording["bits_per_second"],
    }

"""Runs of scenarios in any form: settings, a scenario, a named test or a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from fairwind.execution.address import LOCAL
from fairwind.scenario.named import find_scenario
from fairwind.scenario.scenario import Scenario, load

if TYPE_CHECKING:
    from fairwind.congestion.used import ControlClass
    from fairwind.execution.execute import RunState
    from fairwind.results import Results
    from fairwind.scenario.typed import ScenarioSettings


def run(
    scenario: ScenarioSettings | Mapping[str, Any] | Scenario | str | os.PathLike[str],
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
    """Run a scenario: all cells and replicates.

    Parameters
    ----------
    scenario : ScenarioSettings, mapping, Scenario or path
        The settings, as `Scenario.from_dict` takes them; a scenario; the name of a test, such as
        ``"rrul"`` (`fairwind tests` lists them); or the path of a scenario file. A text that is the
        name of a test always means the test; a file of that name is ``"./rrul"``.
    on, jobs, out, seed, progress, force, congestion, until_decided, margin, workers
        As of `Scenario.run`.

    Raises
    ------
    ScenarioError
        With everything that is wrong in the scenario at once.
    FairwindError
        As `Scenario.run` does.
    """
    match scenario:
        case Scenario():
            chosen = scenario
        case Mapping():
            chosen = Scenario.from_dict(scenario)
        case str():
            chosen = find_scenario(scenario)
        case _:
            chosen = load(scenario)
    return chosen.run(
        on,
        jobs=jobs,
        out=out,
        seed=seed,
        progress=progress,
        force=force,
        congestion=congestion,
        until_decided=until_decided,
        margin=margin,
        workers=workers,
    )

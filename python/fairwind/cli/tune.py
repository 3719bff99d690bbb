"""The command `tune`: search for settings, confirm them, write the page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairwind.cli.completion import complete_engine, complete_scenario
from fairwind.cli.output import Format, OutputFormat, Wide
from fairwind.cli.workers import Workers
from fairwind.execution.address import LOCAL


def tune(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.toml",
            help="What is searched: parameters, objectives, constraints, paths.",
            autocompletion=complete_scenario,
        ),
    ],
    *,
    on: Annotated[
        str,
        typer.Option(
            help="Confirm what a kernel supports on this engine, too: a built kernel, such as "
            "linux-6.12. The search itself simulates.",
            autocompletion=complete_engine,
        ),
    ] = "sim",
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder. Default: runs/NAME-FINGERPRINT."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Simulations at once. Default: one per processor.")
    ] = None,
    workers: Workers = LOCAL,
    figures: Annotated[
        bool,
        typer.Option("--figures", help="Write every figure as SVG, PNG and PDF, too."),
    ] = False,
    wide: Wide = False,
    output: Format = OutputFormat.TABLE,
) -> None:
    """Search for the settings that no other dominates, within harm limits; go on after a kill.

    The same file and folder give the same result, however often it was interrupted. The exit code
    is 3 if no setting keeps all limits; the nearest is named then. See docs/guides/tuning.md.
    """
    from fairwind.cli.searches import print_outcome, report_search, search
    from fairwind.execution.execute import RunSettings
    from fairwind.tuning.settings import load_tuning

    folder = search(load_tuning(file), on, RunSettings(jobs, out, workers=workers))
    print_outcome(folder, output, is_wide=wide)
    report_search(folder, has_figures=figures)

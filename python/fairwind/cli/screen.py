"""The command `screen`: a verdict on a congestion control, area by area, for CI."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairwind.cli.output import ExitCode, OutputFormat, aligned, log, print_json
from fairwind.cli.workers import Workers
from fairwind.errors import FairwindError
from fairwind.execution.address import LOCAL

if TYPE_CHECKING:
    from fairwind.screen.control import ScreenedControl
    from fairwind.screen.execute import ScenarioDone, ScreenSettings
    from fairwind.screen.record import Change, ScreenRecord
    from fairwind.screen.suite import Suite
    from fairwind.screen.verdicts import Finding

RECORD, PAGE = "screen.json", "screen.html"
"""Files of a screening's folder."""

Control = Annotated[
    str,
    typer.Argument(
        metavar="CONTROL",
        help="A name (`fairwind congestion list`), FILE.c, FILE.py, or FILE.py:CLASS.",
    ),
]
SuiteWord = Annotated[
    str,
    typer.Option("--suite", help="quick, rfc9743, leith, or a folder with a suite.toml."),
]
Against = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES", help="Standard controls, separated by commas. Default: the suite's."
    ),
]
Engines = Annotated[
    str,
    typer.Option(
        "--on", metavar="ENGINES", help="Engines, separated by commas: sim, linux-6.12, kernel."
    ),
]
Areas = Annotated[
    list[str] | None,
    typer.Option("--area", metavar="AREA", help="Screen this area only; repeatable."),
]
Jobs = Annotated[
    int | None, typer.Option(min=1, help="Simulations at once. Default: one per processor.")
]
Baseline = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The screen.json of an earlier screening: print what changed; only failures that it "
        "does not have count.",
    ),
]
JUnit = Annotated[Path | None, typer.Option(metavar="FILE", help="Write JUnit XML.")]
Out = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder of the result. Default: screens/CONTROL-SUITE."),
]
Runs = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Folder of the simulations, which screenings may share. Default: runs in --out.",
    ),
]
Seeds = Annotated[
    int | None, typer.Option(min=2, help="Runs of each scenario. Default: the suite's number.")
]
Seed = Annotated[int, typer.Option(help="Seed of all random draws.")]
Strict = Annotated[
    bool, typer.Option("--strict", help="A caution fails, too; with --baseline, one that is new.")
]
AsJson = Annotated[
    OutputFormat, typer.Option("--format", help="table, or json for the whole result.")
]


def screen(
    control: Control,
    *,
    suite: SuiteWord = "quick",
    against: Against = None,
    engines: Engines = "sim",
    areas: Areas = None,
    jobs: Jobs = None,
    workers: Workers = LOCAL,
    seeds: Seeds = None,
    seed: Seed = 1,
    baseline: Baseline = None,
    junit: JUnit = None,
    out: Out = None,
    runs: Runs = None,
    strict: Strict = False,
    output: AsJson = OutputFormat.TABLE,
) -> None:
    """Screen a congestion control: pass, caution or fail, area by area.

    Exit codes: 0 no area fails, 1 an area fails (with --baseline, only if it was not as bad there),
    2 wrong usage or input. The folder of the result has the page screen.html and the file
    screen.json. An interrupted screening goes on where it was, and what did not change is not
    repeated.
    """
    from fairwind.screen.control import control_named
    from fairwind.screen.execute import ScreenSettings
    from fairwind.screen.record import changes_of, new_failures, read_record
    from fairwind.screen.suite import suite_named
    from fairwind.screen.verdicts import Verdict

    if output is OutputFormat.CSV:
        raise FairwindError("--format csv is nothing for a screening", "use json or table")
    chosen = suite_named(suite)
    names = _names(engines)
    before = None if baseline is None else read_record(baseline)
    screened = control_named(control, for_kernel="kernel" in names)
    for text in screened.warnings:
        log(text)
    folder = out or Path("screens") / f"{screened.name}-{chosen.name}"
    settings = ScreenSettings(
        runs=runs or folder / "runs",
        against=_names(against or ""),
        engines=names,
        areas=tuple(areas or ()),
        seeds=seeds,
        seed=seed,
        jobs=jobs,
        workers=workers,
    )
    record = _screened(screened, chosen, settings)
    changes = None if before is None else changes_of(record, before)
    failed = new_failures(record, before, Verdict.CAUTION if strict else Verdict.FAIL)
    _write(record, changes, folder, junit, failed)
    if output is OutputFormat.JSON:
        print_json(record.document(changes))
    else:
        _print(record, changes)
    if failed:
        raise typer.Exit(ExitCode.FAILED_CELLS)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _screened(control: ScreenedControl, suite: Suite, settings: ScreenSettings) -> ScreenRecord:
    """Run a screening with its progress on standard error."""
    from rich.console import Console

    from fairwind.cli.progress import shown_progress
    from fairwind.screen.execute import screen as run_screen

    with shown_progress(Console(stderr=True)) as show:
        return run_screen(control, suite, settings, _log_scenario, show)


def _log_scenario(done: ScenarioDone) -> None:
    from fairwind.screen.verdicts import worst

    verdict = worst([one.verdict for one in done.findings])
    where = "" if done.engine == "sim" else f" on {done.engine}"
    late = f", {sum(done.late.values())} runs late" if done.late else ""
    took = f"{done.seconds:.1f} s{late}"
    log(f"{done.number}/{done.total} {done.template.name}{where}: {verdict} ({took})")


def _write(
    record: ScreenRecord,
    changes: list[Change] | None,
    folder: Path,
    junit: Path | None,
    failed: list[Finding],
) -> None:
    """Write the file, the page, and the JUnit document if one is wanted."""
    from fairwind.answers.junit import document_of_cases
    from fairwind.folder.store import storage_errors, write_file
    from fairwind.screen.page import page_of
    from fairwind.screen.words import junit_case

    with storage_errors(folder, f"{folder} could not be written", "free some space"):
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(record.document(changes), indent=1) + "\n"
        write_file(folder / RECORD, text.encode())
        page = page_of(record, changes, shlex.join(["fairwind", *sys.argv[1:]]))
        write_file(folder / PAGE, page.encode())
    log(f"page: {folder / PAGE}")
    if junit is not None:
        new = {one.key for one in failed}
        cases = [junit_case(one, fails=one.key in new) for one in record.findings]
        name = f"screening of {record.control}, suite {record.suite}"
        with storage_errors(
            junit,
            f"{junit} could not be written",
            "free some space",
            "cannot write",
            "name another",
        ):
            write_file(junit, document_of_cases(name, cases, ("failure", "error", "skipped")))


def _print(record: ScreenRecord, changes: list[Change] | None) -> None:
    """Print the areas, then what did not pass, then what changed."""
    from fairwind.screen.verdicts import Verdict
    from fairwind.screen.words import line_of, name_in_words

    rows = [
        (title, str(verdict), f"{record.seconds.get(name, 0.0):.1f}")
        for name, title, verdict in record.judged_areas()
    ]
    sys.stdout.write(aligned(("area", "verdict", "seconds"), rows))
    for verdict in (Verdict.FAIL, Verdict.CAUTION, Verdict.SKIPPED):
        found = [one for one in record.findings if one.verdict is verdict]
        if found:
            sys.stdout.write("\n")
        for one in found:
            sys.stdout.write(f"{line_of(one)}\n")
    if changes is not None:
        count = "nothing" if not changes else f"{len(changes)} of {len(record.findings)} checks"
        sys.stdout.write(f"\nchanged since the baseline: {count}\n")
        for change in changes:
            was, now = change.was_to.estimate_before, change.was_to.estimate
            sys.stdout.write(
                f"{name_in_words(change.now)}: {change.was.verdict} to {change.now.verdict}, "
                f"{_short(was)} to {_short(now)}\n"
            )
    sys.stdout.write(f"\n{record.control}: {record.verdict}\n")


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"

"""Hold our queue disciplines against the kernel's, and write docs/disciplines.md.

    python -m fairwind_studies.validity.disciplines [NAME...] [--on KERNEL] [--repeat N]
                                                    [--jobs N] [--page-only] [--runs DIR]

Each scenario of studies/validity with a queue runs twice on a kernel in virtual time: the same
hosts and the same seeds behind our router, and behind the kernel's own (`path.router = "kernel"`).
So differences are those of the discipline, the shaper and the delay emulator. Values are stored in
studies/validity/disciplines, with the reasons of rows that are apart (reasons.toml).

Exit code: 0 the page is written, 2 something is missing or failed, 130 interrupted.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fairwind.engine.engines import Engine
from fairwind.engine.selection import engine_named
from fairwind.errors import FairwindError, RunInterrupted
from fairwind.execution.execute import RunSettings, run_plan
from fairwind.results.summary import title_of
from fairwind.scenario import Plan, Scenario, load

from .agreement import TOLERANCES, Agreement, Tolerance, Verdict, agreements, count
from .page import difference_in_words, line, measure_in_words, value_in_words
from .record import Measured, Record

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = ROOT / "studies" / "validity"
VALUES = SCENARIOS / "disciplines"
REASONS = VALUES / "reasons.toml"
PAGE = ROOT / "docs" / "disciplines.md"
KERNEL = "linux-7.3"
REPEAT = 8

OURS, THEIRS = "our router", "the kernel's router"
MEASURES = TOLERANCES | {"marks_packets": Tolerance(0.20, 5.0)}
"""As on the page of the engines, and marks."""

HEAD = """\
<!-- Made by `python -m fairwind_studies.validity.disciplines`; a change made here is lost. -->

# Queue disciplines against the kernel's

The same hosts of a [kernel in virtual time](guides/virtual-kernels.md), the same seeds, two
routers: ours, with the disciplines of the simulator, and the kernel's own (`path.router =
"kernel"`: htb for the rate, the discipline below it, netem for the delay).

Every packet is earlier behind htb by its own serialisation time, 2.4 ms for 1500 bytes at 5 Mbit/s,
because htb lets a packet go when its tokens allow, and our link delivers it when its last bit is
sent. After a pause htb's bucket, which has to hold one packet, lets one more pass at once. So
latencies are one or two packet times shorter. Random numbers differ between the routers, so runs of
one seed are alike only as far as their start times are.

A row is within if the whole 95 % interval of its difference lies within the
[tolerance](validity.md), apart if no part of it does.
"""


def main() -> int:
    """Run what is missing, and write the page of all that is there."""
    arguments = _arguments()
    try:
        if not arguments.page_only:
            _measure(arguments)
        reasons = tomllib.loads(REASONS.read_text(encoding="utf-8"))
        records = [Record.read(file) for file in sorted(VALUES.glob("*.json"))]
        PAGE.write_text(page(records, reasons), encoding="utf-8")
    except RunInterrupted as error:
        sys.stderr.write(f"{error}\n")
        return 130
    except FairwindError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", metavar="NAME", nargs="*", help="a scenario; all if none is named")
    parser.add_argument("--on", default=KERNEL, help=f"a built kernel; {KERNEL}")
    parser.add_argument("--repeat", type=int, default=REPEAT, help=f"seeds; {REPEAT}")
    parser.add_argument("--jobs", type=int, help="runs at once; all processors")
    parser.add_argument("--page-only", action="store_true", help="measure nothing, write the page")
    parser.add_argument(
        "--runs", type=Path, default=ROOT / "runs" / "disciplines", help="unfinished runs"
    )
    return parser.parse_args()


def known() -> list[str]:
    """Name the scenarios whose queues both routers can have."""
    names = (file.stem for file in sorted(SCENARIOS.glob("queue-*.toml")))
    return [name for name in names if not name.endswith("-kernel-router")]


def _measure(arguments: argparse.Namespace) -> None:
    names = arguments.names or known()
    if unknown := [name for name in names if name not in known()]:
        raise FairwindError(
            f"there is no scenario {unknown[0]!r}", f"there are {', '.join(known())}"
        )
    engine = engine_named(arguments.on)
    if (obstacle := engine.obstacle()) is not None:
        raise FairwindError(f"{arguments.on} cannot run: {obstacle}", "choose another: --on")
    for name in names:
        sys.stderr.write(f"{name}\n")
        compare(name, load(SCENARIOS / f"{name}.toml"), engine, arguments).write(VALUES)


def compare(name: str, scenario: Scenario, engine: Engine, arguments: argparse.Namespace) -> Record:
    """Run a scenario behind both routers.

    Parameters
    ----------
    name : str
        Of the scenario's file, without the ending.
    scenario : Scenario
        With a single cell.
    engine : Engine
        A kernel in virtual time.
    arguments : Namespace
        With ``repeat``, ``jobs`` and ``runs``.

    Raises
    ------
    FairwindError
        If a run failed. A kernel that refuses the discipline is recorded.
    """
    record = Record.of_plan(name, scenario.plan)
    for label, router in ((OURS, "user"), (THEIRS, "kernel")):
        settings = {"path.router": router, "sweep.repeat": arguments.repeat}
        plan = scenario.with_settings(settings).plan
        refusals = [str(one) for one in engine.refusals(plan.cells[0])]
        record.engines[label] = (
            Measured(refusals=refusals)
            if refusals
            else _measured(plan, engine, arguments, f"{name}-{router}")
        )
    return record


def _measured(plan: Plan, engine: Engine, arguments: argparse.Namespace, name: str) -> Measured:
    out = arguments.runs / name
    results = run_plan(plan, engine, RunSettings(arguments.jobs, out, force=True), None)
    if results.failures:
        raise FairwindError(f"{name} failed: {results.failures[0]}", "the same command tries again")
    measured = Measured.of_results(results, list(MEASURES), "")
    shutil.rmtree(out)
    return measured


def page(records: Sequence[Record], reasons: Mapping[str, Mapping[str, str]]) -> str:
    """Write the page of everything that was measured.

    Parameters
    ----------
    records : sequence of Record
        Values of both routers.
    reasons : mapping
        By scenario, then by measure, ``NAME.MEASURE`` or ``all``: why rows are not within.
    """
    compared = {record.name: _rows(record) for record in records}
    parts = [HEAD, *_summary(records, compared)]
    for record in records:
        parts += _details(record, compared[record.name], reasons.get(record.name, {}))
    return "\n".join(parts).rstrip() + "\n"


def _rows(record: Record) -> list[Agreement]:
    ours, theirs = record.engines[OURS], record.engines[THEIRS]
    return agreements(ours, theirs, is_paired=True, tolerances=MEASURES) if theirs.runs else []


def _summary(
    records: Sequence[Record], compared: Mapping[str, Sequence[Agreement]]
) -> Iterator[str]:
    kernels = {
        one.versions.get("kernel", "?")
        for record in records
        for one in record.engines.values()
        if one.runs
    }
    yield f"Measured on Linux {', '.join(sorted(kernels))}."
    yield ""
    yield line(["scenario", "what", "seeds", *(verdict.value for verdict in Verdict)])
    yield "|---" * (3 + len(Verdict)) + "|"
    for record in records:
        rows = compared[record.name]
        counts = [str(count(rows, verdict)) if rows else "-" for verdict in Verdict]
        seeds = str(record.engines[THEIRS].runs) if rows else "refused"
        yield line([f"[{record.name}](#{record.name})", record.title, seeds, *counts])
    total = [str(sum(count(rows, verdict) for rows in compared.values())) for verdict in Verdict]
    yield line(["all", "", "", *total])
    yield ""


def _details(
    record: Record, rows: Sequence[Agreement], reasons: Mapping[str, str]
) -> Iterator[str]:
    yield f"## {record.name}"
    yield ""
    yield f"{record.title[0].upper()}{record.title[1:]}. Runs of {record.duration}."
    yield ""
    if refusals := record.engines[THEIRS].refusals:
        yield f"Refused: {'; '.join(refusals)}."
        yield ""
        return
    yield line(["of", "measure", OURS, THEIRS, "difference", "verdict"])
    yield "|---" * 6 + "|"
    for row in rows:
        values = [value_in_words(value, row.measure) for value in (row.simulated, row.real)]
        cells = [row.name, measure_in_words(row), *values, difference_in_words(row)]
        yield line([*cells, row.verdict.value])
    yield ""
    texts = [text for row in rows if (text := _reason(reasons, row))]
    yield from (f"- {text[0].upper()}{text[1:].rstrip('.')}." for text in dict.fromkeys(texts))
    if texts:
        yield ""


def _reason(reasons: Mapping[str, str], row: Agreement) -> str | None:
    """Give the reason of a row that is not within; what is undecided may be chance."""
    if row.verdict is Verdict.WITHIN:
        return None
    keys = (f"{row.name}.{row.measure}", row.measure, "all")
    found = next((reasons[key] for key in keys if key in reasons), None)
    if found is None and row.verdict is Verdict.APART:
        return f"the reason of {title_of(row.measure)} of {row.name} is not known"
    return found


if __name__ == "__main__":
    sys.exit(main())

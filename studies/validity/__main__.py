"""Measure how far simulator and kernels agree, and write docs/validity.md: `make validity`.

    python -m fairwind_studies.validity [NAME...] [--engines NAMES] [--most N] [--jobs N] [--again]
                                        [--page-only] [--runs DIR]

Scenarios are the files of studies/validity; without names all of them are looked at. Engines are
the running kernel (kernel; needs root and real time) and built kernels (linux-6.12, ...; neither).
Runs are added until all rows of a scenario are decided, in virtual time up to --most. Values are
stored in studies/validity/measured and kept until the scenario changes; --again measures those of
the named scenarios and engines anew. Ctrl-C keeps what is finished; the same command goes on there.

Exit code: 0 the page is written, 2 something is missing or failed, 130 interrupted.
"""

import argparse
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from fairwind.cli.progress import shown_progress
from fairwind.engine.selection import engine_named
from fairwind.errors import FairwindError, RunInterrupted
from fairwind.scenario import load

from . import (
    MOST_RUNS,
    SIMULATOR,
    Record,
    Settings,
    discard,
    measure,
    page,
    stored,
)

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = ROOT / "studies" / "validity"
VALUES = SCENARIOS / "measured"
REMARKS = SCENARIOS / "remarks.toml"
PAGE = ROOT / "docs" / "validity.md"
ENGINES = "kernel,linux-7.3,linux-6.12"


def main() -> int:
    """Measure what is missing, and write the page of all that is there."""
    arguments = _arguments()
    known = [file.stem for file in sorted(SCENARIOS.glob("*.toml")) if file != REMARKS]
    failed = 0
    try:
        chosen = _chosen(arguments.names, known)
        if not arguments.page_only:
            failed = _measure(chosen, arguments)
        records = _read(known)
        remarks = tomllib.loads(REMARKS.read_text(encoding="utf-8"))
        PAGE.write_text(page(records, remarks), encoding="utf-8")
    except RunInterrupted as error:
        _tell(f"{error}")
        return 130
    except FairwindError as error:
        _tell(f"error: {error}")
        return 2
    _tell(f"{PAGE.relative_to(ROOT)}: {len(records)} of {len(known)} scenarios; {failed} failed")
    return 2 if failed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", metavar="NAME", nargs="*", help="a scenario; all if none is named")
    parser.add_argument("--engines", default=ENGINES, help=f"separated by commas; {ENGINES}")
    parser.add_argument("--most", type=int, default=MOST_RUNS, help="runs in virtual time")
    parser.add_argument("--jobs", type=int, help="runs at once in virtual time; all processors")
    parser.add_argument("--again", action="store_true", help="discard what was measured of them")
    parser.add_argument("--page-only", action="store_true", help="measure nothing, write the page")
    parser.add_argument(
        "--runs", type=Path, default=ROOT / "runs" / "validity", help="unfinished runs"
    )
    return parser.parse_args()


def _chosen(names: Sequence[str], known: Sequence[str]) -> list[str]:
    for name in names:
        if name not in known:
            raise FairwindError(f"there is no scenario {name!r}", f"there are {', '.join(known)}")
    return list(names) or list(known)


def _measure(names: Sequence[str], arguments: argparse.Namespace) -> int:
    """Measure scenarios engine by engine; give how many failed, which do not stop the others."""
    failed = 0
    simulator = engine_named("sim")
    for engine_name in arguments.engines.split(","):
        engine = engine_named(engine_name)
        if (obstacle := engine.obstacle()) is not None:
            raise FairwindError(f"{engine_name} cannot run: {obstacle}", "leave it out: --engines")
        scenarios = {name: load(SCENARIOS / f"{name}.toml") for name in names}
        engine.expect(scenario.plan.cells[0] for scenario in scenarios.values())
        for number, (name, scenario) in enumerate(scenarios.items(), start=1):
            _tell(f"{engine_name}, {number} of {len(names)}: {name}")
            if arguments.again:
                discard(name, VALUES, engine_name)
            with shown_progress(Console(stderr=True)) as tell:
                settings = Settings(
                    VALUES, arguments.runs, _commit(), arguments.most, arguments.jobs, tell
                )
                try:
                    measure(name, scenario, (simulator, engine), settings)
                except RunInterrupted:
                    raise
                except FairwindError as error:
                    failed += 1
                    _tell(f"error: {error}")
    return failed


def _read(names: Sequence[str]) -> list[Record]:
    """Read the stored values; a scenario without any is reported and left out."""
    records = []
    for name in names:
        record = stored(name, load(SCENARIOS / f"{name}.toml").plan, VALUES)
        if SIMULATOR in record.engines or record.engines:
            records.append(record)
        else:
            _tell(f"left out: {name} was not measured")
    if not records:
        raise FairwindError("nothing has been measured yet", "make validity")
    return records


def _commit() -> str:
    """Name the state of the sources; what is not committed makes it dirty."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=10"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return answer.stdout.strip() or "unknown"


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())

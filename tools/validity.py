"""Measure how far simulator and kernel agree, and write docs/validity.md: `make validity`.

    python tools/validity.py [NAME...] [--again] [--page-only] [--runs DIR]

Scenarios are the files of studies/validity; without names all of them are looked at, and those are
run that have not been, or with a file that has changed since. --again measures the named ones anew.
Ctrl-C keeps what is finished; the same command goes on there. Needs root, as do all runs on the
kernel.

Exit code: 0 the page is written, 2 something is missing, 130 interrupted.
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
from fairwind.validity import Measured, discard, measure, page, read_measured

ROOT = Path(__file__).resolve().parents[1]
SCENARIOS = ROOT / "studies" / "validity"
REMARKS = SCENARIOS / "remarks.toml"
PAGE = ROOT / "docs" / "validity.md"


def main() -> int:
    """Measure what is missing, and write the page of all that is there."""
    arguments = _arguments()
    known = [file.stem for file in sorted(SCENARIOS.glob("*.toml")) if file != REMARKS]
    try:
        chosen = _chosen(arguments.names, known)
        if not arguments.page_only:
            _measure(chosen, arguments.runs, again=arguments.again)
        every = _read(known, arguments.runs)
        remarks = tomllib.loads(REMARKS.read_text(encoding="utf-8"))
        PAGE.write_text(page(every, remarks), encoding="utf-8")
    except RunInterrupted as error:
        _tell(f"{error}")
        return 130
    except FairwindError as error:
        _tell(f"error: {error}")
        return 2
    _tell(f"{PAGE.relative_to(ROOT)}: {len(every)} of {len(known)} scenarios")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", metavar="NAME", nargs="*", help="a scenario; all if none is named")
    parser.add_argument("--again", action="store_true", help="discard what was measured of them")
    parser.add_argument("--page-only", action="store_true", help="measure nothing, write the page")
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "validity", help="their runs")
    return parser.parse_args()


def _chosen(names: Sequence[str], known: Sequence[str]) -> list[str]:
    for name in names:
        if name not in known:
            raise FairwindError(f"there is no scenario {name!r}", f"there are {', '.join(known)}")
    return list(names) or list(known)


def _measure(names: Sequence[str], runs: Path, *, again: bool) -> None:
    engines = engine_named("sim"), engine_named("kernel")
    for number, name in enumerate(names, start=1):
        _tell(f"{number} of {len(names)}: {name}")
        if again:
            discard(runs / name)
        with shown_progress(Console(stderr=True)) as tell:
            scenario = load(SCENARIOS / f"{name}.toml")
            measure(scenario, runs / name, engines, _commit(), tell)


def _read(names: Sequence[str], runs: Path) -> list[Measured]:
    """Read what there is; a scenario that was not measured yet is reported and left out."""
    every = []
    for name in names:
        try:
            every.append(read_measured(runs / name))
        except FairwindError as error:
            _tell(f"left out: {error.message}")
    if not every:
        raise FairwindError("nothing has been measured yet", "make validity, as root")
    return every


def _commit() -> str:
    """Name the state of the sources; what is not committed makes it dirty."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=10"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return answer.stdout.strip() or "unknown"


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())

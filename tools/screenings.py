"""Screen all congestion controls, and write their verdicts as a table of the documents.

    python tools/screenings.py --suite rfc9743 --runs /tmp/runs

writes the tables of `docs/screenings.md`, and leaves what stands around them;
`--baselines DIR` keeps the `screen.json` of each for `--baseline`, and gives the verdicts of those
that `--controls` leaves out.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from fairwind.congestion.sources import ENDPOINTS_OWN, built_in
from fairwind.screen.control import control_named
from fairwind.screen.execute import ScreenSettings, screen
from fairwind.screen.record import ScreenRecord, read_record
from fairwind.screen.suite import Suite, suite_named
from fairwind.screen.words import evidence_of, name_in_words

PAGE = Path(__file__).parents[1] / "docs" / "screenings.md"
BEGIN = "<!-- Made by `python tools/screenings.py`; a change made here is lost. -->"
END = "<!-- End of what is made. -->"


def main() -> None:
    """Screen, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", default="quick")
    parser.add_argument("--runs", type=Path, default=Path("screens/runs"))
    parser.add_argument("--baselines", type=Path)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--controls", help="names, separated by commas; all if not given")
    arguments = parser.parse_args()
    suite = suite_named(arguments.suite)
    settings = ScreenSettings(arguments.runs, jobs=arguments.jobs)
    all_names = all_controls()
    chosen = arguments.controls.split(",") if arguments.controls else all_names
    records = kept(arguments.baselines, [name for name in all_names if name not in chosen])
    for name in chosen:
        record = screen(control_named(name), suite, settings)
        sys.stderr.write(f"{name}: {record.verdict}\n")
        records[name] = record
        if arguments.baselines is not None:
            write_record(arguments.baselines / f"{name}.json", record)
        # After each one: what is there is not lost if the rest is interrupted.
        write_between(PAGE, BEGIN, tables_of(suite, [records[one] for one in sorted(records)]))


def all_controls() -> list[str]:
    """Give the names of all controls that come with Fairwind."""
    return sorted([*ENDPOINTS_OWN, *(one.name for one in built_in())])


def kept(folder: Path | None, names: list[str]) -> dict[str, ScreenRecord]:
    """Read the verdicts of these controls, as far as the folder has them."""
    files = [] if folder is None else [(name, folder / f"{name}.json") for name in names]
    return {name: read_record(file) for name, file in files if file.exists()}


def write_record(file: Path, record: ScreenRecord) -> None:
    """Write the verdicts on a control into its file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{json.dumps(record.document())}\n", encoding="utf-8")


def write_between(page: Path, begin: str, text: str) -> None:
    """Put what is made into a page, in the place of what it has after a line that says so."""
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{begin}\n\n{text}\n{END}{after}", encoding="utf-8")


def tables_of(suite: Suite, records: list[ScreenRecord]) -> str:
    """Write the tables: verdicts by area, then every failure with its numbers."""
    first = records[0]
    names = [record.control for record in records]
    rows = [f"| area | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
    for area, title in first.areas.items():
        verdicts = [{name: each for name, _, each in one.judged_areas()} for one in records]
        cells = [str(one.get(area, "-")).replace("pass", "") for one in verdicts]
        rows.append(f"| {title} | {' | '.join(cells)} |")
    lines = [
        f"Verdicts of `fairwind screen CONTROL --suite {suite.name}` in the simulator, against "
        f"{', '.join(first.against)}, {first.seeds} seeds; an empty cell is a pass.",
        "",
        *rows,
        "",
        "## Failures",
        "",
    ]
    for record in records:
        failures = record.failures()
        lines += [f"### {record.control}", ""]
        lines += [f"- {name_in_words(one)}: {evidence_of(one)}" for one in failures] or ["None."]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    main()

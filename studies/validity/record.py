"""Stored values: what each engine measured of a scenario, run by run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from fairwind.errors import FairwindError
from fairwind.folder.store import write_file
from fairwind.results import SUBJECTS, Results, rows_of
from fairwind.results.summary import QUEUES
from fairwind.scenario import Plan

Values = list[float | None]
"""One value for each run, in the order of the seeds; None where a run has none."""

DIGITS = 6
"""Significant digits of stored values."""


@dataclass(frozen=True)
class Summary:
    """A mean with half of its 95 % interval (Student's t), where single runs were not kept."""

    mean: float
    half_width: float
    runs: int


Rows = dict[str, dict[str, Values | Summary]]
"""By name of the group, queue or members of a fairness index, then by measure."""


@dataclass
class Measured:
    """What one engine measured of a scenario.

    Attributes
    ----------
    runs : int
        Number of seeds, the first ones of the scenario.
    rows : dict
        Values by name and measure.
    versions : dict
        Versions that decide results.
    commit : str
        State of the sources with which it was measured.
    late_runs : int
        Runs in which the router was late beyond its bound.
    refusals : list of str
        Why the engine cannot run the scenario; then there are no rows.
    """

    runs: int = 0
    rows: Rows = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    commit: str = ""
    late_runs: int = 0
    refusals: list[str] = field(default_factory=list)

    def extend(self, more: Measured) -> None:
        """Append the runs of further seeds."""
        for name in (*self.rows, *(name for name in more.rows if name not in self.rows)):
            mine, others = self.rows.setdefault(name, {}), more.rows.get(name, {})
            for measure in {**mine, **others}:
                before = mine.get(measure, [None] * self.runs)
                after = others.get(measure, [None] * more.runs)
                if not (isinstance(before, list) and isinstance(after, list)):
                    raise TypeError(f"{name}.{measure}: summaries cannot be extended")
                mine[measure] = before + after
        self.runs += more.runs
        self.late_runs += more.late_runs
        self.versions, self.commit = more.versions, more.commit

    @property
    def is_summary(self) -> bool:
        """Whether single runs were not kept, so that no further ones can be added."""
        return any(
            isinstance(values, Summary) for own in self.rows.values() for values in own.values()
        )

    @classmethod
    def of_results(cls, results: Results, measures: Sequence[str], commit: str) -> Measured:
        """Read the measures of a finished run with one cell."""
        seeds = results.manifest.plan.seeds
        rows: Rows = {}
        for subject in SUBJECTS:
            # Of queues all are kept: one that nobody notices in these runs may matter in the next.
            is_queues = subject is QUEUES and results.has_table(subject.table)
            frame = results.table(subject.table) if is_queues else rows_of(results, subject)
            for measure in (name for name in measures if name in frame.columns):
                for name, values in _by_seed(frame, subject.column, measure, seeds):
                    rows.setdefault(name, {})[measure] = values
        late = results.lateness["exceeds_bound"].sum() if results.has_table("lateness") else 0
        return cls(len(seeds), rows, dict(results.manifest.versions), commit, int(late))

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Measured:
        """Read it out of a file."""
        rows = {
            name: {
                measure: Summary(**values) if isinstance(values, dict) else values
                for measure, values in own.items()
            }
            for name, own in document["rows"].items()
        }
        return cls(**document | {"rows": rows})


def _by_seed(
    frame: pl.DataFrame, column: str, measure: str, seeds: Sequence[int]
) -> list[tuple[str, Values]]:
    """Give the values of each name in the order of seeds; names without any are left out."""
    frame = frame.select("seed", column, pl.col(measure).cast(pl.Float64).fill_nan(None))
    found = []
    for (name,), part in frame.group_by(column, maintain_order=True):
        known = dict(zip(part["seed"], part[measure], strict=True))
        values = [_rounded(known.get(seed)) for seed in seeds]
        if any(value is not None for value in values):
            found.append((str(name), values))
    return found


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")


@dataclass
class Record:
    """What was measured of one scenario.

    Attributes
    ----------
    name : str
        Of its file, without the ending.
    title, duration : str
        What the scenario calls itself, and how long a run lasts.
    digest : str
        Of the resolved experiment and its first seed.
    engines : dict of str to Measured
        By the engine's name.
    """

    name: str
    title: str
    duration: str
    digest: str
    engines: dict[str, Measured] = field(default_factory=dict)

    @classmethod
    def of_plan(cls, name: str, plan: Plan) -> Record:
        """Make one without values.

        Raises
        ------
        FairwindError
            If the scenario has several cells.
        """
        if len(plan.cells) != 1:
            raise FairwindError(
                f"scenario {name} has {len(plan.cells)} cells", "make it several of one cell"
            )
        experiment = plan.cells[0].experiment
        text = json.dumps([experiment, plan.seeds[0]], sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        return cls(name, plan.name, str(experiment["duration"]), digest)

    def write(self, folder: Path) -> None:
        """Replace its file in a folder."""
        document = asdict(self)
        del document["name"]
        folder.mkdir(parents=True, exist_ok=True)
        write_file(folder / f"{self.name}.json", (_lines(document) + "\n").encode())

    @classmethod
    def read(cls, file: Path) -> Record:
        """Read its file.

        Raises
        ------
        FairwindError
            If the file is damaged.
        """
        try:
            document = json.loads(file.read_text(encoding="utf-8"))
            engines = {
                name: Measured.from_document(one) for name, one in document.pop("engines").items()
            }
            return cls(file.stem, engines=engines, **document)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FairwindError(
                f"{file} cannot be read: {error}", "delete it, and `make validity` measures anew"
            ) from error


def _lines(value: object, indent: int = 0) -> str:
    """Write JSON with a line for each list of numbers, so that changes can be reviewed."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value)
    inner = ",\n".join(
        f"{' ' * (indent + 1)}{json.dumps(key)}: {_lines(one, indent + 1)}"
        for key, one in value.items()
    )
    return "{\n" + inner + "\n" + " " * indent + "}"

"""Result of a screening: as JSON, against a baseline, and as cases of JUnit."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from fairwind.errors import FairwindError, read_text
from fairwind.screen.series import Series
from fairwind.screen.verdicts import LEVEL, ORDER, Finding, Verdict, worst
from fairwind.statistics import paired_difference

FORMAT = 1
"""Version of the file."""

OMITTED = frozenset({"folders", "title"})
"""Fields of findings that a file does not need."""


@dataclass(frozen=True)
class ScreenRecord:
    """All findings of a screening.

    Attributes
    ----------
    against : tuple of str
        Standard congestion controls.
    areas : dict
        Titles by the names of areas, in the order in which they are shown.
    seconds : dict
        How long each area took.
    series : tuple of Series
        Curves for the page; a file does not have them.
    """

    control: str
    suite: str
    against: tuple[str, ...]
    seed: int
    seeds: int
    version: str
    areas: Mapping[str, str]
    findings: tuple[Finding, ...]
    seconds: Mapping[str, float] = field(default_factory=dict)
    series: tuple[Series, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The worst of all findings."""
        return worst([one.verdict for one in self.findings])

    def of_area(self, area: str) -> list[Finding]:
        """Give the findings of an area."""
        return [one for one in self.findings if one.area == area]

    def judged_areas(self) -> Iterator[tuple[str, str, Verdict]]:
        """Yield name, title and verdict of each area that has findings."""
        for name, title in self.areas.items():
            if found := self.of_area(name):
                yield name, title, worst([one.verdict for one in found])

    def failures(self) -> list[Finding]:
        """Give what failed."""
        return [one for one in self.findings if one.verdict is Verdict.FAIL]

    def document(self, changes: list[Change] | None = None) -> dict[str, Any]:
        """Give what a file has of it, with what changed since a baseline."""
        document = {
            "format": FORMAT,
            "control": self.control,
            "suite": self.suite,
            "against": list(self.against),
            "seed": self.seed,
            "seeds": self.seeds,
            "fairwind": self.version,
            "verdict": str(self.verdict),
            "areas": [
                {
                    "name": name,
                    "title": title,
                    "verdict": str(verdict),
                    "seconds": round(self.seconds.get(name, 0.0), 1),
                    "findings": [_written(one) for one in self.of_area(name)],
                }
                for name, title, verdict in self.judged_areas()
            ],
        }
        if changes is not None:
            document["changes"] = [{"area": one.now.area, **asdict(one.was_to)} for one in changes]
        return document


def _written(finding: Finding) -> dict[str, Any]:
    """Write a finding; what is no number is null."""
    return {key: _plain(value) for key, value in asdict(finding).items() if key not in OMITTED}


def _plain(value: Any) -> Any:  # noqa: ANN401 - any field
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


def read_record(file: Path) -> ScreenRecord:
    """Read the file of a screening, to hold another one against it.

    Raises
    ------
    FairwindError
        If it cannot be read, or is none.
    """
    text = read_text(file, "give the screen.json of an earlier screening", "the baseline ")
    try:
        document = json.loads(text)
        if document["format"] != FORMAT:
            raise FairwindError(
                f"{file} has format {document['format']}, not {FORMAT}",
                "make it again with this version of Fairwind",
            )
        return ScreenRecord(
            control=document["control"],
            suite=document["suite"],
            against=tuple(document["against"]),
            seed=document["seed"],
            seeds=document["seeds"],
            version=document["fairwind"],
            areas={area["name"]: area["title"] for area in document["areas"]},
            findings=tuple(
                _read_finding(one) for area in document["areas"] for one in area["findings"]
            ),
            seconds={area["name"]: area["seconds"] for area in document["areas"]},
        )
    except (ValueError, KeyError, TypeError) as error:
        raise FairwindError(
            f"{file} is no result of a screening ({type(error).__name__}: {error})",
            "give the screen.json of an earlier screening",
        ) from error


def _read_finding(written: Mapping[str, Any]) -> Finding:
    numbers = ("estimate", "low", "high", "limit")
    known = {one.name for one in fields(Finding)}
    values = {key: value for key, value in written.items() if key in known}
    for name in numbers:
        values[name] = _number(values[name])
    for name in ("values", "reference"):
        values[name] = tuple(_number(one) for one in values[name])
    values["verdict"] = Verdict(values["verdict"])
    return Finding(**values)


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


@dataclass(frozen=True)
class WasTo:
    """What a change says, as a file has it."""

    engine: str
    scenario: str
    check: str
    standard: str
    verdict_before: str
    verdict: str
    estimate_before: float | None
    estimate: float | None


@dataclass(frozen=True)
class Change:
    """A finding that differs from the baseline's.

    Attributes
    ----------
    was : Finding
        In the baseline.
    now : Finding
    """

    was: Finding
    now: Finding

    @property
    def is_worse(self) -> bool:
        """Whether the verdict is worse than the baseline's."""
        return ORDER.index(self.now.verdict) > ORDER.index(self.was.verdict)

    @property
    def was_to(self) -> WasTo:
        """Give it as a file has it."""
        return WasTo(
            *self.now.key,
            str(self.was.verdict),
            str(self.now.verdict),
            _plain(self.was.estimate),
            _plain(self.now.estimate),
        )


def changes_of(record: ScreenRecord, baseline: ScreenRecord) -> list[Change]:
    """Give the findings with another verdict, or with values that surely differ.

    Values of the same seeds are compared in pairs (95 % interval of the mean difference).

    Raises
    ------
    FairwindError
        If the baseline has other seeds, so that its values cannot be compared.
    """
    if (record.seed, record.seeds) != (baseline.seed, baseline.seeds):
        raise FairwindError(
            f"the baseline has {baseline.seeds} seeds from {baseline.seed}, this screening "
            f"{record.seeds} from {record.seed}",
            f"use --seed {baseline.seed} --seeds {baseline.seeds}, or make the baseline again",
        )
    before = {one.key: one for one in baseline.findings}
    pairs = [Change(before[one.key], one) for one in record.findings if one.key in before]
    return [one for one in pairs if one.was.verdict is not one.now.verdict or _differs(one)]


def _differs(change: Change) -> bool:
    was, now = change.was.values, change.now.values
    if was == now or len(was) != len(now) or len(now) < 2:
        return False
    found = paired_difference(was, now, LEVEL)
    return found.low > 0 or found.high < 0


def new_failures(
    record: ScreenRecord, baseline: ScreenRecord | None, least: Verdict = Verdict.FAIL
) -> list[Finding]:
    """Give what fails, unless it was as bad in the baseline.

    Parameters
    ----------
    least : Verdict
        The least bad verdict that counts as a failure: `Verdict.CAUTION` for cautions, too.
    """
    before = {one.key: ORDER.index(one.verdict) for one in baseline.findings} if baseline else {}
    return [
        one
        for one in record.findings
        if (place := ORDER.index(one.verdict)) >= ORDER.index(least)
        and place > before.get(one.key, -1)
    ]

"""Conditions on a comparison, for CI: ``thin.delivery_latency_p99 > +10%`` fails it.

A condition names a group (or a queue), a measure, ``>`` or ``<``, and a relative difference of B to
A in per cent. It has one outcome for each row that it fits, that is for each setting of the axes:

- *failed*: the difference is surely beyond the limit;
- *passed*: it is surely not, or every pair of runs has the same value;
- *undecided*: the limit may lie on either side, so that more seeds are needed.

A difference is sure if the p value of "the difference is the limit" is below 5 %, corrected for the
number of rows of all conditions (Holm 1979). If seeds were added until a run was decided, only the
share of its last look counts (`look_alpha`). Pairs that all differ by the same are judged by the
sign test.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import NormalDist

import numpy as np

from fairwind.answers.reasons import reason_without_effect
from fairwind.answers.words import sentence
from fairwind.compare import Comparison, Labelled
from fairwind.errors import FairwindError
from fairwind.quantities import counted, percent, percent_interval
from fairwind.results import Results, rows_of
from fairwind.results.shares import GOODPUT, fillers_of
from fairwind.results.summary import SUBJECTS, title_of
from fairwind.scenario.plan import Plan
from fairwind.statistics import holm
from fairwind.statistics.contrasts import Contrast
from fairwind.statistics.decisions import ALPHA, has_spread, look_alpha, p_value

GRAMMAR = "write GROUP.MEASURE > PERCENT or <, as 'thin.delivery_latency_p99 > +10%'"

TELLS_LITTLE = 0.9
"""With a larger p value the estimate is so near to the limit that no number of seeds is known."""

FORM = re.compile(r"\s*(.+)\.(\w+)\s*([<>])\s*([+-]?(?:\d+\.?\d*|\.\d+))\s*%\s*")


class Outcome(StrEnum):
    """Outcome of a condition on one row."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Condition:
    """What must not happen.

    Attributes
    ----------
    text : str
        As it was written.
    name, measure : str
        A group (or queue, or the members of a fairness index), and a measure or the beginning of
        its column that leaves the unit out.
    is_above : bool
        Whether it fails above the limit, else below.
    limit : float
        Relative difference of B to A, as a ratio less 1.
    """

    text: str
    name: str
    measure: str
    is_above: bool
    limit: float

    def is_beyond(self, relative: float) -> bool:
        """Return whether a relative difference is what must not happen."""
        return relative > self.limit if self.is_above else relative < self.limit


@dataclass(frozen=True)
class Judgement:
    """A condition on one row.

    Attributes
    ----------
    condition : Condition
    column : str
        The measure's column.
    settings : str
        The axes' values in words; empty without axes.
    evidence : str
        The estimate, its 95 % interval, and the corrected p value of "it is the limit".
    is_equal : bool
        Whether all pairs of runs are equal in all rows of all conditions.
    """

    condition: Condition
    column: str
    settings: str
    outcome: Outcome
    evidence: str
    is_equal: bool = False

    def __str__(self) -> str:
        """Write the outcome in one line."""
        where = f" at {self.settings}" if self.settings else ""
        return f"{self.outcome.value}: {self.condition.text}{where}: {self.evidence}"


UNCHANGED = "all pairs of runs are equal: does the change apply?"

Reason = Callable[[Mapping[str, object]], str | None]
"""Says, by the labels of a row, why nothing changed; None where it does not show."""


def no_reason(_: Mapping[str, object]) -> None:
    """Say nothing of any row, as of two runs."""


def parse_condition(text: str) -> Condition:
    """Read a condition such as ``thin.delivery_latency_p99 > +10%``.

    Raises
    ------
    FairwindError
        If it is none.
    """
    found = FORM.fullmatch(text)
    if found is None:
        raise FairwindError(f"{text!r} is not a condition", GRAMMAR)
    name, measure, operator, number = found.groups()
    limit = float(number) / 100
    if limit <= -1:
        raise FairwindError(f"{text!r}: nothing falls by {-100 * limit:g} %", GRAMMAR)
    return Condition(text.strip(), name.strip(), measure, operator == ">", limit)


def columns_of(conditions: Iterable[Condition], runs: Sequence[Results]) -> list[str]:
    """Give the columns that conditions name, each once.

    Raises
    ------
    FairwindError
        If a measure is that of no column, or of several.
    """
    numeric = numeric_columns(runs)
    return list(dict.fromkeys(_column(one, numeric) for one in conditions))


def numeric_columns(runs: Sequence[Results]) -> list[str]:
    """Give the columns of numbers that groups, transfers, queues and fairness have."""
    frames = [rows_of(results, subject) for results in runs for subject in SUBJECTS]
    return list(
        dict.fromkeys(
            name for frame in frames for name in frame.columns if frame.schema[name].is_numeric()
        )
    )


def _column(condition: Condition, columns: Sequence[str]) -> str:
    return column_named(condition.measure, columns, condition.text)


def column_named(measure: str, columns: Sequence[str], text: str) -> str:
    """Give the column of a measure, which may leave the unit out.

    Parameters
    ----------
    text : str
        What names the measure, as it was written; it stands in errors.

    Raises
    ------
    FairwindError
        If there is none, or several.
    """
    if measure in columns:
        return measure
    found = [name for name in columns if title_of(name).replace(" ", "_") == measure]
    main = [name for name in found if any(name in subject.measures for subject in SUBJECTS)]
    if len(found) == 1 or len(main) == 1:
        return (main or found)[0]
    near = found or [name for name in columns if measure in name]
    several = f"{measure!r} is short for several columns"
    raise FairwindError(
        f"{text!r}: {several if found else f'there is no measure {measure!r}'}",
        f"there are {', '.join(near or columns)}",
    )


def judge(
    conditions: Sequence[Condition],
    rows: Sequence[Labelled],
    looks: int = 0,
    reason: Reason = no_reason,
) -> list[Judgement]:
    """Judge conditions by the contrasts of a comparison.

    Parameters
    ----------
    looks : int
        How often the runs were looked at while seeds were added to them.
    reason : callable
        Asked of each row if all pairs of runs are equal.

    Raises
    ------
    FairwindError
        If a condition fits no row.
    """
    fitting = [(one, row) for one in conditions for row in rows_for(one, rows)]
    corrected = holm(
        [p_value(found.test, found.bound(condition.limit)) for condition, (_, found) in fitting]
    )
    alpha = look_alpha(looks) if looks else ALPHA
    judged = [
        _judgement(condition, labels, found, float(p), alpha)
        for (condition, (labels, found)), p in zip(fitting, corrected, strict=True)
    ]
    if all(is_unchanged(found) for _, (_, found) in fitting):
        judged = [
            _with_reason(one, reason(labels))
            for one, (_, (labels, _)) in zip(judged, fitting, strict=True)
        ]
    return judged


def _with_reason(judged: Judgement, reason: str | None) -> Judgement:
    """Say that all pairs of runs are equal, and why."""
    why = "" if reason is None else f" {sentence(reason)}"
    return replace(judged, evidence=f"{judged.evidence}; {UNCHANGED}{why}", is_equal=True)


def judge_run(conditions: Sequence[Condition], results: Results, axis: str) -> list[Judgement]:
    """Judge conditions on the values of an axis of a run, against its reference."""
    sides = Comparison(results, None, axis)
    rows = sides.contrasts(columns_of(conditions, sides.runs))
    return judge(conditions, rows, sides.looks, reasons_of(sides))


def reasons_of(sides: Comparison) -> Reason:
    """Give what says of a row why the compared axis changed nothing."""
    axis = sides.axis
    if axis is None:
        return no_reason
    labels: dict[object, str] = dict(zip(axis.values, axis.labels, strict=True))
    return lambda row: reason_without_effect(sides.a, axis, labels[row[axis.column]])


def only_axis(plan: Plan) -> str:
    """Give the axis of a plan that conditions are about.

    Raises
    ------
    FairwindError
        If no axis has several values, or more than one.
    """
    axes = [axis.name for axis in plan.varied_axes]
    if not axes:
        raise FairwindError(
            "a condition compares the values of an axis, and the scenario has none with several",
            "give it one in [sweep], or compare two runs: fairwind compare DIR_A DIR_B --fail-if",
        )
    if len(axes) > 1:
        raise FairwindError(
            f"a condition compares the values of one axis, and the scenario has {len(axes)} with "
            "several values",
            "run it without --fail-if, then: fairwind compare DIR --by AXIS --fail-if ...",
        )
    return axes[0]


def doubts(conditions: Sequence[Condition], plan: Plan) -> list[str]:
    """Name the conditions that can hardly fail, because a group fills its link alone.

    Its goodput is then what the link carries, whatever a setting does to it.
    """
    of_goodput = [one for one in conditions if GOODPUT.startswith(one.measure)]
    if not of_goodput:
        return []
    alone = {
        name
        for cell in plan.cells
        for names in fillers_of(cell.experiment).values()
        if len(names) == 1
        for name in names
    }
    return [
        f"{one.text!r} can hardly fail: {one.name} fills its link alone, so its flows together get "
        "what the link carries; make one flow a group of its own, with a condition for each"
        for one in of_goodput
        if one.name in alone
    ]


def rows_for(condition: Condition, rows: Sequence[Labelled]) -> list[Labelled]:
    """Give the rows that a condition fits.

    Raises
    ------
    FairwindError
        If there is none.
    """
    column = _column(condition, list(dict.fromkeys(str(one["measure"]) for one, _ in rows)))
    of_measure = [row for row in rows if row[0]["measure"] == column]
    found = [row for row in of_measure if row[0]["name"] == condition.name]
    if not found:
        names = dict.fromkeys(str(labels["name"]) for labels, _ in of_measure)
        raise FairwindError(
            f"{condition.text!r}: nothing named {condition.name!r} has {column}",
            f"there is {', '.join(names)}",
        )
    return found


def is_unchanged(found: Contrast) -> bool:
    """Return whether all pairs of runs are equal in a measure."""
    return found.values.estimate == 0 and not has_spread(found.values)


def _judgement(
    condition: Condition, labels: dict[str, object], found: Contrast, p: float, alpha: float
) -> Judgement:
    relative = found.relative(found.test.estimate)
    is_same = is_unchanged(found)
    if np.isnan(relative):
        outcome = Outcome.PASSED if is_same else Outcome.UNDECIDED
        evidence = "no relative difference, since A is zero or unknown"
    else:
        outcome = Outcome.FAILED if condition.is_beyond(relative) else Outcome.PASSED
        if not (p < alpha or (is_same and outcome is Outcome.PASSED)):
            outcome = Outcome.UNDECIDED
        evidence = _evidence(found, relative, p, alpha)
    settings = [
        f"{name} {value}"
        for name, value in labels.items()
        if name not in ("table", "name", "measure")
    ]
    return Judgement(condition, str(labels["measure"]), ", ".join(settings), outcome, evidence)


def _evidence(found: Contrast, relative: float, p: float, alpha: float) -> str:
    """Write the numbers that an outcome rests on; after several looks, what p is to be below."""
    parts = [f"{percent(relative)} %"]
    if found.test.has_spread:
        low, high = (found.relative(bound) for bound in (found.test.low, found.test.high))
        parts.append(f"95 % interval {percent_interval(low, high)} %")
    if not np.isnan(p):
        bound = "" if alpha == ALPHA else f" (sure below {alpha:.2g} after so many looks)"
        parts.append(f"p of the limit (Holm) {p:.2g}{bound}")
    seeds = min(found.test.samples_a, found.test.samples_b)
    parts.append(counted(seeds, "seed"))
    if (needed := _seeds_needed(seeds, p, alpha)) is not None:
        parts.append(f"about {needed} would decide")
    return ", ".join(parts)


def _seeds_needed(seeds: int, p: float, alpha: float) -> int | None:
    """Estimate how many seeds make p as small as alpha, if the estimate stays what it is.

    The distance from the limit, in standard errors, grows with the root of their number. None where
    p is small enough, or says too little.
    """
    if not alpha <= p < TELLS_LITTLE or seeds < 2:
        return None
    wanted, found = (NormalDist().inv_cdf(1 - one / 2) for one in (alpha, p))
    return math.ceil(seeds * (wanted / found) ** 2)

"""What a run's axes do, on the command line; runs that add seeds until that is sure."""

from __future__ import annotations

import math
import sys
from dataclasses import asdict, replace
from typing import Any

from fairwind.answers import AxisEffect, Effect
from fairwind.answers.answer import answer_of
from fairwind.answers.conditions import Condition
from fairwind.answers.until import MOST_SEEDS, Growth
from fairwind.cli import runs
from fairwind.cli.check import PlannedRun
from fairwind.cli.output import (
    OutputFormat,
    log_left_out,
    print_fitted,
    print_frame,
    print_json,
    print_rows,
    wrapped,
)
from fairwind.cli.settings import margin_in
from fairwind.errors import FairwindError
from fairwind.quantities import percent, percent_interval
from fairwind.results import Results, headlines, tidy_overview
from fairwind.results.summary import estimate, readable
from fairwind.scenario import Scenario
from fairwind.statistics import EffectVerdict

MOST_ROWS = 40
"""Largest number of effects of an axis that are printed one by one."""

DISPENSABLE = ("more seeds", "reference", "mean", "interval", "effect / %", "verdict")
"""Columns that are left out where the table is too wide, the first one first, but for the last."""


def growth_of(
    margin: str | None,
    most_seeds: int | None,
    conditions: tuple[Condition, ...] = (),
    *,
    is_growing: bool,
) -> Growth:
    """Read the options of a run's answer.

    Parameters
    ----------
    is_growing : bool
        Whether seeds are added, without which a bound of them means nothing.
    """
    if most_seeds is not None and not is_growing:
        raise FairwindError(
            "--most-seeds bounds the seeds that --until-decided adds",
            "add --until-decided, or set a number of seeds with --set repeat=N",
        )
    return Growth(most_seeds or MOST_SEEDS, margin_in(margin), conditions)


def planned_growth(scenario: Scenario, growth: Growth, planned: PlannedRun) -> PlannedRun:
    """Give what a run may come to that adds seeds, from what it begins with."""
    base = planned.plan
    most = scenario.with_settings({"repeat": max(growth.most_seeds, base.replicates)}).plan
    return PlannedRun(most, replace(planned.settings, grown_from=base), is_bound=True)


def is_undecided(results: Results) -> bool:
    """Return whether a run leaves effects that more seeds may decide."""
    answer = answer_of(results)
    return answer is not None and bool(answer.undecided)


def print_aggression(
    results: Results, reference: str, output: OutputFormat, *, is_wide: bool = False
) -> None:
    """Print how aggressive groups are: in tables as means over seeds, in CSV and JSON by seed."""
    from fairwind.aggression import MEASURES

    table = results.aggression(reference)
    if output is not OutputFormat.TABLE:
        print_frame(table, output)
        return
    estimates = estimate(table, (*results.manifest.plan.axis_columns, "group"), MEASURES)
    print_rows(*readable(estimates), output, is_wide=is_wide)


def print_run(
    results: Results,
    output: OutputFormat,
    margin: float | None = None,
    reference: str | None = None,
    *,
    is_wide: bool = False,
) -> None:
    """Print main measures and answer of a run; CSV, which is one table, has no answer."""
    match output:
        case OutputFormat.TABLE:
            if lines := headlines(results):
                sys.stdout.write("".join(f"{line}\n" for line in lines) + "\n")
            runs.print_summary(results, output, is_wide=is_wide)
            print_answer(results, margin, reference, is_wide=is_wide)
        case OutputFormat.CSV:
            runs.print_summary(results, output)
        case OutputFormat.JSON:
            answer = answer_of(results, margin, reference)
            summary = tidy_overview(results).to_dicts()
            document = None if answer is None else known_values(asdict(answer))
            print_json({"summary": summary, "answer": document})


def known_values(value: Any) -> Any:  # noqa: ANN401 - anything that JSON can say
    """Put None in the place of numbers that are none, which JSON cannot say."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {name: known_values(one) for name, one in value.items()}
        case list() | tuple():
            return [known_values(one) for one in value]
        case _:
            return value


def print_answer(
    results: Results,
    margin: float | None = None,
    reference: str | None = None,
    *,
    is_wide: bool = False,
) -> None:
    """Print what the axes of a run do, in words and as tables; nothing without an axis."""
    answer = answer_of(results, margin, reference)
    if answer is None:
        return
    sys.stdout.write("\n" + "".join(map(wrapped, (answer.holds_for, *answer.paragraphs))))
    left_out: list[str] = []
    for axis in answer.axes:
        if not axis.is_without_effect:
            sys.stdout.write("\n")
            left_out += _print_effects(axis, is_wide=is_wide)
    rule = answer.method if is_wide else f"{answer.rule} --wide prints how they are tested."
    sys.stdout.write(f"\n{wrapped(rule)}")
    log_left_out(left_out)


def _print_effects(axis: AxisEffect, *, is_wide: bool) -> list[str]:
    """Print the effects of one axis; give the columns that did not fit."""
    changed = axis.changed_effects
    effects = changed[:MOST_ROWS]
    columns: dict[str, list[object]] = {
        axis.axis.rsplit(".", 1)[-1]: [one.value for one in effects],
        "at": [one.context for one in effects],
        "of": [one.name for one in effects],
        "measure": [one.header for one in effects],
        "reference": [one.shown_means[0] for one in effects],
        "mean": [one.shown_means[1] for one in effects],
        "effect / %": ["-" if one.relative is None else percent(one.relative) for one in effects],
        "interval": [percent_interval(one.low, one.high) for one in effects],
        "verdict": [one.verdict.value for one in effects],
        "more seeds": [_more_seeds(one) for one in effects],
    }
    # Contexts, intervals and seeds are empty in some answers.
    columns = {name: cells for name, cells in columns.items() if cells != [""] * len(cells)}
    rows = list(zip(*columns.values(), strict=True))
    left_out = print_fitted(list(columns), rows, DISPENSABLE, is_wide=is_wide)
    if more := len(changed) - len(effects):
        sys.stdout.write(f"and {more} more\n")
    return left_out


def _more_seeds(effect: Effect) -> str:
    if effect.verdict is not EffectVerdict.UNDECIDED:
        return ""
    return "?" if effect.seeds_needed is None else str(effect.seeds_needed)

"""What a run's axes do, on the command line; runs that add seeds until that is sure."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from fairwind.answers import Answer, AxisEffect, Effect
from fairwind.answers.answer import answer_of
from fairwind.answers.effects import MARGIN
from fairwind.answers.until import MOST_SEEDS, Growth, Look
from fairwind.answers.words import interval_in_words, percent
from fairwind.cli.output import OutputFormat, log
from fairwind.cli.progress import shown_progress
from fairwind.cli.runs import print_warnings
from fairwind.cli.settings import read_option
from fairwind.engine.engines import Engine
from fairwind.errors import FairwindError
from fairwind.execution.admission import counted, one_of
from fairwind.execution.execute import RunSettings
from fairwind.quantities import parse_ratio
from fairwind.results import Results, significant
from fairwind.scenario import Scenario
from fairwind.statistics import EffectVerdict

MOST_ROWS = 40
"""Largest number of effects of an axis that are printed one by one."""

WIDEST = 120
"""Sentences are no longer on a line, however wide the terminal is."""


def growth_of(margin: str | None, most_seeds: int | None, *, is_growing: bool) -> Growth:
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
    ratio = MARGIN if margin is None else read_option("--margin", margin, parse_ratio)
    return Growth(most_seeds or MOST_SEEDS, ratio)


def execute_until_decided(
    scenario: Scenario,
    engine: Engine,
    growth: Growth,
    *,
    jobs: int | None,
    out: Path | None,
    force: bool,
    is_live: bool = False,
) -> Results:
    """Run a scenario, adding seeds, with progress, looks and warnings on standard error."""
    base = scenario.check()
    for warning in base.warnings:
        log(f"warning: {warning}")
    with shown_progress(Console(stderr=True), is_live=is_live) as show:
        results = scenario.run_until_decided(
            engine,
            RunSettings(jobs, out, force),
            growth,
            show,
            lambda look: log(look_in_words(look, growth)),
        )
    runs = results.manifest.plan.runs - len(results.failures)
    log(f"{counted(runs, one_of(engine))}; tables: {results.folder}")
    print_warnings(results, printed=base.warnings)
    return results


def look_in_words(look: Look, growth: Growth) -> str:
    """Report what a look found, and what follows."""
    count = len(look.answer.undecided)
    undecided = f"{count} of {counted(len(look.answer.effects), 'effect')} undecided"
    if not count:
        return f"{counted(look.seeds, 'seed')}: everything is decided"
    end = ""
    if look.is_last:
        end = f"; stopped at --most-seeds {growth.most_seeds}"
    return f"{counted(look.seeds, 'seed')}: {undecided}{end}"


def print_answer(results: Results, output: OutputFormat, growth: Growth | None = None) -> None:
    """Print what the axes of a run do, in words and as tables; nothing without an axis."""
    if output is not OutputFormat.TABLE:
        return
    answer = answer_of(results, MARGIN if growth is None else growth.margin)
    if answer is not None:
        width = shutil.get_terminal_size().columns
        sys.stdout.write(f"\n{answer_in_text(answer, width)}")


def answer_in_text(answer: Answer, width: int) -> str:
    """Write an answer for a terminal.

    Parameters
    ----------
    width : int
        Of the terminal, in characters.
    """
    lines = [line for text in answer.paragraphs for line in _wrapped(text, width)]
    for axis in answer.axes:
        if not axis.is_without_effect:
            lines += ["", *_table(axis, width)]
    return "\n".join([*lines, "", *_wrapped(answer.method, width)]) + "\n"


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, min(width, WIDEST), subsequent_indent="  ", break_on_hyphens=False)


@dataclass(frozen=True)
class _Column:
    """A column of the table of effects.

    Attributes
    ----------
    place : int, optional
        Which one is left out first where the table is too wide; None for never.
    """

    header: str
    cells: Sequence[str]
    is_number: bool = False
    place: int | None = None

    @property
    def width(self) -> int:
        return max(len(self.header), *(len(cell) for cell in self.cells))

    def lines(self) -> list[str]:
        """Write header and cells, all equally wide."""
        texts = [self.header, *self.cells]
        return [
            text.rjust(self.width) if self.is_number else text.ljust(self.width) for text in texts
        ]


def _table(axis: AxisEffect, width: int) -> list[str]:
    """Write the effects of one axis, in as many columns as there is room for."""
    effects = axis.effects[:MOST_ROWS]
    columns = [
        _Column(axis.axis.rsplit(".", 1)[-1], [one.value for one in effects]),
        _Column("at", [one.context for one in effects]),
        _Column("of", [one.name for one in effects]),
        _Column("measure", [_measure(one) for one in effects]),
        _Column(
            "reference",
            [_scaled(one.mean_reference, one) for one in effects],
            is_number=True,
            place=1,
        ),
        _Column("mean", [_scaled(one.mean, one) for one in effects], is_number=True, place=2),
        _Column("effect / %", [_relative(one) for one in effects], is_number=True),
        _Column("interval", [interval_in_words(one) for one in effects]),
        _Column("verdict", [_verdict(one) for one in effects]),
        _Column("more seeds", [_more_seeds(one) for one in effects], is_number=True, place=0),
    ]
    shown = _fitting([one for one in columns if any(one.cells)], width)
    lines = [
        _cut("  ".join(row).rstrip(), width)
        for row in zip(*(one.lines() for one in shown), strict=True)
    ]
    more = len(axis.effects) - len(effects)
    return [*lines, f"and {more} more" if more else ""][: len(lines) + bool(more)]


def _fitting(columns: list[_Column], width: int) -> list[_Column]:
    """Leave columns out until the table fits."""
    droppable = sorted(
        (one for one in columns if one.place is not None), key=lambda one: one.place or 0
    )
    shown = list(columns)
    for column in droppable:
        if sum(one.width + 2 for one in shown) - 2 <= width:
            break
        shown = [one for one in shown if one is not column]
    return shown


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: width - 1]}…"


def _measure(effect: Effect) -> str:
    return f"{effect.title} / {effect.unit}" if effect.unit else effect.title


def _scaled(value: float, effect: Effect) -> str:
    return significant(value * effect.scale)


def _relative(effect: Effect) -> str:
    return "-" if effect.relative is None else percent(effect.relative)


def _verdict(effect: Effect) -> str:
    return effect.verdict.value


def _more_seeds(effect: Effect) -> str:
    if effect.verdict is not EffectVerdict.UNDECIDED:
        return ""
    return "?" if effect.seeds_needed is None else str(effect.seeds_needed)

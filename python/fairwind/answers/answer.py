"""Answer of a run to the question that its axes ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from fairwind.answers.competition import losses_in_words, queues_in_words
from fairwind.answers.effects import (
    check_margin,
    context_of,
    effects_of,
    missing_effects,
    varied_axes,
)
from fairwind.answers.reasons import reason_without_effect
from fairwind.answers.words import (
    missing_in_words,
    paragraph,
    shares_in_words,
    unchanged_in_words,
    unchanged_value_in_words,
    undecided_in_words,
)
from fairwind.folder.looks import read_looks, read_margin, write_margin
from fairwind.preview.description import runs_in_words
from fairwind.results import Results
from fairwind.results.answer import Answer, AxisEffect, Effect, Share
from fairwind.results.shares import shares_of
from fairwind.scenario.plan import LEADING_COLUMNS, Axis, short_names
from fairwind.statistics import EffectVerdict, look_alpha
from fairwind.statistics.decisions import ALPHA, MARGIN

PAIRED = "runs of the same seed are compared in pairs"
INDEPENDENT = "runs in real time are compared as independent samples (Welch)"

UNCHANGEABLE = ("lateness", "hosts")
"""Tables that tell of the machine."""

SMALL = ("flows", "groups")
"""Tables that every run has, with a row for each flow or group."""

BATCH_ROWS = 1_000_000
"""Rows of a table that are compared at once."""

RULE = (
    "Verdicts are corrected for {effects} (Holm 1979){looks}: no difference if the interval lies "
    "within {margin:g} % of zero, else less or more if it excludes zero, else undecided."
)

METHOD = (
    "{pairing}; each effect is one t test against the axis's reference, of log(value / "
    "reference) where all values are above zero, else of the difference. {rule} Each interval has "
    "the level of its own verdict; they do not all hold at once."
)

MEDIANS_METHOD = "Medians (p50) are described, not judged."


SHARES_RULE = "Shares are judged against equal shares of all flows; margin {margin:g} % of these."

SHARES_METHOD = (
    "Shares are those of greedy groups in their goodput behind one bottleneck, means over the "
    "seeds; an equal share gives every flow the same. Their verdicts are corrected for {counted}, "
    "with {margin:g} % of the equal share as the margin."
)


def answer_of(
    results: Results, margin: float | None = None, reference: str | None = None
) -> Answer | None:
    """Give what the axes of a run do to the main measure of each group, and how groups share.

    Parameters
    ----------
    results : Results
    margin : float, optional
        The largest relative difference that counts as none, above 0 and below 1; that which the run
        was asked with if not given, else 5 %.
    reference : str, optional
        The value of an axis that its others are compared with, or ``AXIS=VALUE``; if not given, the
        scenario's, or else its first one.

    Returns
    -------
    Answer or None
        None where the run has no axis of several values and no greedy groups that share a
        bottleneck, or nothing was measured.

    Raises
    ------
    FairwindError
        If the margin is none, or no axis has the reference.
    """
    margin = margin_of(results, margin)
    axes, looks = varied_axes(results, reference), looks_of(results)
    found = effects_of(results, axes, margin, looks) if axes else []
    answers, words = _axes_in_words(results, axes, found) if found else ((), ())
    missing = missing_effects(results, axes) if axes else []
    contexts = {cell.index: context_of(axes, cell.settings) for cell in results.manifest.plan.cells}
    alpha = look_alpha(len(looks) - 1) if looks else ALPHA
    shares = shares_of(results, contexts, margin, alpha)
    if not (found or shares):
        return None
    rule = _rule(len(found), looks, margin)
    methods = [_method(results, rule)] if found else []
    methods += _medians_method(found)
    methods += [_shares_method(shares, margin)] if shares else []
    paragraphs = (
        *words,
        *((missing_in_words(missing),) if missing else ()),
        *shares_in_words(shares),
        *queues_in_words(results, (share.link for share in shares), contexts),
        *losses_in_words(results, _sharers(shares), contexts),
    )
    rules = [rule, *_medians_method(found)] if found else []
    rules += [SHARES_RULE.format(margin=100 * margin)] if shares else []
    where = runs_in_words(results.manifest.plan)
    return Answer(answers, " ".join(methods), paragraphs, shares, where, " ".join(rules))


def _axes_in_words(
    results: Results, axes: Sequence[Axis], found: Sequence[tuple[Axis, Effect]]
) -> tuple[tuple[AxisEffect, ...], tuple[str, ...]]:
    """Give what each axis does, and in words that and what is undecided."""
    same = {axis.name: _same_values(results, axis) for axis in axes}
    names = short_names(axes)
    answers = tuple(_axis_effect(axis, names[axis.name], same[axis.name], found) for axis in axes)
    undecided = [
        (names[axis.name], effect)
        for axis, effect in found
        if effect.verdict is EffectVerdict.UNDECIDED and effect.value not in same[axis.name]
    ]
    words = tuple(text for answer in answers for text in answer.paragraphs)
    return answers, (*words, *((undecided_in_words(undecided, len(found)),) if undecided else ()))


def _sharers(shares: Sequence[Share]) -> list[str]:
    """Give the groups that share a link with others, in order of appearance."""
    return list(dict.fromkeys(name for share in shares for name in (share.name, *share.others)))


def margin_of(results: Results, margin: float | None) -> float:
    """Give the margin that is wanted, else the run's own, else the usual one.

    Raises
    ------
    FairwindError
        If it is none.
    """
    if margin is None:
        margin = read_margin(results.folder)
    if margin is None:
        return MARGIN
    check_margin(margin)
    return margin


def keep_margin(results: Results, margin: float | None) -> None:
    """Make a margin that of a run; what the folder has stays if there is none."""
    if margin is not None:
        check_margin(margin)
        write_margin(results.folder, margin)


def looks_of(results: Results) -> list[int] | None:
    """Give the numbers of seeds at which a run was looked at; None without ``--until-decided``."""
    recorded, seeds = read_looks(results.folder), results.manifest.plan.replicates
    if not recorded:
        return None
    return [*(one for one in recorded if one < seeds), seeds]


def _method(results: Results, rule: str) -> str:
    pairing = INDEPENDENT if results.manifest.is_real_time else PAIRED
    return METHOD.format(pairing=pairing, rule=rule)


def _rule(effects: int, looks: Sequence[int] | None, margin: float) -> str:
    spent = ""
    if looks is not None:
        spent = (
            f" and {len(looks)} look{'' if len(looks) == 1 else 's'} at growing numbers of seeds"
        )
    counted = f"{effects} effect{'' if effects == 1 else 's'}"
    return RULE.format(effects=counted, looks=spent, margin=100 * margin)


def _medians_method(found: Sequence[tuple[Axis, Effect]]) -> list[str]:
    return [MEDIANS_METHOD] if any(effect.median is not None for _, effect in found) else []


def _shares_method(shares: Sequence[Share], margin: float) -> str:
    counted = f"{len(shares)} share{'' if len(shares) == 1 else 's'}"
    return SHARES_METHOD.format(counted=counted, margin=100 * margin)


def _same_values(results: Results, axis: Axis) -> dict[str, str | None]:
    """Give the values of an axis with which nothing differs from the first one, and the reasons."""
    return {
        value: reason_without_effect(results, axis, value)
        for value in axis.labels[1:]
        if is_same(results, axis, value)
    }


def _axis_effect(
    axis: Axis, name: str, same: Mapping[str, str | None], found: Sequence[tuple[Axis, Effect]]
) -> AxisEffect:
    reference, *values = axis.labels
    effects = [effect for of, effect in found if of == axis]
    if len(same) == len(values):
        reasons = set(same.values())
        reason = reasons.pop() if len(reasons) == 1 else None
        paragraphs = [unchanged_in_words(name, reference, values, reason)]
    else:
        paragraphs = [
            unchanged_value_in_words(name, reference, value, same[value])
            if value in same
            else paragraph(name, reference, value, those)
            for value in values
            if value in same or (those := [one for one in effects if one.value == value])
        ]
    return AxisEffect(
        axis=axis.name,
        reference=reference,
        paragraphs=tuple(paragraphs),
        effects=tuple(effects),
        unchanged=tuple(same),
        is_without_effect=len(same) == len(values),
    )


def is_same(results: Results, axis: Axis, value: str) -> bool:
    """Return whether all tables are the same for one value of an axis and for the first one.

    What was not measured with either value is not the same.
    """
    tables = [name for name in results.table_names if name not in UNCHANGEABLE]
    # Small tables first, since they differ nearly always where anything does.
    tables.sort(key=lambda name: (name not in SMALL, name))
    measured = 0
    for name in tables:
        rows = _common_rows(results, name, axis, value)
        if rows is None:
            return False
        measured += rows if name in SMALL else 0
    return measured > 0


def _common_rows(results: Results, name: str, axis: Axis, value: str) -> int | None:
    """Count the rows of a table with each of two values; None if they differ.

    Rows of other tables than that of groups are read in batches, since some do not fit into memory.
    """
    # The table of groups is in memory already, since the effects come of it.
    scan = results.groups.lazy() if name == "groups" else results.scan(name)
    if axis.column not in scan.collect_schema().names():
        return 0
    ignored = [*LEADING_COLUMNS[:1], axis.column]
    sides = [
        scan.filter(pl.col(axis.column) == axis.value(label)).drop(ignored)
        for label in (axis.labels[0], value)
    ]
    if name not in SMALL:
        first, second = pl.collect_all([side.select(pl.len()) for side in sides])
        if first.item() != second.item():
            return None
    rows = 0
    while True:
        one, other = pl.collect_all([side.slice(rows, BATCH_ROWS) for side in sides])
        if not one.equals(other):
            return None
        rows += one.height
        if one.height < BATCH_ROWS:
            return rows

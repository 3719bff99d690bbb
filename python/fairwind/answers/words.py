"""Answer in words: one paragraph for each value of an axis."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from fairwind.quantities import percent, percent_interval, significant
from fairwind.results.answer import Effect, Share
from fairwind.statistics import EffectVerdict
from fairwind.statistics.decisions import DIFFERENT

MOST_CONTEXTS = 3
"""So many combinations of the other axes are named one by one; more are counted."""

SHORT_TITLES = {"delivery latency p99": "delivery p99", "response time p99": "response p99"}
"""Titles that are shorter in sentences."""


def paragraph(axis: str, reference: str, value: str, effects: Sequence[Effect]) -> str:
    """Say what one value of an axis does, compared with the reference.

    Parameters
    ----------
    axis : str
        Its short name.
    effects : sequence of Effect
        Of this value, in all contexts.
    """
    by_measure: dict[tuple[str, str], list[Effect]] = {}
    for effect in effects:
        by_measure.setdefault((effect.name, effect.measure), []).append(effect)
    parts = "; ".join(_of_one_measure(those) for those in by_measure.values())
    return f"{axis} {value} (against {reference}): {parts}."


def unchanged_in_words(
    axis: str, reference: str, values: Iterable[str], reason: str | None = None
) -> str:
    """Say that an axis changed nothing, and why, or what to look at."""
    those = " and ".join([reference, *values])
    why = "Either the setting was never used, or it applies to no flow."
    if reason is not None:
        why = f"{reason[0].upper()}{reason[1:]}, so there was nothing to change."
    return (
        f"{axis} changed nothing in any run: all measures are the same to the last digit for "
        f"{those}. {why}"
    )


def unchanged_value_in_words(axis: str, reference: str, value: str, reason: str | None) -> str:
    """Say that one of several values of an axis changed nothing, and why if that shows."""
    end = "" if reason is None else f": {reason}"
    return f"{axis} {value} (against {reference}): nothing changed in any run{end}."


def _of_one_measure(effects: Sequence[Effect]) -> str:
    """Say what happens to one measure of one group, in all contexts, and to its median."""
    return "; ".join(filter(None, (_judged_in_words(effects), _medians_in_words(effects))))


def _judged_in_words(effects: Sequence[Effect]) -> str:
    subject = f"{effects[0].name} {short_title(effects[0])}"
    if len(effects) == 1:
        return f"{subject} {effect_in_words(effects[0])}"
    if len(effects) <= MOST_CONTEXTS:
        return f"{subject} {_by_context((effect_in_words(one), one.context) for one in effects)}"
    by_verdict: dict[EffectVerdict, list[Effect]] = {}
    for effect in effects:
        by_verdict.setdefault(effect.verdict, []).append(effect)
    counts = [
        f"{_counted_verdict(verdict, those)} in {_share(len(those), len(effects))}"
        for verdict, those in by_verdict.items()
    ]
    return f"{subject} {', '.join(counts)}"


def _medians_in_words(effects: Sequence[Effect]) -> str:
    """Describe the medians beside the tails that are judged; empty where there are none."""
    medians = [(one.median, one.context) for one in effects if one.median is not None]
    if not medians:
        return ""
    if len(medians) == 1:
        return f"p50 {medians[0][0]}"
    if len(medians) <= MOST_CONTEXTS:
        return f"p50 {_by_context((str(one), where) for one, where in medians)}"
    known = sorted(one.relative for one, _ in medians if one.relative is not None)
    return f"p50 {_range_in_words(known)} %" if known else ""


def _by_context(words_and_contexts: Iterable[tuple[str, str]]) -> str:
    """Join words with their contexts; those with the same words share them."""
    where: dict[str, list[str]] = {}
    for words, context in words_and_contexts:
        where.setdefault(words, []).append(context)
    return ", ".join(f"{words} at {' and '.join(those)}" for words, those in where.items())


def _range_in_words(ratios: Sequence[float]) -> str:
    """Write the ends of sorted ratios in per cent, once where they are the same."""
    return " to ".join(dict.fromkeys(percent(one) for one in (ratios[0], ratios[-1])))


def _share(some: int, every: int) -> str:
    return f"all {every} settings of the other axes" if some == every else f"{some} of {every}"


def _counted_verdict(verdict: EffectVerdict, effects: Sequence[Effect]) -> str:
    known = sorted(effect.relative for effect in effects if effect.relative is not None)
    if verdict not in DIFFERENT or not known:
        return verdict.value
    return f"{verdict.value} ({_range_in_words(known)} %)"


def effect_in_words(effect: Effect) -> str:
    """Say one effect: ``-52 % [-69, -28], 245 to 118 ms``, ``no difference (within 1 %)``."""
    match effect.verdict:
        case EffectVerdict.LESS | EffectVerdict.MORE:
            means = " to ".join(
                significant(one, 3) for one in effect.shown_means if one is not None
            )
            found = relative_in_words(effect) or effect.verdict.value
            return f"{found}, {means} {effect.unit}".rstrip()
        case EffectVerdict.NO_DIFFERENCE:
            return _no_difference(effect)
        case EffectVerdict.UNDECIDED:
            more = effect.seeds_needed
            wanted = f"about {more} more seed{'' if more == 1 else 's'}" if more else ""
            is_same = effect.difference == 0 and effect.low is None
            found = "the same so far" if is_same else relative_in_words(effect)
            parts = ", ".join(filter(None, (found, wanted)))
            return f"undecided ({parts})" if parts else "undecided"


def relative_in_words(effect: Effect) -> str:
    """Write the estimate with its interval; empty where the estimate is unknown."""
    if effect.relative is None:
        return ""
    interval = percent_interval(effect.low, effect.high)
    return f"{percent(effect.relative)} % {interval}".rstrip()


def _no_difference(effect: Effect) -> str:
    if effect.low is None or effect.high is None:
        if effect.relative:
            return f"no difference that matters ({percent(effect.relative)} % in every run)"
        return "no difference (the same in every run)"
    within = 100 * max(abs(effect.low), abs(effect.high))
    is_sure = effect.low > 0 or effect.high < 0
    if is_sure and within >= VISIBLE:
        return f"no difference that matters ({relative_in_words(effect)})"
    return f"no difference (within {_rounded_up(within)} %)"


def _rounded_up(value: float) -> str:
    """Write a bound in per cent, never less than it is."""
    return f"{math.ceil(10 * value) / 10:g}"


VISIBLE = 0.5
"""A sure difference below so many per cent is not written out."""

MOST_SHARES = 12
"""So many shares are written; more are counted."""

MOST_NAMED = 4
"""So many undecided effects are named; more are counted."""


def undecided_in_words(undecided: Sequence[tuple[str, Effect]], effects: int) -> str:
    """Say which effects are undecided, and how many more seeds would decide them.

    Parameters
    ----------
    undecided : sequence of (str, Effect)
        Each with the short name of its axis.
    effects : int
        Number of all effects.
    """
    known = [one for one in undecided if one[1].seeds_needed is not None]
    named = sorted(known, key=lambda one: one[1].seeds_needed or 0)[:MOST_NAMED]
    parts = [f"{_where(axis, effect)}: {effect.seeds_needed}" for axis, effect in named]
    if len(known) > len(named):
        most = max(effect.seeds_needed or 0 for _, effect in known)
        parts.append(f"and {len(known) - len(named)} more: up to {most}")
    count = (
        f"{len(undecided)} of {effects} effects {'is' if len(undecided) == 1 else 'are'} undecided"
    )
    if not parts:
        return f"{count}; at least two seeds are needed to see how much seeds differ."
    return f"{count}. More seeds that would probably decide: {'; '.join(parts)} (--until-decided)."


def missing_in_words(missing: Sequence[str]) -> str:
    """Say which comparisons lack a side."""
    named = "; ".join(missing[:MOST_NAMED])
    more = len(missing) - MOST_NAMED
    end = f"; and {more} more" if more > 0 else ""
    return f"Not compared, because all runs of one side failed: {named}{end}."


def sentence(text: str) -> str:
    """Make a sentence of a part of one."""
    return f"{text[0].upper()}{text[1:]}."


def shares_in_words(shares: Sequence[Share]) -> tuple[str, ...]:
    """Write each share in a line; more than `MOST_SHARES` are counted."""
    lines = [sentence(str(one)) for one in shares[:MOST_SHARES]]
    if more := len(shares) - len(lines):
        lines.append(f"And {more} more shares: `shares` in --format json.")
    return tuple(lines)


def _where(axis: str, effect: Effect) -> str:
    context = f" at {effect.context}" if effect.context else ""
    return f"{effect.name} {short_title(effect)} with {axis} {effect.value}{context}"


def short_title(effect: Effect) -> str:
    """Give the title of an effect's measure for sentences."""
    return SHORT_TITLES.get(effect.title, effect.title)

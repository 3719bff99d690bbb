"""Answer of a run with axes: what each axis does to each group of flows.

Only values; `fairwind.answers` finds them, and pages and the command line show them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from fairwind.html import block, line, table
from fairwind.quantities import percent, percent_interval, significant
from fairwind.statistics.decisions import EffectVerdict


@dataclass(frozen=True)
class MedianEffect:
    """What a value of an axis does to a median, described without a verdict.

    Attributes
    ----------
    measure : str
        The column, such as ``delivery_latency_p50_s``.
    unit : str
        The unit that people read the median in; `scale` leads to it.
    mean_reference, mean : float
        Means over the seeds, in the unit that the measure's name ends in; NaN if unknown.
    relative, low, high : float, optional
        How much larger than with the reference, as a ratio less 1, and its own 95 % interval, not
        corrected for anything; None if unknown.
    scale : float
        Factor from the measure's own unit to `unit`.
    """

    measure: str
    unit: str
    mean_reference: float
    mean: float
    relative: float | None
    low: float | None
    high: float | None
    scale: float

    @property
    def shown_means(self) -> tuple[float | None, float | None]:
        """Means of the reference and of this value, in `unit`; None if unknown."""
        return _shown_means(self)

    def __str__(self) -> str:
        """Write both means and the change: ``122 to 26.1 ms (-79 %)``, ``21.3 ms in both``."""
        first, second = (
            "unknown" if one is None else significant(one, 3) for one in self.shown_means
        )
        if self.mean_reference == self.mean:
            return f"{first} {self.unit} in both"
        change = "" if self.relative is None else f" ({percent(self.relative)} %)"
        means = first if first == second else f"{first} to {second}"
        return f"{means} {self.unit}{change}"


@dataclass(frozen=True)
class Effect:
    """Effect of one value of an axis on one measure of one group.

    Attributes
    ----------
    table, name, measure : str
        The table, the group (or queue) in it, and the column.
    title : str
        The measure in words, without its unit.
    unit : str
        The unit that people read the measure in, such as ``ms``; empty for none. `scale` leads
        to it.
    context : str
        The values of the other axes, such as ``flows.*.count 4``; empty without other axes.
    value : str
        The value of the axis; it is compared with the axis's first one, the reference.
    mean_reference, mean : float
        Means over the seeds, in the unit that the measure's name ends in; NaN if unknown.
    relative, low, high : float, optional
        How much larger than with the reference, as a ratio less 1, and the interval
        that the verdict was read from; None if unknown. Intervals do not all hold at once.
    difference, difference_low, difference_high : float, optional
        The same as a difference, in the unit that the measure's name ends in.
    p_value, holm_p_value : float, optional
        Two-sided, of no difference; the second is corrected for all effects of the answer (Holm
        1979), and for the number of looks of a run with ``--until-decided``.
    verdict : EffectVerdict
        By the rule in `Answer.method`.
    seeds_needed : int, optional
        How many more seeds would decide an undecided effect, with a probability of 80 %, if it and
        its spread are as estimated; None for a decided effect, and where it cannot be estimated.
    seeds : int
        Seeds behind the estimate.
    scale : float
        Factor from the measure's own unit to `unit`.
    median : MedianEffect, optional
        Of the same latency or time, where the measure is a percentile of its tail.
    """

    table: str
    name: str
    measure: str
    title: str
    unit: str
    context: str
    value: str
    mean_reference: float
    mean: float
    relative: float | None
    low: float | None
    high: float | None
    difference: float | None
    difference_low: float | None
    difference_high: float | None
    p_value: float | None
    holm_p_value: float | None
    verdict: EffectVerdict
    seeds_needed: int | None
    seeds: int
    scale: float
    median: MedianEffect | None = None

    @property
    def header(self) -> str:
        """The measure with its unit."""
        return f"{self.title} / {self.unit}" if self.unit else self.title

    @property
    def shown_means(self) -> tuple[float | None, float | None]:
        """Means of the reference and of this value, in `unit`; None if unknown."""
        return _shown_means(self)


def _shown_means(effect: Effect | MedianEffect) -> tuple[float | None, float | None]:
    first, second = (
        value * effect.scale if math.isfinite(value) else None
        for value in (effect.mean_reference, effect.mean)
    )
    return first, second


VERDICTS = {
    EffectVerdict.MORE: "more than an equal share of",
    EffectVerdict.LESS: "less than an equal share of",
    EffectVerdict.NO_DIFFERENCE: "no difference that matters from an equal share of",
    EffectVerdict.UNDECIDED: "undecided against an equal share of",
}


@dataclass(frozen=True)
class Share:
    """Share of a group in the goodput of all greedy groups behind one bottleneck.

    Attributes
    ----------
    context : str
        The values of the axes, such as ``count 4``; empty without axes.
    link : str
        The bottleneck.
    name : str
        The group.
    others : tuple of str
        The other groups.
    share, equal : float
        Mean over the seeds, and what its flows would have if all had the same, 0 to 1.
    low, high : float, optional
        The interval that the verdict was read from; None where seeds do not differ.
    verdict : EffectVerdict
        Against the equal share.
    jain_index : float
        Of the goodputs of all flows of these groups, mean over the seeds; NaN without goodput.
    seeds : int
    """

    context: str
    link: str
    name: str
    others: tuple[str, ...]
    share: float
    equal: float
    low: float | None
    high: float | None
    verdict: EffectVerdict
    jain_index: float
    seeds: int

    def __str__(self) -> str:
        """Write it in one line."""
        bounds = ""
        if self.low is not None and self.high is not None:
            bounds = f" [{100 * self.low:.3g}, {100 * self.high:.3g}]"
        place = f"{self.link}{f' at {self.context}' if self.context else ''}"
        return (
            f"share of link {place}: {self.name} {100 * self.share:.3g} %{bounds} beside "
            f"{', '.join(self.others)}, {VERDICTS[self.verdict]} {100 * self.equal:.3g} %; "
            f"Jain's index of the flows {self.jain_index:.3g}"
        )


@dataclass(frozen=True)
class AxisEffect:
    """What one axis does.

    Attributes
    ----------
    axis : str
        Its name, as in the scenario.
    reference : str
        The value that all others are compared with.
    paragraphs : tuple of str
        One for each other value, in words.
    effects : tuple of Effect
        Of the main measure of each group, by value, context and group.
    unchanged : tuple of str
        The other values with which no table of the run differs from the first one's.
    is_without_effect : bool
        Whether these are all of them.
    """

    axis: str
    reference: str
    paragraphs: tuple[str, ...]
    effects: tuple[Effect, ...]
    unchanged: tuple[str, ...]
    is_without_effect: bool

    @property
    def changed_effects(self) -> tuple[Effect, ...]:
        """Effects of the values that changed anything."""
        return tuple(one for one in self.effects if one.value not in self.unchanged)


@dataclass(frozen=True)
class Answer:
    """What the axes of a run do, and how groups share a link.

    Attributes
    ----------
    axes : tuple of AxisEffect
        In the order of the scenario; without those of one value.
    method : str
        How effects, intervals and verdicts are found, in words.
    paragraphs : tuple of str
        The answer in words: those of all axes, how many more seeds would decide the rest, and what
        is not compared because all runs of one side failed; then the shares, and what the queues of
        these links did.
    shares : tuple of Share
        Of greedy groups behind one bottleneck, by cell.
    holds_for : str
        Path, queue, time and seeds of the runs, in words.
    rule : str
        How verdicts are found, in a sentence or two; `method` has all of it.
    """

    axes: tuple[AxisEffect, ...]
    method: str
    paragraphs: tuple[str, ...]
    shares: tuple[Share, ...] = ()
    holds_for: str = ""
    rule: str = ""

    @property
    def effects(self) -> tuple[Effect, ...]:
        """The effects of all axes."""
        return tuple(effect for axis in self.axes for effect in axis.effects)

    @property
    def undecided(self) -> tuple[Effect, ...]:
        """The effects that more seeds may decide; a value that changes nothing has none."""
        return tuple(
            one
            for axis in self.axes
            for one in axis.effects
            if one.verdict is EffectVerdict.UNDECIDED and one.value not in axis.unchanged
        )

    def _repr_html_(self) -> str:
        """Show the answer in words and numbers in a notebook."""
        headers = ["axis", "value", "other axes", "name", "measure"]
        headers += ["reference", "mean", "effect", "interval", "p (Holm)", "verdict", "median"]
        rows = [
            [f"{axis.axis}: {axis.reference} →", *_cells(effect)]
            for axis in self.axes
            for effect in axis.effects
        ]
        words = (line(paragraph) for paragraph in self.paragraphs)
        effects = table(headers, rows) if rows else ""
        return block("Answer", line(self.holds_for), *words, effects, line(self.method))


def _cells(effect: Effect) -> list[object]:
    """Give an effect as cells of a table, in the unit that people read it in."""
    unit = f" {effect.unit}" if effect.unit else ""
    return [
        effect.value,
        effect.context or None,
        effect.name,
        effect.title,
        *(None if mean is None else f"{mean:.4g}{unit}" for mean in effect.shown_means),
        None if effect.relative is None else f"{percent(effect.relative)} %",
        percent_interval(effect.low, effect.high) or None,
        effect.holm_p_value,
        str(effect.verdict),
        None if effect.median is None else str(effect.median),
    ]

"""Parameters without effect, found before a search spends its budget on them.

A simulation repeats itself to the last bit, so a parameter that does anything changes some measure.
Each parameter is put to its ends around the reference, and around settings drawn at random, since
some do something only with others (as a depth of bundling with bundling).
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from fairwind.errors import FairwindError
from fairwind.tuning.evaluation import Block, Evaluator, Setting
from fairwind.tuning.parameters import Keys, Number, Parameter, Range
from fairwind.tuning.settings import Tuning

DRAWN = 3
"""Settings drawn at random, besides the reference."""


def check_effects(tuning: Tuning, evaluator: Evaluator) -> None:
    """Refuse parameters that change nothing.

    Raises
    ------
    FairwindError
        With all of them.
    """
    unresolved = list(tuning.parameters)
    generator = random.Random(tuning.seed)
    bases = [tuning.reference, *(_drawn(tuning, generator) for _ in range(DRAWN))]
    for base in bases:
        for path in tuning.paths:
            unresolved = _without_effect(tuning, evaluator, unresolved, base, path)
            if not unresolved:
                return
    names = ", ".join(one.name for one in unresolved)
    many = len(unresolved) > 1
    raise FairwindError(
        f"{tuning.file}: the parameter{'s' if many else ''} {names} "
        f"{'do' if many else 'does'} nothing: no objective or constraint changes on any of "
        f"{len(tuning.paths)} paths with {'their' if many else 'its'} values, around the "
        f"reference and {DRAWN} other settings",
        "remove it, widen its range, or set what it depends on in [reference]",
    )


def _drawn(tuning: Tuning, generator: random.Random) -> Keys:
    keys = dict(tuning.reference)
    for one in tuning.parameters:
        keys |= one.keys(_random_number(one, generator))
    return keys


def _random_number(parameter: Parameter, generator: random.Random) -> Number:
    if isinstance(parameter.domain, Range) and not parameter.domain.is_whole:
        return generator.uniform(parameter.domain.low, parameter.domain.high)
    first, last = parameter.ends[0], parameter.ends[-1]
    return generator.randint(int(first), int(last))


def _without_effect(
    tuning: Tuning,
    evaluator: Evaluator,
    parameters: Sequence[Parameter],
    base: Keys,
    path: str,
) -> list[Parameter]:
    """Give the parameters that change no measure on a path around a setting."""
    block = Block((path,), tuning.seed, tuning.first_seeds)
    variants = {
        one.name: [
            setting
            for number in one.ends
            if evaluator.fault(setting := Setting("probe", base | one.keys(number), {}, {})) is None
        ]
        for one in parameters
    }
    evaluator.measure([it for several in variants.values() for it in several], block)
    return [one for one in parameters if not _differ(evaluator, variants[one.name], block, path)]


def _differ(evaluator: Evaluator, settings: Sequence[Setting], block: Block, path: str) -> bool:
    measured = {
        tuple(
            value
            for measure in evaluator.measures
            for value in evaluator.values(one, measure, [block], path).tolist()
        )
        for one in settings
    }
    # NaN differs from itself; what was never measured shows nothing.
    return len({tuple(map(repr, one)) for one in measured}) > 1

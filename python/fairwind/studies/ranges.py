"""Panels in words: at which stream counts something holds."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def panels_in_words(counts: Collection[int], every: Sequence[int]) -> str:
    """Name some of a study's panels as briefly as it can be done without doubt.

    Parameters
    ----------
    counts : collection of int
        The stream counts to be named.
    every : sequence of int
        All stream counts of the study, rising.

    Returns
    -------
    str
        Such as ``every N``, ``N = 1``, ``N <= 32``, ``N >= 64`` or ``N = 1, 8 to 64``; ``no N``
        if there are none.
    """
    stretches = _stretches(counts, every)
    match stretches:
        case []:
            return "no N"
        case [(first, last)] if (first, last) == (every[0], every[-1]):
            return "every N"
        case [(first, last)] if first == every[0] and last != first:
            return f"N <= {last}"
        case [(first, last)] if last == every[-1] and last != first:
            return f"N >= {first}"
        case _:
            return "N = " + ", ".join(_stretch(first, last, every) for first, last in stretches)


def _stretches(counts: Collection[int], every: Sequence[int]) -> list[tuple[int, int]]:
    """Group neighbouring panels: the first and last count of each stretch."""
    stretches: list[tuple[int, int]] = []
    before: int | None = None
    for count in every:
        if count in counts:
            is_next = before is not None and before in counts
            first = stretches.pop()[0] if is_next else count
            stretches.append((first, count))
        before = count
    return stretches


def _stretch(first: int, last: int, every: Sequence[int]) -> str:
    if first == last:
        return str(first)
    are_neighbours = every.index(last) - every.index(first) == 1
    return f"{first}, {last}" if are_neighbours else f"{first} to {last}"

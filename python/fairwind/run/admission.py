"""Whether an engine can run a plan at all, asked of every cell before anything runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from fairwind.engine import Engine, Refusal
from fairwind.errors import FairwindError
from fairwind.scenario.plan import Cell, Plan

MOST_CELLS = 3
"""So many cells are named of those that share a refusal."""


def admit(plan: Plan, engine: Engine) -> None:
    """Refuse a plan that an engine cannot run as it stands, with everything that stands against it.

    Raises
    ------
    FairwindError
        If this machine lacks what the engine needs, or a cell asks for what it cannot do.
    """
    if obstacle := engine.obstacle():
        raise FairwindError(obstacle, "or run in virtual time with --on sim")
    refused = refusals(plan, engine)
    if refused:
        lines = [f"  {told}{_where(cells, plan)}" for told, cells in _once(refused)]
        raise FairwindError(
            "\n".join([f"{_told(engine)} cannot do all that this scenario asks for:", *lines]),
            "change these keys, or run in virtual time with --on sim",
        )


def refusals(plan: Plan, engine: Engine) -> Mapping[Refusal, Sequence[Cell]]:
    """Give what an engine refuses, each with the cells that ask for it."""
    engine.expect(cell.experiment_json for cell in plan.cells)
    found: dict[Refusal, list[Cell]] = {}
    for cell in plan.cells:
        for refusal in engine.refusals(cell.experiment_json):
            found.setdefault(refusal, []).append(cell)
    return found


def remarks(plan: Plan, engine: Engine) -> list[str]:
    """Give what an engine does a little differently from what the plan says, each once."""
    every = (line for cell in plan.cells for line in engine.remarks(cell.experiment_json))
    return list(dict.fromkeys(every))


def _once(refused: Mapping[Refusal, Sequence[Cell]]) -> Iterator[tuple[str, Sequence[Cell]]]:
    """Write refusals, in one line what several groups are refused in the same words."""
    alike: dict[tuple[str, tuple[int, ...]], list[Refusal]] = {}
    for refusal, cells in refused.items():
        words = str(replace(refusal, group="", key=_key_in_group(refusal)))
        alike.setdefault((words, tuple(cell.index for cell in cells)), []).append(refusal)
    for those in alike.values():
        keys = ", ".join(refusal.key for refusal in those)
        yield str(replace(those[0], key=keys)), refused[those[0]]


def _key_in_group(refusal: Refusal) -> str:
    return refusal.key.removeprefix(f"flows.{refusal.group}.")


def _told(engine: Engine) -> str:
    release = engine.versions().get("kernel")
    return f"the kernel {release}" if release else f"the engine {engine.name}"


def _where(cells: Sequence[Cell], plan: Plan) -> str:
    if len(cells) == len(plan.cells):
        return ""
    named = [
        ", ".join(f"{name} = {label}" for name, label in cell.settings.items())
        for cell in cells[:MOST_CELLS]
    ]
    more = len(cells) - len(named)
    return f" (where {'; '.join(named)}{f', and in {more} more cells' if more else ''})"

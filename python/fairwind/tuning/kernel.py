"""Confirmation on a kernel: the points that it can be told, against the reference there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from fairwind.engine.engines import Engine
from fairwind.errors import FairwindError
from fairwind.execution.admission import refusals
from fairwind.tuning.confirmation import Confirmer, Point
from fairwind.tuning.evaluation import Setting

FOLDER = "kernel"
"""Folder, in that of the search, of the runs on a kernel."""


def confirm_on_kernel(
    confirmer: Confirmer, engine: Engine, reference: Setting, points: Sequence[Point]
) -> dict[str, Any]:
    """Run points on a kernel, those that it can be told; give their costs, or why they cannot.

    Parameters
    ----------
    confirmer : Confirmer
        That runs on the kernel.

    Returns
    -------
    dict
        ``engine``, ``points`` with the costs of each, and ``refused`` with the reasons.

    Raises
    ------
    FairwindError
        If the kernel cannot be told the reference, so that nothing can be compared there.
    """
    if obstacle := engine.obstacle():
        raise FairwindError(obstacle, "search without --on; the lines for a kernel are printed")
    if reason := _refusal(confirmer, engine, reference):
        raise FairwindError(
            f"{engine.name} does not support the reference, so nothing can be compared there: "
            f"{reason}",
            'give the base scenario the profile "linux-6.18", and keys that a kernel has',
        )
    found: dict[str, list[dict[str, Any]]] = {}
    refused: dict[str, str] = {}
    for point in points:
        if reason := _refusal(confirmer, engine, point.setting):
            refused[point.setting.name] = reason
        else:
            there = confirmer.confirm(point.setting, is_known=point.is_known)
            found[point.setting.name] = [asdict(one) for one in there.costs]
    release = engine.versions().get("kernel", engine.name)
    return {"engine": release, "points": found, "refused": refused}


def _refusal(confirmer: Confirmer, engine: Engine, setting: Setting) -> str:
    plan = confirmer.scenario(setting).plan
    return "; ".join(dict.fromkeys(str(one) for one in refusals(plan, engine)))

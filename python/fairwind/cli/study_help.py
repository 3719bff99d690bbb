"""Help of one study: its forms, their parts, and the axes to choose from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand

from fairwind.preview.description import labels_in_words
from fairwind.quantities import counted

if TYPE_CHECKING:
    from fairwind.scenario import Plan
    from fairwind.studies import Study


class StudyCommand(TyperCommand):
    """The command ``study``, with the help of the named study."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 (Typer has two of that name)
        """Find the name of a study before the help is printed."""
        if "--help" in args and not ctx.resilient_parsing:
            from fairwind.studies import study_named, study_names

            named = next((word for word in args if word in study_names()), None)
            if named is not None:
                parts = described(study_named(named))
                self.epilog = "\n\n".join("\b\n" + "\n".join(part) for part in parts)
        return super().parse_args(ctx, args)


_HOW_TO_CHOOSE = [
    """Fewer runs: --set 'sweep.KEY=["one", "another"]' --set sweep.repeat=1, for all parts""",
    "that have the key. All keys: fairwind schema.",
]


def described(study: Study) -> list[list[str]]:
    """Describe the choices of a study.

    Returns
    -------
    list of list of str
        Lines by paragraph: the study, then each form with its parts and their axes.
    """
    head = [[f"{study.name}: {study.title}", f"Source: {study.source}"]]
    return [*head, *_forms(study), _HOW_TO_CHOOSE]


def _forms(study: Study) -> list[list[str]]:
    """Describe all axes of the first form, and the size of each part of the others."""
    plans = {form: _plans(study, form) for form in study.forms}
    parts = {
        form: [f"  part {name}: {counted(plan.runs, 'run')}" for name, plan in plans[form].items()]
        for form in plans
    }
    first = next(iter(plans))
    parts[first] = _axes(plans[first])
    return [[_head(study, form, plans[form]), *parts[form]] for form in plans]


def _plans(study: Study, form: str) -> dict[str, Plan]:
    leading = study.scenario(form).plan
    further = study.further_scenarios(form)
    return {leading.name: leading} | {name: each.plan for name, each in further.items()}


def _head(study: Study, form: str, plans: Mapping[str, Plan]) -> str:
    runs = sum(plan.runs for plan in plans.values())
    stands_for = [ours for ours, theirs in study.kernel_forms.items() if theirs == form]
    words = f" (used by --on kernel for {', '.join(stands_for)})" if stands_for else ""
    return f"--form {form}: {counted(runs, 'run')}{words}"


def _axes(plans: Mapping[str, Plan]) -> list[str]:
    lines = []
    for name, plan in plans.items():
        lines.append(f"  part {name}: {counted(plan.runs, 'run')}, {len(plan.seeds)} of each cell")
        lines += [f"    sweep.{axis.name}: {labels_in_words(axis.labels)}" for axis in plan.axes]
    return lines

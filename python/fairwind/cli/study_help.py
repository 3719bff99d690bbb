"""Help of one study: its forms, their parts, and the axes to choose from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand

from fairwind.preview.description import labels_in_words
from fairwind.quantities import counted

if TYPE_CHECKING:
    from fairwind.scenario import Plan
    from fairwind.studies import AnyStudy, Study


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


def described(study: AnyStudy) -> list[list[str]]:
    """Describe the choices of a study.

    Returns
    -------
    list of list of str
        Lines by paragraph: the study, then each form with its parts and their axes.
    """
    from fairwind.studies import SearchStudy

    head = [[f"{study.name}: {study.title}", f"Source: {study.source}"]]
    if isinstance(study, SearchStudy):
        files = [f"--form {name}: fairwind tune {study.file(name)}" for name in study.forms]
        return [*head, files]
    return [*head, *_forms(study), _HOW_TO_CHOOSE]


def _forms(study: Study) -> list[list[str]]:
    """Describe all axes of the first form, and the size of each part of the others."""
    plans = {form: _plans(study, form) for form in study.forms}
    first = next(iter(plans))
    return [
        [_head(study, form, parts), *_parts(parts, has_axes=form == first)]
        for form, parts in plans.items()
    ]


def _plans(study: Study, form: str) -> dict[str, Plan]:
    leading = study.scenario(form).plan
    further = study.further_scenarios(form)
    return {leading.name: leading} | {name: each.plan for name, each in further.items()}


def _head(study: Study, form: str, plans: Mapping[str, Plan]) -> str:
    runs = sum(plan.runs for plan in plans.values())
    stands_for = [ours for ours, theirs in study.kernel_forms.items() if theirs == form]
    words = f" (used by --on kernel for {', '.join(stands_for)})" if stands_for else ""
    return f"--form {form}: {counted(runs, 'run')}{words}"


def _parts(plans: Mapping[str, Plan], *, has_axes: bool) -> Iterator[str]:
    for name, plan in plans.items():
        each = f", {len(plan.seeds)} of each cell" if has_axes else ""
        yield f"  part {name}: {counted(plan.runs, 'run')}{each}"
        for axis in plan.axes if has_axes else ():
            yield f"    sweep.{axis.name}: {labels_in_words(axis.labels)}"

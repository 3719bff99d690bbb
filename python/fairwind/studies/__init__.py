"""Framework of studies: scenarios, figures, and claims with a verdict.

A `Study` names its scenario files and two pure functions from results to figures and to claims.
Packages register studies by entry points of the group ``fairwind.studies``; the project's are in
the folder ``studies`` of its repository.
"""

from fairwind.results import Question
from fairwind.studies.study import (
    Part,
    Study,
    drawn_if_run,
    full_and_reduced,
    leading_and_further,
    studies,
    study_named,
    study_names,
)

__all__ = [
    "Part",
    "Question",
    "Study",
    "drawn_if_run",
    "full_and_reduced",
    "leading_and_further",
    "studies",
    "study_named",
    "study_names",
]

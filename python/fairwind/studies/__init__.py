"""Published experiments, repeated: their scenarios, their figures, and what they claim.

A `Study` names its scenario files, which are part of this package, and two pure functions from
results to figures and to claims with a verdict. `studies` lists them. Running one is the business
of `fairwind.scenario` and `fairwind.run`.
"""

from fairwind.studies.catalogue import studies, study_named
from fairwind.studies.study import Part, Study

__all__ = ["Part", "Study", "studies", "study_named"]

"""Framework of studies: scenarios, figures, and claims with a verdict.

A `Study` names its scenario files and two pure functions from results to figures and to claims, a
`SearchStudy` files of searches and functions from what they found to claims.
Packages register studies by entry points of the group ``fairwind.studies``; the project's are in
the folder ``studies`` of its repository.
"""

from fairwind.results import Question as Question
from fairwind.studies.study import AnyStudy as AnyStudy
from fairwind.studies.study import Part as Part
from fairwind.studies.study import SearchForm as SearchForm
from fairwind.studies.study import SearchStudy as SearchStudy
from fairwind.studies.study import Study as Study
from fairwind.studies.study import drawn_if_run as drawn_if_run
from fairwind.studies.study import full_and_reduced as full_and_reduced
from fairwind.studies.study import leading_and_further as leading_and_further
from fairwind.studies.study import studies as studies
from fairwind.studies.study import study_named as study_named
from fairwind.studies.study import study_names as study_names

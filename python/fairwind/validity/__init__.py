"""Agreement of simulator and running kernel: the same scenarios in both, and a page.

Map: `tolerance` what counts as agreement, `agreement` the rows with their verdicts, `measure` runs
what is missing, `page` writes the page. The scenarios and the remarks on rows that stay apart are
files of the repository (`studies/validity`).
"""

from fairwind.validity.agreement import Agreement, agreement
from fairwind.validity.measure import Measured, measure, read_measured
from fairwind.validity.page import page
from fairwind.validity.tolerance import TOLERANCES, Tolerance, Verdict

__all__ = [
    "TOLERANCES",
    "Agreement",
    "Measured",
    "Tolerance",
    "Verdict",
    "agreement",
    "measure",
    "page",
    "read_measured",
]

"""Agreement of the simulator with kernels: the same scenarios in all engines, and a page.

Scenarios, stored values and remarks on rows that stay apart are files of the repository
(`studies/validity`). Map: `record` the values, `agreement` differences and verdicts, `measuring`
the runs, `page` the page.
"""

from fairwind.validity.agreement import SIMULATOR as SIMULATOR
from fairwind.validity.agreement import TOLERANCES as TOLERANCES
from fairwind.validity.agreement import Agreement as Agreement
from fairwind.validity.agreement import Difference as Difference
from fairwind.validity.agreement import Tolerance as Tolerance
from fairwind.validity.agreement import Verdict as Verdict
from fairwind.validity.agreement import agreements as agreements
from fairwind.validity.agreement import difference_of as difference_of
from fairwind.validity.measuring import MOST_RUNS as MOST_RUNS
from fairwind.validity.measuring import Settings as Settings
from fairwind.validity.measuring import discard as discard
from fairwind.validity.measuring import measure as measure
from fairwind.validity.measuring import plan_of_seeds as plan_of_seeds
from fairwind.validity.measuring import punctual_jobs as punctual_jobs
from fairwind.validity.measuring import stored as stored
from fairwind.validity.page import page as page
from fairwind.validity.record import Measured as Measured
from fairwind.validity.record import Record as Record
from fairwind.validity.record import Summary as Summary

"""Agreement of the simulator with kernels: the same scenarios in all engines, and a page.

Scenarios, stored values and remarks on rows that stay apart are files of the repository
(`studies/validity`). Map: `record` the values, `agreement` differences and verdicts, `measuring`
the runs, `page` the page.
"""

from .agreement import SIMULATOR as SIMULATOR
from .agreement import TOLERANCES as TOLERANCES
from .agreement import Agreement as Agreement
from .agreement import Difference as Difference
from .agreement import Tolerance as Tolerance
from .agreement import Verdict as Verdict
from .agreement import agreements as agreements
from .agreement import difference_of as difference_of
from .measuring import MOST_RUNS as MOST_RUNS
from .measuring import Settings as Settings
from .measuring import discard as discard
from .measuring import measure as measure
from .measuring import plan_of_seeds as plan_of_seeds
from .measuring import punctual_jobs as punctual_jobs
from .measuring import stored as stored
from .page import page as page
from .record import Measured as Measured
from .record import Record as Record
from .record import Summary as Summary

"""Results: the tables of a run's folder, read when they are asked for.

`open` gives `Results` with data frames as attributes; `summarise` and `overview` bring the
replicates of each cell together. Nothing here runs or draws anything.
"""

from fairwind.results.claim import Answer, Claim, Question, Verdict
from fairwind.results.lateness import (
    has_lateness,
    late_hosts,
    late_runs,
    lateness_by_cell,
    lateness_in_words,
    readable_lateness,
    readable_overview,
)
from fairwind.results.limits import (
    REASONS,
    limited_senders,
    limits_in_words,
    never_resumed_in_words,
)
from fairwind.results.results import TABLES, Results, open_results
from fairwind.results.summary import (
    SUBJECTS,
    Estimates,
    Subject,
    header_of,
    overview,
    readable,
    rows_of,
    significant,
    summarise,
    tidy_overview,
    unit_of,
)
from fairwind.results.tidy import transfer_times

__all__ = [
    "REASONS",
    "SUBJECTS",
    "TABLES",
    "Answer",
    "Claim",
    "Estimates",
    "Question",
    "Results",
    "Subject",
    "Verdict",
    "has_lateness",
    "header_of",
    "late_hosts",
    "late_runs",
    "lateness_by_cell",
    "lateness_in_words",
    "limited_senders",
    "limits_in_words",
    "never_resumed_in_words",
    "open_results",
    "overview",
    "readable",
    "readable_lateness",
    "readable_overview",
    "rows_of",
    "significant",
    "summarise",
    "tidy_overview",
    "transfer_times",
    "unit_of",
]

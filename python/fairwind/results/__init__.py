"""Results: the tables of a run's folder, read when they are asked for.

`open` gives `Results` with data frames as attributes; `summarise` and `overview` bring the
replicates of each cell together. Nothing here runs or draws anything.
"""

from fairwind.results.claim import Claim as Claim
from fairwind.results.claim import Question as Question
from fairwind.results.claim import StudyAnswer as StudyAnswer
from fairwind.results.claim import Verdict as Verdict
from fairwind.results.headline import headlines as headlines
from fairwind.results.headline import latency_under_load as latency_under_load
from fairwind.results.lateness import has_lateness as has_lateness
from fairwind.results.lateness import late_hosts as late_hosts
from fairwind.results.lateness import late_runs as late_runs
from fairwind.results.lateness import lateness_by_cell as lateness_by_cell
from fairwind.results.lateness import lateness_in_words as lateness_in_words
from fairwind.results.lateness import readable_overview as readable_overview
from fairwind.results.limits import REASONS as REASONS
from fairwind.results.limits import limited_senders as limited_senders
from fairwind.results.limits import limits_in_words as limits_in_words
from fairwind.results.limits import never_resumed_in_words as never_resumed_in_words
from fairwind.results.results import Results as Results
from fairwind.results.results import open_results as open_results
from fairwind.results.shown import shown_tables as shown_tables
from fairwind.results.summary import SUBJECTS as SUBJECTS
from fairwind.results.summary import Subject as Subject
from fairwind.results.summary import header_of as header_of
from fairwind.results.summary import overview as overview
from fairwind.results.summary import rows_of as rows_of
from fairwind.results.summary import scaled_unit as scaled_unit
from fairwind.results.summary import summarise as summarise
from fairwind.results.summary import tidy_overview as tidy_overview
from fairwind.results.tidy import transfer_times as transfer_times

"""Results: the tables of a run's folder, read when they are asked for.

`open` gives `Results`, whose attributes are data frames; `summarise` brings the replicates of each
cell together. Nothing here runs or draws anything.
"""

from fairwind.results.claim import Claim, Verdict
from fairwind.results.readable import readable
from fairwind.results.results import TABLES, Results, open_results
from fairwind.results.summary import Estimates, main_measures, summarise

__all__ = [
    "TABLES",
    "Claim",
    "Estimates",
    "Results",
    "Verdict",
    "main_measures",
    "open_results",
    "readable",
    "summarise",
]

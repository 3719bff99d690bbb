"""How long must a run be? (J. Markussen's thesis, section 4.2).

The same experiment for minutes and for two hours: does a short run give the same measures, how much
do they scatter from run to run, and does it decide the same about the modifications?

Map: `lengths` the numbers by length of run, `claims` the verdicts, `figures` table 4.2 as a figure
and the windows of the longest run; the scenario files lie beside them.
"""

from fairwind.studies import Study

from .claims import claims
from .figures import figures

STUDY = Study(
    name="duration",
    title="40 thin against 10 greedy streams for two hours: are short runs long enough?",
    source="J. Markussen, thesis, University of Oslo 2014, section 4.2",
    package=__package__,
    forms={"full": "scenario.toml", "reduced": "reduced.toml"},
    figures=figures,
    claims=claims,
)

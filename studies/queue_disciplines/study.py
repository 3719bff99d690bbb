"""30 thin against 30 greedy streams behind queue after queue (Markussen 2014, section 5.1).

Which queue loses what of whom, and how long do thin streams wait behind it? The two queues of the
group's scripts, limited by packets and by bytes, and those that have come into use since.

Map: `claims` the verdicts, `figures` loss and latency by discipline; the scenario files lie beside
them.
"""

from fairwind.studies import Study

from .claims import claims
from .figures import figures

STUDY = Study(
    name="queue-disciplines",
    title="30 thin against 30 greedy streams: what does the queue decide?",
    source="J. Markussen, master's thesis, Univ. of Oslo 2014, section 5.1, figures 5.1, 5.2",
    package=__package__,
    forms={"full": "scenario.toml", "reduced": "reduced.toml"},
    figures=figures,
    claims=claims,
)

"""What has come since: RACK and the tail loss probe, redundant bundling, and fair queues.

30 thin beside 10 greedy streams of Linux 6.18; four ways in which the thin ones repair losses,
behind three disciplines. What does each take from the waits of thin streams, and what does it cost
the greedy ones?

Map: `claims` the verdicts, `figures` latency and cost; the scenario files lie beside them.
"""

from fairwind.studies import Study

from .claims import claims
from .figures import figures

STUDY = Study(
    name="thin-streams-today",
    title="Thin streams today: what RACK-TLP, redundant bundling and fair queues change",
    source="the hypotheses of J. Markussen, Univ. of Oslo 2014, asked of what has come since",
    package=__package__,
    forms={"full": "scenario.toml", "reduced": "reduced.toml"},
    figures=figures,
    claims=claims,
)

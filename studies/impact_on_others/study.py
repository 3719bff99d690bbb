"""60 thin against 10 greedy streams, half of the thin ones modified (Markussen 2014, section 5.2).

Do thin streams with modified fast retransmit and linear time-outs gain anything, and at whose
expense? The thesis' three hypotheses are judged here: modified streams against the same streams
without the modifications, paired by seed. Two forms ask the same of what has come since: redundant
data bundling, and RACK with the tail loss probe.

Map: `claims` the hypotheses and their verdicts, `figures` the four figures, `steps` when a
retransmission ends a wait; the scenario files lie beside them.
"""

from fairwind.studies import Study

from .claims import claims
from .figures import figures

STUDY = Study(
    name="impact-on-others",
    title="60 thin against 10 greedy streams: what do modified thin streams do to the others?",
    source="J. Markussen, master's thesis, Univ. of Oslo 2014, section 5.2, figures 5.3 to 5.6",
    package=__package__,
    forms={
        "full": "scenario.toml",
        "reduced": "reduced.toml",
        "bundling": "bundling.toml",
        "rack": "rack.toml",
    },
    figures=figures,
    claims=claims,
)

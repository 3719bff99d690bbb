"""N thin streams against five greedy ones (J. Markussen's thesis, section 4.3: discrimination).

A few greedy streams are enough to fill a path. Do thin streams get what they ask for beside them,
what does it cost on the wire, and who loses more?

Map: `claims` the verdicts, `clustering` whom losses in a row hit, `rates` what thin streams offer,
`figures` the figures 4.3, 4.4 and 4.5; the scenario files lie beside them.
"""

from fairwind.studies import Study

from .claims import claims
from .figures import figures

STUDY = Study(
    name="thin-vs-five-greedy",
    title="N thin against five greedy streams: are thin streams discriminated against?",
    source="J. Markussen, thesis, University of Oslo 2014, section 4.3",
    package=__package__,
    forms={"full": "scenario.toml", "reduced": "reduced.toml"},
    figures=figures,
    claims=claims,
)

"""N thin against N greedy streams (J. Markussen's thesis, section 4.1: the naive experiment).

Who gets what of a path that as many greedy as thin streams share, who loses what, and from how many
streams on is it too congested for thin connections to work at all?

Map: `claims` the verdicts, `figures` the figures 4.1, 4.2 and table 4.1; the scenario files lie
beside them.
"""

from fairwind.studies import Study

from .claims import claims
from .figures import figures

STUDY = Study(
    name="thin-vs-greedy",
    title="N thin against N greedy streams: who gets, who loses, and when is it too much?",
    source="J. Markussen, thesis, University of Oslo 2014, section 4.1",
    package=__package__,
    forms={"full": "scenario.toml", "together": "together.toml", "reduced": "reduced.toml"},
    figures=figures,
    claims=claims,
)

"""What token buckets attain whose clock has a grain (Markussen 2014, figure 3.6).

tbf and htb, rates of 0.1 to 250 Mbit/s, clocks of 100, 250 and 1000 Hz and an exact one, bursts
from one frame upwards; beside what was attained stands the closed form
min(1, burst * 8 * HZ / rate).

Map: `accuracy` what was attained and what is expected, `claims` the verdicts, `figures` the
figure; the scenario files lie beside them.
"""

from fairwind.studies import Study

from .claims import claims
from .figures import figures

STUDY = Study(
    name="rate-limit-granularity",
    title="Accuracy of a rate limit at different clock granularities",
    source="J. Markussen, master's thesis, Univ. of Oslo 2014, figure 3.6",
    package=__package__,
    forms={"full": "scenario.toml", "reduced": "reduced.toml"},
    figures=figures,
    claims=claims,
)

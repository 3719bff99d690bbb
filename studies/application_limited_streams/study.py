"""N greedy against N application-limited streams (Petlund, Brunstrom, Markussen, Fuchs, Figure 1).

Do modified fast retransmit and linear time-outs, used by thin streams, take throughput away from
greedy streams? Ten stream counts, four variants, throughput in windows of 30 s. The form for a
running Linux 6.18 has seven counts and a fifth variant, what that kernel does out of the box.

Map: `shares` what a thin aggregate is due, `claims` the verdicts, `figures` the two figures; the
scenario files lie beside them.
"""

from fairwind.studies import Study

from .claims import claims
from .figures import figures

STUDY = Study(
    name="application-limited-streams",
    title="N greedy against N thin streams: do the thin streams' retransmissions hurt?",
    source="A. Petlund, A. Brunstrom, J. Markussen, M. Fuchs, position paper, Figure 1",
    package=__package__,
    forms={
        "full": "scenario.toml",
        "payload": "payload.toml",
        "reduced": "reduced.toml",
        "kernel": "kernel.toml",
        "kernel-reduced": "kernel-reduced.toml",
    },
    kernel_forms={"full": "kernel", "reduced": "kernel-reduced"},
    kernel_jobs=6,
    figures=figures,
    claims=claims,
)

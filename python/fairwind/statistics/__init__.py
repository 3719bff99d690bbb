"""Statistics: pure functions on arrays, with the uncertainty always next to the estimate.

They read no files, keep no state, and take a seed where they draw random numbers.
"""

from fairwind.statistics.differences import (
    Difference,
    Equivalence,
    equivalence,
    holm,
    paired_difference,
    relative_change,
    relative_difference,
    welch_difference,
)
from fairwind.statistics.sharing import (
    burden,
    convergence_time,
    delta_fair_time,
    efficiency,
    friendliness,
    harm,
    jain_index,
    min_to_max,
    rtt_unfairness_bound,
)
from fairwind.statistics.summaries import (
    Interval,
    bootstrap_interval,
    mean_interval,
    prediction_half_width,
    quantiles,
)

__all__ = [
    "Difference",
    "Equivalence",
    "Interval",
    "bootstrap_interval",
    "burden",
    "convergence_time",
    "delta_fair_time",
    "efficiency",
    "equivalence",
    "friendliness",
    "harm",
    "holm",
    "jain_index",
    "mean_interval",
    "min_to_max",
    "paired_difference",
    "prediction_half_width",
    "quantiles",
    "relative_change",
    "relative_difference",
    "rtt_unfairness_bound",
    "welch_difference",
]

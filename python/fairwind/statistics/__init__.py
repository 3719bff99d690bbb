"""Statistics: pure functions on arrays, with the uncertainty always next to the estimate.

They read no files, keep no state, and take a seed where they draw random numbers.
"""

from fairwind.statistics.differences import (
    Difference,
    Equivalence,
    equivalence,
    holm,
    paired_difference,
    welch_difference,
)
from fairwind.statistics.fairness import jain_index
from fairwind.statistics.ratios import relative_difference
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
    "equivalence",
    "holm",
    "jain_index",
    "mean_interval",
    "paired_difference",
    "prediction_half_width",
    "quantiles",
    "relative_difference",
    "welch_difference",
]

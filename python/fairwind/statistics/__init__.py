"""Statistics: pure functions on arrays, with the uncertainty always next to the estimate.

They read no files and keep no state. NaN in samples are left out, and a `level` is a confidence
level from 0 to 1. Map: `samples` estimates and tests, `sharing` how flows share a path.
"""

from fairwind.statistics.inference import Difference as Difference
from fairwind.statistics.inference import Equivalence as Equivalence
from fairwind.statistics.inference import Interval as Interval
from fairwind.statistics.inference import bootstrap_interval as bootstrap_interval
from fairwind.statistics.inference import equivalence as equivalence
from fairwind.statistics.inference import holm as holm
from fairwind.statistics.inference import mean_interval as mean_interval
from fairwind.statistics.inference import paired_difference as paired_difference
from fairwind.statistics.inference import prediction_half_width as prediction_half_width
from fairwind.statistics.inference import quantiles as quantiles
from fairwind.statistics.inference import relative_change as relative_change
from fairwind.statistics.inference import relative_difference as relative_difference
from fairwind.statistics.inference import welch_difference as welch_difference
from fairwind.statistics.sharing import burden as burden
from fairwind.statistics.sharing import convergence_time as convergence_time
from fairwind.statistics.sharing import delta_fair_time as delta_fair_time
from fairwind.statistics.sharing import efficiency as efficiency
from fairwind.statistics.sharing import friendliness as friendliness
from fairwind.statistics.sharing import harm as harm
from fairwind.statistics.sharing import jain_index as jain_index
from fairwind.statistics.sharing import min_to_max as min_to_max
from fairwind.statistics.sharing import rtt_unfairness_bound as rtt_unfairness_bound

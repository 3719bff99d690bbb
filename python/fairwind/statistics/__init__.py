"""Statistics: pure functions on arrays, with the uncertainty always next to the estimate.

They read no files and keep no state. NaN in samples are left out, and a `level` is a confidence
level from 0 to 1. Map: `inference` estimates and tests, `contrasts` choose what is tested,
`decisions` give verdicts on several effects, also while samples are added, and `sharing` knows how
flows share a path.
"""

from fairwind.statistics.decisions import Decision as Decision
from fairwind.statistics.decisions import EffectVerdict as EffectVerdict
from fairwind.statistics.decisions import Margin as Margin
from fairwind.statistics.decisions import decide as decide
from fairwind.statistics.decisions import decide_in_looks as decide_in_looks
from fairwind.statistics.decisions import look_alpha as look_alpha
from fairwind.statistics.decisions import next_look as next_look
from fairwind.statistics.decisions import samples_in_looks as samples_in_looks
from fairwind.statistics.decisions import samples_to_decide as samples_to_decide
from fairwind.statistics.inference import Difference as Difference
from fairwind.statistics.inference import Interval as Interval
from fairwind.statistics.inference import holm as holm
from fairwind.statistics.inference import mean_interval as mean_interval
from fairwind.statistics.inference import paired_difference as paired_difference
from fairwind.statistics.inference import prediction_half_width as prediction_half_width
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
from fairwind.statistics.sharing import max_min_shares as max_min_shares
from fairwind.statistics.sharing import min_to_max as min_to_max
from fairwind.statistics.sharing import rtt_unfairness_bound as rtt_unfairness_bound

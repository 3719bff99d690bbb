"""Two runs side by side: the difference of every measure, with its uncertainty.

Map: `compare` the numbers, `settings` what was different from the beginning, `readable` both for
people.
"""

from fairwind.compare.compare import are_paired, compare
from fairwind.compare.readable import readable_differences
from fairwind.compare.settings import changed_settings, head

__all__ = ["are_paired", "changed_settings", "compare", "head", "readable_differences"]

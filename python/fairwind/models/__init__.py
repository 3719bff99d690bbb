"""Closed-form models, next to which simulations and measurements are drawn.

Arrays in, arrays out: they read no files, run nothing and keep no state. Every function tells what
it assumes; where two forms of a formula are in use, both are there and named.

Map: `dama` the start-up of TCP over capacity that is assigned on demand, `sharing` transfers with
connections that begin with a remembered window.
"""

from fairwind.models.errors import ModelError as ModelError
from fairwind.models.errors import ModelWarning as ModelWarning

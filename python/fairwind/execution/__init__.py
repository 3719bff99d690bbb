"""Runs of a plan: cells times replicates on several threads, stored safely, resumed where left.

`execute.run_plan` executes what a folder does not hold yet, writes each result in one step as soon
as it is there, and finally merges all of them into one file per table. It knows engines only
through the `Engine` protocol.

Map: `admission` whether an engine can run the plan and how long it takes, `folder` the run's
folder, `execute` the run, `merge` its final tables, `workers` what executes simulations: `threads`
of this process or a `cluster`, chosen by `selection`.
"""

from fairwind.lazy import lazy_names

_HOMES = {
    "RunSettings": "execute",
    "RunState": "execute",
    "admit": "admission",
    "kept_clusters": "deploy",
    "one_of": "admission",
    "plan_seconds": "admission",
    "remarks": "admission",
    "run_plan": "execute",
}

__all__ = [*_HOMES]

__getattr__ = lazy_names(__name__, _HOMES)

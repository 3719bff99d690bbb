"""Screening of a congestion control: a verdict per area, for CI.

Map: `suite` suites and their scenarios as data, `control` what is screened, `variants` a scenario
with the control, with a standard one and without it, `measures` numbers of a run, `verdicts` the
rule of pass, fail and caution, `execute` all runs of a screening, `record` its result as a file,
`series` curves of an area, `page` the verdict page.
"""

from fairwind.lazy import lazy_names

_HOMES = {
    "Finding": "verdicts",
    "ScreenRecord": "record",
    "ScreenSettings": "execute",
    "Suite": "suite",
    "Verdict": "verdicts",
    "control_named": "control",
    "read_record": "record",
    "screen": "execute",
    "suite_named": "suite",
}

__all__ = [*_HOMES]

__getattr__ = lazy_names(__name__, _HOMES)

"""Search for settings: parameters with ranges, objectives, harm limits, and a suite of paths.

`run_tuning` reads nothing but a `Tuning` and a folder: it proposes settings, simulates them on all
paths with the same seeds, drops those that are clearly worse, and confirms the front on seeds and
paths that the search has not seen.

Map: `settings` the TOML file, `parameters` ranges and choices, `limits` what must not happen,
`known` mechanisms to compare with, `keys` scenarios with a setting written into them, `evaluation`
simulations and their stored measures, `scores` effects against the reference and what is clearly
worse, `front` domination and hypervolume, `search` proposals (Optuna), `probe` parameters without
effect, `confirmation` the front on unseen seeds, `kernel` the same on a kernel, `kernel_lines`
settings as a kernel takes them, `outcome` what was found, `tuning` all of it in order, `charts` and
`page` what it looks like.
"""

from fairwind.lazy import lazy_names

_HOMES = {
    "Tuning": "settings",
    "TuningOutcome": "outcome",
    "TuningRun": "tuning",
    "figures": "charts",
    "load_tuning": "settings",
    "read_outcome": "outcome",
    "read_tuning": "settings",
    "run_tuning": "tuning",
    "sentences": "page",
    "write_page": "page",
}

__all__ = [*_HOMES]

__getattr__ = lazy_names(__name__, _HOMES)

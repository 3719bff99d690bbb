"""Congestion controls: those of the repository, the user's own in C, classes of Python.

Map: `sources` the C sources, the folder of the user's own, and those in the running kernel, `used`
those of an experiment, their parameters and the hooks of classes, `identity` the digest of a class.
"""

from fairwind.lazy import lazy_names

_HOMES = {
    "BuiltIn": "sources",
    "ControlClass": "used",
    "ENDPOINTS_OWN": "sources",
    "Own": "sources",
    "UsedControls": "used",
    "available": "sources",
    "build": "sources",
    "built_in": "sources",
    "built_in_named": "sources",
    "check_hooks": "used",
    "control_versions": "used",
    "load": "sources",
    "loaded": "sources",
    "own_controls": "sources",
    "own_folder": "sources",
    "own_named": "sources",
    "unload": "sources",
    "used_controls": "used",
}

__all__ = [*_HOMES]

__getattr__ = lazy_names(__name__, _HOMES)

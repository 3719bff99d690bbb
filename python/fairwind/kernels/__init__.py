"""Linux kernels in virtual time: built from source, kept in the user's cache, found by version.

A kernel is User-Mode Linux with time travel: an ordinary process whose clock jumps to its next
event when it is idle.

Map: `configuration` fragments of the kernel's configuration, `edits` what is changed in its source,
`sources` where its source comes from, `tools` what a build needs, `build` the build itself,
`catalogue` built kernels.
"""

from fairwind.kernels.build import BuildState, build
from fairwind.kernels.catalogue import (
    PREFIX,
    BuiltKernel,
    built_kernels,
    is_virtual,
    kernel_named,
    remove,
    worker,
)
from fairwind.kernels.configuration import FREQUENCIES
from fairwind.kernels.sources import Source, offered_versions, source_of_file, source_of_version

__all__ = [
    "FREQUENCIES",
    "PREFIX",
    "BuildState",
    "BuiltKernel",
    "Source",
    "build",
    "built_kernels",
    "is_virtual",
    "kernel_named",
    "offered_versions",
    "remove",
    "source_of_file",
    "source_of_version",
    "worker",
]

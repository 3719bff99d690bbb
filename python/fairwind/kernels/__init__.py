"""Linux kernels in virtual time: built from source, kept in the user's cache, found by version.

A kernel is User-Mode Linux with time travel: an ordinary process whose clock jumps to its next
event when it is idle.

Map: `configuration` fragments of the kernel's configuration, `edits` what is changed in its source,
`sources` where its source comes from, `tools` what a build needs, `build` the build itself,
`catalogue` built kernels, `transfer` their way to another machine.
"""

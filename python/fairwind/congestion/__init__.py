"""Congestion controls: those of the repository, the user's own in C, classes of Python.

Map: `sources` the C sources and the folder of the user's own, compiled for both engines, `kernel`
those in the running kernel, `used` those of an experiment and the hooks of classes, `parameters`
what a scenario may set, `identity` the digest of a class.
"""

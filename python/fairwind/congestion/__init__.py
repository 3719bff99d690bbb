"""Congestion controls: those of the repository, the user's own in C, classes of Python.

Map: `sources` the C sources, the folder of the user's own, and those in the running kernel, `used`
those of an experiment, their parameters and the hooks of classes, `identity` the digest of a class.
"""

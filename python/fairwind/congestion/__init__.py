"""Congestion controls: those of the repository, anybody's own in C, classes of Python.

Map: `catalogue` which there are and what they are made of, `own` the folder of one's own, compiled
for both engines, `hooks` what methods a class has, `kernel` those in the running kernel, `used`
which of them an experiment uses, `parameters` what a scenario may set of them, `identity` the
digest of a class.
"""

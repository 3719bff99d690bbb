"""Engines, which execute one experiment with one seed: the compiled core behind a protocol.

Only this package calls `fairwind._core` for experiments. Everything that runs, stores or compares
them speaks to the `Engine` protocol, so it serves every engine alike.

Map: `core` the compiled part and the start of its host processes, `engines` the protocol, the
simulator and the running kernel.
"""

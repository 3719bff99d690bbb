"""Captures analysed: `fairwind analyse` as functions.

`analyse` reads captures of one side or both and gives the tables of a run's folder, so that
whatever shows, compares or draws runs does the same with captures. What happens per packet happens
in the compiled core. Nothing is printed here.

Map: `settings` how a capture is analysed, `source` what is read, of files or of our own runs,
`core` the door to the compiled part, `execute` the loop, `rows` tables that grow, `folder` where
they end, `summary` what a person wants to know first.
"""

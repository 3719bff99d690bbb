"""Analysis of captures: `fairwind analyse` as functions.

`execute.analyse` reads captures of one side or both and gives the tables of a run's folder, so
whatever shows, compares or draws runs does the same with captures. What happens per packet happens
in the compiled core. Nothing is printed here.

Map: `settings` options and their parsing, `source` the inputs, `core` the door to the compiled
part, `execute` the loop, `folder` the tables and where they end, `caveats` warnings, `summary` the
main numbers, `findings` what they show first, in lines.
"""

"""Reports: one self-contained page per run, and its figures as files.

`write_report` reads a run's folder and writes ``report.html`` and ``figures/`` into it. The page
needs no network: data, drawing code and style are inside.

Map: `figures` which figures a run gets, `warnings` what a reader must know first, `lasted` how long
it was, `page` the HTML.
"""

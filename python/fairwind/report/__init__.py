"""Reports: one self-contained page per run, and its figures as files.

`page.write_report` reads a run's folder and writes ``report.html`` and ``figures/`` into it. The
page needs no network: data, drawing code and style are inside.

Map: `figures` the figures of every run, `captured` those of captures, `warnings` what a reader must
know first, `page` the HTML.
"""

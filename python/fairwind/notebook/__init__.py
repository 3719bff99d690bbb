"""Results in notebooks: what the methods of `Results` do that draw, write pages, or show HTML.

The rooms that draw and write pages know `Results`, and not the other way round. So `Results` finds
these functions by name when one of its methods is called.

Map: `drawing` the report and charts, `summary` the HTML of a run.
"""

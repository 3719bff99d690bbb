"""A process that draws charts, by itself: it is run as a script and imports nothing of the package.

For each line of standard input, a request, it writes one, the answer: both are objects of JSON.
"""

import base64
import json
import os
import sys
from typing import Any

import vl_convert


def answer(request: dict[str, Any]) -> dict[str, str]:
    """Give a chart as SVG, as PNG and as PDF, the latter two in base 64, or say what is wrong."""
    try:
        svg = vl_convert.vegalite_to_svg(
            request["chart"], vl_version=request["vega_lite"], allowed_base_urls=[]
        )
        png = vl_convert.svg_to_png(svg, ppi=request["pixels_per_inch"])
        pdf = vl_convert.svg_to_pdf(svg)
    except ValueError as error:
        return {"error": str(error)}
    return {".svg": svg, ".png": _text(png), ".pdf": _text(pdf)}


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


if __name__ == "__main__":
    # What the library prints, if anything, is no answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        answers.write(json.dumps(answer(json.loads(line))) + "\n")
        answers.flush()

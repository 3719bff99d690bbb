"""Drawing code and data of a page, compressed: the page unpacks them itself.

Vega, Vega-Lite and Vega-Embed take 0.9 MB as text, a third of it compressed. To bundle them takes
more than a second, so the compressed bundle is kept in the user's cache.
"""

from __future__ import annotations

import base64
import contextlib
import json
import zlib
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from fairwind.cache import user_cache
from fairwind.folder.store import write_file
from fairwind.plots import Figure
from fairwind.plots.save import VEGA_LITE

LEVEL = 6
"""The highest one saves a twentieth of the bytes, in three times the time."""


def packed(text: str) -> str:
    """Compress a text (zlib, RFC 1950) and write it in base 64, as `page.js` unpacks it."""
    return base64.b64encode(zlib.compress(text.encode(), LEVEL)).decode("ascii")


def packed_figures(figures: Sequence[Figure]) -> str:
    """Give the charts of figures by name, with their data, as `packed` text."""
    # Each part was validated when it was made, the data need not be.
    charts = {one.name: one.chart.to_dict(validate=False) for one in figures}
    return packed(json.dumps(charts))


def packed_drawing_code() -> str:
    """Give the drawing code as `packed` text, from the cache if it is there."""
    kept = _cache()
    try:
        text = kept.read_text(encoding="ascii")
        zlib.decompress(base64.b64decode(text, validate=True))
    except (OSError, ValueError, zlib.error):  # missing, or damaged
        import vl_convert

        text = packed(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", VEGA_LITE))
        with contextlib.suppress(OSError):  # it is only sooner with a cache
            kept.parent.mkdir(parents=True, exist_ok=True)
            write_file(kept, text.encode("ascii"))
    return text


def _cache() -> Path:
    """Name the file of this version's bundle."""
    name = f"vega-lite-{VEGA_LITE}-{version('vl-convert-python')}.zlib.base64"
    return user_cache() / "drawing" / name

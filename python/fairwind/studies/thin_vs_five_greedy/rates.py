"""What the applications of thin streams ask for."""

from __future__ import annotations

import polars as pl

from fairwind.results import Results
from fairwind.studies.streams import (
    REFERENCE,
    VARIANT,
    group_of,
    offered_bits_per_second,
    offered_payload_bits_per_second,
)

THIN_COUNT = "flows_thin_count"


def offered_rates(results: Results) -> pl.DataFrame:
    """Give what the unmodified thin streams of every cell offer, as rows like `charts.estimates`.

    Returns
    -------
    DataFrame
        The axes, ``group`` (``offered payload`` or ``offered on the wire``), ``mean`` (bit/s, of
        all thin streams together), ``low`` and ``high`` (missing: nothing is estimated).
    """
    plan = results.manifest.plan
    kinds = {
        "offered on the wire": offered_bits_per_second,
        "offered payload": offered_payload_bits_per_second,
    }
    rows = []
    for cell in plan.cells:
        place = {axis.column: axis.value(cell.settings[axis.name]) for axis in plan.axes}
        if place[VARIANT] != REFERENCE:
            continue
        count = int(group_of(cell.experiment, "thin")["count"])
        rows += [
            {**place, "group": kind, "mean": count * rate(cell.experiment)}
            for kind, rate in kinds.items()
        ]
    nothing = pl.lit(None, pl.Float64)
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(
        nothing.alias("low"), nothing.alias("high")
    )

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
        all thin streams together; missing if their workload does not tell), ``low`` and ``high``
        (missing: nothing is estimated).
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
            {**place, "group": kind, "mean": None if offered is None else count * offered}
            for kind, rate in kinds.items()
            for offered in (rate(cell.experiment),)
        ]
    nothing = pl.lit(None, pl.Float64)
    table = pl.DataFrame(rows, infer_schema_length=None)
    return table.with_columns(
        pl.col("mean").cast(pl.Float64), nothing.alias("low"), nothing.alias("high")
    )

"""Summary of a capture: main measures of groups and connections, and the slowest segments."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import polars as pl

from fairwind.analysis.folder import PAYLOAD
from fairwind.errors import FairwindError
from fairwind.results import Results, scaled_unit

FORMAT_VERSION = 1
"""Of the JSON document; raised when an older reader would misread it."""

Scope = Literal["group", "connection"]
Frames = Mapping[str, pl.DataFrame | pl.LazyFrame]

KEYS = ("scope", "name", "group")
WHILE_OPEN = "goodput_while_open_bits_per_second"
"""Of connections: their goodput over the time from their first packet to their last."""

FIRST_DATA = "first_data_s"
"""Of connections: when their first data passed, since the origin."""

ARRIVED = ("packets_received", "payload_bytes_received")
"""Shown of connections where one of them was not seen leaving."""

ALWAYS = (
    "flows",
    "packets_sent",
    "packets_received",
    "payload_bytes_sent",
    "payload_bytes_received",
    "retransmitted_segments",
    "packet_loss_ratio",
    "estimated_loss_ratio",
    "attempts",
    "completed",
)
"""Shown of groups even if it is zero in all of them: that nothing was lost is worth a row."""


@dataclass(frozen=True)
class Table:
    """Tables with the measures of groups or connections.

    Attributes
    ----------
    name : str
        The table.
    key : str
        The column that names the group, or numbers the flow.
    rows : mapping of str to str
        Its rows that count: those with these values.
    """

    name: str
    key: str
    rows: Mapping[str, str] = field(default_factory=dict)


TABLES: Mapping[Scope, tuple[Table, ...]] = {
    "group": (
        Table("groups", "group"),
        Table("transport", "group", {"scope": "group"}),
        Table("passages", "group", {"scope": "group"}),
        Table("delays", "group", {"scope": "group", "layer": "network"}),
        Table("setups", "group"),
    ),
    "connection": (Table("flows", "flow"), Table("transport", "flow", {"scope": "flow"})),
}
"""The first one has a row for each; the others are joined to it."""

TITLES: Mapping[str, str] = {
    "flows": "flows of data",
    FIRST_DATA: "first data at / s",
    "packets_sent": "packets",
    "packets_received": "packets arrived",
    "payload_bytes_sent": "payload / B",
    "payload_bytes_received": "payload arrived / B",
    "retransmitted_segments": "retransmitted",
    "fast_retransmit_segments": "by fast retransmit",
    "timeout_segments": "by time-out",
    "after_timeout_segments": "after a time-out",
    "tail_loss_probe_segments": "tail loss probes",
    "unknown_segments": "unknown cause",
    "spurious_by_report": "spurious (D-SACK)",
    "bundles": "bundles",
    "packets_lost": "packets lost",
    "packet_loss_ratio": "packet loss / %",
    "payload_byte_loss_ratio": "payload lost / %",
    "range_loss_ratio": "ranges lost / %",
    "estimated_loss_ratio": "loss estimated / %",
    "rtt_min_s": "RTT min / ms",
    "rtt_mean_s": "RTT mean / ms",
    "ack_latency_p50_s": "ACK latency p50 / ms",
    "ack_latency_p99_s": "ACK latency p99 / ms",
    "ack_latency_max_s": "ACK latency max / ms",
    "delivery_latency_p50_s": "delivery p50 / ms",
    "delivery_latency_p99_s": "delivery p99 / ms",
    "delivery_latency_max_s": "delivery max / ms",
    "variation_p50_s": "delay variation p50 / ms",
    "variation_p99_s": "delay variation p99 / ms",
    "answered_after_p50_s": "answered after p50 / ms",
    "answered_after_p99_s": "answered after p99 / ms",
    "first_response_byte_p50_s": "response time p50 / ms",
    "first_response_byte_p99_s": "response time p99 / ms",
    "goodput_bits_per_second": "goodput / kbit/s",
    WHILE_OPEN: "goodput while open / kbit/s",
    "throughput_bits_per_second": "throughput at receiver / kbit/s",
    "application_limited_ratio": "application limits / %",
    "receiver_limited_ratio": "receiver limits / %",
    "congestion_limited_ratio": "congestion limits / %",
    "limited_by": "limited by",
    "attempts": "connection attempts",
    "completed": "completed",
    "unanswered": "unanswered",
    "refused": "refused",
    "half_open": "half open",
}
"""Measures of the summary, in order, with their titles."""

BRIEF = (
    "packets_lost",
    "timeout_segments",
    "ack_latency_p50_s",
    "ack_latency_max_s",
    "estimated_loss_ratio",
    "retransmitted_segments",
    "rtt_min_s",
    WHILE_OPEN,
    "packets_received",
    "packets_sent",
    "payload_bytes_received",
    "payload_bytes_sent",
    "packet_loss_ratio",
    "ack_latency_p99_s",
    FIRST_DATA,
    "limited_by",
)
"""Measures of connections that are printed, in the order in which they are left out of a table that
is too wide."""


def dispensable_headers(headers: Sequence[str]) -> list[str]:
    """Give the headers that may be left out of a table, the first one first."""
    titles = {header.partition(" / ")[0]: header for header in headers}
    known = (TITLES[measure].partition(" / ")[0] for measure in BRIEF)
    return [titles[title] for title in known if title in titles]


def summary_of(tables: Frames, scope: Scope, limit: int, sort: str | None = None) -> pl.DataFrame:
    """Give a few numbers of groups or connections.

    Parameters
    ----------
    limit : int
        So many rows at most.
    sort : str, optional
        The column to sort by, largest first; groups stay in their order without it.

    Returns
    -------
    DataFrame
        ``scope``, ``name``, ``group``, then the measures that are known of any of them.
    """
    first, *others = TABLES[scope]
    if first.name not in tables:
        return pl.DataFrame()
    frame = tables[first.name].lazy()
    names = frame.collect_schema().names()
    # Of a million connections a few columns are in memory, and no more.
    wanted = {first.key, "name", "group", "measured_s", "payload_bytes_read", sort, *TITLES}
    frame = frame.select(name for name in names if name in wanted)
    if sort is not None and sort not in names:
        frame = _with_column(frame, sort, scope, tables)
        names = frame.collect_schema().names()
    if sort in names:
        frame = frame.sort(sort, descending=True, nulls_last=True, maintain_order=True)
    elif scope == "connection" and (known := [name for name in PAYLOAD if name in names]):
        frame = frame.sort(
            pl.max_horizontal(known), descending=True, nulls_last=True, maintain_order=True
        )
    elif scope == "group" and "flows" in names:
        frame = frame.filter(pl.col("flows") > 0)
    rows = frame.head(limit).collect()
    for table in others:
        if table.name in tables:
            rows = _joined(rows, tables[table.name].lazy(), table)
    if scope == "group":
        rows = _with_turns(rows.drop(FIRST_DATA, strict=False), tables)
    limits = [name for names in LIMITS.values() for name in names if name in rows.columns]
    if limits and "packets_sent" in rows.columns:  # only the sender's side shows what limits it
        rows = rows.with_columns(pl.when(pl.col("packets_sent").is_not_null()).then(pl.col(limits)))
    if scope == "connection" and "observed_s" in rows.columns:
        rows = rows.with_columns(_while_open().alias(WHILE_OPEN), _limit().alias("limited_by"))
    name = pl.col("group" if scope == "group" else "name").alias("name")
    measures = [
        measure
        for measure in TITLES
        if measure in rows.columns and rows[measure].null_count() < rows.height
    ]
    if "packet_loss_ratio" in measures and "estimated_loss_ratio" in measures:
        measures.remove("estimated_loss_ratio")  # what was seen needs no estimate
    return rows.select(pl.lit(scope).alias("scope"), name, "group", *measures)


def _with_column(frame: pl.LazyFrame, name: str, scope: Scope, tables: Frames) -> pl.LazyFrame:
    """Take a column that rows are sorted by from the tables that are joined to the first one."""
    known = set(frame.collect_schema().names()) & {*TITLES}
    for table in TABLES[scope][1:]:
        if table.name not in tables:
            continue
        other = tables[table.name].lazy()
        columns = other.collect_schema().names()
        if name in columns:
            other = other.filter(*(pl.col(key) == value for key, value in table.rows.items()))
            return frame.join(other.select(table.key, name), on=table.key, how="left")
        known |= set(columns) & {*TITLES}
    if scope == "connection":
        raise FairwindError(
            f"--sort {name}: connections have no such column",
            f"they have {', '.join(title for title in TITLES if title in known)}",
        )
    return frame


def _while_open() -> pl.Expr:
    """Give the goodput of a connection over its own life, as far as that was measured."""
    life = pl.min_horizontal("observed_s", "measured_s")
    return pl.when(life > 0).then(pl.col("payload_bytes_read").cast(pl.Float64) * 8.0 / life)


LIMITS = {
    "application": ("idle_ratio", "application_limited_ratio"),
    "receiver window": ("receiver_limited_ratio",),
    "congestion window": ("congestion_limited_ratio",),
}
"""Columns of the parts of a connection's time in which something limited its sender."""


def limiting() -> pl.Expr:
    """Name what limited a sender for most of the time; unknown where its limits are."""
    most = _largest_part()
    return pl.coalesce(pl.when(part == most).then(pl.lit(of)) for of, part in _parts().items())


def _limit() -> pl.Expr:
    """Name what limited a sender for most of the time, with that part of the time."""
    return pl.format("{} {} %", limiting(), (100 * _largest_part()).round(0).cast(pl.Int64))


def _largest_part() -> pl.Expr:
    return pl.max_horizontal(*_parts().values())


def _parts() -> dict[str, pl.Expr]:
    return {of: pl.sum_horizontal(*names, ignore_nulls=False) for of, names in LIMITS.items()}


def _joined(rows: pl.DataFrame, other: pl.LazyFrame, table: Table) -> pl.DataFrame:
    names = other.collect_schema().names()
    known = [*TITLES, "observed_s", "idle_ratio"]
    wanted = [name for name in known if name in names and name not in rows.columns]
    other = other.filter(*(pl.col(name) == value for name, value in table.rows.items()))
    keys = rows.select(table.key).lazy()
    found = other.join(keys, on=table.key, how="semi").select(table.key, *wanted).collect()
    return rows.join(found, on=table.key, how="left", maintain_order="left")


TURNS_PER_FLOW = 2
"""Fewer turns than this per flow that answers are no dialogue, and have no rows in the summary."""


def _with_turns(groups: pl.DataFrame, tables: Frames) -> pl.DataFrame:
    """Add how long the answering sides of groups with a dialogue took.

    Near them that is their own time, near those that asked it is the response time.
    """
    if "turns" not in tables:
        return groups
    turns = tables["turns"].lazy()
    names = turns.collect_schema().names()
    is_dialogue = pl.col("turns") >= TURNS_PER_FLOW * pl.col("flows")
    is_answered = (pl.col("responder") == "answerer") & (pl.col("kind") == "first_byte")
    turns = turns.filter((pl.col("scope") == "group") & is_answered & is_dialogue)
    is_near_requester = pl.col("tap") == "near-requester"
    for measure, are_of in (
        ("answered_after", ~is_near_requester),
        ("first_response_byte", is_near_requester),
    ):
        most = turns.filter(are_of).sort("turns", descending=True, maintain_order=True)
        columns = {f"{measure}_{p}_s": f"{p}_s" for p in ("p50", "p99") if f"{p}_s" in names}
        found = most.unique("group", keep="first").select("group", **columns).collect()
        groups = groups.join(found, on="group", how="left", maintain_order="left")
    return groups


def frames_of(results: Results) -> Frames:
    """Give the tables of a folder, not read yet."""
    return {name: results.scan(name) for name in results.table_names}


def summary_frame(results: Results, limit: int, sort: str | None = None) -> pl.DataFrame:
    """Give the numbers of all groups and of the largest connections in one frame."""
    parts = _summaries(results, limit, sort)
    return pl.concat([part for part in parts if part.width], how="diagonal_relaxed")


MOST_GROUPS = 1000


def _summaries(results: Results, limit: int, sort: str | None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Give the numbers of all groups, and of the largest connections."""
    tables = frames_of(results)
    groups = summary_of(tables, "group", MOST_GROUPS)
    return groups, summary_of(tables, "connection", limit, sort)


def readable_rows(
    rows: pl.DataFrame, measures: Collection[str] = BRIEF
) -> tuple[list[str], list[list[object]]]:
    """Give headers and cells of a summary as people read them, of some of its measures."""
    measures = [name for name in rows.columns if name not in KEYS and name in measures]
    units = {name: _unit(name, rows[name]) for name in measures}
    headers = [rows["scope"][0] if rows.height else "name"]
    headers += [_title(name, unit) for name, (unit, _) in units.items()]
    cells: list[list[object]] = [
        [row["name"], *(_cell(name, row[name], factor) for name, (_, factor) in units.items())]
        for row in rows.iter_rows(named=True)
    ]
    return headers, cells


def _unit(measure: str, values: pl.Series) -> tuple[str, float]:
    """Give the unit that suits the values of a measure, and the factor to it; ``""`` of counts."""
    unit = TITLES[measure].partition(" / ")[2]
    if not unit:
        return "", 1.0
    if measure == FIRST_DATA:
        return "s", 1.0
    numbers = values.cast(pl.Float64).drop_nulls().to_list()
    # Columns of payload name no unit.
    return scaled_unit("payload_bytes" if unit == "B" else measure, numbers)


def _title(measure: str, unit: str) -> str:
    title = TITLES[measure].partition(" / ")[0]
    return f"{title} / {unit}" if unit else title


def brief_measures(connections: pl.DataFrame) -> list[str]:
    """Give what is shown of connections: what arrived only if some were not seen leaving."""
    left = "packets_sent" in connections.columns and not connections["packets_sent"].null_count()
    return [name for name in BRIEF if not (left and name in ARRIVED)]


def readable_summary(
    results: Results, limit: int, sort: str | None = None
) -> list[tuple[list[str], list[list[object]]]]:
    """Give two tables: one column for each group, and one row for each large connection."""
    groups, connections = _summaries(results, limit, sort)
    shown = [upright(groups)] if groups.height else []
    if connections.height:
        shown.append(readable_rows(connections, brief_measures(connections)))
    return shown


def upright(groups: pl.DataFrame) -> tuple[list[str], list[list[object]]]:
    """Give headers and cells of groups as people read them, one column for each."""
    parts = [
        name
        for name in TITLES
        if name in groups.columns and (name in ALWAYS or (groups[name] != 0).any())
    ]
    headers, rows = readable_rows(groups, parts)
    measures = headers[1:]
    cells: list[list[object]] = [
        [measure, *(row[place + 1] for row in rows)] for place, measure in enumerate(measures)
    ]
    return ["", *(str(row[0]) for row in rows)], cells


def json_document(
    results: Results, limit: int, sort: str | None = None, tables: Sequence[str] = ()
) -> dict[str, Any]:
    """Give the summary as one document, with whole tables on request.

    Returns
    -------
    dict
        ``format_version``; ``name``; ``inputs``, ``settings``, ``facts``, ``notes``, ``caveats``
        and ``is_complete`` as in the manifest; ``groups`` and ``connections``, lists of the
        summary's rows; ``tables``, rows by table.
    """
    captured = results.manifest.captured
    assert captured is not None, "the folder of a capture"
    groups, connections = _summaries(results, limit, sort)
    text = asdict(captured)
    text.pop("made_by")
    return {
        "format_version": FORMAT_VERSION,
        "name": results.manifest.plan.name,
        **text,
        "groups": _rows(groups),
        "connections": _rows(connections),
        "tables": {name: results.table(name).to_dicts() for name in tables},
    }


def _rows(summary: pl.DataFrame) -> list[dict[str, Any]]:
    return summary.drop("scope", strict=False).to_dicts()


def _cell(measure: str, value: Any, factor: float) -> object:  # noqa: ANN401 - any cell of a table
    if measure == FIRST_DATA and value is not None:
        return f"{value:.3f}"  # an instant, not a size
    return value if value is None or factor == 1 else value * factor


SLOWEST = "slowest"

CAUSES = {
    "": "not retransmitted",
    "fast_retransmit": "fast retransmit",
    "timeout": "time-out",
    "after_timeout": "after a time-out",
    "tail_loss_probe": "tail loss probe",
    "unknown": "unknown cause",
}
"""Why a segment was sent again the last time."""

ENDS = {
    "sender": "until acknowledged",
    "receiver": "until acknowledged, near the receiver",
    "both": "until in order at the receiver",
}
"""Events that end a delay, by point of capture."""

UNTIL = "waited"

HEADERS = (
    "slowest segments",
    "sent at / s",
    "waited / ms",
    UNTIL,
    "bytes of the stream",
    "retransmissions",
    "last cause",
    "segments behind it",
    "payload behind it / B",
)


def slowest_rows(results: Results, many: int) -> list[dict[str, Any]]:
    """Give rows of the table ``slowest``, the longest waits first; none if there is no table.

    Parameters
    ----------
    many : int
        So many at most, of all cells and replicates together.
    """
    if many == 0 or not results.has_table(SLOWEST):
        return []
    rows = results.scan(SLOWEST).sort("wait_s", descending=True, maintain_order=True).head(many)
    if not results.manifest.plan.seeds:
        rows = rows.drop("cell", "replicate", "seed", strict=False)
    return rows.with_columns(pl.col("cause").replace("", None)).collect().to_dicts()


def readable_slowest(results: Results, many: int) -> tuple[list[str], list[list[object]]]:
    """Give headers and cells of the longest waits."""
    rows = slowest_rows(results, many)
    headers, cells = list(HEADERS), [_cells(row) for row in rows]
    if len({row["seen_at"] for row in rows}) == 1:
        place = headers.index(UNTIL)
        headers[place - 1] = f"{cells[0][place]} / ms"
        del headers[place]
        for row in cells:
            del row[place]
    return headers, cells


def _cells(row: dict[str, Any]) -> list[object]:
    place, size = row["place_bytes"], row["payload_bytes"]
    return [
        row["name"],
        f"{row['sent_s']:.3f}",
        row["wait_s"] * 1000,
        ENDS.get(row["seen_at"], row["seen_at"]),
        f"{place} to {place + size - 1}" if size else str(place),
        row["repeats"],
        CAUSES.get(row["cause"] or "", row["cause"]),
        row["segments_behind"],
        row["bytes_behind"],
    ]

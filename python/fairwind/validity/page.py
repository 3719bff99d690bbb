"""The page that tells how far simulator and kernel agree, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from fairwind.compare.readable import interval, percent
from fairwind.results.readable import significant, title_of, unit_of, with_uncertainty
from fairwind.validity.agreement import Agreement, agreement
from fairwind.validity.measure import Measured
from fairwind.validity.tolerance import TOLERANCES, Verdict

Remarks = Mapping[str, Mapping[str, str]]
"""By scenario, then by measure or by ``name.measure``: why a row stays apart."""

HEAD = """\
<!-- Made by `make validity`; a change made here is lost. -->

# Simulator against kernel

The same scenarios, run in virtual time by our TCP endpoint and in real time by the running
kernel's, through the same network elements; where a scenario's name ends in `kernel-router`, the
kernel's packets pass its own queues instead (`path.router = "kernel"`). Each value is a mean over
runs with its 95 % interval (Student's t); the difference is the kernel's value over the
simulator's, less 1, with its 95 % interval (Welch). Runs of the two are independent samples: in
real time a seed decides when streams start, and what the random elements of the network draw, but
not what happens to each packet.

*Within*: the difference is within the tolerance. *Apart*: neither the difference nor any part of
its interval is. *Undecided*: the difference is not, but its interval reaches into the tolerance, so
that more runs would have to decide. A scenario is a file in `studies/validity`; `make validity`
runs what is missing and writes this page anew, `make validity SCENARIOS="NAME ..." AGAIN=1`
measures some of them again.
"""


def page(every: Sequence[Measured], remarks: Remarks) -> str:
    """Write the page of everything that was measured."""
    rows = {measured.name: agreement(measured.simulated, measured.real) for measured in every}
    parts = [
        HEAD,
        *_conditions(every),
        *_summary(rows),
        *_apart(rows, remarks),
        *(line for one in every for line in _scenario(one, rows[one.name], remarks)),
    ]
    return "\n".join(parts).rstrip() + "\n"


def _conditions(every: Sequence[Measured]) -> Iterator[str]:
    kernels = sorted({one.real.manifest.versions.get("kernel", "?") for one in every})
    processors = sorted({one.real.manifest.platform.get("processors", "?") for one in every})
    late = sum(int(one.real.lateness["exceeds_bound"].sum()) for one in every)
    runs = sum(one.real.lateness.height for one in every)
    yield (
        f"Measured on Linux {', '.join(kernels)} with {', '.join(processors)} processors. The "
        f"router was late in {late} of {runs} runs, in the sense of its bound."
    )
    yield ""


def _summary(rows: Mapping[str, Sequence[Agreement]]) -> Iterator[str]:
    yield "## In short"
    yield ""
    yield "| measure | tolerance | within | undecided | apart |"
    yield "|---|---|---|---|---|"
    for measure, tolerance in TOLERANCES.items():
        if tolerance is None:
            continue
        of_measure = [row for own in rows.values() for row in own if row.measure == measure]
        counts = [
            str(sum(row.verdict is verdict for row in of_measure))
            for verdict in (Verdict.WITHIN, Verdict.UNDECIDED, Verdict.APART)
        ]
        yield _line([title_of(measure), str(tolerance), *counts])
    yield ""


def _apart(rows: Mapping[str, Sequence[Agreement]], remarks: Remarks) -> Iterator[str]:
    yield "## Rows that remain apart"
    yield ""
    apart = [(name, row) for name, own in rows.items() for row in own if _is_apart(row)]
    if not apart:
        yield "None."
    else:
        yield "| scenario | of | measure | simulator | kernel | difference | why |"
        yield "|---|---|---|---|---|---|---|"
    for name, row in apart:
        yield _line(
            [f"[{name}](#{name})", *_values(row), _remark(remarks, name, row) or "not known"]
        )
    yield ""


def _scenario(measured: Measured, rows: Sequence[Agreement], remarks: Remarks) -> Iterator[str]:
    plan = measured.real.manifest.plan
    runs = len(measured.simulated.manifest.plan.seeds)
    yield f"## {measured.name}"
    yield ""
    yield (
        f"{plan.name[0].upper()}{plan.name[1:]}. {runs} runs of "
        f"{plan.cells[0].experiment['duration']} in each engine; the kernel's at commit "
        f"{measured.commit}. {_lateness(measured)}"
    )
    yield ""
    yield "| of | measure | simulator | kernel | difference | tolerance | verdict |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        tolerance = "-" if row.tolerance is None else str(row.tolerance)
        verdict = f"**{row.verdict}**" if _is_apart(row) else str(row.verdict)
        yield _line([*_values(row), tolerance, verdict])
    yield ""
    told = {remark for row in rows if (remark := _remark(remarks, measured.name, row))}
    yield from (f"- {remark}" for remark in sorted(told))
    if told:
        yield ""


def _is_apart(row: Agreement) -> bool:
    return row.verdict is Verdict.APART


def _lateness(measured: Measured) -> str:
    rows = measured.real.lateness
    if rows["lateness_p99_s"].null_count() == rows.height:
        missed = max(rows["events_missed"].to_list())
        return f"The kernel carried the packets; of at most {missed} in a run nothing was told."
    worst = rows.sort(pl.col("lateness_p99_s") / pl.col("bound_s"), descending=True).row(
        0, named=True
    )
    return (
        f"99th percentile of the router's lateness: {worst['lateness_p99_s'] * 1e6:.0f} us in the "
        f"worst run, bound {worst['bound_s'] * 1e6:.0f} us."
    )


def _values(row: Agreement) -> list[str]:
    unit, scale = unit_of(row.measure)
    of_difference = interval(row.relative[1], row.relative[2])
    difference = percent(row.relative[0]) or "-"
    return [
        row.name,
        f"{title_of(row.measure)} / {unit}" if unit else title_of(row.measure),
        _value(row.simulated, scale),
        _value(row.real, scale),
        f"{difference} ({of_difference})" if of_difference else difference,
    ]


def _value(value: tuple[float | None, float | None, float | None], scale: float) -> str:
    mean, _, high = value
    if mean is None:
        return "-"
    if high is None:
        return significant(mean * scale)
    return with_uncertainty(mean * scale, (high - mean) * scale)


def _remark(remarks: Remarks, name: str, row: Agreement) -> str | None:
    own = remarks.get(name, {})
    return own.get(f"{row.name}.{row.measure}") or own.get(row.measure)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"

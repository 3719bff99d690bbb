"""Agreement of simulator and running kernel: the same scenarios in both, and a page.

The scenarios and the remarks on rows that stay apart are files of the repository
(`studies/validity`).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import polars as pl

from fairwind.compare import compare, interval, percent
from fairwind.engine.engines import Engine
from fairwind.errors import FairwindError
from fairwind.execution.execute import RunSettings, RunState, run_plan
from fairwind.folder.manifest import MANIFEST, read_manifest
from fairwind.folder.store import write_file
from fairwind.quantities import parse_bits_per_second
from fairwind.results import Results, tidy_overview
from fairwind.results.summary import significant, title_of, unit_of, with_uncertainty
from fairwind.scenario import Plan, Scenario


class Verdict(StrEnum):
    """Relation of a difference to its tolerance."""

    WITHIN = "within"
    UNDECIDED = "undecided"
    APART = "apart"
    NOT_JUDGED = "-"


@dataclass(frozen=True)
class Tolerance:
    """Largest difference that counts as agreement.

    Attributes
    ----------
    relative_ratio : float
        Of the kernel's value less the simulator's, over the simulator's.
    absolute : float, optional
        A smaller difference than this, in the measure's own unit, is within as well.
    """

    relative_ratio: float
    absolute: float | None = None

    def __str__(self) -> str:
        """Write it as in ``20 % or 0.2 points``; only ratios have an absolute part."""
        points = "" if self.absolute is None else f" or {100 * self.absolute:g} points"
        return f"{100 * self.relative_ratio:g} %{points}"

    def verdict(self, row: dict[str, float | None]) -> Verdict:
        """Judge one difference with its interval.

        Parameters
        ----------
        row : dict
            ``difference``, ``low``, ``high`` in the measure's unit, and the same as ratios:
            ``relative_ratio``, ``relative_low_ratio``, ``relative_high_ratio``. None is unknown.

        Returns
        -------
        Verdict
            Within: the estimate is within. Apart: it is not, nor is any part of its interval.
            Undecided: it is not, but its interval reaches so far.
        """
        relative = (row["relative_ratio"], row["relative_low_ratio"], row["relative_high_ratio"])
        scales = [(relative, self.relative_ratio)]
        if self.absolute is not None:
            scales.append(((row["difference"], row["low"], row["high"]), self.absolute))
        verdicts = [_judged(values, bound) for values, bound in scales]
        for verdict in (Verdict.WITHIN, Verdict.UNDECIDED, Verdict.APART):
            if verdict in verdicts:
                return verdict
        return Verdict.NOT_JUDGED


def _judged(values: tuple[float | None, float | None, float | None], bound: float) -> Verdict:
    estimate, low, high = values
    if estimate is None:
        return Verdict.NOT_JUDGED
    if abs(estimate) <= bound:
        return Verdict.WITHIN
    if low is None or high is None:
        return Verdict.UNDECIDED
    return Verdict.APART if low > bound or high < -bound else Verdict.UNDECIDED


TOLERANCES: dict[str, Tolerance | None] = {
    "goodput_bits_per_second": Tolerance(0.05),
    "retransmission_ratio": Tolerance(0.20, 0.002),
    "ack_latency_p50_s": Tolerance(0.05),
    "ack_latency_p99_s": Tolerance(0.15),
    "delivery_latency_p50_s": Tolerance(0.05),
    "delivery_latency_p99_s": Tolerance(0.15),
    "backlog_mean_packets": None,
    "drops_packets": None,
    "jain_index": None,
}
"""Compared measures, in the order of the page; None has no verdict."""


@dataclass(frozen=True)
class Agreement:
    """One measure of one thing in one scenario, as both engines see it.

    Attributes
    ----------
    name : str
        The group, queue, or whom fairness is among.
    simulated, real : tuple of float or None
        Mean, low and high of the 95 % interval over runs, in the measure's unit.
    relative : tuple of float or None
        How much larger the kernel's mean is than the simulator's, as a ratio, with its interval.
    tolerance : Tolerance, optional
        None where nothing was agreed on.
    """

    name: str
    measure: str
    simulated: tuple[float | None, float | None, float | None]
    real: tuple[float | None, float | None, float | None]
    relative: tuple[float | None, float | None, float | None]
    tolerance: Tolerance | None
    verdict: Verdict


def agreement(simulated: Results, real: Results) -> list[Agreement]:
    """Compare the runs of one scenario, which has a single cell, in both engines."""
    of_a, of_b = (_estimates(results) for results in (simulated, real))
    # What neither knows, as the fairness among a single flow, is not compared.
    known = {measure for _, measure in of_a} & {measure for _, measure in of_b}
    differences = compare(simulated, real, [name for name in TOLERANCES if name in known])
    found = []
    for row in differences.iter_rows(named=True):
        tolerance = TOLERANCES[row["measure"]]
        key = row["name"], row["measure"]
        found.append(
            Agreement(
                name=row["name"],
                measure=row["measure"],
                simulated=of_a.get(key, (row["mean_a"], None, None)),
                real=of_b.get(key, (row["mean_b"], None, None)),
                relative=(
                    row["relative_ratio"],
                    row["relative_low_ratio"],
                    row["relative_high_ratio"],
                ),
                tolerance=tolerance,
                verdict=tolerance.verdict(row) if tolerance else Verdict.NOT_JUDGED,
            )
        )
    return found


def _estimates(
    results: Results,
) -> dict[tuple[str, str], tuple[float | None, float | None, float | None]]:
    return {
        (row["name"], row["measure"]): (row["mean"], row["low"], row["high"])
        for row in tidy_overview(results).iter_rows(named=True)
    }


SIMULATED, REAL, MADE_BY = "simulation", "kernel", "made-by.json"

FULL_PACKET_BITS = 12_000
PUNCTUAL_PACKETS_PER_SECOND = 4000
"""Runs are punctual side by side if their bottlenecks carry so many full packets together."""

MOST_JOBS = 4


@dataclass(frozen=True)
class Measured:
    """One scenario, run in both engines.

    Attributes
    ----------
    name : str
        Of its file, without the ending.
    commit : str
        The state of the sources with which the kernel was measured.
    """

    name: str
    simulated: Results
    real: Results
    commit: str


def measure(
    scenario: Scenario,
    folder: Path,
    engines: tuple[Engine, Engine],
    commit: str,
    on_progress: Callable[[RunState], None] | None = None,
) -> Measured:
    """Run a scenario in both engines, as far as the folder does not have it.

    What was simulated is made anew by another version. What was measured on the kernel takes its
    time, so it is kept until the scenario changes.

    Parameters
    ----------
    scenario : Scenario
        With a single cell.
    folder : Path
        What belongs to this scenario.
    engines : tuple of Engine
        The simulator and the kernel.
    commit : str
        The state of the sources, for the page.
    on_progress : callable, optional
        As for `run_plan`.

    Raises
    ------
    FairwindError
        If the scenario has several cells, or an engine cannot run it.
    """
    plan = scenario.plan
    if len(plan.cells) != 1:
        raise FairwindError(
            f"{scenario.file} has {len(plan.cells)} cells", "divide it into scenarios of one cell"
        )
    simulator, kernel = engines
    if not _is_current(folder / SIMULATED, plan, simulator.versions()):
        run_plan(plan, simulator, RunSettings(out=folder / SIMULATED, force=True), on_progress)
    if not _is_current(folder / REAL, plan, None):
        settings = RunSettings(jobs=punctual_jobs(plan), out=folder / REAL, force=True)
        run_plan(plan, kernel, settings, on_progress)
        write_file(folder / MADE_BY, json.dumps({"commit": commit}).encode())
    return read_measured(folder)


def discard(folder: Path) -> None:
    """Forget what was measured of a scenario, so that it is measured again."""
    for part in (SIMULATED, REAL):
        shutil.rmtree(folder / part, ignore_errors=True)
    (folder / MADE_BY).unlink(missing_ok=True)


def read_measured(folder: Path) -> Measured:
    """Read what was measured of a scenario.

    Raises
    ------
    FairwindError
        If it is not complete.
    """
    try:
        made_by = json.loads((folder / MADE_BY).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise FairwindError(
            f"{folder} was not measured on the kernel", "make validity, as root"
        ) from error
    return Measured(
        name=folder.name,
        simulated=Results(folder / SIMULATED),
        real=Results(folder / REAL),
        commit=made_by["commit"],
    )


def punctual_jobs(plan: Plan) -> int:
    """Choose how many runs share the machine: slow ones do, a fast one has it for itself."""
    links = plan.cells[0].experiment["network"]["links"]
    rates = [parse_bits_per_second(link["rate"]) for link in links if link.get("rate")]
    packets_per_second = max(rates, default=0) / FULL_PACKET_BITS
    if packets_per_second * MOST_JOBS <= PUNCTUAL_PACKETS_PER_SECOND:
        return MOST_JOBS
    return max(1, int(PUNCTUAL_PACKETS_PER_SECOND / packets_per_second))


def _is_current(folder: Path, plan: Plan, versions: dict[str, str] | None) -> bool:
    """Return whether a folder has all runs of a plan, made by these versions if given."""
    if not (folder / MANIFEST).exists():
        return False
    manifest = read_manifest(folder)
    results = Results(folder)
    return (
        manifest.plan.document == plan.document
        and versions in (None, manifest.versions)
        and results.has_table("groups")
        and not results.failures
    )


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
    text = {remark for row in rows if (remark := _remark(remarks, measured.name, row))}
    yield from (f"- {remark}" for remark in sorted(text))
    if text:
        yield ""


def _is_apart(row: Agreement) -> bool:
    return row.verdict is Verdict.APART


def _lateness(measured: Measured) -> str:
    rows = measured.real.lateness
    if rows["lateness_p99_s"].null_count() == rows.height:
        missed = max(rows["events_missed"].to_list())
        return f"The kernel carried the packets; at most {missed} events of a run were lost."
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

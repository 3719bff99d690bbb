"""The page of agreement: the answer first, then what stays apart, then every scenario."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fairwind.quantities import percent, percent_interval, significant
from fairwind.results.summary import title_of, unit_of, with_uncertainty

from .agreement import (
    SIMULATOR,
    TOLERANCES,
    Agreement,
    Verdict,
    agreements,
    count,
)
from .measuring import MOST_RUNS
from .record import Measured, Record

Remarks = Mapping[str, Mapping[str, str]]
"""By scenario, then by measure or by ``name.measure``: why a row stays apart or undecided."""

UNDECIDED = Verdict.UNDECIDED
GUESS, UNKNOWN = "probably", "not known"
"""How a remark begins that was not proved."""

RUNNING = "kernel"
"""The engine that runs in real time."""

HEAD = """\
<!-- Made by `make validity`; a change made here is lost. -->

# Simulator against kernels

The same scenarios in several engines: our TCP endpoint in the simulator, the TCP of the
[running kernel](guides/kernel.md), and that of
[kernels in virtual time](guides/virtual-kernels.md). All use the same network elements; where a
scenario's name ends in `kernel-router`, the running kernel's packets pass its own queues instead.
"""

METHOD = """\
## How rows are judged

A row is one measure of one group, queue or set of flows in one scenario. Its difference is the
kernel's mean over runs less the simulator's, with its 95 % interval.

- **Within**: the whole interval lies within the tolerance.
- **Apart**: the whole interval lies outside.
- **Undecided**: the interval has parts on both sides. More runs would decide.

The tolerance is a share of the simulator's mean or a number in the measure's unit, whichever is
larger. In virtual time runs with the same seed draw the same random numbers, and are compared in
pairs (Student's t). In real time a seed does not decide what happens to each packet: runs are
independent samples (Welch). Runs are doubled until all rows of a scenario are decided, to at most
MOST_RUNS in virtual time. Intervals are 95 % ones at each look, not corrected for the others. This
has a price: where the difference equals the tolerance, so that neither verdict is right, one look
decides in 5 % of the rows, and the four looks at 4, 8, 16 and 32 runs decide in 15 % (of normally
distributed differences). In real time there are as many runs as the scenario says.

The simulator has the profile `linux-6.18` in all scenarios. Scenarios are files in
`studies/validity`, values are in `studies/validity/measured`. `make validity` runs what is missing
and writes this page; `make validity ENGINES=linux-7.3 SCENARIOS="NAME ..." AGAIN=1` measures some
anew.
"""

Rows = Mapping[tuple[str, str], Sequence[Agreement]]
"""By scenario and engine."""


@dataclass(frozen=True)
class _View:
    """Everything that the parts of the page show."""

    records: Sequence[Record]
    engines: Sequence[str]
    rows: Rows
    remarks: Remarks

    def of_engine(self, engine: str) -> list[Agreement]:
        """Give all rows of an engine."""
        return [row for record in self.records for row in self.rows[record.name, engine]]


def page(records: Sequence[Record], remarks: Remarks) -> str:
    """Write the page of everything that was measured.

    Parameters
    ----------
    records : sequence of Record
        The scenarios, in the order of the page.
    remarks : mapping
        By scenario, then by measure or by ``name.measure``: why rows are not within.
    """
    engines = _engines(records)
    rows = {(one.name, engine): _compared(one, engine) for one in records for engine in engines}
    view = _View(records, engines, rows, remarks)
    parts = [
        HEAD,
        *_answer(view),
        *_conditions(view),
        *_by_measure(view),
        *_apart(view),
        METHOD.replace("MOST_RUNS", str(MOST_RUNS)),
        *_scenarios(view),
        *(line for record in records for line in _details(record, view)),
    ]
    return "\n".join(parts).rstrip() + "\n"


def _engines(records: Sequence[Record]) -> list[str]:
    """Name the engines beside the simulator: the running kernel first, then the newest."""
    names = {name for record in records for name in record.engines if name != SIMULATOR}
    virtual = sorted(names - {RUNNING}, key=_version, reverse=True)
    return [*(name for name in (RUNNING,) if name in names), *virtual]


def _version(engine: str) -> tuple[list[int], str]:
    version, _, rest = engine.removeprefix("linux-").partition("-")
    return [int(part) for part in version.split(".") if part.isdigit()], rest


def _compared(record: Record, engine: str) -> list[Agreement]:
    simulated, real = record.engines.get(SIMULATOR), record.engines.get(engine)
    return agreements(simulated, real, is_paired=engine != RUNNING) if simulated and real else []


def _title(engine: str) -> str:
    return "running kernel" if engine == RUNNING else engine


def _answer(view: _View) -> Iterator[str]:
    """Give the counts of each engine."""
    yield "## Answer"
    yield ""
    yield "| engine | scenarios | rows | within | undecided | apart | refused | differ |"
    yield "|---|---|---|---|---|---|---|---|"
    for engine in view.engines:
        rows = view.of_engine(engine)
        measured = sum(bool(view.rows[record.name, engine]) for record in view.records)
        refused = sum(bool(_of(record, engine).refusals) for record in view.records)
        counts = [count(rows, verdict) for verdict in Verdict]
        shares = [f"{one} ({100 * one / len(rows):.1f} %)" if rows else "-" for one in counts]
        values = [str(measured), str(len(rows)), *shares, str(refused), _differing(view, engine)]
        yield line([_title(engine), *values])
    yield ""
    yield "*Differ*: 95 % intervals that exclude 0, of all that have a width, in scenarios without"
    yield "a remark; those with one were found to differ. Between equal engines 5 % do, by chance:"
    yield "what is beyond that is not explained."
    yield ""


def _differing(view: _View, engine: str) -> str:
    """Give the share of intervals that exclude 0, of all that have a width."""
    intervals = [
        (row.difference.low, row.difference.high)
        for record in view.records
        if record.name not in view.remarks
        for row in view.rows[record.name, engine]
    ]
    known = [
        (low, high)
        for low, high in intervals
        if low is not None and high is not None and low != high
    ]
    if not known:
        return "-"
    differing = sum(not low <= 0 <= high for low, high in known)
    return f"{differing} of {len(known)} ({100 * differing / len(known):.1f} %)"


def _of(record: Record, engine: str) -> Measured:
    return record.engines.get(engine, Measured())


def _conditions(view: _View) -> Iterator[str]:
    """Name the kernels, the runs and the late ones; they say how far values can be trusted."""
    for engine in view.engines:
        every = [one for record in view.records if (one := _of(record, engine)).runs]
        kernels = sorted({one.versions.get("kernel", "?") for one in every})
        late, runs = sum(one.late_runs for one in every), sum(one.runs for one in every)
        kept = (
            " Values are means of an earlier page." if any(one.is_summary for one in every) else ""
        )
        yield (
            f"- {_title(engine)}: Linux {', '.join(kernels)}, {runs} runs; the router was late "
            f"beyond its bound in {late}.{kept}"
        )
    simulated = sum(_of(record, SIMULATOR).runs for record in view.records)
    yield f"- simulator: {simulated} runs."
    yield ""
    unfinished = sum(_is_unfinished(record, view) for record in view.records)
    if unfinished:
        yield (
            f"{unfinished} scenarios have undecided rows in virtual time and fewer than "
            f"{MOST_RUNS} runs; `make validity` goes on there."
        )
        yield ""


def _is_unfinished(record: Record, view: _View) -> bool:
    """Return whether more runs in virtual time are to decide a row of a scenario."""
    return any(
        _of(record, engine).runs < MOST_RUNS and count(view.rows[record.name, engine], UNDECIDED)
        for engine in view.engines
        if engine != RUNNING
    )


def _by_measure(view: _View) -> Iterator[str]:
    """Give the counts of each measure: within / undecided / apart."""
    yield "Rows by measure, each as within / undecided / apart:"
    yield ""
    yield line(["measure", "tolerance", *map(_title, view.engines)])
    yield "|---" * (2 + len(view.engines)) + "|"
    for measure, tolerance in TOLERANCES.items():
        of_engines = [
            [row for row in view.of_engine(engine) if row.measure == measure]
            for engine in view.engines
        ]
        if any(of_engines):
            counts = [_counts(rows) for rows in of_engines]
            yield line([title_of(measure), tolerance.in_words(measure), *counts])
    yield ""


def _counts(rows: Sequence[Agreement]) -> str:
    return " / ".join(str(count(rows, verdict)) for verdict in Verdict) if rows else "-"


def _apart(view: _View) -> Iterator[str]:
    """List the rows that are apart, with the reason as far as known."""
    yield "## Rows that are apart"
    yield ""
    found = [
        (record.name, engine, row)
        for record in view.records
        for engine in view.engines
        for row in view.rows[record.name, engine]
        if row.verdict is Verdict.APART
    ]
    if not found:
        yield "None."
        yield ""
        return
    reasons = Counter(_remark(view.remarks, name, row) or UNKNOWN for name, _, row in found)
    guessed, unknown = (
        sum(number for reason, number in reasons.items() if reason.startswith(kind))
        for kind in (GUESS, UNKNOWN)
    )
    yield (
        f"{len(found)} rows: {guessed} for probable reasons, {unknown} for reasons "
        "that are not known, the others for reasons that the sources show or that were measured."
    )
    for reason in reasons:
        yield ""
        yield f"Reason: {reason.rstrip('.')}."
        yield ""
        yield "| scenario | of | measure | engine | simulator | kernel | difference |"
        yield "|---|---|---|---|---|---|---|"
        for name, engine, row in found:
            if (_remark(view.remarks, name, row) or UNKNOWN) == reason:
                yield line(
                    [_link(name), row.name, measure_in_words(row), _title(engine), *_values(row)]
                )
    yield ""


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:].rstrip(".") + "."


def _scenarios(view: _View) -> Iterator[str]:
    """List all scenarios with their counts."""
    yield "## Scenarios"
    yield ""
    yield "Rows within / undecided / apart, and runs."
    yield ""
    yield line(["scenario", "what", *map(_title, view.engines)])
    yield "|---" * (2 + len(view.engines)) + "|"
    for record in view.records:
        cells = [_state(record, engine, view) for engine in view.engines]
        yield line([_link(record.name), record.title, *cells])
    yield ""


def _state(record: Record, engine: str, view: _View) -> str:
    measured = _of(record, engine)
    if measured.refusals:
        return "refused"
    if not measured.runs:
        return "not measured"
    return f"{_counts(view.rows[record.name, engine])} ({measured.runs})"


def _details(record: Record, view: _View) -> Iterator[str]:
    """Give all values of a scenario, folded."""
    yield f"### {record.name}"
    yield ""
    yield f"{_sentence(record.title)} Runs of {record.duration}."
    for engine in view.engines:
        if refusals := _of(record, engine).refusals:
            yield f"Refused by {_title(engine)}: {'; '.join(refusals)}."
    yield ""
    keys = dict.fromkeys(
        (row.name, row.measure) for engine in view.engines for row in view.rows[record.name, engine]
    )
    if keys:
        yield from _table(record, view, list(keys))
        yield ""
    texts = {
        text
        for engine in view.engines
        for row in view.rows[record.name, engine]
        if row.verdict is not Verdict.WITHIN
        if (text := _remark(view.remarks, record.name, row))
    }
    yield from (f"- {_sentence(text)}" for text in sorted(texts))
    if texts:
        yield ""


def _table(record: Record, view: _View, keys: Sequence[tuple[str, str]]) -> Iterator[str]:
    engines = [engine for engine in view.engines if view.rows[record.name, engine]]
    found = {
        (engine, row.name, row.measure): row
        for engine in engines
        for row in view.rows[record.name, engine]
    }
    yield "<details><summary>Values: simulator, and differences of the kernels</summary>"
    yield ""
    yield line(["of", "measure", "simulator", *map(_title, engines)])
    yield "|---" * (3 + len(engines)) + "|"
    for name, measure in keys:
        of_key = {engine: found.get((engine, name, measure)) for engine in engines}
        first = next(row for row in of_key.values() if row)
        cells = [_judged(row) if row else "-" for row in of_key.values()]
        yield line(
            [name, measure_in_words(first), value_in_words(first.simulated, first.measure), *cells]
        )
    yield ""
    yield "</details>"


def _judged(row: Agreement) -> str:
    """Write a difference; what is not within has its verdict."""
    difference = difference_in_words(row)
    match row.verdict:
        case Verdict.WITHIN:
            return difference
        case Verdict.UNDECIDED:
            return f"{difference} *undecided*"
        case Verdict.APART:
            return f"{difference} **apart**"


def measure_in_words(row: Agreement) -> str:
    """Name the measure of a row with its unit."""
    unit, _ = unit_of(row.measure)
    return f"{title_of(row.measure)} / {unit}" if unit else title_of(row.measure)


def _values(row: Agreement) -> list[str]:
    return [
        value_in_words(row.simulated, row.measure),
        value_in_words(row.real, row.measure),
        difference_in_words(row),
    ]


def difference_in_words(row: Agreement) -> str:
    """Write the difference in per cent, or in the measure's unit from zero and of an index."""
    estimate, low, high = row.relative
    if row.measure == "jain_index" or estimate is None:
        _, scale = unit_of(row.measure)
        one = row.difference
        text = f"{one.estimate * scale:+.3g}" if one.estimate else "0"
        if one.low is None or one.high is None or one.low == one.high:
            return text
        return f"{text} [{one.low * scale:+.2g}, {one.high * scale:+.2g}]"
    text = f"{percent(estimate)} %"
    if low is None or high is None or low == high:
        return text
    return f"{text} {percent_interval(low, high)}"


def value_in_words(value: tuple[float, float], measure: str) -> str:
    """Write a mean with half of its interval, in the unit of the page."""
    _, scale = unit_of(measure)
    mean, half_width = value
    if half_width != half_width:  # a single run has no interval
        return significant(mean * scale)
    return with_uncertainty(mean * scale, half_width * scale)


def _remark(remarks: Remarks, name: str, row: Agreement) -> str | None:
    own = remarks.get(name, {})
    return own.get(f"{row.name}.{row.measure}") or own.get(row.measure) or own.get("all")


def _link(name: str) -> str:
    return f"[{name}](#{name})"


def line(cells: Sequence[str]) -> str:
    """Write a row of a table."""
    return f"| {' | '.join(cells)} |"

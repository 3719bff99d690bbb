"""Preview of plans: description, estimate against runs, traps, and the question before a run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import made_up
from fairwind.cli import check, runs
from fairwind.cli.check import PlannedRun
from fairwind.cli.output import OutputFormat
from fairwind.engine.engines import Simulation
from fairwind.errors import FairwindError
from fairwind.execution.execute import RunSettings, missing_cells, run_plan
from fairwind.preview.cost import cost_of, estimate
from fairwind.preview.description import describe
from fairwind.preview.network import Network, bottleneck_of
from fairwind.preview.traffic import mean_of
from fairwind.preview.traps import traps
from fairwind.quantities import (
    count_in_words,
    parse_bytes,
    rate_in_words,
    size_in_words,
    time_in_words,
)
from fairwind.scenario import Plan, Scenario, load
from fairwind.studies import study_named
from made_up import ScriptedEngine
from process import SCENARIO, fairwind

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.toml"))


def plan(flows: str, path: str = 'rate = "10 Mbit/s"\nrtt = "40 ms"', head: str = "") -> Plan:
    text = f'name = "x"\n{head or "duration = " + chr(34) + "20 s" + chr(34)}\n[path]\n{path}\n'
    return Scenario("x.toml", f"{text}{flows}").check()


def flows(workload: str, name: str = "it", more: str = "") -> str:
    return f'[[flows]]\nname = "{name}"\n{more}\nworkload = {{ {workload} }}\n'


GREEDY = flows('kind = "greedy"', "greedy", 'start_spread = "1 s"\nstart_pattern = "random"')
REPEATED = "[sweep]\nrepeat = 3\n"
THIN = 'kind = "thin", payload = "120 B", interval = "100 ms"'


@pytest.mark.parametrize(
    ("value", "mean"),
    [
        ("100 B", 100),
        ({"distribution": "uniform", "min": "10 B", "max": "30 B"}, 20),
        ({"distribution": "exponential", "mean": "5 kB"}, 5000),
        # min * shape / (shape - 1); the bound of 2^50 B takes next to nothing away.
        ({"distribution": "pareto", "min": "10 B", "shape": 3.0}, 15),
        # ln(max / min) / (1 / min - 1 / max) for a shape of 1.
        ({"distribution": "bounded-pareto", "min": "1 B", "max": "100 B", "shape": 1.0}, 4.6517),
        (
            {
                "distribution": "empirical",
                "quantiles": [
                    {"share": "0 ppb", "value": "0 B"},
                    {"share": "50 %", "value": "10 B"},
                    {"share": "100 %", "value": "30 B"},
                ],
            },
            12.5,
        ),
    ],
)
def test_means_of_distributions(value, mean):
    assert mean_of(value, parse_bytes) == pytest.approx(mean, rel=1e-4)


def test_quantities_are_written_in_suitable_units():
    assert [rate_in_words(rate) for rate in (64e3, 999.9e3, 101.162e6, 1e10)] == [
        *("64 kbit/s", "1 Mbit/s", "101 Mbit/s", "10 Gbit/s")
    ]
    assert [size_in_words(size) for size in (160, 12.5e3, 5e9)] == ["160 B", "12.5 kB", "5 GB"]
    assert [count_in_words(n, "packets") for n in (2160, 999_900, 1.5e6)] == [
        *("2160 packets", "1 million packets", "1.5 million packets")
    ]
    assert [time_in_words(s) for s in (5e-7, 0.04, 1.25, 120, 7200)] == [
        *("0.5 us", "40 ms", "1.25 s", "2 min", "2 h")
    ]


def test_routes_follow_delays_and_avoid_hosts():
    experiment = load(EXAMPLES[0].with_name("parking-lot.toml")).check().cells[0].experiment
    network = Network.of(experiment["network"])
    names = [link.name for link in network.route("a", "w")]
    assert names == ["a->r1", "first", "second", "third", "r4->w"]
    # Two accesses of 20 ms make all round trips 60 ms long.
    for start, end in (("a", "w"), ("b", "x"), ("c", "y"), ("d", "z")):
        assert network.rtt_s(start, end) == pytest.approx(0.06)
    assert bottleneck_of(network.route("c", "y")).name == "second"
    assert network.route("a", "nowhere") == ()


def test_an_idle_exchange_counts_transmissions():
    found = plan(GREEDY, 'rate = "1 Mbit/s"\nrtt = "100 ms"')
    network = Network.of(found.cells[0].experiment["network"])
    # 125 B take 1 ms at 1 Mbit/s, in each direction.
    exchange_s = network.exchange_s("greedy-sender", "greedy-receiver", 125, 250)
    assert exchange_s == pytest.approx(0.103)


CASES = {
    "greedy": (GREEDY, 1.5),
    "many thin": (
        flows('kind = "thin", payload = "120 B", interval = "100 ms"', more="count = 200"),
        1.5,
    ),
    "datagrams": (flows('kind = "constant", rate = "1 Mbit/s", packet = "1000 B"'), 1.2),
    "bursts": (flows('kind = "on-off", on = "1 s", off = "2 s", rate = "1 Mbit/s"'), 1.5),
    "requests": (
        flows(
            'kind = "request-response", request = "300 B", response = "30 kB", pause = "1 s"',
            more="count = 20",
        ),
        1.6,
    ),
    "endless response": (
        flows('kind = "request-response", request = "300 B", response = "10 GB"'),
        1.5,
    ),
    "transfers": (
        flows(
            'kind = "transfers", transfers = 100, volume = "100 kB", request = "300 B"',
            more="count = 2",
        ),
        2.0,
    ),
    "volume": (flows('kind = "greedy", volume = "2 MB"'), 1.5),
    "web": (
        flows(
            'kind = "web", reading_time = { distribution = "exponential", mean = "2 s" }',
            more="count = 40",
        ),
        2.5,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_estimated_packets_are_those_of_a_run(case, tmp_path):
    text, factor = CASES[case]
    experiment = plan(text)
    (cell,) = experiment.cells
    tables = Simulation().execute(cell, 1, Simulation().new_progress(), tmp_path)
    groups = tables["groups"].lazy().collect()
    sent = groups.select(pl.col("packets_sent", "ack_packets_sent").sum()).sum_horizontal().item()
    expected = cost_of(cell.experiment).packets
    assert 1 / factor < expected / sent < factor, (expected, sent)


MEASURED = """
import json, resource, sys
from fairwind.scenario import load
from fairwind.preview.cost import estimate
scenario = load(sys.argv[1])
found = scenario.check()
expected = estimate((cell.experiment for cell in found.cells), found.replicates, 1)
scenario.run(out=sys.argv[2], jobs=1)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps([expected.memory_bytes, peak]))
"""


def test_estimated_memory_is_that_of_a_run(tmp_path):
    text = (
        'name = "many"\nduration = "2 s"\n[path]\nrate = "1 Gbit/s"\nrtt = "20 ms"\n'
        '[[flows]]\nname = "thin"\ncount = 20000\nstart_spread = "1 s"\n'
        'workload = { kind = "thin", payload = "120 B", interval = "1 s" }\n'
    )
    (tmp_path / "many.toml").write_text(text)
    process = subprocess.run(
        [sys.executable, "-c", MEASURED, str(tmp_path / "many.toml"), str(tmp_path / "run")],
        capture_output=True,
        text=True,
        check=True,
    )
    expected, peak = json.loads(process.stdout)
    assert 0.5 < expected / peak < 2, (expected, peak)


def test_a_million_flows_are_estimated_at_gigabytes():
    text = 'kind = "thin", payload = "120 B", interval = "1 s"'
    found = plan(flows(text, more="count = 1000000"))
    (cell,) = found.cells
    alone = estimate([cell.experiment], 1, 8)
    assert alone.memory_bytes > 5e9
    assert estimate([cell.experiment] * 4, 2, 8).memory_bytes > 6 * alone.memory_bytes


def test_large_grids_are_sampled_and_scaled():
    (cell,) = plan(GREEDY).cells
    few, many = (estimate([cell.experiment] * count, 1, 1) for count in (10, 1000))
    assert many.packets == pytest.approx(100 * few.packets)


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_examples_fit_about_ten_lines_and_have_no_traps(file):
    found = load(file).check()
    lines = describe(found, found.cells, "simulation")
    assert 6 <= len(lines) <= 12
    assert [subject for subject, _ in lines][:3] == ["path", "bdp", "queue"]
    allowed = "one run per cell has no interval"
    assert not [text for text in traps(found) if not text.startswith(allowed)]


def test_queue_with_target_shows_it_in_place_of_a_time():
    found = plan(GREEDY, 'rate = "10 Mbit/s"\nrtt = "40 ms"\nqueue = "fq_codel"')
    lines = describe(found, found.cells, "simulation")
    assert ("queue", "bottleneck: fq_codel, 10240 packets, target 5 ms") in lines


def test_values_of_all_cells_are_summed_up():
    found = load(next(file for file in EXAMPLES if file.stem == "thin-against-greedy")).check()
    lines = describe(found, found.cells, "simulation")
    assert ("path", "1 Mbit/s, RTT 100 ms") in lines
    assert ("bdp", "12.5 kB = 8.33 packets of 1500 B") in lines
    assert ("queue", "bottleneck: pfifo, 9 packets = 108 ms = 1.1 BDP") in lines
    assert ("flows", "thin: 1 to 8 x thin, 120 B every 150 ms, linux-3.16 cubic") in lines
    assert lines[-1] == ("runs", "4 cells x 5 seeds = 20 simulations")


SATELLITE = """rtt = "840 ms"
carrier = {{}}
terminal = {{ most_slots = 28, requests = {{ policy = "{policy}" }} }}
queue = {{ discipline = "pfifo", limit = "{limit}" }}"""
ENDING = flows('kind = "greedy", volume = "1.5 MB"') + GREEDY


def test_carrier_is_described_with_the_time_that_slots_take():
    found = plan(GREEDY, SATELLITE.format(policy="avbdc", limit="1000 packets"))
    (text,) = [text for name, text in describe(found, found.cells, "run") if name == "carrier"]
    assert text == (
        "48 slots of 44 kbit/s in 273 ms, requests every 1.092 s, plans every 273 ms; "
        "slots come 840 ms to 2.48 s after their packets"
    )


TRAPS = {
    "reverse link": (flows('kind = "web"') + REPEATED, "responses take the link reverse"),
    "short queue": (
        (GREEDY + REPEATED, 'rate = "10 Mbit/s"\nrtt = "40 ms"\nqueue = "tc: pfifo limit 1"'),
        "greedy flows cannot fill the link",
    ),
    "long queue": (
        (GREEDY + REPEATED, 'rate = "1 Mbit/s"\nrtt = "10 ms"\nqueue = "tc: pfifo limit 1000"'),
        "packets may wait for 12 s",
    ),
    "short duration": ((GREEDY + REPEATED, 'rate = "1 Mbit/s"\nrtt = "2 s"'), "10 round trips"),
    "late start": (
        flows('kind = "greedy"', more='start = "8 s"')
        + '[measure]\nwarmup = "5 s"\n'
        + GREEDY
        + REPEATED,
        "flows start after the warm-up of 5 s",
    ),
    "thick behind a full queue": (
        (
            flows('kind = "thin", payload = "120 B", interval = "100 ms"')
            + GREEDY
            + REPEATED
            + '"flows.it.tcp.linear_timeouts" = [false, true]\n',
            'rate = "2 Mbit/s"\nrtt = "60 ms"\nqueue = "tc: pfifo limit 100"',
        ),
        "6.6 packets are in flight when the queue is full (RTT 660 ms)",
    ),
    "thick streams": (
        (
            flows('kind = "thin", payload = "120 B", interval = "20 ms"') + GREEDY + REPEATED,
            'rate = "10 Mbit/s"\nrtt = "200 ms"',
        ),
        "10 packets are in flight",
    ),
    "thick by a bound of one's own": (
        flows(THIN, more="tcp = { thin_segments = 2, linear_timeouts = true }")
        + GREEDY
        + REPEATED
        + '"path.rtt" = ["210 ms", "400 ms"]\n',
        "packets are in flight at an RTT of 210 ms, and mechanisms for thin streams work below 2;",
    ),
    "overload": (
        flows('kind = "constant", rate = "6 Mbit/s", packet = "1000 B"', more="count = 2")
        + GREEDY
        + REPEATED,
        "they offer 12 Mbit/s",
    ),
    "removed mechanism": (
        flows(
            'kind = "greedy"',
            more='tcp = { profile = "linux-6.18", modified_fast_retransmit = true }',
        )
        + GREEDY
        + REPEATED,
        "flows.it.tcp.modified_fast_retransmit: Linux has had no modified fast retransmit since "
        "4.11, and the simulator adds it to linux-6.18",
    ),
    "requests by rate": (
        (ENDING + REPEATED, SATELLITE.format(policy="rbdc", limit="1000 packets")),
        "stop when no more packets come, and what then waits before bottleneck leaves by "
        "guaranteed slots alone (44 kbit/s)",
    ),
    "queue shorter than requests": (
        (ENDING + REPEATED, SATELLITE.format(policy="avbdc", limit="1 bdp")),
        "holds 847 ms of its rate, and slots come up to 2.48 s after they were asked for",
    ),
    "few pages": (flows('kind = "web"') + REPEATED, "fewer than 4 pages each"),
    "heavy tail": (
        flows(
            'kind = "request-response", request = "1 kB", pause = "1 s", '
            'response = { distribution = "pareto", min = "1 kB", shape = 1.5 }'
        )
        + REPEATED,
        "has no finite variance",
    ),
    "one run": (GREEDY, "one run per cell has no interval"),
    "no chance": (flows('kind = "greedy"') + REPEATED, "nothing is drawn at random"),
}


@pytest.mark.parametrize("trap", TRAPS)
def test_traps_are_named_with_what_to_change(trap):
    text, words = TRAPS[trap]
    found = traps(plan(*text) if isinstance(text, tuple) else plan(text))
    assert [line for line in found if words in line], found


@pytest.mark.parametrize(
    "text",
    [
        (GREEDY + REPEATED,),
        (flows('kind = "greedy"', more='tcp = { congestion = { name = "bbr" } }') + REPEATED,),
        (
            flows(
                'kind = "greedy"',
                more='tcp = { profile = "linux-3.16", modified_fast_retransmit = true }',
            )
            + GREEDY
            + REPEATED,
        ),
        (
            ENDING + REPEATED,
            SATELLITE.format(policy="avbdc", limit="4 s"),
            'duration = "100 s"',
        ),
        (GREEDY + REPEATED, SATELLITE.format(policy="rbdc", limit="4 s"), 'duration = "100 s"'),
        (
            flows('kind = "web", reading_time = "2 s"') + REPEATED,
            'rate = "10 Mbit/s"\nrtt = "40 ms"\nreverse_queue = "fq_codel"',
        ),
        (
            flows('kind = "thin", payload = "120 B", interval = "100 ms"') + GREEDY + REPEATED,
            'rate = "10 Mbit/s"\nrtt = "200 ms"',
        ),
        # Ten packets in flight are few for whom the bound is higher, or where it is another one.
        *(
            (
                flows(
                    'kind = "thin", payload = "120 B", interval = "20 ms"',
                    more=f"tcp = {{ {tcp}, linear_timeouts = true }}",
                )
                + GREEDY
                + REPEATED,
                'rate = "10 Mbit/s"\nrtt = "200 ms"\nqueue = "tc: pfifo limit 170"',
            )
            for tcp in ("thin_segments = 30", 'thin_definition = "application-limited"')
        ),
        # Nothing fills the queue; and a trap of some cells is none, whatever the group is called.
        (
            flows(
                THIN,
                "paused",
                'tcp = { linear_timeouts = true }\nstart_spread = "1 s"\nstart_pattern = "random"',
            )
            + REPEATED,
            'rate = "2 Mbit/s"\nrtt = "60 ms"\nqueue = "tc: pfifo limit 100"',
        ),
        (
            flows('kind = "thin", payload = "120 B", interval = "20 ms"', "paused")
            + GREEDY
            + REPEATED
            + '"path.rtt" = ["40 ms", "200 ms"]\n',
            'rate = "10 Mbit/s"\nrtt = "200 ms"',
        ),
    ],
)
def test_what_is_meant_is_no_trap(text):
    assert traps(plan(*text)) == []


def test_a_trap_in_some_cells_of_a_sweep_is_a_choice():
    swept = '"path.queue.limit" = ["1 packets", "34 packets"]\n'
    assert traps(plan(GREEDY + REPEATED + swept)) == []


def test_check_prints_lines_and_json_only_when_asked(tmp_path):
    (tmp_path / "two.toml").write_text(SCENARIO)
    code, out, error = fairwind("check", "two.toml", cwd=tmp_path)
    assert code == 0, error
    assert len(out.splitlines()) <= 12
    assert "{" not in out
    assert "2 cells x 2 seeds = 4 simulations" in out
    estimated = out.splitlines()[-1]
    assert estimated.startswith("estimate  ")
    assert " packets, about" in estimated
    assert "of memory" in estimated


def test_lines_of_check_fit_the_terminal(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    (tmp_path / "two.toml").write_text(SCENARIO)
    _, out, _ = fairwind("check", "two.toml", cwd=tmp_path)
    assert max(map(len, out.splitlines())) <= 60


LARGE = SCENARIO.replace("count = 1\n", "count = 1000000\n").replace(
    '"flows.*.count" = [1, 2]\n', ""
)


def test_a_run_that_takes_much_is_refused_without_a_terminal(tmp_path):
    (tmp_path / "large.toml").write_text(LARGE)
    code, out, error = fairwind("run", "large.toml", cwd=tmp_path)
    assert (code, out) == (2, "")
    assert "this run is estimated to take" in error
    assert "GB of memory" in error
    assert "run it with --yes" in error
    assert not (tmp_path / "runs").exists()


def test_a_run_that_takes_much_asks_on_a_terminal(monkeypatch):
    found = Scenario("large.toml", LARGE).check()
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    asked = []
    answer = True

    def confirm(text, **_):
        asked.append(text)
        return answer

    monkeypatch.setattr(check.typer, "confirm", confirm)
    check.approve([PlannedRun(found, RunSettings(1))], Simulation(), is_approved=False)
    assert "GB of memory" in asked[0]
    answer = False
    with pytest.raises(FairwindError, match="not started"):
        check.approve([PlannedRun(found, RunSettings(1))], Simulation(), is_approved=False)
    check.approve([PlannedRun(found, RunSettings(1))], Simulation(), is_approved=True)
    assert len(asked) == 2


def test_runs_of_usual_size_ask_nothing(monkeypatch):
    monkeypatch.setattr(check.typer, "confirm", lambda *_, **__: pytest.fail("asked"))
    two = PlannedRun(Scenario("two.toml", SCENARIO).check(), RunSettings())
    check.approve([two], Simulation(), is_approved=False)


def test_long_runs_are_asked_about(monkeypatch):
    found = plan(GREEDY, 'rate = "10 Gbit/s"\nrtt = "40 ms"', 'duration = "2500 h"')
    with pytest.raises(FairwindError, match=r"estimated to take [0-9.]+ h"):
        check.approve([PlannedRun(found, RunSettings(1))], Simulation(), is_approved=False)


def planned_of(folder, plan):
    return [PlannedRun(plan, RunSettings(1, folder))]


def test_parts_of_a_study_are_asked_about_together(monkeypatch):
    monkeypatch.setattr(check, "MOST_SECONDS", 900.0)
    engine = ScriptedEngine(name="kernel", is_real_time=True)
    half = PlannedRun(made_up.plan((1, 4), replicates=3), RunSettings(1))  # six runs of 91 s
    check.approve([half], engine, is_approved=False)
    with pytest.raises(FairwindError, match=r"estimated to take 18\.2 min"):
        check.approve([half, half], engine, is_approved=False)


def test_finished_runs_take_no_time(tmp_path, monkeypatch):
    monkeypatch.setattr(check, "MOST_SECONDS", 300.0)
    engine = ScriptedEngine(name="kernel", is_real_time=True)
    grid = made_up.plan((1, 4), replicates=3)
    with pytest.raises(FairwindError, match=r"estimated to take [0-9.]+ min"):
        check.approve(planned_of(tmp_path, grid), engine, is_approved=False)
    run_plan(grid, engine, RunSettings(1, tmp_path))
    assert missing_cells(grid, engine, RunSettings(1, tmp_path)) == []
    check.approve(planned_of(tmp_path, grid), engine, is_approved=False)
    more = made_up.plan((1, 4), replicates=4)
    check.approve(planned_of(tmp_path, more), engine, is_approved=False)
    another = made_up.plan((1, 2), replicates=3)
    with pytest.raises(FairwindError, match=r"estimated to take"):
        check.approve(planned_of(tmp_path, another), engine, is_approved=False)


def test_growing_run_is_asked_about_by_its_bound(tmp_path):
    (tmp_path / "slow.toml").write_text(SCENARIO.replace('"12 s"', '"1000 h"'))
    arguments = ("run", "slow.toml", "--until-decided", "--most-seeds", 500, "--jobs", 1)
    code, _, error = fairwind(*arguments, cwd=tmp_path)
    assert code == 2
    assert "this run is estimated to take up to " in error
    assert not (tmp_path / "runs").exists()


def test_a_study_that_takes_much_is_refused_without_a_terminal(tmp_path, monkeypatch):
    monkeypatch.setattr(check, "MOST_SECONDS", 0.1)
    study, settings = study_named("application-limited-streams"), RunSettings(1, tmp_path / "a")
    flags = dict.fromkeys(("has_figures", "is_wide", "is_approved", "is_live"), False)
    with pytest.raises(FairwindError, match=r"this run is estimated to take .* s\n.*--yes"):
        runs.run_study(*(study, "sim", "reduced", {}, settings, OutputFormat.TABLE), **flags)
    assert not (tmp_path / "a").exists()

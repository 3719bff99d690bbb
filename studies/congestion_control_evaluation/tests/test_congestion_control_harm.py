"""All parts of the evaluation of congestion controls, small: judged and drawn."""

from __future__ import annotations

import polars as pl
import pytest
from fairwind_studies.congestion_control_evaluation.fault_claims import NOT_RUN
from fairwind_studies.congestion_control_evaluation.measures import harms

from fairwind.folder.store import part_folder
from fairwind.results import open_results
from fairwind.studies import study_named

NAME = "congestion-control-evaluation"

TWICE = {"sweep.repeat": "2"}
QUEUE = '["20 % bdp"]'
PATHS = {"sweep.path.rtt": '["42 ms", "162 ms"]', "sweep.path.queue.limit": QUEUE}
SLOW = {"path.rate": "10 Mbit/s"}


def lasting(seconds: int) -> dict[str, str]:
    """Give the axis of bandwidths one that is quick to simulate, for so long."""
    keys = f'"path.rate" = "10 Mbit/s", duration = "{seconds} s", "measure.warmup" = "10 s"'
    return {"sweep.bandwidth": f'{{ "10 Mbit/s" = {{ {keys} }} }}'}


ONE_PATH = {"sweep.path.rtt": '["42 ms"]'} | lasting(30)

SMALL = {
    "symmetric": TWICE | PATHS | lasting(30),
    "friendliness": TWICE | PATHS | lasting(30),
    "rtt-unfairness": TWICE
    | lasting(30)
    | {"sweep.rtt": '["42 ms", "324 ms"]', "sweep.limit": QUEUE},
    "convergence": TWICE | PATHS | lasting(60),
    "alone": TWICE | PATHS | lasting(30),
    "transfers": TWICE
    | {
        "sweep.bandwidth": '["10 Mbit/s"]',
        "sweep.path.rtt": '["42 ms"]',
        "flows.first.count": "2",
        "flows.first.start_spread": '"20 s"',
        "duration": "80 s",
    },
    "traces": SLOW | {"sweep.path.rtt": '["42 ms"]', "duration": "80 s"},
    "recovery": SLOW
    | {
        "path.rtt": "100 ms",
        "path.queue.limit": "20 packets",
        "flows.first.tcp.initial_ssthresh": "80",
        "sweep.control": '{ "reno" = { "flows.first.tcp.congestion" = "reno" } }',
        "duration": "60 s",
    },
    "early-drop": TWICE | {"duration": "15 s"},
    "stacks": SLOW | TWICE | {"sweep.path.rtt": '["42 ms"]', "duration": "30 s"},
    "many": TWICE | ONE_PATH | {"sweep.number": '["2", "4"]'},
    "leaving": TWICE
    | {
        "sweep.bandwidth": '["10 Mbit/s"]',
        "sweep.path.rtt": '["42 ms"]',
        "flows.second.stop": '"20 s"',
        "measure.warmup": '"20 s"',
        "duration": "40 s",
    },
    "cross": TWICE | ONE_PATH | {"flows.cross.workload.volume.mean": '"125 kB"'},
    "reverse": TWICE | ONE_PATH,
}
"""What of each part is run."""

FIGURES = {
    "fairness-against-rtt",
    "windows-over-time",
    "rtt-unfairness",
    "friendliness",
    "burden",
    "harm",
    "convergence-time",
    "delta-fair-time",
    "efficiency-against-queue",
    "fairness-by-queue",
    "early-drop",
    "stacks",
    "fairness-by-number",
    "leaving",
    "fairness-beside-others",
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Run all parts."""
    study, folder = study_named(NAME), tmp_path_factory.mktemp("whole") / "run"
    further = study.further_scenarios("beyond")
    assert {"symmetric", *further} == set(SMALL)
    study.scenario("beyond").with_settings(SMALL["symmetric"]).run(out=folder)
    for name, scenario in further.items():
        scenario.with_settings(SMALL[name]).run(out=part_folder(folder, name))
    return open_results(folder)


def test_every_claim_uses_existing_parts(whole):
    judged = study_named(NAME).claims(whole)
    assert [claim.statement for claim in judged if NOT_RUN in claim.evidence] == []
    assert len(judged) == 34
    assert all(claim.evidence and claim.rule for claim in judged)


def test_every_figure_uses_existing_parts(whole):
    drawn = {figure.name: figure for figure in study_named(NAME).figures(whole)}
    assert set(drawn) == FIGURES
    for name, figure in drawn.items():
        specification = (figure.still or figure.chart).to_dict()
        rows = [row for rows in specification["datasets"].values() for row in rows]
        assert rows, name
        assert figure.title, name
        assert figure.caption, name


def test_harm_is_that_of_all_four_measures(whole):
    found = harms(whole)
    assert set(found["suffers"]) == {"throughput", "latency", "loss", "completion time"}
    text = found.filter(pl.col("control") == "scalable")["harm"]
    assert text.is_finite().all()
    latency = found.filter((pl.col("control") == "scalable") & (pl.col("suffers") == "latency"))
    assert (latency["harm"] > 0).all(), "a queue that another fills takes time"

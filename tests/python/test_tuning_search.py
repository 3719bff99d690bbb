"""Whole searches: what they find, at which cost, and after a kill."""

from __future__ import annotations

import itertools
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from scipy.optimize import brentq

from closed_form import (
    PARAMETERS,
    PATHS,
    RTO,
    SCENARIO,
    THRESHOLD,
    ClosedForms,
    measures,
    tuning,
)
from fairwind.answers.conditions import Outcome
from fairwind.engine.engines import Simulation
from fairwind.errors import FairwindError
from fairwind.quantities import parse_seconds
from fairwind.results import open_results
from fairwind.scenario.scenario import load
from fairwind.tuning.evaluation import STORE
from fairwind.tuning.front import front_of, hypervolume
from fairwind.tuning.outcome import OUTCOME, TuningOutcome
from fairwind.tuning.parameters import Parameter
from fairwind.tuning.settings import Tuning, read_tuning
from fairwind.tuning.tuning import TuningRun, run_tuning

ROOT = Path(__file__).parents[2]


def run(folder: Path, engine: ClosedForms | None = None, jobs: int = 1, **tables) -> TuningOutcome:
    search = read_tuning(tuning(**tables), "search.toml")
    return run_tuning(search, engine or ClosedForms(), TuningRun(folder, jobs=jobs))[1]


SEEDS = range(20)


def true_costs(keys: Mapping[str, Any]) -> tuple[float, float]:
    """Give both costs by the closed forms, on average over paths and many seeds."""
    reference = SCENARIO["flows"][0]["tcp"]
    tcp = reference | {key.rsplit(".", 1)[1]: value for key, value in keys.items()}
    found = []
    for rate, rtt_s in ((5e5, 0.1), (1e6, 0.1), (1e6, 0.2)):
        sides = [[measures(one, rate, rtt_s, seed) for seed in SEEDS] for one in (reference, tcp)]
        logs = [
            math.fsum(math.log(b[at] / a[at]) for a, b in zip(*sides, strict=True)) / len(SEEDS)
            for at in (0, 1)
        ]
        found.append((math.expm1(logs[0]), -math.expm1(logs[1])))
    first, second = zip(*found, strict=True)
    return math.fsum(first) / len(PATHS), math.fsum(second) / len(PATHS)


def combinations(parameters: Sequence[Parameter]) -> list[dict[str, Any]]:
    every = itertools.product(*(one.numbers or () for one in parameters))
    return [
        {key: value for one, number in zip(parameters, numbers, strict=True)
         for key, value in one.keys(number).items()}
        for numbers in every
    ]  # fmt: skip


@pytest.mark.slow
def test_front_reaches_exhaustive_grid_at_tenth_of_cost(tmp_path):
    budget = {"seeds": 4, "budget": 120, "over": "mean"}
    search = read_tuning(tuning(tune=budget), "search.toml")
    grid = combinations(search.parameters)
    costs = [true_costs(keys) for keys in grid]
    best = [costs[place] for place in front_of(costs)]
    bound = [max(one[at] for one in best) + 0.02 for at in (0, 1)]
    outcome = run(tmp_path, tune=budget)
    found = [
        true_costs(one.setting.keys)
        for one in outcome.candidates
        if one.setting.name in outcome.front
    ]
    share = hypervolume(found, bound) / hypervolume(best, bound)
    assert len(grid) == 6**4
    assert outcome.simulations <= 0.1 * len(grid) * len(PATHS) * 4
    assert share >= 0.99


def parabola(tcp: Mapping[str, Any], rate: float, rtt_s: float, seed: int) -> tuple[float, float]:
    """Give a latency that is least at a time-out of 200 ms and a threshold of 3."""
    distance = math.log(parse_seconds(tcp["minimum_rto"]) / 0.2)
    away = distance**2 + 0.3 * (tcp["duplicate_threshold"] - 3) ** 2
    return rtt_s * (1 + away) * (1 + 0.01 * (seed % 3)), rate


def test_optimum_of_closed_form_is_found(tmp_path):
    outcome = run(
        tmp_path,
        ClosedForms(law=parabola),
        tune={"seeds": 2, "budget": 60},
        parameters={
            RTO: {"from": "20 ms", "to": "2 s", "scale": "log"},
            THRESHOLD: [1, 2, 3, 4, 5, 6],
        },
        objectives=[{"minimise": "thin.delivery_latency_p99"}],
    )
    (name,) = outcome.front
    best = next(one.setting.labels for one in outcome.candidates if one.setting.name == name)
    assert best[THRESHOLD] == "3"
    assert 150 < float(best[RTO].removesuffix(" ms")) < 270


def utilisation(target_s: float, rtt_s: float) -> float:
    """Give the share of a link that one Reno flow uses behind CoDel, of a peak at the target.

    The window grows by a segment a round trip from half its peak of (1 + f) bandwidth-delay
    products, f = target / RTT; a round trip is longer while there is a queue. Integrals of what is
    sent and of the time that it takes, over one cycle (the argument of RFC 8289 section 3.2).
    """
    low, high = (1 + target_s / rtt_s) / 2, 1 + target_s / rtt_s
    sent = (high**2 - low**2) / 2
    lasts = max(0.0, 1 - low) + (high**2 - max(low, 1.0) ** 2) / 2
    return sent / lasts


CODEL = {
    "name": "target",
    "duration": "200 s",
    "path": {
        "rate": "10 Mbit/s",
        "rtt": "100 ms",
        "queue": {"discipline": "codel", "target": "100 ms"},
    },
    "flows": [
        {
            "name": "greedy",
            "start_spread": "1 s",
            "start_pattern": "random",
            "workload": {"kind": "greedy"},
            "tcp": {"congestion": "reno", "delayed_ack": False},
        }
    ],
    "measure": {"warmup": "60 s"},
}


@pytest.mark.slow
def test_target_of_codel_is_that_of_theory(tmp_path):
    document = {
        "tune": {"seeds": 3, "budget": 28},
        "scenario": CODEL,
        "parameters": {"path.queue.target": {"from": "2 ms", "to": "80 ms", "scale": "log"}},
        "objectives": [{"minimise": "bottleneck.sojourn_p99"}],
        "constraints": [{"fail_if": "greedy.goodput < -10%"}],
        "confirm": {"seeds": 3, "points": 1},
    }
    search = read_tuning(document, "target.toml")
    _, outcome = run_tuning(search, Simulation(), TuningRun(tmp_path))
    (point,) = outcome.points
    found_s = float(str(point.setting.keys["path.queue.target"]).removesuffix(" ms")) / 1000
    expected_s = brentq(lambda target_s: utilisation(target_s, 0.1) - 0.9, 1e-3, 0.1)
    assert found_s == pytest.approx(expected_s, rel=0.2)


def test_points_run_again_give_the_same_bytes(tmp_path):
    document = tuning(
        tune={"seeds": 2, "budget": 4, "first_seeds": 1},
        parameters={RTO: ["50 ms", "200 ms", "1 s"]},
        confirm={"seeds": 2, "points": 1},
    )
    search = read_tuning(document, "search.toml")
    folder, outcome = run_tuning(search, Simulation(), TuningRun(tmp_path / "search"))
    point = outcome.points[0]
    again = load(folder / point.scenario).run(out=tmp_path / "again").folder
    there = (folder / point.scenario).with_suffix("")
    names = sorted(one.name for one in there.glob("*.parquet"))
    assert "groups.parquet" in names
    for name in names:
        assert (again / name).read_bytes() == (there / name).read_bytes()


def test_jobs_change_nothing(tmp_path):
    for jobs in (1, 3):
        run(tmp_path / str(jobs), jobs=jobs)
    assert (tmp_path / "1" / OUTCOME).read_bytes() == (tmp_path / "3" / OUTCOME).read_bytes()


class Broken(BaseException):
    """Ends a search at once: nothing of the package catches it."""


@pytest.mark.parametrize("method", ["tpe", "nsga2"])
def test_search_that_breaks_anywhere_ends_the_same(tmp_path, monkeypatch, method):
    tables = {"tune": {"seeds": 2, "budget": 16, "method": method, "over": "mean"}}
    run(tmp_path / "whole", **tables)
    sync, left, breaks = os.fsync, 0, 0

    def breaking(descriptor: int) -> None:
        nonlocal left
        # In a thread of a simulation it would only be a failed simulation.
        if threading.current_thread() is threading.main_thread():
            left -= 1
            if left == 0:
                raise Broken
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", breaking)
    for attempt in range(60):
        left = 50 + 9 * (attempt % 5)
        try:
            run(tmp_path / "broken", **tables)
        except Broken:
            breaks += 1
            continue
        break
    else:
        pytest.fail("it never came to its end")
    assert breaks >= 3
    whole, broken = (tmp_path / name / OUTCOME for name in ("whole", "broken"))
    assert whole.read_bytes() == broken.read_bytes()


SCRIPT = """
import sys
import time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from closed_form import ClosedForms, tuning
from fairwind.tuning.settings import read_tuning
from fairwind.tuning.tuning import TuningRun, run_tuning
search = read_tuning(tuning(tune={"seeds": 3, "budget": 16, "over": "mean"}), "search.toml")
engine = ClosedForms(lambda _: time.sleep(0.01))
run_tuning(search, engine, TuningRun(Path(sys.argv[2]), jobs=2))
"""


def _start(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", SCRIPT, str(ROOT / "tests" / "python"), str(folder)]
    return subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT / "python")})


def _measured(folder: Path) -> int:
    """Give the bytes of what a search has measured so far."""
    return (folder / STORE).stat().st_size if (folder / STORE).exists() else 0


@pytest.mark.slow
def test_search_that_is_killed_goes_on(tmp_path):
    assert _start(tmp_path / "whole").wait() == 0
    kills = 0
    while True:
        process = _start(tmp_path / "killed")
        before = _measured(tmp_path / "killed")
        # Four times it is killed as soon as it has measured anything more.
        while process.poll() is None and (kills == 4 or _measured(tmp_path / "killed") <= before):
            time.sleep(0.01)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        code = process.wait()
        assert code in (0, -signal.SIGKILL)
        if code == 0:
            break
    assert kills >= 2
    whole, killed = (tmp_path / name / OUTCOME for name in ("whole", "killed"))
    assert whole.read_bytes() == killed.read_bytes()


def test_settings_that_are_clearly_worse_are_dropped_early(tmp_path):
    outcome = run(tmp_path, tune={"seeds": 8, "budget": 40, "over": "mean"})
    dropped = [one for one in outcome.candidates if one.dropped]
    assert len(dropped) >= 5
    # What is dropped is worse by the closed forms as well.
    kept = {one.setting.name: true_costs(one.setting.keys) for one in outcome.candidates}
    for one in dropped:
        rival = kept[one.dropped.removeprefix("surely worse than ")]
        own = kept[one.setting.name]
        assert all(a > b - 0.01 for a, b in zip(own, rival, strict=True))
        assert any(a > b for a, b in zip(own, rival, strict=True))


def test_confirmation_sees_other_seeds_and_paths(tmp_path):
    paths = {"far": {"path.rtt": "400 ms"}}
    run(tmp_path, confirm={"seeds": 3, "points": 2, "paths": paths})
    searched = {
        int(line.split(", ")[2])
        for line in (tmp_path / "measured.jsonl").read_text(encoding="utf-8").splitlines()
    }
    results = open_results(tmp_path / "points" / "reference")
    confirmed = set(results.manifest.plan.seeds)
    assert not searched & confirmed
    assert "far" in set(results.groups["on_path"])


def test_harm_limits_are_judged_with_confidence(tmp_path):
    known = {"harmless": {RTO: "900 ms"}, "harmful": {RTO: "50 ms", THRESHOLD: 1}}
    outcome = run(
        tmp_path,
        constraints=[{"fail_if": "greedy.goodput < -5%"}],
        known=known,
        confirm={"seeds": 9, "points": 2},
    )
    by_name = {one.setting.name: one for one in outcome.points}
    assert by_name["harmless"].outcome is Outcome.PASSED
    assert by_name["harmful"].outcome is Outcome.FAILED
    assert "harmful" not in outcome.confirmed_front
    assert outcome.advice[0].name != "harmful"


def test_importance_names_the_parameter_that_decides(tmp_path):
    def law(tcp: Mapping[str, Any], rate: float, rtt_s: float, seed: int) -> tuple[float, float]:
        hardly = 0.001 * parse_seconds(tcp["minimum_rto"])
        return rtt_s * (tcp["duplicate_threshold"] + hardly), rate

    outcome = run(
        tmp_path,
        ClosedForms(law=law),
        tune={"seeds": 1, "budget": 36, "method": "random"},
        parameters={name: PARAMETERS[name] for name in (RTO, THRESHOLD)},
        objectives=[{"minimise": "thin.delivery_latency_p99"}],
    )
    shares = outcome.importance["thin.delivery_latency_p99"]
    assert math.fsum(shares.values()) == pytest.approx(1)
    assert shares[THRESHOLD] > 0.8


def test_finished_search_takes_more_seeds_of_the_confirmation(tmp_path):
    first, more, alone = ClosedForms(), ClosedForms(), ClosedForms()
    run(tmp_path / "grown", first, confirm={"seeds": 3, "points": 3})
    outcome = run(tmp_path / "grown", more, confirm={"seeds": 8, "points": 3})
    run(tmp_path / "whole", alone, confirm={"seeds": 8, "points": 3})
    assert len(outcome.points) == 3
    grown, whole = ((tmp_path / one / OUTCOME).read_bytes() for one in ("grown", "whole"))
    assert grown == whole
    # Nothing but the five further seeds ran: for each point and the reference, on each path.
    added = 5 * (len(outcome.points) + 1) * len(PATHS)
    assert more.executions == added
    assert alone.executions == first.executions + added


def test_finished_search_takes_more_points_of_the_confirmation(tmp_path):
    first, more = ClosedForms(), ClosedForms()
    run(tmp_path / "grown", first, confirm={"seeds": 3, "points": 1})
    outcome = run(tmp_path / "grown", more, confirm={"seeds": 3, "points": 3})
    run(tmp_path / "whole", confirm={"seeds": 3, "points": 3})
    grown, whole = ((tmp_path / one / OUTCOME).read_bytes() for one in ("grown", "whole"))
    assert grown == whole
    assert 0 < more.executions <= 3 * len(outcome.points) * len(PATHS)


def test_fewer_seeds_of_the_confirmation_are_refused_before_anything_changes(tmp_path):
    run(tmp_path, confirm={"seeds": 5, "points": 2})
    before = {one: one.read_bytes() for one in tmp_path.rglob("*") if one.is_file()}
    with pytest.raises(FairwindError, match="confirmed with 5 seeds instead of 4") as error:
        run(tmp_path, confirm={"seeds": 4, "points": 2})
    assert "at least 5 under [confirm]" in (error.value.hint or "")
    assert {one: one.read_bytes() for one in tmp_path.rglob("*") if one.is_file()} == before


def test_another_search_in_the_folder_is_refused(tmp_path):
    run(tmp_path)
    with pytest.raises(FairwindError, match="holds another search"):
        run(tmp_path, tune={"seeds": 5, "budget": 20})
    paths = {"further": {"path.rate": "2 Mbit/s"}}
    with pytest.raises(FairwindError, match="holds another search"):
        run(tmp_path, confirm={"seeds": 3, "points": 3, "paths": paths})


def test_search_has_all_parameters_of_the_grid():
    search: Tuning = read_tuning(tuning(), "search.toml")
    assert [one.name for one in search.parameters] == list(PARAMETERS)

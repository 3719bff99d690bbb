"""Searches and screenings on the workers of a cluster, and clusters that several runs share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("distributed", reason="requires Dask")

from dask_cluster import DaskCluster
from dask_runs import dask
from fairwind.execution import deploy, kept_clusters
from fairwind.execution.address import parse_address
from process import fairwind
from test_screen import SCENARIO, SUITE
from test_tuning_command import write

__all__ = ["dask"]


def test_search_finds_the_same_on_a_cluster(dask: DaskCluster, tmp_path) -> None:
    write(tmp_path)
    dask.start_worker()
    found = []
    for place, workers in (("near", "local"), ("far", dask.address)):
        options = ("--out", place, "--workers", workers, "--format", "json")
        code, out, error = fairwind("tune", "search.toml", *options, cwd=tmp_path)
        assert code == 0, error
        found.append(out)
    assert found[0] == found[1]
    assert error.count("dashboard: ") == 1


def test_screening_finds_the_same_on_a_cluster(dask: DaskCluster, tmp_path) -> None:
    suite = tmp_path / "suite"
    suite.mkdir()
    (suite / "suite.toml").write_text(SUITE, encoding="utf-8")
    (suite / "small.toml").write_text(SCENARIO, encoding="utf-8")
    dask.start_worker()
    found = []
    for place, workers in (("near", "local"), ("far", dask.address)):
        options = ("--out", place, "--workers", workers, "--suite", suite, "--format", "json")
        code, out, error = fairwind("screen", "reno", *options, cwd=tmp_path)
        assert code == 0, error
        found.append(_without_places(json.loads(out)))
    assert found[0] == found[1]
    assert error.count("dashboard: ") == 1


def _without_places(document: Any) -> Any:
    """Leave out how long a screening took, and where its runs are."""
    if isinstance(document, dict):
        return {
            key: _without_places(value)
            for key, value in document.items()
            if key not in ("seconds", "folders")
        }
    return [_without_places(one) for one in document] if isinstance(document, list) else document


def test_class_of_python_is_screened_in_this_process_only(tmp_path) -> None:
    (tmp_path / "mine.py").write_text(
        "class Mine:\n    def on_ack(self, flow, ack):\n        pass\n"
    )
    code, _, error = fairwind("screen", "mine.py", "--workers", "dask://127.0.0.1:9", cwd=tmp_path)
    assert code == 2
    assert "a congestion control that is a class of Python runs in this process only" in error


@pytest.fixture
def clusters(monkeypatch) -> list[str]:
    """Give what happens to clusters, which are not really started."""
    events: list[str] = []

    @contextmanager
    def cluster(address):
        events.append(f"start {address.options['jobs']}")
        yield f"tcp://{address.options['jobs']}:1"
        events.append(f"stop {address.options['jobs']}")

    monkeypatch.setattr(deploy, "_cluster", cluster)
    return events


def schedulers(*jobs: int) -> list[str]:
    found = []
    for number in jobs:
        with deploy.started(parse_address(f"slurm:jobs={number}")) as scheduler:
            found.append(scheduler)
    return found


def test_each_run_starts_a_cluster_of_its_own(clusters) -> None:
    schedulers(3, 3)
    assert clusters == ["start 3", "stop 3"] * 2


def test_runs_of_a_block_share_clusters(clusters) -> None:
    with kept_clusters():
        assert clusters == []
        with kept_clusters():
            assert schedulers(3, 4, 3) == ["tcp://3:1", "tcp://4:1", "tcp://3:1"]
        assert clusters == ["start 3", "start 4"]
    assert clusters == ["start 3", "start 4", "stop 4", "stop 3"]


PROFILE = "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED"

STARTED = """
import dask
from contextlib import nullcontext
from types import SimpleNamespace
from fairwind.execution import deploy
from fairwind.execution.address import parse_address

def made(address):
    print(dask.config.get("distributed.worker.profile.enabled"))
    return nullcontext(SimpleNamespace(scheduler_address="tcp://alpha:1"))

deploy._ssh = made
with deploy.started(parse_address("ssh:alpha,beta")):
    pass
"""


@pytest.mark.parametrize(
    ("own", "expected"),
    [({}, "False"), ({PROFILE: "'always'"}, "always")],
)
def test_started_clusters_reduce_monitoring(own: dict[str, str], expected: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != PROFILE} | own
    command = [sys.executable, "-c", STARTED]
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert process.stdout.strip() == expected

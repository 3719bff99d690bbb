"""`fairwind init`: every combination of answers is a valid scenario, and nothing is overwritten."""

from __future__ import annotations

import json
import tomllib
from typing import get_args

import pytest

from fairwind.cli import init
from fairwind.errors import FairwindError, RunInterrupted
from fairwind.preview.traps import traps
from fairwind.scenario import load
from fairwind.scenario.template import COMPARISONS, SCHEMA_FILE, WORKLOADS, Answers
from process import fairwind

PATHS = (("10 Mbit/s", "50 ms"), ("1gbit", "5 ms"), ("500 kbit/s", "600 ms"))


def test_options_offer_what_can_be_answered():
    assert list(get_args(init.WorkloadName)) == list(WORKLOADS)
    assert list(get_args(init.ComparisonName)) == list(COMPARISONS)


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("comparison", COMPARISONS)
def test_every_combination_of_answers_is_valid(workload, comparison, tmp_path):
    for number, (rate, rtt) in enumerate(PATHS):
        file = tmp_path / f"new-{number}.toml"
        init.init(
            file,
            workload=workload,
            rate=rate,
            rtt=rtt,
            comparison=comparison,
        )
        plan = load(file).check()
        if number == 0:
            assert plan.warnings == ()
            assert traps(plan) == []
        assert len(plan.cells) == {"none": 1, "queue": 4}.get(comparison, 3)
        assert plan.replicates == 5
        first, second, *_ = file.read_text().splitlines()
        assert first == f"#:schema ./{SCHEMA_FILE}"
        assert second.startswith("# ")
    schema = json.loads((tmp_path / SCHEMA_FILE).read_text())
    assert schema["$schema"].startswith("https://json-schema.org/")


def test_round_trip_times_are_compared_around_the_given_one(tmp_path):
    file = tmp_path / "rtt.toml"
    init.init(file, comparison="rtt", rtt="100 ms")
    assert tomllib.loads(file.read_text())["sweep"]["path.rtt"] == ["50 ms", "100 ms", "200 ms"]


def test_drop_tail_is_compared_at_a_length_that_shows_bufferbloat(tmp_path):
    init.init(tmp_path / "queues.toml", comparison="queue", rate="10 Mbit/s", rtt="50 ms")
    plan = load(tmp_path / "queues.toml").check()
    queues = [cell.experiment["network"]["links"][0]["queue"] for cell in plan.cells]
    assert [queue["discipline"] for queue in queues] == ["pfifo", "codel", "fq_codel", "cake"]
    assert queues[0]["limit_packets"] == 334  # 8 times 62.5 kB, in packets of 1500 B


def test_nothing_is_asked_or_overwritten_without_a_terminal(tmp_path):
    code, out, error = fairwind("init", "mine.toml", "--workload", "web", cwd=tmp_path)
    assert (code, out) == (0, ""), error
    written = (tmp_path / "mine.toml").read_text()
    assert 'kind = "web"' in written
    code, _, error = fairwind("init", "mine.toml", cwd=tmp_path)
    assert code == 2
    assert "mine.toml exists already" in error
    assert "--force" in error
    assert (tmp_path / "mine.toml").read_text() == written
    assert fairwind("init", "mine.toml", "--force", cwd=tmp_path)[0] == 0
    assert (tmp_path / "mine.toml").read_text() != written


@pytest.mark.parametrize(
    ("rate", "rtt", "complaint"),
    [
        ("3", "50 ms", "--rate 3"),
        ("1 Mbit/s", "soon", "--rtt soon"),
        ("-1 Mbit/s", "1 s", "--rate"),
    ],
)
def test_answers_that_are_no_path_are_refused_by_their_option(tmp_path, rate, rtt, complaint):
    with pytest.raises(FairwindError, match=complaint):
        init.init(tmp_path / "new.toml", rate=rate, rtt=rtt)
    assert not (tmp_path / "new.toml").exists()


@pytest.fixture
def terminal(monkeypatch):
    """Give the answers of a person at a terminal, one after the other."""
    answers: list[str] = []
    monkeypatch.setattr(init, "_is_terminal", lambda: True)
    monkeypatch.setattr(init.typer, "prompt", lambda *_, **__: answers.pop(0))
    return answers


def test_three_questions_are_asked_on_a_terminal(terminal, tmp_path, capsys):
    terminal += ["7", "nonsense", "2", "20 Mbit/s", "80 ms", "congestion"]
    file = tmp_path / "asked.toml"
    init.init(file)
    assert terminal == []
    written = tomllib.loads(file.read_text())
    assert (written["path"]["rate"], written["path"]["rtt"]) == ("20 Mbit/s", "80 ms")
    assert [flows["workload"]["kind"] for flows in written["flows"]] == ["greedy"]
    assert written["sweep"]["flows.*.tcp.congestion"] == ["reno", "cubic", "bbr"]
    error = capsys.readouterr().err
    assert "What do you want to study?" in error
    assert "'nonsense' is not in the list" in error


def test_a_person_is_asked_before_a_file_is_overwritten(terminal, tmp_path, monkeypatch):
    file = tmp_path / "kept.toml"
    file.write_text("mine")
    terminal += ["thin", "1 Mbit/s", "50 ms", "none"]
    monkeypatch.setattr(init.typer, "confirm", lambda *_, **__: False)
    with pytest.raises(RunInterrupted, match="kept as it was"):
        init.init(file)
    assert file.read_text() == "mine"


def test_the_usual_answers_are_among_the_possible_ones():
    usual = Answers()
    assert usual.workload in WORKLOADS
    assert usual.comparison in COMPARISONS


def test_another_schema_is_kept(tmp_path, capsys):
    schema = tmp_path / SCHEMA_FILE
    schema.write_text("{}")
    init.init(tmp_path / "new.toml")
    assert schema.read_text() == "{}"
    assert "is kept" in capsys.readouterr().err
    init.init(tmp_path / "new.toml", force=True)
    assert schema.read_text() != "{}"

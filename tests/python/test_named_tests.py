"""Named tests: they run, their headline is right, and names mean the same in every folder."""

from __future__ import annotations

import pytest

from fairwind.cli.scenarios import chosen_scenario
from fairwind.errors import FairwindError
from fairwind.preview.traps import traps
from fairwind.results.headline import headlines, idle_exchange_s, latency_under_load
from fairwind.scenario.named import find_scenario, named_tests
from process import SCENARIO, fairwind

NAMES = list(named_tests())
SHORT = {"duration": "6 s", "measure.warmup": "2 s", "sweep.repeat": 2}


def test_the_tests_that_people_look_for_are_there():
    assert {"rrul", "tcp-up-down", "tcp-upload", "tcp-download", "web-under-load"} <= set(NAMES)
    assert all(len(description) < 90 for description in named_tests().values())


@pytest.mark.parametrize("name", NAMES)
def test_named_tests_have_a_probe_and_no_traps(name):
    plan = find_scenario(name).check()
    assert plan.name == name
    assert traps(plan) == []
    assert all(idle_exchange_s(cell.experiment) is not None for cell in plan.cells)


def test_the_idle_time_is_that_of_a_probe_alone(tmp_path):
    scenario = find_scenario("tcp-upload").with_settings(
        SHORT | {"flows.upload.start": "5.999 s", "flows.upload.start_spread": "0 s"}
    )
    row = latency_under_load(scenario.run(out=tmp_path / "idle")).row(0, named=True)
    # 40 ms, and 116 B with headers over 10 and 50 Mbit/s; percentiles are at most 1 % above.
    assert row["idle_s"] == pytest.approx(0.04 + 8 * 116 / 10e6 + 8 * 116 / 50e6)
    assert row["idle_s"] <= row["p50_s"] <= 1.011 * row["idle_s"]


def test_the_headline_is_the_first_line_of_a_run(tmp_path):
    settings = [word for key, value in SHORT.items() for word in ("--set", f"{key}={value}")]
    code, out, error = fairwind("run", "rrul", *settings, cwd=tmp_path)
    assert code == 0, error
    first = out.splitlines()[0]
    assert first.startswith("latency under load: idle 40.1 ms; p50 ")
    assert "(+" in first
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.startswith("rrul-")
    assert fairwind("show", folder, cwd=tmp_path)[1] == out
    as_csv = fairwind("show", folder, "--format", "csv", cwd=tmp_path)[1]
    assert "latency under load" not in as_csv


def test_each_cell_has_a_headline(tmp_path):
    settings = SHORT | {"sweep.repeat": 1, "sweep.discipline": '["pfifo", "fq_codel"]'}
    results = find_scenario("bufferbloat").with_settings(settings).run(out=tmp_path / "run")
    plain, fair = headlines(results)
    assert plain.startswith("latency under load (discipline pfifo): ")
    assert fair.startswith("latency under load (discipline fq_codel): ")
    frame = latency_under_load(results)
    assert frame["discipline"].to_list() == ["pfifo", "fq_codel"]
    # Fair queueing isolates the probe from the bulk, which is what it is for.
    assert frame["p99_s"][0] > 2 * frame["p99_s"][1]
    assert frame["p50_low_s"].null_count() == 2


def test_runs_without_a_probe_have_no_headline(tmp_path):
    (tmp_path / "two.toml").write_text(SCENARIO)
    _, out, _ = fairwind("run", "two.toml", "--set", "sweep.repeat=1", cwd=tmp_path)
    assert out.startswith("flows_count")


def test_a_name_means_the_test_even_beside_a_file_of_that_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rrul").write_text(SCENARIO)
    assert chosen_scenario("rrul", None, None).check().name == "rrul"
    assert "note: rrul is the named test; the file is ./rrul" in capsys.readouterr().err
    assert chosen_scenario("./rrul", None, None).check().name == "two and two"
    assert capsys.readouterr().err == ""


def test_what_is_neither_file_nor_test_gets_a_hint():
    with pytest.raises(FairwindError, match="did you mean rrul"):
        find_scenario("rul")
    with pytest.raises(FairwindError, match=r"cannot read the scenario nowhere\.toml"):
        find_scenario("nowhere.toml")


def test_tests_are_listed_with_a_line_each(tmp_path):
    code, out, _ = fairwind("tests", cwd=tmp_path)
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == ["name", *NAMES]

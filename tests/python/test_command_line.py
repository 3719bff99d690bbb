"""The command line: exit codes, what goes where, and no tracebacks for what is expected."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import signal
import time
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from fairwind.cli.study_help import described
from fairwind.results import open_results
from fairwind.studies import Part, study_named
from process import SCENARIO, fairwind, start


@pytest.fixture
def scenario(tmp_path) -> Path:
    path = tmp_path / "two.toml"
    path.write_text(SCENARIO)
    return path


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted([*folder.rglob("*.parquet"), *folder.rglob("*.arrows")])
    }


def test_a_run_prints_its_table_and_nothing_else_to_standard_output(scenario, tmp_path):
    code, out, error = fairwind("run", scenario, "--out", "run", "--jobs", 2, cwd=tmp_path)
    assert code == 0, error
    groups, queues, fairness, *_answer = (table.splitlines() for table in out.split("\n\n"))
    assert groups[0].split()[:2] == ["flows_count", "group"]
    assert queues[0].split()[:2] == ["flows_count", "queue"]
    assert fairness[0].split()[:2] == ["flows_count", "among"]
    assert len(groups) == 1 + 4
    assert "4 simulations; tables: run" in error
    assert (tmp_path / "run" / "flows.parquet").exists()


def test_a_run_as_json_is_exact_and_nothing_but_json(scenario, tmp_path):
    code, out, _ = fairwind("run", scenario, "--format", "json", cwd=tmp_path)
    assert code == 0
    goodput = [
        row for row in json.loads(out)["summary"] if row["measure"] == "goodput_bits_per_second"
    ]
    assert [row["flows_count"] for row in goodput] == [1, 1, 2, 2]
    assert all(row["low"] <= row["mean"] <= row["high"] for row in goodput)


def test_a_run_as_csv_can_be_read_back(scenario, tmp_path):
    code, out, _ = fairwind("run", scenario, "--format", "csv", cwd=tmp_path)
    assert code == 0
    names = {row["name"] for row in csv.DictReader(io.StringIO(out)) if row["table"] == "groups"}
    assert names == {"thin", "greedy"}


def test_the_same_run_again_is_taken_from_the_folder(scenario, tmp_path):
    first = fairwind("run", scenario, cwd=tmp_path)
    second = fairwind("run", scenario, cwd=tmp_path)
    assert first[1] == second[1]
    assert "4 of them resumed" in second[2]
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.startswith("two-and-two-")


def test_tables_are_the_same_bytes_with_one_and_two_jobs(scenario, tmp_path):
    for jobs in (1, 2):
        assert fairwind("run", scenario, "--jobs", jobs, "--out", jobs, cwd=tmp_path)[0] == 0
    one, two = (digests(tmp_path / jobs) for jobs in ("1", "2"))
    assert {"groups.parquet", "flows.parquet", "cells/0001-0001/tables.arrows"} <= set(one)
    assert one == two


def test_another_seed_gives_other_results(scenario, tmp_path):
    fairwind("run", scenario, "--out", "one", cwd=tmp_path)
    fairwind("run", scenario, "--out", "two", "--seed", 2, cwd=tmp_path)
    one, two = (pl.read_parquet(tmp_path / name / "groups.parquet") for name in ("one", "two"))
    assert set(one["seed"]).isdisjoint(two["seed"])


def test_a_missing_scenario_is_bad_input(tmp_path):
    code, out, error = fairwind("run", "nowhere.toml", cwd=tmp_path)
    assert (code, out) == (2, "")
    assert "cannot read the scenario nowhere.toml" in error
    assert "hint:" in error


def test_all_errors_of_a_scenario_come_at_once_with_their_places(tmp_path):
    (tmp_path / "wrong.toml").write_text('duration = 5\ndescribtion = "x"\n')
    code, out, error = fairwind("check", "wrong.toml", cwd=tmp_path)
    assert (code, out) == (2, "")
    assert "wrong.toml:1" in error
    assert "wrong.toml:2" in error
    assert "describtion" in error
    assert "description" in error


def test_a_setting_that_addresses_nothing_is_bad_input(scenario, tmp_path):
    code, out, error = fairwind("check", scenario, "--set", "flows.fat.count=3", cwd=tmp_path)
    assert (code, out) == (2, "")
    assert "flows.fat" in error


def test_a_setting_changes_the_experiment(scenario, tmp_path):
    code, out, _ = fairwind(
        *("check", scenario, "--set", "path.rate=2 Mbit/s", "--format", "json"), cwd=tmp_path
    )
    assert code == 0
    links = json.loads(out)["cells"][0]["experiment"]["network"]["links"]
    assert links[0]["rate"] == "2 Mbit/s"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("run",), "SCENARIO"),
        (("fly",), "fly"),
        (("run", "two.toml", "--jobs", "0"), "jobs"),
        (("run", "two.toml", "--format", "xml"), "xml"),
        (("run", "two.toml", "--set", "duration"), "KEY=VALUE"),
        (("run", "two.toml", "--on", "moon"), "no engine"),
        (("run", "two.toml", "--out", "two.toml"), "is a file"),
        (("report", "nowhere"), "no folder"),
        (("report", "."), "not the folder of a run"),
        (("study", "unknown"), "no study 'unknown'"),
        (("study", "application-limited-streams", "--form", "huge"), "no form 'huge'"),
    ],
)
def test_wrong_usage_goes_to_standard_error(scenario, tmp_path, arguments, complaint):
    code, out, error = fairwind(*arguments, cwd=scenario.parent)
    assert (code, out) == (2, "")
    assert complaint in error
    assert "─" not in error
    assert "│" not in error


def test_an_interruption_ends_with_130_and_the_same_command_goes_on(scenario, tmp_path):
    scenario.write_text(SCENARIO.replace("repeat = 2", "repeat = 200"))
    process = start("run", scenario, "--out", "run", "--jobs", 1, cwd=tmp_path)
    done = tmp_path / "run" / "cells"
    deadline = time.monotonic() + 60
    while len(list(done.glob("[0-9]*"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    assert out == ""
    assert "interrupted:" in error
    assert "Traceback" not in error
    kept = len(list(done.glob("[0-9]*")))
    assert 2 <= kept < 400
    assert not list(done.glob(".tmp-*"))


def test_check_describes_all_cells_or_the_one_that_is_asked_for(scenario, tmp_path):
    code, out, _ = fairwind("check", scenario, cwd=tmp_path)
    assert code == 0
    assert "2 cells x 2 seeds = 4 simulations" in out
    assert "greedy: 1 or 2 x greedy" in out
    _, out, _ = fairwind("check", scenario, "--cell", "1", cwd=tmp_path)
    assert "1 of 0 to 1: flows.*.count = 2" in out
    assert "greedy: 2 x greedy" in out
    code, _, error = fairwind("check", scenario, "--cell", "2", cwd=tmp_path)
    assert code != 0
    assert "no cell 2: the last one is 1" in " ".join(error.split())


def test_check_of_one_cell_is_of_that_cell_in_every_format(scenario, tmp_path):
    code, out, _ = fairwind("check", scenario, "--cell", 1, "--format", "json", cwd=tmp_path)
    assert code == 0
    assert [cell["index"] for cell in json.loads(out)["cells"]] == [1]
    _, out, _ = fairwind("check", scenario, "--cell", 1, "--format", "csv", cwd=tmp_path)
    assert [row["cell"] for row in csv.DictReader(io.StringIO(out))] == ["1"]
    code, _, error = fairwind("check", scenario, "--cell", 9, "--format", "json", cwd=tmp_path)
    assert code == 2
    assert "no cell 9" in error


def test_check_as_json_is_the_whole_plan(scenario, tmp_path):
    code, out, _ = fairwind("check", scenario, "--format", "json", cwd=tmp_path)
    assert code == 0
    assert [cell["settings"] for cell in json.loads(out)["cells"]] == [
        {"flows.*.count": "1"},
        {"flows.*.count": "2"},
    ]


def test_a_report_is_written_beside_the_tables(scenario, tmp_path):
    fairwind("run", scenario, "--out", "run", cwd=tmp_path)
    code, out, error = fairwind("report", "run", cwd=tmp_path)
    assert (code, out) == (0, "")
    assert "page: run/report.html" in error
    assert (tmp_path / "run" / "report.html").exists()
    assert not (tmp_path / "run" / "figures").exists()


def test_report_goes_where_out_says(scenario, tmp_path):
    fairwind("run", scenario, "--out", "run", cwd=tmp_path)
    assert fairwind("report", "run", "--out", "some/folder", cwd=tmp_path)[0] == 0
    assert fairwind("report", "run", "--out", "page.html", "--figures", cwd=tmp_path)[0] == 0
    assert (tmp_path / "some" / "folder" / "report.html").exists()
    assert (tmp_path / "page.html").exists()
    assert (tmp_path / "figures" / "goodput.png").exists()
    assert not (tmp_path / "run" / "report.html").exists()


def test_a_finished_run_can_be_shown_again(scenario, tmp_path):
    first = fairwind("run", scenario, "--out", "run", cwd=tmp_path)
    again = fairwind("show", "run", cwd=tmp_path)
    assert again[:2] == first[:2]
    assert "Only 2 runs per cell" in again[2]


def test_one_table_is_shown_whole(scenario, tmp_path):
    fairwind("run", scenario, "--out", "run", cwd=tmp_path)
    code, out, _ = fairwind("show", "run", "--table", "flows", "--format", "csv", cwd=tmp_path)
    assert code == 0
    assert len(out.splitlines()) == 1 + open_results(tmp_path / "run").flows.height
    code, _, err = fairwind("show", "run", "--table", "flow", cwd=tmp_path)
    assert code == 2
    assert "no table 'flow'" in err
    assert "tables of this run: flows, groups" in err


def test_comparing_two_runs_prints_differences(scenario, tmp_path):
    fairwind("run", scenario, "--out", "a", cwd=tmp_path)
    code, out, _ = fairwind("compare", "a", "a", "--format", "json", cwd=tmp_path)
    assert code == 0
    assert {row["difference"] for row in json.loads(out)} <= {0, None}
    assert {row["table"] for row in json.loads(out)} == {"groups", "queues", "fairness"}


def test_a_comparison_begins_with_what_was_compared(scenario, tmp_path):
    fairwind("run", scenario, "--out", "a", cwd=tmp_path)
    fairwind("run", scenario, "--out", "b", "--set", "path.rate=2 Mbit/s", cwd=tmp_path)
    code, out, error = fairwind("compare", "a", "b", cwd=tmp_path)
    assert code == 0
    assert "A: a: two and two, simulation" in error
    assert "runs of the same seed are compared in pairs" in error
    assert "network.links.bottleneck.rate: 1 Mbit/s -> 2 Mbit/s" in error
    assert out.splitlines()[0].split()[:3] == ["flows_count", "of", "measure"]


@pytest.mark.parametrize("command", ["schema", "columns", "study", "doctor"])
def test_commands_without_a_scenario_print_data(tmp_path, command):
    code, out, error = fairwind(command, cwd=tmp_path)
    assert (code, error) == (0, "")
    assert out.strip()


def test_version_is_printed(tmp_path):
    code, out, _ = fairwind("--version", cwd=tmp_path)
    assert code == 0
    assert out.startswith("fairwind ")


def test_output_into_a_closed_pipe_is_no_error(tmp_path):
    process = start("columns", cwd=tmp_path)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    process.wait(timeout=60)


def test_help_of_study_lists_forms_and_parts(tmp_path):
    code, out, error = fairwind("study", "congestion-control-evaluation", "--help", cwd=tmp_path)
    assert (code, error) == (0, "")
    text = out[out.index("Leith") :].splitlines()
    assert "  --form full: 8103 runs" in text
    assert "  --form beyond: 10533 runs" in text
    assert "    part rtt-unfairness: 2100 runs, 5 of each cell" in text
    assert "      sweep.bandwidth: 10 Mbit/s, 100 Mbit/s, 250 Mbit/s" in text
    assert "  --form kernel: 444 runs (used by --on kernel for full)" in text
    of_none = fairwind("study", "--help", cwd=tmp_path)
    assert "--form full:" not in of_none[1]


def test_the_help_of_a_study_tells_of_one_run_as_of_one():
    alone = Part("windows.toml", {"sweep.memory": '["old"]'})
    forms = {"full": alone, "reduced": alone}
    study = replace(study_named("remembered-windows"), forms=forms, parts={}, kernel_forms={})
    _, full, reduced, _ = described(study)
    assert full[:2] == ["--form full: 1 run", "  part windows over time: 1 run, 1 of each cell"]
    assert reduced == ["--form reduced: 1 run", "  part windows over time: 1 run"]


@pytest.mark.slow
def test_a_study_prints_its_claims_and_writes_its_figure(tmp_path):
    command = ("study", "application-limited-streams", "--reduced", "--figures")
    code, out, error = fairwind(*command, "--out", "run", cwd=tmp_path)
    assert code == 0, error
    assert "Claim 5:" in out
    assert (tmp_path / "run" / "figures" / "throughput-by-variant.png").exists()
    assert "figure: run/figures/throughput-by-variant.png" in error
    again = fairwind("report", "run", cwd=tmp_path)
    assert again[0] == 0
    assert "Claim 5:" in again[1]
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "Claims of the source" in page

"""The command `tune`: output, exit codes, page, and lines for a kernel."""

from __future__ import annotations

import json
import re

import polars as pl
import pytest
import vl_convert

from closed_form import SCENARIO, ClosedForms, tuning
from fairwind.cli.output import OutputFormat
from fairwind.cli.searches import refuse_for_search, run_search_study
from fairwind.cli.study_help import described
from fairwind.errors import FairwindError
from fairwind.execution.execute import RunSettings
from fairwind.plots.save import VEGA_LITE
from fairwind.results import Claim, Verdict
from fairwind.scenario.settings import toml_document
from fairwind.studies import SearchForm, SearchStudy
from fairwind.tuning.charts import front_figure
from fairwind.tuning.kernel_lines import kernel_settings
from fairwind.tuning.outcome import read_outcome
from fairwind.tuning.page import sentences, write_page
from fairwind.tuning.settings import read_tuning
from fairwind.tuning.tuning import TuningRun, run_tuning
from made_up import Refusal
from process import fairwind

RTO = "flows.thin.tcp.minimum_rto"
SEARCH = {
    "name": "two time-outs",
    "tune": {"scenario": "base.toml", "seeds": 2, "budget": 2, "method": "grid"},
    "parameters": {RTO: ["50 ms", "1 s"]},
    "objectives": [{"minimise": "thin.delivery_latency_p99"}, {"maximise": "greedy.goodput"}],
    "confirm": {"seeds": 2, "points": 2},
}
QUEUE = {"discipline": "pfifo", "limit": "1 bdp"}
BASE = SCENARIO | {"path": {"rate": "500 kbit/s", "rtt": "100 ms", "queue": QUEUE}}


def write(folder, **tables):
    (folder / "base.toml").write_text(toml_document(BASE), encoding="utf-8")
    (folder / "search.toml").write_text(toml_document(SEARCH | tables), encoding="utf-8")


def test_command_prints_json_and_writes_page(tmp_path):
    write(tmp_path)
    code, out, err = fairwind(
        "tune", "search.toml", "--out", "found", "--format", "json", "--figures", cwd=tmp_path
    )
    assert code == 0, err
    document = json.loads(out)
    assert document == json.loads((tmp_path / "found" / "tune.json").read_text(encoding="utf-8"))
    assert [one["setting"][RTO] for one in document["candidates"]] == ["50 ms", "1 s"]
    assert (tmp_path / "found" / "tune.html").exists()
    assert (tmp_path / "found" / "figures" / "front.png").exists()


def test_command_names_the_nearest_and_exits_with_3(tmp_path):
    write(tmp_path, constraints=[{"fail_if": "greedy.goodput < +90%"}])
    code, out, err = fairwind("tune", "search.toml", "--out", "found", cwd=tmp_path)
    assert code == 3, err
    assert re.search(
        r"None of 2 settings keeps all limits\. The nearest is c\d .*: it misses "
        r"'greedy\.goodput < \+90%' by \d+\.\d percentage points on the path path\.",
        out,
    )


def test_command_reports_all_errors_of_the_file(tmp_path):
    write(tmp_path, objectives=[{"minimise": "latency"}], parameters={})
    code, out, err = fairwind("tune", "search.toml", cwd=tmp_path)
    assert code == 2
    assert not out
    assert "there are no parameters" in err
    assert "is no objective" in err
    assert not (tmp_path / "runs").exists()


def test_page_has_points_and_links_to_their_scenarios(tmp_path):
    document = tuning(known={"fast & loud": {RTO: "50 ms"}})
    search = read_tuning(document, "search.toml")
    folder, outcome = run_tuning(search, ClosedForms(), TuningRun(tmp_path, jobs=1))
    page = write_page(folder).read_text(encoding="utf-8")
    for point in outcome.points:
        assert f'<a href="{point.scenario}">' in page
        assert (folder / point.scenario).exists()
    assert "fast &amp; loud" in page
    assert "ip route change ROUTE rto_min" in page
    assert not re.search(r"(src|href)=\"https?:", page)
    assert sentences(read_outcome(folder))[0].startswith("Over all paths: c")


def test_keys_become_lines_of_a_kernel():
    found = kernel_settings(
        {
            "flows.thin.tcp.minimum_rto": "45.85 ms",
            "flows.thin.tcp.linear_timeouts": True,
            "flows.*.tcp.duplicate_threshold": 1,
            "flows.thin.tcp.tail_loss_probe": False,
            "flows.thin.tcp.loss_detection": "rack",
            "flows.thin.tcp.nagle": False,
            "path.queue.target": "12.5 ms",
            "path.queue.limit": "100 packets",
        },
        {"path": {"queue": {"discipline": "codel"}}},
    )
    assert found.lines == (
        "ip route change ROUTE rto_min 46ms",
        "setsockopt(fd, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, &(int){1}, sizeof(int))",
        "setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int))",
        "sysctl -w net.ipv4.tcp_recovery=1",
        "sysctl -w net.ipv4.tcp_early_retrans=0",
        "sysctl -w net.ipv4.tcp_reordering=1",
        "tc qdisc replace dev DEVICE root codel target 12.5ms limit 100",
    )
    assert not found.untold


@pytest.mark.parametrize(
    ("keys", "lines", "untold"),
    [
        ({"linear_timeouts": True, "linear_retries": 6}, ["TCP_THIN_LINEAR_TIMEOUTS"], []),
        ({"linear_retries": 4}, [], ["linear_retries"]),
        ({"linear_timeouts": False, "linear_retries": 4}, ["&(int){0}"], []),
        ({"backoff_factor": 2.0, "probe_factor": 2, "thin_segments": 4}, [], []),
        (
            {"backoff_factor": 1.5, "probe_factor": 1.25, "thin_segments": 6},
            [],
            ["backoff_factor", "probe_factor", "thin_segments"],
        ),
        ({"reordering_window": "25 %", "constants_for": "all"}, [], []),
        (
            {"reordering_window": "10 %", "constants_for": "thin", "thin_definition": "all"},
            [],
            ["reordering_window", "thin_definition"],
        ),
        (
            {"reordering_window_grows": False, "rack_duplicate_threshold": False},
            ["tcp_recovery=7"],
            [],
        ),
        ({"loss_detection": "rfc6675"}, ["tcp_recovery=0  # up to 6.16"], []),
        ({"loss_detection": "forward"}, [], ["loss_detection"]),
        ({"early_retransmit": True}, ["tcp_early_retrans=3  # up to 4.11"], []),
        (
            {"early_retransmit": True, "early_retransmit_delay": "0 %", "tail_loss_probe": False},
            ["tcp_early_retrans=1  # up to 4.11"],
            [],
        ),
        (
            {"early_retransmit": True, "early_retransmit_delay": "10 %"},
            ["tcp_early_retrans=3"],
            ["early_retransmit_delay"],
        ),
        ({"minimum_rto": "50 ms", "probe_ack_delay": "50 ms"}, ["rto_min 50ms"], []),
        ({"minimum_rto": "50 ms", "probe_ack_delay": "10 ms"}, ["50ms"], ["probe_ack_delay"]),
        ({"maximum_rto": "2 s"}, ["TCP_RTO_MAX_MS, &(int){2000}"], []),
        ({"maximum_rto": "500 ms"}, [], ["maximum_rto"]),
        (
            {"redundant_bundling": True, "redundant_segments": 0},
            [],
            ["redundant_bundling", "redundant_segments"],
        ),
        ({"redundant_bundling": False, "redundant_segments": 2}, [], []),
        ({"modified_fast_retransmit": True}, ["sizeof(int)) /* up to 4.10 */"], []),
    ],
)
def test_constants_of_recovery_are_told_or_named(keys, lines, untold):
    found = kernel_settings({f"flows.thin.tcp.{key}": value for key, value in keys.items()}, {})
    assert len(found.lines) == len(lines)
    for line, words in zip(found.lines, lines, strict=True):
        assert words in line
    assert found.untold == tuple(f"flows.thin.tcp.{key}" for key in untold)


def test_key_of_another_table_is_told_by_no_line():
    keys = {"flows.thin.tcp.sharing.lifetime": "10 min", "flows.thin.tcp.congestion.beta": 700}
    assert kernel_settings(keys, {}).untold == tuple(keys)


def test_front_is_confirmed_on_a_kernel_as_far_as_it_goes(tmp_path):
    def refused(experiment):
        tcp = experiment["flows"][0]["tcp"]
        if tcp.get("redundant_segments"):
            return [Refusal("thin", "tcp.redundant_segments", "1", "no kernel has it", "")]
        return []

    kernel = ClosedForms(name="linux-0", refused=refused)
    search = read_tuning(
        tuning(parameters={RTO: ["50 ms", "1 s"], "flows.thin.tcp.redundant_segments": [0, 5]}),
        "search.toml",
    )
    run = TuningRun(tmp_path, jobs=1, kernel=kernel)
    folder, outcome = run_tuning(search, ClosedForms(), run)
    there = outcome.on_kernel
    assert set(there["points"]) | set(there["refused"]) == set(outcome.confirmed_front)
    assert "no kernel has it" in next(iter(there["refused"].values()))
    by_name = {one.setting.name: one for one in outcome.points}
    for name, costs in there["points"].items():
        # The closed forms are the same there.
        assert costs[0]["cost"] == pytest.approx(by_name[name].costs[0].cost)
    assert "Confirmed on linux-0" in write_page(folder).read_text(encoding="utf-8")


def test_kernel_that_refuses_the_reference_is_an_error(tmp_path):
    kernel = ClosedForms(
        name="linux-0", refused=lambda _: [Refusal("thin", "profile", "it", "not there", "")]
    )
    search = read_tuning(tuning(tune={"seeds": 2, "budget": 4}), "search.toml")
    with pytest.raises(Exception, match="linux-0 does not support the reference"):
        run_tuning(search, ClosedForms(), TuningRun(tmp_path, jobs=1, kernel=kernel))


def test_study_that_searches_prints_claims_and_writes_its_page(tmp_path, capsys):
    write(tmp_path)
    seen = []

    def claims(folder):
        seen.append(folder)
        return [Claim("It holds.", "By rule.", Verdict.HOLDS, "Numbers.", pl.DataFrame())]

    form = SearchForm(str(tmp_path / "search.toml"), claims)
    study = SearchStudy("mine", "A search", "ours", "fairwind", {"reduced": form})
    folder = tmp_path / "found"
    place = RunSettings(1, folder)
    run_search_study(
        study, "reduced", "sim", place, OutputFormat.TABLE, has_figures=True, is_wide=False
    )
    out = capsys.readouterr().out
    assert out.startswith("Over all paths: ")
    assert "Claim 1: It holds.\n  holds: Numbers." in out
    assert seen == [folder]
    assert "It holds." in (folder / "tune.html").read_text(encoding="utf-8")
    assert (folder / "figures" / "front.png").exists()


def test_options_that_a_search_lacks_are_refused():
    with pytest.raises(FairwindError, match="the study mine is a search, which has no --set and"):
        refuse_for_search("mine", set=["duration=1 s"], force=False, live=True, workers=False)
    refuse_for_search("mine", set=None, force=False)


def test_help_of_a_study_that_searches_names_its_files():
    form = SearchForm("mine.toml", lambda _folder: [])
    study = SearchStudy("mine", "A search", "ours", "fairwind", {"full": form})
    head, forms = described(study)
    assert head == ["mine: A search", "Source: ours"]
    assert forms == [f"--form full: fairwind tune {study.file()}"]


def test_labels_upon_others_are_left_out():
    document = {
        "objectives": [
            {"measure": "a.x", "direction": "minimise", "over": "mean"},
            {"measure": "a.y", "direction": "maximise", "over": "mean"},
        ],
        "candidates": [],
        "points": [
            labelled("c1", -0.5, 0.1, is_known=False),
            labelled("plain", 0.0, 0.0, is_known=True),
            labelled("LT", -0.01, 0.0, is_known=True),
            labelled("far", -0.5, 0.1001, is_known=True),
        ],
    }
    (rows,) = front_figure(document, 1).chart.to_dict()["datasets"].values()
    assert [row["label"] for row in rows if row["label"]] == ["LT", "far"]
    assert {row["name"] for row in rows} == {"c1", "plain", "LT", "far", "reference"}


def test_figure_of_many_settings_labels_the_confirmed_alone():
    candidates = [
        {"name": f"s{number}", "setting": {}, "dropped": None, "costs": [number / 1e3, 0.1]}
        for number in range(300)
    ]
    document = {
        "objectives": [
            {"measure": "a.x", "direction": "minimise", "over": "mean"},
            {"measure": "a.y", "direction": "maximise", "over": "mean"},
        ],
        "candidates": candidates,
        "points": [labelled("LT", -0.5, 0.1, is_known=True)],
    }
    chart = front_figure(document, 1).chart.to_dict()
    svg = vl_convert.vegalite_to_svg(chart, vl_version=VEGA_LITE)
    texts = re.findall(r">([^<>]+)</text>", svg)
    assert texts.count("LT") == 1
    assert not {"null", "s1"} & set(texts)
    (link,) = re.findall(r'href="([^"]*)"', svg)
    assert link.endswith("points/LT.toml")


def labelled(name, *costs, is_known):
    estimates = [{"cost": one, "low": one - 0.01, "high": one + 0.01} for one in costs]
    return {"name": name, "setting": {}, "is_known": is_known, "costs": estimates,
            "limits": "passed", "scenario": f"points/{name}.toml"}  # fmt: skip

"""Scenarios from Python values, typed settings, and results in notebooks."""

from __future__ import annotations

import ast
import keyword
import re
import subprocess
import sys
import tomllib
import typing
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import fairwind
from fairwind.engine.core import scenario_schema
from fairwind.errors import FairwindError
from fairwind.html import block, line, table
from fairwind.results import Claim, Verdict, summarise
from fairwind.scenario import Plan, Scenario, typed
from fairwind.scenario.settings import flattened, toml_value
from fairwind.units import KiB, Mbit_s, Span, hour, kB, ms, percent, s

ROOT = Path(__file__).parents[2]
TYPES = ROOT / "python" / "fairwind" / "scenario" / "typed.pyi"

SETTINGS = {
    "name": "two groups",
    "description": "thin <b>and</b> greedy",
    "duration": 3 * s,
    "path": {
        "rate": 1 * Mbit_s,
        "rtt": "40 ms",
        "queue": {"discipline": "pfifo", "limit": 20 * kB},
    },
    "flows": [
        {"name": "thin", "workload": {"kind": "thin", "packet": "160 B", "interval": 50 * ms}},
        {"name": "greedy", "count": np.int64(1), "workload": {"kind": "greedy"}},
    ],
    "sweep": {
        "repeat": 2,
        "path.rtt": ["40 ms", 80 * ms],
        "loss": {"none": {"path.loss": "0 %"}, "some": {"path.loss": 0.5 * percent}},
    },
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    small = {**SETTINGS, "sweep": {"repeat": 2, "path.rtt": ["40 ms", "80 ms"]}}
    return fairwind.run(small, out=tmp_path_factory.mktemp("run") / "run")


def test_a_dict_is_the_scenario_of_its_toml():
    scenario = Scenario.from_dict(SETTINGS)
    assert tomllib.loads(scenario.text)["flows"][0]["workload"]["interval"] == "50 ms"
    again = Scenario("x.toml", scenario.text)
    assert scenario.plan.document == again.plan.document
    assert [axis.labels for axis in scenario.plan.axes] == [("40 ms", "80 ms"), ("none", "some")]


def test_errors_of_a_dict_name_key_and_line_of_its_text():
    wrong = {**SETTINGS, "path": {"rate": "1 Mbitt/s", "rtt": "40 ms"}}
    with pytest.raises(
        fairwind.ScenarioError, match=r"<dict>:6: path\.rate = \"1 Mbitt/s\""
    ) as caught:
        Scenario.from_dict(wrong).check()
    assert Scenario.from_dict(wrong).text.splitlines()[caught.value.errors[0]["line"] - 1] == (
        'rate = "1 Mbitt/s"'
    )


def test_names_with_dots_and_quotes_survive():
    settings = {**SETTINGS, "name": 'a "b" \\ c\nd', "sweep": {"flows.*.count": [1, 2]}}
    plan = Scenario.from_dict(settings).plan
    assert plan.name == 'a "b" \\ c\nd'
    assert plan.axes[0].name == "flows.*.count"


def test_files_lie_in_the_given_folder(tmp_path):
    (tmp_path / "writes.txt").write_text("0.1,100\n", encoding="utf-8")
    flows = [{"name": "a", "workload": {"kind": "replay", "file": "writes.txt"}}]
    settings = {**SETTINGS, "flows": flows, "sweep": {}}
    assert Scenario.from_dict(settings, folder=tmp_path).plan.runs == 1
    with pytest.raises(FairwindError, match=r"cannot read the recorded writes .*writes\.txt"):
        Scenario.from_dict(settings).check()


@pytest.mark.parametrize(
    ("quantity", "text"),
    [
        (1.5 * Mbit_s, "1.5 Mbit/s"),
        (100 * ms, "100 ms"),
        (ms * 0.1, "0.1 ms"),
        (2 * (3 * KiB), "6 KiB"),
        (1e-7 * s, "0.0000001 s"),
        (1e21 * ms, "1000000000000000000000 ms"),
        (0.25 * percent, "0.25 %"),
        (2 * hour, "2 h"),
        (np.float64(2.5) * ms, "2.5 ms"),
    ],
)
def test_quantities_are_written_as_in_scenarios(quantity, text):
    assert str(quantity) == text


@pytest.mark.parametrize("number", [-1, float("nan"), float("inf")])
def test_impossible_quantities_are_refused(number):
    with pytest.raises(FairwindError, match=r"is not a quantity"):
        number * ms


def test_nested_settings_enter_tables_and_replace_values():
    found = flattened(
        {
            "path": {"rate": 2 * Mbit_s, "queue": {"discipline": "codel"}},
            "flows": {"thin": {"tcp": {"sack": False, "congestion": {"name": "htcp"}}}},
            "flows.greedy.workload": {"kind": "greedy", "volume": "1 MB"},
            "measure": {"intervals": ["1 s"]},
            "sweep": {"path.rtt": ["1 ms"], "loss": {"a": {"path.loss": "1 %"}}},
        }
    )
    assert found == {
        "path.rate": '"2 Mbit/s"',
        "path.queue": '{ discipline = "codel" }',
        "flows.thin.tcp.sack": "false",
        "flows.thin.tcp.congestion": '{ name = "htcp" }',
        "flows.greedy.workload": '{ kind = "greedy", volume = "1 MB" }',
        "measure.intervals": '["1 s"]',
        "sweep.path.rtt": '["1 ms"]',
        "sweep.loss": '{ a = { "path.loss" = "1 %" } }',
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.arange(1, 4), "[1, 2, 3]"),
        (np.array([0.5]), "[0.5]"),
        (np.bool_(True), "true"),
        (range(2), "[0, 1]"),
        (("a", 'b"'), '["a", "b\\""]'),
        (Path("traces/up.txt"), '"traces/up.txt"'),
        ({}, "{}"),
        ({"a b": {"c": 1 * ms}}, '{ "a b" = { c = "1 ms" } }'),
    ],
)
def test_python_values_have_a_form_in_toml(value, text):
    assert toml_value(value, "key") == text
    assert tomllib.loads(f"key = {text}")


def test_nested_settings_leave_other_keys_as_they_are():
    scenario = Scenario.from_dict(SETTINGS).with_settings({"path": {"mtu": "1000 B"}})
    network = scenario.plan.cells[0].experiment["network"]
    assert network["mtu"] == "1 kB"
    assert network["links"][0]["rate"] == "1 Mbit/s"


def test_each_table_and_key_of_the_schema_has_a_type():
    text = TYPES.read_text(encoding="utf-8")
    keys = {
        key
        for definition in [scenario_schema(), *scenario_schema()["$defs"].values()]
        for form in [definition, *definition.get("oneOf", ())]
        for key in form.get("properties", ())
    }
    assert len(keys) > 100
    missing = [key for key in keys if not re.search(rf"\b{key}(: |\": )", text)]
    assert not missing or missing == ["name"]


def test_types_at_run_time_are_those_of_the_stub():
    stub = ast.parse(TYPES.read_text(encoding="utf-8"))
    tables = {one.name: one for one in stub.body if isinstance(one, ast.ClassDef)}
    assert len(tables) > 60
    for name, one in tables.items():
        keys = {key.target.id for key in one.body if isinstance(key, ast.AnnAssign)}
        made = set(getattr(typed, name).__annotations__)
        assert keys <= made and all(map(keyword.iskeyword, made - keys)), name
    aliases = [one for one in stub.body if isinstance(one, ast.AnnAssign)]
    assert len(aliases) > 20
    for alias in aliases:
        assert getattr(typed, alias.target.id) == ast.literal_eval(alias.value)
    assert typed.ScenarioSettings.__required_keys__ == {"name", "duration", "flows"}
    assert typed.PathSettings.__annotations__["rtt"].__forward_arg__ == "Span | str"
    hints = typing.get_type_hints(typed.CarrierSettings)
    assert hints["frame"] == Span | str
    assert "slots" in typed.CarrierSettings.__doc__
    with pytest.raises(ImportError, match="cannot import name 'Settings'"):
        exec("from fairwind.scenario.typed import Settings")


PROGRAM = """
import fairwind
from fairwind.units import Mbit_s, ms
from fairwind.scenario.typed import PathSettings, ScenarioSettings

path: PathSettings = {"rate": 1.5 * Mbit_s, "rtt": "100 ms", "queue": "pfifo"}
settings: ScenarioSettings = {
    "name": "typed",
    "duration": "5 s",
    "path": path,
    "flows": [
        {
            "name": "a",
            "count": 2,
            "workload": {"kind": "thin", "packet": "100 B", "interval": 20 * ms},
            "tcp": {"profile": "linux-6.18", "congestion": {"name": "mine", "beta": 0.7}},
        }
    ],
    "sweep": {"repeat": 2, "path.rtt": ["40 ms", "80 ms"]},
}
results = fairwind.run(settings, seed=7)
again: fairwind.Results = fairwind.run({"name": "untyped"})
from_file = fairwind.run("scenario.toml", out="runs/x")
scenario = fairwind.Scenario.from_dict(settings).with_settings({"path": {"rtt": 10 * ms}})
page = results.report(figures=True)
print(page.name, results.groups.height, results.figures()["goodput"].to_dict())
results.plot("goodput_bits_per_second", along="path.rtt").save("goodput.svg")
"""


def checked(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    file = folder / "program.py"
    file.write_text(program, encoding="utf-8")
    # As of an installed package, of which only the types count.
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--follow-imports=silent",
    ]
    return subprocess.run(
        [*command, "--cache-dir", str(folder / "cache"), file.name],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={"MYPYPATH": str(ROOT / "python"), "PATH": ""},
    )


@pytest.mark.slow
def test_mypy_accepts_a_right_program_and_refuses_wrong_ones(tmp_path):
    right = checked(PROGRAM, tmp_path)
    assert right.returncode == 0, right.stdout
    program, complaints = PROGRAM, []
    for correct, wrong, complaint in [
        ('"rtt": "100 ms"', '"rt": "100 ms"', r'Extra key "rt"'),
        ("1.5 * Mbit_s", "1.5 * ms", r'has type "Span"'),
        ('"linux-6.18"', '"linux-6.17"', r'item "profile"'),
        ('"count": 2', '"count": "2"', r'item "count"'),
        ('"name": "typed",', "", r'Missing key "name"'),
        ('along="path.rtt"', "along=2", r'Argument "along"'),
    ]:
        assert correct in program
        program = program.replace(correct, wrong, 1)
        complaints.append(complaint)
    answer = checked(program, tmp_path)
    assert [one for one in complaints if one not in answer.stdout] == [], answer.stdout


class Tags(HTMLParser):
    """Collects elements and text, and refuses ends without beginnings."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.text: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_tables_are_escaped_aligned_and_cut():
    page = table(["<name>", "value"], [["<script>", 1.23456], ["b", None]] * 30)
    tags = Tags(page)
    assert {"<name>", "<script>", "1.235", "-", "20 of 60 rows"} <= {*tags.text}
    assert "script" not in tags.seen
    assert tags.seen.count("tr") == 21
    assert page.count("right") == 21


def test_long_cells_are_cut_and_empty_lines_left_out():
    assert len(Tags(block("x" * 1000, table(["a"], [["y" * 1000]]))).text[0]) == 200
    assert line("") == ""


def test_scenario_and_plan_show_what_would_run():
    scenario = Scenario.from_dict(SETTINGS)
    page = scenario._repr_html_()
    assert page == scenario.plan._repr_html_()
    text = Tags(page).text
    assert {
        "two groups",
        "thin <b>and</b> greedy",
        "path.rtt: 40 ms, 80 ms; compared with 40 ms",
    } <= {*text}
    words = " ".join(text)
    for part in ("bottleneck: pfifo", "1 Mbit/s", "greedy", "linux-6.18", "none, some", "3 s, all"):
        assert part in words, words
    assert "4 cells x 2 seeds = 8 runs" in text


def test_plan_of_a_capture_shows_its_name():
    assert Tags(Plan.of_one_cell("a capture", "", {})._repr_html_()).text == ["a capture"]


def test_a_wrong_scenario_shows_its_errors():
    page = Scenario.from_dict({**SETTINGS, "duration": "3 <s"})._repr_html_()
    assert "duration" in page
    assert "3 <s" not in page
    assert "3 &lt;s" in page


def test_results_show_extent_and_main_measures(results):
    page = results._repr_html_()
    tags = Tags(page)
    text = " ".join(tags.text)
    assert "4 runs: 2 cells, 2 replicates each; engine sim" in text
    assert "goodput" in text
    assert "thin <b>and</b> greedy" in text
    assert tags.seen.count("table") >= 2
    assert len(page) < 20_000


def test_estimates_and_claims_show_themselves(results):
    page = summarise(results, ["goodput_bits_per_second"])._repr_html_()
    assert "goodput" in page
    assert Tags(page).seen.count("tr") == 5
    claim = Claim("a < b", "t test", Verdict.HOLDS_FOR_SOME, "2 %", pl.DataFrame(), "only a")
    text = Tags(claim._repr_html_()).text
    assert text == ["a < b", "holds for some: only a", "2 %", "Rule: t test"]


def test_results_show_the_answer_first_and_answers_themselves(results):
    answer = results.answer()
    text = Tags(results._repr_html_()).text
    assert text.index(answer.paragraphs[0]) < text.index("goodput / kbit/s")
    page = Tags(answer._repr_html_())
    assert page.seen.count("tr") == 1 + len(answer.effects) > 1
    assert {answer.method, "path.rtt: 40 ms →", "80 ms"} <= {*page.text}


def test_a_folder_without_a_run_shows_the_error(tmp_path):
    assert "manifest.json" in fairwind.Results(tmp_path / "none")._repr_html_()


def test_figures_are_the_charts_of_the_report(results):
    charts = results.figures()
    assert "goodput" in charts
    page = results.report().read_text(encoding="utf-8")
    for name, chart in charts.items():
        assert chart.to_dict()["$schema"]
        assert name in page


def test_the_report_goes_where_it_is_asked_for(results, tmp_path):
    page = results.report(tmp_path / "page.html")
    assert page == tmp_path / "page.html"
    assert "two groups" in page.read_text(encoding="utf-8")
    assert not (results.folder / "figures").exists()


def test_the_report_writes_figures_when_asked(results):
    results.report(figures=True)
    assert (results.folder / "figures" / "goodput.svg").exists()


def test_one_measure_is_drawn_along_an_axis(results):
    document = results.plot("delivery_latency_p99_s", along="path.rtt").to_dict()
    assert "delivery latency p99 / s" in str(document)
    rows = next(iter(document["datasets"].values()))
    means = {(row["path_rtt"], row["group"]): row["mean"] for row in rows}
    groups = results.groups.filter(group="thin", path_rtt="40 ms")
    assert means["40 ms", "thin"] == pytest.approx(groups["delivery_latency_p99_s"].mean())


def test_unknown_measures_and_axes_are_refused(results):
    with pytest.raises(
        FairwindError, match=r"no measure 'goodput'\n  hint: .*goodput_bits_per_second"
    ):
        results.plot("goodput")
    with pytest.raises(FairwindError, match=r"no axis 'rtt'\n  hint: axes of this run: path\.rtt"):
        results.plot("goodput_bits_per_second", along="rtt")


def test_run_takes_dicts_files_and_scenarios(tmp_path):
    settings = {**SETTINGS, "sweep": {}, "duration": "1 s"}
    scenario = Scenario.from_dict(settings)
    file = tmp_path / "x.toml"
    file.write_text(scenario.text, encoding="utf-8")
    frames = [
        fairwind.run(one, out=tmp_path / str(place), seed=5).flows
        for place, one in enumerate([settings, file, scenario])
    ]
    assert frames[0].equals(frames[1])
    assert frames[0].equals(frames[2])
    assert frames[0]["seed"][0] is not None


def test_the_guide_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    guide = (ROOT / "docs" / "guides" / "python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", guide, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 5
    names: dict[str, object] = {}
    for code in blocks:
        exec(compile(code, "python.md", "exec"), names)
    printed = capsys.readouterr().out
    answer = re.search(r"^    (queue codel .*)$", guide, re.MULTILINE)
    assert answer
    assert answer[1] in printed.splitlines()
    assert "1 run" in printed
    assert names["page"].exists()
    assert len(blocks[0].strip().splitlines()) <= 13

"""Tables that fit the terminal: units, choice of columns, wrapping."""

from __future__ import annotations

import polars as pl
import pytest

from fairwind.analysis.summary import dispensable_headers, readable_rows
from fairwind.cli.output import UNLIMITED, OutputFormat, print_rows
from fairwind.cli.tables import aligned, divided, fitted, line_width
from fairwind.compare import compare
from fairwind.quantities import cell_text, percent_interval
from fairwind.results.shown import shown_tables
from fairwind.results.summary import estimate, readable, scaled_unit, scaled_units
from fairwind.scenario import Scenario
from process import fairwind

REQUESTS = """
name = "requests"
duration = "10 s"

[path]
rate = "100 Mbit/s"
rtt = "20 ms"

[[flows]]
name = "web"
count = 2
start_spread = "100 ms"
start_pattern = "random"
workload = { kind = "request-response", request = "300 B", response = "30 kB", pause = "100 ms" }

[[flows]]
name = "greedy"
count = 2
start_spread = "100 ms"
start_pattern = "random"
workload = { kind = "greedy" }

[sweep]
repeat = 2
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return Scenario("requests", REQUESTS).run(out=tmp_path_factory.mktemp("runs") / "requests")


@pytest.mark.parametrize(
    ("measure", "values", "unit"),
    [
        ("goodput_bits_per_second", [101_162_000.0, 98_000_000.0], "Mbit/s"),
        ("goodput_bits_per_second", [64_000.0, 4_736_000.0], "kbit/s"),
        ("goodput_bits_per_second", [64_000.0, 101_162_000.0], "Mbit/s"),
        ("goodput_bits_per_second", [2.5e9], "Gbit/s"),
        ("goodput_bits_per_second", [None, 0.0], "kbit/s"),
        ("goodput_bits_per_second", [999_960.0], "Mbit/s"),
        ("goodput_bits_per_second", [999_900.0], "kbit/s"),
        ("ack_latency_p99_s", [0.053, 4.077], "ms"),
        ("ack_latency_p99_s", [0.133, 4.077], "s"),
        ("completion_time_p50_s", [0.5, 12.0], "s"),
        ("sojourn_p50_s", [0.0000005, 0.0004], "us"),
        ("backlog_mean_bytes", [1_500_000.0], "MB"),
        ("packet_loss_ratio", [0.01], "%"),
        ("drops_packets", [12.0], "packets"),
        ("jain_index", [0.9], ""),
    ],
)
def test_a_column_has_the_unit_that_suits_it(measure, values, unit):
    assert scaled_unit(measure, values)[0] == unit


def test_all_values_of_a_measure_share_a_unit():
    goodput, latency = "goodput_bits_per_second", "ack_latency_p99_s"
    values = [(goodput, 64_000.0), (latency, 0.02), (goodput, 4_736_000.0), (latency, None)]
    assert scaled_units(values) == {
        goodput: ("kbit/s", pytest.approx(1e-3)),
        latency: ("ms", pytest.approx(1e3)),
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (1.23456, "1.235"), (9999.96, "10000"), (123_456.7, "123457"), (7, "7")],
)
def test_cells_have_four_digits_and_no_exponent(value, text):
    assert cell_text(value) == text


@pytest.mark.parametrize(
    ("ends", "text"),
    [
        ((-0.69, -0.28), "[-69, -28]"),
        ((-0.004, 0.053), "[-0.4, +5.3]"),
        ((0.01, 0.2), "[+1, +20]"),
        ((None, 0.1), ""),
    ],
)
def test_both_ends_of_an_interval_have_the_same_digits(ends, text):
    assert percent_interval(*ends) == text


def test_scaled_values_stand_below_their_unit():
    frame = pl.DataFrame({"group": ["all"], "goodput_bits_per_second": [101_162_345.0]})
    table = readable(estimate(frame, ["group"], ["goodput_bits_per_second"]))
    assert table == (["group", "goodput / Mbit/s"], [["all", "101.2"]])


def test_rows_of_captures_are_scaled_too():
    rows = pl.DataFrame(
        {
            "scope": ["connection"],
            "name": ["10.0.0.1"],
            "group": [""],
            "packets_sent": [70_000],
            "payload_bytes_sent": [101_000_000],
            "throughput_bits_per_second": [8.1e6],
        }
    )
    headers, cells = readable_rows(rows, rows.columns)
    assert headers == [
        *("connection", "packets", "payload / MB"),
        "throughput at receiver / Mbit/s",
    ]
    assert cells == [["10.0.0.1", 70_000, pytest.approx(101.0), pytest.approx(8.1)]]
    assert dispensable_headers(headers) == ["packets", "payload / MB"]


@pytest.mark.parametrize("width", [40, 60, 80])
def test_wrapped_lines_are_no_wider_than_asked_for(width):
    rows = [("sojourn_p99_s", "One in a hundred packets waited at least so long", 1.25)] * 2
    text = aligned(("column of a table", "definition", "value / ms"), rows, width)
    assert max(map(len, text.splitlines())) <= width
    words = ["One", "in", "a", "hundred", "packets", "waited", "at", "least", "so", "long"]
    assert all(word in text for word in words)


def test_a_table_that_fits_has_one_line_for_each_row():
    assert aligned(("name", "value"), [("a", 1.0), ("b", None)], 80).splitlines() == [
        "name  value",
        "a         1",
        "b         -",
    ]


def test_the_least_important_columns_are_left_out_first():
    columns, rows = ("group", "loss / %", "rate / Mbit/s"), [("thin", "1.25 ± 0.13", "0.1 ± 0.2")]
    table = fitted(columns, rows, ["loss / %", "rate / Mbit/s"], 22)
    assert (table.columns, table.left_out) == (["group", "rate / Mbit/s"], ["loss / %"])
    assert fitted(columns, rows, ["loss / %", "rate / Mbit/s"], 80).left_out == []
    assert fitted(columns, rows, ["loss / %", "rate / Mbit/s"], 5).columns[-1] == "rate / Mbit/s"


def test_many_groups_are_divided_into_tables_that_fit():
    columns = ["", *(f"group-{number}" for number in range(9))]
    parts = divided(columns, [["packets", *range(9)]], 40)
    assert all(names[0] == "" for names, _ in parts)
    assert [name for names, _ in parts for name in names[1:]] == columns[1:]
    assert all(max(map(len, aligned(*part, 40).splitlines())) <= 40 for part in parts)


def test_the_width_comes_from_columns_or_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "77")
    assert line_width() == 77
    monkeypatch.delenv("COLUMNS")
    assert line_width() is None  # standard output is captured here


def test_measures_are_chosen_by_the_workload_of_a_group(results):
    groups = shown_tables(results)[0]
    by_name = {row[0]: dict(zip(groups.headers, row, strict=True)) for row in groups.rows}
    assert "goodput / Mbit/s" in groups.headers
    assert not [header for header in groups.headers if header.startswith("delivery")]
    assert by_name["web"]["response time p99 / ms"] is not None
    assert by_name["web"]["goodput / Mbit/s"] is None
    assert by_name["greedy"]["ack latency p99 / ms"] is not None
    assert by_name["greedy"]["response time p99 / ms"] is None


def test_wide_tables_have_all_measures(results):
    groups = shown_tables(results, is_wide=True)[0]
    for word in ("throughput", "delivery latency p50", "response time p50", "retransmission"):
        assert [header for header in groups.headers if header.startswith(word)]


def test_fairness_is_shown_among_those_who_compete(results):
    (fairness,) = (table for table in shown_tables(results) if "among" in table.headers)
    assert [row[0] for row in fairness.rows] == ["flows of greedy", "flows of web-responses"]


@pytest.mark.parametrize("width", [60, 100])
def test_tables_of_a_run_fit_the_terminal(results, tmp_path, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    code, out, error = fairwind("show", results.folder, cwd=tmp_path)
    assert code == 0, error
    assert max(map(len, out.splitlines())) <= width
    assert "goodput" in out
    if width == 60:
        assert "columns left out to fit the width: retransmission / %" in error
        _, wide, error = fairwind("show", results.folder, "--wide", cwd=tmp_path)
        assert "left out" not in error
        assert max(map(len, wide.splitlines())) > 120


def test_json_and_csv_stay_in_base_units(results, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    _, out, _ = fairwind("show", results.folder, "--format", "csv", cwd=tmp_path)
    assert "groups,web-responses,goodput_bits_per_second" in out
    assert "Mbit/s" not in out


def test_empty_and_zero_columns_are_left_out_first(monkeypatch, capsys):
    columns = [f"column_{n}" for n in range(9)]
    rows = [[1, None, 3, 0, 5, 6, 7, 8, 9], [1, None, 3, None, 5, 6, 7, 8, 0]]
    monkeypatch.setenv("COLUMNS", "60")
    print_rows(columns, rows, OutputFormat.TABLE)
    error = capsys.readouterr().err
    assert "width: column_1, column_3, column_8" in error


def test_unlimited_tables_are_not_wrapped():
    assert len(aligned(("a",), [("word " * 100,)], UNLIMITED).splitlines()) == 2


def test_runs_without_workloads_show_everything(results, monkeypatch):
    monkeypatch.setattr("fairwind.results.shown.workload_kinds", lambda _: {})
    tables = shown_tables(results)
    assert len(tables) == len(shown_tables(results, is_wide=True))
    assert [table.headers for table in tables] == [
        table.headers for table in shown_tables(results, is_wide=True)
    ]


def test_a_comparison_leaves_out_measures_that_a_group_cannot_have(results):
    differences = compare(results, results)
    rows = differences.filter(pl.col("measure") == "response_time_p99_s")
    assert rows["name"].to_list() == ["web"]


UPLOADS = """
name = "uploads"
duration = "2 s"

[path]
rate = "10 Mbit/s"
rtt = "20 ms"

[[flows]]
name = "upload"
workload = { kind = "greedy", volume = "50 kB" }

[sweep]
"flows.upload.workload.volume" = ["50 kB", "100 kB"]
"""


def test_transfers_begin_with_their_time_and_have_no_goodput(tmp_path):
    uploads = Scenario("uploads", UPLOADS).run(out=tmp_path / "uploads")
    times, groups, *_ = shown_tables(uploads)
    assert times.headers[1:] == ["group", "completion time / ms"]
    assert not [header for header in groups.headers if header.startswith("goodput")]
    _, groups, *_ = shown_tables(uploads, is_wide=True)
    assert [header for header in groups.headers if header.startswith("goodput")]


def test_unfinished_transfers_are_counted(tmp_path):
    text = UPLOADS.replace('"100 kB"]', '"100 MB"]')
    times, *_ = shown_tables(Scenario("uploads", text).run(out=tmp_path / "uploads"))
    assert times.headers[-2:] == ["ended / transfers", "unfinished / transfers"]
    assert [row[-1] for row in times.rows] == ["0", "1"]

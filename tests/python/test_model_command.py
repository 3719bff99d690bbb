"""`fairwind model dama`: its tables, its picture, and what it refuses."""

from __future__ import annotations

import csv
import json
import math

import polars as pl
import pytest

from fairwind.cli.commands import app
from fairwind.cli.output import exit_code_of
from fairwind.errors import FairwindError
from fairwind.models.dama import DemandAssignedLink, Law, curves, tables
from fairwind.plots import curve_panels, model_curves
from fairwind.quantities import parse_seconds
from process import fairwind

LINK = DemandAssignedLink()


@pytest.fixture
def command(capsys):
    """Run the command in this process, which is ten times as quick."""

    def run(*arguments) -> tuple[int, str, str]:
        texts = [str(argument) for argument in arguments]
        code = exit_code_of(lambda: app(texts, prog_name="fairwind", standalone_mode=False))
        return code, *capsys.readouterr()

    return run


def test_without_arguments_it_tells_of_the_sources_platform(tmp_path):
    code, out, error = fairwind("model", "dama", cwd=tmp_path)
    assert (code, error) == (0, "")
    for text in (
        "feedback delay over round trip                  2.812",
        "growth exponent, approximation of second order           0.9724    1.581",
        "8.006",
        "4.779",
    ):
        assert text in out


def test_tables_for_people_have_words_and_units(command):
    _, out, _ = command("model", "dama")
    for text in ("_s ", "_ratio", "_segments", "two_root", "tau", "rho", "(mu)", "(Da)"):
        assert text not in out
    for text in ("in seconds", "in MB", "segments/s", "k: capacity that a terminal requests"):
        assert text in out
    row = next(line.split() for line in out.splitlines() if line.split()[:3] == ["3", "1", "100"])
    assert row[3:] == ["150", "5.063", "8.006", "8.026", "8.006", "7.479", "9.269", "100"]


def test_json_has_every_table_and_csv_the_completion_times(command):
    code, out, _ = command("model", "dama", "--format", "json")
    document = json.loads(out)
    assert code == 0
    assert list(document) == ["link", "growth", "multipliers", "completion", "carried"]
    assert document["growth"][0]["exact_exponent"] == pytest.approx(1.01711, abs=5e-6)
    code, out, _ = command(
        "model", "dama", "--format", "csv", "--initial-window", 3, "--volume", 100
    )
    rows = list(csv.DictReader(out.splitlines()))
    assert code == 0
    assert [row["multiplier"] for row in rows] == ["1.0", "4.8"]
    assert float(rows[0]["slide_s"]) == pytest.approx(8.01, abs=0.005)
    assert float(rows[0]["constant_allocation_s"]) == pytest.approx(5.063, abs=0.0005)


def test_the_numbers_of_another_link_are_of_that_link(command):
    arguments = ["--rtt", "600 ms", "--request-period", "0 s", "--allocation-period", "0 s"]
    code, _, error = command("model", "dama", *arguments)
    assert code == 2
    assert "--request-period is 0: it must be finite and above zero" in error
    arguments = ["--rtt", "1 s", "--request-period", "1 s", "--allocation-period", "1 s"]
    arguments += ["--available", "800 kbit/s", "--segment", "1 kB", "--table", "link"]
    code, out, _ = command("model", "dama", *arguments, "--format", "json")
    numbers = {row["quantity"]: row["value"] for row in json.loads(out)["link"]}
    assert code == 0
    assert numbers["allocation_delay_s"] == 2
    assert numbers["delay_ratio"] == 3
    assert numbers["rate_segments_per_second"] == 100


def test_no_multiplier_is_missing_and_not_infinite(command):
    table = tables.multiplier_table(DemandAssignedLink(request_period_s=3.0), [3], [100])
    row = table.filter(pl.col("criterion") == "as-without-wait").row(0, named=True)
    assert row["multiplier"] is None
    arguments = ["--request-period", "3 s", "--table", "multipliers", "--format", "json"]
    code, out, _ = command("model", "dama", *arguments)
    assert code == 0
    assert "Infinity" not in out


def test_the_picture_is_drawn_after_the_files_ending(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ["model", "dama", "--table", "link", "--picture"]
    code, _, error = command(*arguments, "curves.svg")
    assert (code, error) == (0, "picture: curves.svg\n")
    drawn = (tmp_path / "curves.svg").read_text(encoding="utf-8")
    for text in ("constant allocation", "maximum over demand assignment", "k = 4.8, exact"):
        assert text in drawn
    code, _, _ = command(*arguments, "slide.svg", "--law", "slide")
    assert code == 0
    assert (tmp_path / "slide.svg").read_text(encoding="utf-8") != drawn
    code, _, error = command(*arguments, "curves.gif")
    assert code == 2
    assert "use .svg, .png, .pdf or .html" in error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--frame", "0 s"], "--frame is 0: it must be finite and above zero"),
        (["--slots", "10"], "18 terminals are guaranteed 44000 bit/s each, 792000 bit/s together"),
        (["--rtt", "840"], "--rtt: cannot read the quantity '840'"),
        (["--rtt", "1.2.3 s"], "--rtt: cannot read the quantity '1.2.3 s'"),
        (["--multiplier", "0"], "--multiplier is 0: it must be finite and above zero"),
        (["--volume", "-5"], "--volume is -5"),
        (["--initial-window", "nan"], "--initial-window is nan"),
        (["--multiplier", "1e300"], "a terminal asks for at most 1000 times what it measured"),
        (["--within", "0 s"], "--within is 0: it must be finite and above zero"),
        (["--available", "10 bit/s"], "--available (10) is below --guaranteed (44000)"),
        (["--picture", "nowhere/x.svg"], "there is no folder nowhere"),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason_and_a_hint(command, arguments, message):
    code, out, error = command("model", "dama", *arguments)
    assert (code, out) == (2, "")
    assert message in error
    assert "hint: " in error


def test_requesting_less_than_measured_warns_once(command):
    code, _, error = command("model", "dama", "--multiplier", 0.5)
    assert code == 0
    assert error.count("warning: multiplier 0.5 requests less than was measured") == 1


def test_every_table_has_one_row_for_each_combination():
    completion = tables.completion_table(LINK, [1, 3], [1, 2, 4.8], [20, 100])
    assert completion.height == 12
    assert tables.carried_table(LINK, [1, 3], [1, 4.8], 20.0).height == 4
    assert tables.growth_table(LINK, [1, 2, 4.8]).height == 3
    row = completion.filter(
        initial_window_segments=3, multiplier=1, volume_segments=100
    ).row(0, named=True)  # fmt: skip
    assert row["volume_bytes"] == 150_000
    assert [row[f"{law.value.replace('-', '_')}_s"] for law in Law] == pytest.approx(
        [8.006, 8.026, 8.006, 7.479], abs=0.0005
    )


def test_what_is_carried_in_a_second_is_the_first_windows_rate():
    # The first feedback has not come: 3 segments per 0.84 s, in bytes.
    row = tables.carried_table(LINK, [3], [1], 1.0).row(0, named=True)
    assert row["exact_bytes"] == pytest.approx(3 / 0.84 * 1500)
    assert row["full_from_s"] == pytest.approx(9.372, abs=0.0005)


def test_windows_are_drawn_until_the_link_is_full():
    frame = curves.window_over_time(LINK, 3.0)
    assert frame["curve"].n_unique() == 4
    tops = frame.group_by("curve").agg(pl.col("window_segments").max())["window_segments"]
    assert all(78 < top <= 84 for top in tops)


def test_by_the_sources_formula_more_than_the_quickest_multiplier_takes_longer():
    frame = curves.completion_by_multiplier(LINK, [200], 3.0, greatest=12.0, law=Law.SLIDE)
    best = frame.sort("completion_time_s").row(0, named=True)
    assert best["multiplier"] == pytest.approx(5.67, abs=0.1)


def test_measured_points_stand_beside_the_curves():
    frame = curves.completion_by_volume(LINK, 3.0, [4.8])
    measured = pl.DataFrame(
        {"curve": ["actual"], "volume_segments": [100.0], "completion_time_s": [10.15]}
    )
    chart = curve_panels(
        [model_curves(frame, measured=measured), model_curves(curves.window_over_time(LINK))]
    ).to_dict()
    lines, points = chart["concat"][0]["layer"]
    assert lines["mark"]["type"] == "line"
    assert chart["datasets"][points["data"]["name"]] == measured.to_dicts()
    assert points["encoding"]["color"]["scale"]["domain"][-1] == "actual"


def test_quantities_are_read_with_their_units():
    assert parse_seconds("273 ms") == pytest.approx(0.273)
    assert parse_seconds(".5 s") == 0.5
    for text in ("1", "1.2.3 s", "-1 s", "s", ". s", "1 Mbit/s"):
        with pytest.raises(FairwindError, match="a number and a unit: h, min, s, ms, us, ns"):
            parse_seconds(text)
    assert not math.isnan(parse_seconds("1 h"))

"""What the axes of a run do, in words and numbers, and runs that grow until that is sure."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import polars as pl
import pytest

import fairwind as package
import made_up
from fairwind.answers import EffectVerdict, Growth, answer_of, run_until_decided
from fairwind.answers.answer import is_same
from fairwind.answers.words import (
    _of_one_measure,
    effect_in_words,
    paragraph,
    unchanged_in_words,
    undecided_in_words,
)
from fairwind.cli.answers import growth_of, known_values, print_answer
from fairwind.cli.runs import look_in_words
from fairwind.compare import referred
from fairwind.errors import FairwindError
from fairwind.execution.execute import RunSettings, run_plan
from fairwind.folder.looks import LOOKS, read_looks, read_margin, write_margin
from fairwind.quantities import percent
from fairwind.report.page import render
from fairwind.results import Results
from fairwind.results.answer import Effect, MedianEffect
from fairwind.results.main_measures import main_measures
from fairwind.scenario.plan import Axis
from made_up import ScriptedEngine, plan
from process import SCENARIO, fairwind


def run(grid, folder, engine=None):
    return run_plan(grid, engine or ScriptedEngine(), RunSettings(1, folder))


def variants(replicates=6, counts=(1,), names=("TCP", "LT")):
    return plan(counts, names, replicates)


def of_group(answer, name):
    return [effect for effect in answer.effects if effect.name == name]


def test_effect_of_an_axis_is_found_with_its_sign(tmp_path):
    answer = answer_of(run(variants(), tmp_path))
    (axis,) = answer.axes
    assert (axis.axis, axis.reference, axis.is_without_effect) == ("variant", "TCP", False)
    (thin,) = of_group(answer, "thin")
    assert (thin.measure, thin.value, thin.context) == ("delivery_latency_p99_s", "LT", "")
    assert thin.relative == pytest.approx(-0.2, abs=0.02)
    assert thin.low < thin.relative < thin.high < 0
    assert thin.verdict is EffectVerdict.LESS
    assert thin.difference_low < thin.difference < thin.difference_high < 0
    assert thin.mean - thin.mean_reference == pytest.approx(thin.difference)
    assert (thin.unit, thin.scale, thin.seeds, thin.seeds_needed) == ("ms", 1e3, 6, None)


def test_reference_is_chosen_afterwards(tmp_path):
    results = run(variants(names=("TCP", "LT", "mFR")), tmp_path)
    usual, other = answer_of(results), answer_of(results, reference="LT")
    assert [one.reference for one in usual.axes + other.axes] == ["TCP", "LT"]
    assert [one.value for one in of_group(other, "thin")] == ["TCP", "mFR"]
    there, back = of_group(usual, "thin")[0], of_group(other, "thin")[0]
    assert (there.mean_reference, there.mean) == (back.mean, back.mean_reference)
    assert (1 + there.relative) * (1 + back.relative) == pytest.approx(1)
    assert answer_of(results, reference="variant=LT") == other
    by = results.compare(by="variant", reference="LT")
    assert set(by["variant"]) == {"TCP", "mFR"}
    with pytest.raises(FairwindError, match="no axis has the value 'none'") as error:
        answer_of(results, reference="none")
    assert "variant: TCP, LT, mFR" in error.value.hint
    with pytest.raises(FairwindError, match="of two runs it is the first one"):
        results.compare(results, reference="LT")


def test_ambiguous_reference_is_refused(tmp_path):
    axes = [Axis(name, f"setting_{name}", ("1", "2")) for name in ("count", "size")]
    assert referred(axes, "size=2")[1].labels == ("2", "1")
    named = replace(axes[0], named_reference="2")
    assert (named.reference, axes[1].reference) == ("2", "1")
    assert [one.labels for one in referred([named, axes[1]], None)] == [("2", "1"), ("1", "2")]
    assert referred([named], "1")[0].labels == ("1", "2")
    with pytest.raises(FairwindError, match="several axes have the value '2'"):
        referred(axes, "2")


def test_each_group_has_the_measure_that_its_application_waits_for(tmp_path):
    answer = answer_of(run(variants(), tmp_path))
    assert {effect.name: effect.measure for effect in answer.effects} == {
        "greedy": "goodput_bits_per_second",
        "thin": "delivery_latency_p99_s",
    }


def test_what_nobody_saw_is_replaced_by_what_was_seen(tmp_path):
    results = run(variants(), tmp_path)
    path = tmp_path / "groups.parquet"
    unseen = pl.lit(None, pl.Float64).alias("delivery_latency_p99_s")
    pl.read_parquet(path).with_columns(unseen).write_parquet(path)
    assert ("groups", "thin", "ack_latency_p99_s") in main_measures(results)


def test_other_axes_are_kept_as_context(tmp_path):
    answer = answer_of(run(variants(counts=(1, 4)), tmp_path))
    count, variant = answer.axes
    assert (count.axis, variant.axis) == ("flows.*.count", "variant")
    assert {effect.context for effect in variant.effects} == {"count 1", "count 4"}
    assert {effect.context for effect in count.effects} == {"variant TCP", "variant LT"}
    assert len(answer.effects) == 8
    assert "corrected for 8 effects" in answer.method


def test_only_verdicts_are_called_corrected(tmp_path):
    answer = answer_of(run(variants(), tmp_path))
    assert "Verdicts are corrected for 2 effects" in answer.method
    assert "they do not all hold at once" in answer.method
    assert ">interval<" in answer._repr_html_()
    assert "95 % interval" not in answer._repr_html_()


def test_one_sentence_for_each_value_in_words(tmp_path):
    answer = answer_of(run(variants(), tmp_path))
    assert answer.paragraphs[0].startswith("variant LT (against TCP): ")
    assert "thin delivery p99 -2" in answer.paragraphs[0]
    assert "greedy goodput undecided (the same so far, about 1 more seed)" in answer.paragraphs[0]
    answer = answer_of(run(variants(7), tmp_path / "more"))
    assert "greedy goodput no difference (the same in every run)" in answer.paragraphs[0]


def test_axis_without_any_effect_is_said(tmp_path):
    grid = variants(names=("TCP", "mFR"))  # the made-up numbers do not know it
    answer = answer_of(run(grid, tmp_path))
    assert answer.axes[0].is_without_effect
    reason = "both values resolve to the same settings"
    assert answer.paragraphs == (unchanged_in_words("variant", "TCP", ["mFR"], reason),)
    assert "changed nothing in any run" in answer.paragraphs[0]


def test_values_with_which_everything_failed_are_not_the_same(tmp_path):
    def fail(number):
        if number < 4:
            raise RuntimeError("made to fail")

    grid = variants(2, (1,), ("TCP", "mFR", "LT"))
    results = run(grid, tmp_path, ScriptedEngine(script=fail))
    assert not is_same(results, results.manifest.plan.axes[-1], "mFR")


def test_large_tables_are_not_read_where_small_ones_differ(tmp_path, monkeypatch):
    results, scanned = run(variants(), tmp_path), []
    scan = Results.scan
    monkeypatch.setattr(
        Results, "scan", lambda self, name: scanned.append(name) or scan(self, name)
    )
    assert not is_same(results, results.manifest.plan.axes[-1], "LT")
    assert {*scanned} <= {"flows", "groups"}


@pytest.mark.parametrize("rows", [1, 5, 1000])
def test_one_different_number_anywhere_is_an_effect(tmp_path, monkeypatch, rows):
    monkeypatch.setattr("fairwind.answers.answer.BATCH_ROWS", rows)
    results = run(variants(names=("TCP", "mFR")), tmp_path)
    path = tmp_path / "flows.parquet"
    flows = pl.read_parquet(path)
    last = pl.int_range(pl.len()) == pl.len() - 1
    flows.with_columns(pl.col("established").xor(last)).write_parquet(path)
    assert not answer_of(results).axes[0].is_without_effect


def test_value_without_effect_beside_others_is_said(tmp_path):
    answer = answer_of(run(variants(names=("TCP", "mFR", "LT")), tmp_path))
    assert not answer.axes[0].is_without_effect
    assert answer.paragraphs[0] == (
        "variant mFR (against TCP): nothing changed in any run: both values resolve to the same "
        "settings."
    )


@pytest.mark.parametrize(
    ("failed", "missing"),
    [
        ("TCP", "variant LT at count 1; count 4 at variant TCP"),
        ("LT", "variant LT at count 1; count 4 at variant LT"),
    ],
)
def test_contexts_without_one_side_are_left_out_and_named(tmp_path, failed, missing):
    def fail(number):
        # Two replicates of each cell, in the order of the cells.
        if number // 2 == ("TCP", "LT").index(failed):
            raise RuntimeError("made to fail")

    results = run(variants(2, (1, 4)), tmp_path, ScriptedEngine(script=fail))
    answer = answer_of(results)
    # Cells are (1, TCP), (1, LT), (4, TCP), (4, LT): one of the first two has no rows.
    variant = [effect for axis in answer.axes if axis.axis == "variant" for effect in axis.effects]
    assert {effect.context for effect in variant} == {"count 4"}
    assert len(answer.effects) == 4
    words = answer.paragraphs[-1]
    assert words.startswith("Not compared, because all runs of one side failed: ")
    assert {*words.removesuffix(".").split(": ", 1)[1].split("; ")} == {*missing.split("; ")}


def test_reference_that_failed_everywhere_gives_no_answer(tmp_path):
    def fail(number):
        if number < 2:
            raise RuntimeError("made to fail")

    assert answer_of(run(variants(2), tmp_path, ScriptedEngine(script=fail))) is None


def test_run_without_an_axis_has_no_answer(tmp_path):
    assert answer_of(run(plan((1,)), tmp_path)) is None


def test_one_seed_decides_nothing_and_says_why(tmp_path):
    answer = answer_of(run(variants(1), tmp_path))
    assert {effect.verdict for effect in answer.effects} == {EffectVerdict.UNDECIDED}
    assert "at least two seeds" in answer.paragraphs[-1]


def test_undecided_effects_name_the_seeds_they_need(tmp_path):
    results = run(variants(8), tmp_path)
    path = tmp_path / "groups.parquet"
    shaken = pl.col("delivery_latency_p99_s") * (1 + 0.4 * ((pl.col("replicate") % 2) * 2.0 - 1))
    is_one = (pl.col("variant") == "LT") & (pl.col("group") == "thin")
    column = pl.when(is_one).then(shaken).otherwise(pl.col("delivery_latency_p99_s"))
    pl.read_parquet(path).with_columns(column).write_parquet(path)
    answer = answer_of(results)
    (thin,) = of_group(answer, "thin")
    assert thin.verdict is EffectVerdict.UNDECIDED
    assert thin.seeds_needed > 4
    assert answer.undecided == (thin,)
    assert f"thin delivery p99 with variant LT: {thin.seeds_needed}" in answer.paragraphs[-1]
    assert f"about {thin.seeds_needed} more seeds" in answer.paragraphs[0]


def test_real_time_runs_are_independent_samples(tmp_path):
    engine = ScriptedEngine(name="kernel", is_real_time=True)
    assert "independent samples (Welch)" in answer_of(run(variants(), tmp_path, engine)).method


@pytest.mark.parametrize("margin", [0, 1, -0.1, 5])
def test_margin_that_is_none_is_refused(tmp_path, margin):
    with pytest.raises(FairwindError, match="margin must be above 0"):
        answer_of(run(variants(1), tmp_path), margin)
    with pytest.raises(FairwindError, match="margin must be above 0"):
        Growth(margin=margin)


def effect(**changed):
    one = Effect(
        *("groups", "thin", "delivery_latency_p99_s", "delivery latency p99", "ms", "", "true"),
        *(0.9, 0.43, -0.52, -0.69, -0.28, -0.47, -0.6, -0.25, 0.001, 0.01),
        *(EffectVerdict.LESS, None, 5, 1e3),
    )
    return replace(one, **changed)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, "-52 % [-69, -28], 900 to 430 ms"),
        (
            {"verdict": EffectVerdict.NO_DIFFERENCE, "low": -0.003, "high": 0.0099},
            "no difference (within 1 %)",
        ),
        (
            {"verdict": EffectVerdict.NO_DIFFERENCE, "low": -0.0123, "high": 0.0},
            "no difference (within 1.3 %)",
        ),
        (
            {"verdict": EffectVerdict.UNDECIDED, "seeds_needed": 1, "high": 0.1},
            "undecided (-52 % [-69, +10], about 1 more seed)",
        ),
        (
            {
                "verdict": EffectVerdict.NO_DIFFERENCE,
                "relative": -0.02,
                "low": -0.03,
                "high": -0.01,
            },
            "no difference that matters (-2.0 % [-3.0, -1.0])",
        ),
        (
            {"verdict": EffectVerdict.NO_DIFFERENCE, "relative": 0.01, "low": None, "high": None},
            "no difference that matters (+1.0 % in every run)",
        ),
        ({"verdict": EffectVerdict.UNDECIDED, "relative": None}, "undecided"),
        ({"low": None, "high": None}, "-52 %, 900 to 430 ms"),
        ({"mean_reference": math.nan}, "-52 % [-69, -28], 430 ms"),
    ],
)
def test_words_of_an_effect(changed, words):
    assert effect_in_words(effect(**changed)) == words


def test_contexts_with_the_same_words_share_them():
    same = [effect(context=f"n {n}") for n in range(2)]
    assert _of_one_measure(same) == (
        "thin delivery p99 -52 % [-69, -28], 900 to 430 ms at n 0 and n 1"
    )


def median(**changed):
    one = MedianEffect("delivery_latency_p50_s", "ms", 0.1, 0.12, 0.2, 0.1, 0.3, 1e3)
    return replace(one, **changed)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, "100 to 120 ms (+20 %)"),
        ({"mean": 0.1, "relative": 0.0}, "100 ms in both"),
        ({"mean": 0.1001, "relative": 0.001}, "100 ms (+0.1 %)"),
        ({"relative": None, "mean_reference": math.nan}, "unknown to 120 ms"),
    ],
)
def test_words_of_a_median(changed, words):
    assert str(median(**changed)) == words


def test_medians_stand_behind_the_tails_that_are_judged():
    described = [effect(context=f"n {n}", median=median()) for n in range(2)]
    tail = "thin delivery p99 -52 % [-69, -28], 900 to 430 ms"
    assert _of_one_measure(described[:1]) == f"{tail}; p50 100 to 120 ms (+20 %)"
    assert _of_one_measure(described) == (
        f"{tail} at n 0 and n 1; p50 100 to 120 ms (+20 %) at n 0 and n 1"
    )
    many = [*described * 2, effect(median=median(relative=-0.031))]
    assert _of_one_measure(many).endswith("; p50 -3.1 to +20 %")


def test_medians_are_no_further_tests(tmp_path):
    run(variants(), tmp_path)
    path = tmp_path / "groups.parquet"
    groups = pl.read_parquet(path)
    groups.drop("delivery_latency_p50_s").write_parquet(path)
    without = answer_of(package.open(tmp_path))
    groups.write_parquet(path)
    answer = answer_of(package.open(tmp_path))
    (thin,), (greedy,) = of_group(answer, "thin"), of_group(answer, "greedy")
    assert thin.median.measure == "delivery_latency_p50_s"
    assert thin.median.low <= thin.median.relative <= thin.median.high
    assert greedy.median is None
    assert "corrected for 2 effects" in answer.method
    assert "Medians (p50) are described, not judged." in answer.method
    assert str(thin.median) in answer.paragraphs[0]
    assert str(thin.median) in answer._repr_html_()
    assert [one.median for one in without.effects] == [None, None]
    assert [replace(one, median=None) for one in answer.effects] == list(without.effects)
    assert "Medians" not in without.method


def test_many_contexts_are_counted():
    undecided = [effect(context=f"n {n}", verdict=EffectVerdict.UNDECIDED) for n in range(2)]
    sure = [effect(context=f"m {n}", relative=-0.1 * (n + 1)) for n in range(3)]
    text = paragraph("rdb", "off", "on", [*sure, *undecided])
    assert text.endswith(": thin delivery p99 less (-30 to -10 %) in 3 of 5, undecided in 2 of 5.")
    text = paragraph("rdb", "off", "on", [*sure, effect(context="m 3", relative=-0.4)])
    assert text.endswith("less (-40 to -10 %) in all 4 settings of the other axes.")


def test_undecided_effects_are_named_up_to_four():
    many = [("a", effect(value=str(n), seeds_needed=9 - n)) for n in range(6)]
    text = undecided_in_words(many, 7)
    assert text.startswith("6 of 7 effects are undecided.")
    assert "with a 5: 4; " in text
    assert "and 2 more: up to 9" in text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(0.0, "0.0"), (-0.0001, "0.0"), (0.031, "+3.1"), (0.0996, "+10"), (-0.52, "-52"), (3, "+300")],
)
def test_per_cents_have_the_digits_that_matter(ratio, text):
    assert percent(ratio) == text


MANY = variants(4, (1, 4), ("TCP", "LT", "LT+mFR"))


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_answer_fits_the_terminal(tmp_path, monkeypatch, capsys, width):
    monkeypatch.setenv("COLUMNS", str(width))
    print_answer(run(MANY, tmp_path))
    out, error = capsys.readouterr()
    assert max(map(len, out.splitlines())) <= width
    headers = [line.split() for line in out.splitlines() if "verdict" in line.split()]
    assert len(headers) == 2
    assert ("reference" in headers[0]) == (width == 200)
    assert ("note: columns left out to fit the width: " in error) == (width < 200)
    assert "undecided" in out[out.index("verdict") :]
    assert "…" not in out


def test_wide_answer_has_all_columns(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "60")
    print_answer(run(MANY, tmp_path), is_wide=True)
    out, error = capsys.readouterr()
    header = next(line for line in out.splitlines() if "verdict" in line.split())
    assert {"reference", "mean", "interval", "verdict", "seeds"} <= {*header.split()}
    assert error == ""


def test_short_answer_ends_with_the_rule_alone(tmp_path, capsys):
    results = run(variants(), tmp_path)
    print_answer(results)
    short = capsys.readouterr().out
    print_answer(results, is_wide=True)
    wide = capsys.readouterr().out
    assert "Verdicts are corrected for 2 effects" in short
    assert "t test" not in short
    assert answer_of(results).method in wide
    assert answer_of(results).rule in short


def test_answer_in_a_pipe_has_120_characters_for_tables(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    results = run(MANY, tmp_path)
    print_answer(results)
    out, _ = capsys.readouterr()
    assert f"\n{answer_of(results).rule} " in out  # whole sentences
    header = next(line for line in out.splitlines() if "verdict" in line.split())
    assert "interval" in header


def grow(folder, most, first=3, engine=None, on_look=None):
    return run_until_decided(
        lambda seeds: variants(seeds, (1,), ("TCP", "LT")),
        variants(first),
        engine or ScriptedEngine(),
        RunSettings(1, folder),
        Growth(most),
        None,
        on_look,
    )


def noisy(monkeypatch, deviation):
    """Let every simulation of the variant move up or down, by its seed."""
    usual = made_up.tables

    def tables(experiment, seed):
        made = usual(experiment, seed)
        if experiment["flows"][0]["tcp"]["linear_timeouts"]:
            factor = 1 + (deviation if seed % 2 else -deviation) + 0.001 * (seed % 7)
            latency = pl.col("delivery_latency_p99_s") * factor
            made["groups"] = made["groups"].with_columns(latency)
        return made

    monkeypatch.setattr(made_up, "tables", tables)


def test_run_stops_as_soon_as_all_is_decided(tmp_path):
    looks = []
    results = grow(tmp_path / "grown", 64, on_look=looks.append)
    assert looks[-1].is_last
    assert not looks[-1].answer.undecided
    assert results.manifest.plan.replicates == looks[-1].seeds < 64
    assert "everything is decided" in look_in_words(looks[-1], Growth(64))
    assert read_looks(results.folder) == [look.seeds for look in looks]


def test_grown_run_is_that_of_so_many_seeds(tmp_path, monkeypatch):
    noisy(monkeypatch, 0.05)
    grown = grow(tmp_path / "grown", 64)
    seeds = grown.manifest.plan.replicates
    assert seeds > 3
    plain = run(variants(seeds), tmp_path / "plain")
    assert grown.manifest.fingerprint == plain.manifest.fingerprint
    names = {file.name for file in plain.folder.glob("*.parquet")}
    assert names == {file.name for file in grown.folder.glob("*.parquet")}
    for name in names:
        assert (grown.folder / name).read_bytes() == (plain.folder / name).read_bytes()


def test_finished_seeds_are_not_run_again(tmp_path):
    run(variants(4), tmp_path)
    engine = ScriptedEngine()
    results = grow(tmp_path, 64, engine=engine)
    assert engine.executions == results.manifest.plan.runs - 8
    assert read_looks(tmp_path)[0] == 4


def test_bound_stops_a_run_and_a_higher_one_goes_on(tmp_path, monkeypatch):
    noisy(monkeypatch, 0.5)
    looks = []
    grow(tmp_path, 6, on_look=looks.append)
    assert [look.seeds for look in looks] == [3, 5, 6]
    assert looks[-1].is_last
    assert looks[-1].answer.undecided
    assert "stopped at --most-seeds 6" in look_in_words(looks[-1], Growth(6))
    results = grow(tmp_path, 13, on_look=looks.append)
    assert [look.seeds for look in looks[3:]] == [6, 9, 13]
    assert read_looks(tmp_path) == [3, 5, 6, 9, 13]
    assert "and 5 looks at growing numbers of seeds" in answer_of(results).method


@pytest.mark.parametrize("most", [1, 2])
def test_bound_below_the_usual_first_look_is_kept(tmp_path, most):
    looks = []
    results = grow(tmp_path, most, first=1, on_look=looks.append)
    assert [look.seeds for look in looks] == [most]
    assert results.manifest.plan.replicates == most


def test_later_looks_pay_for_earlier_ones(tmp_path, monkeypatch):
    noisy(monkeypatch, 0.02)
    grown = answer_of(grow(tmp_path / "grown", 64))
    seeds = of_group(grown, "thin")[0].seeds
    plain = answer_of(run(variants(seeds), tmp_path / "plain"))
    assert of_group(grown, "thin")[0].holm_p_value > of_group(plain, "thin")[0].holm_p_value


def test_interrupted_growth_goes_on_where_it_stopped(tmp_path, monkeypatch):
    noisy(monkeypatch, 0.05)

    def stop(number):
        if number == 9:
            raise KeyboardInterrupt

    with pytest.raises(FairwindError, match="interrupted"):
        grow(tmp_path / "a", 64, engine=ScriptedEngine(script=stop))
    assert not list((tmp_path / "a").glob("*.parquet"))  # never stale
    results = grow(tmp_path / "a", 64)
    assert len(read_looks(tmp_path / "a")) > 1
    assert read_looks(tmp_path / "a") == read_looks(grow(tmp_path / "whole", 64).folder)
    assert results.groups.height == results.manifest.plan.runs * 2


def test_value_that_changes_nothing_adds_no_seeds(tmp_path):
    looks = []
    results = run_until_decided(
        lambda seeds: variants(seeds, (1,), ("TCP", "mFR")),
        variants(3, (1,), ("TCP", "mFR")),
        ScriptedEngine(),
        RunSettings(1, tmp_path),
        Growth(64),
        None,
        looks.append,
    )
    assert [look.seeds for look in looks] == [3]
    answer = looks[0].answer
    assert {effect.verdict for effect in answer.effects} == {EffectVerdict.UNDECIDED}
    assert answer.undecided == ()
    assert answer.axes[0].unchanged == ("mFR",)
    assert "everything is decided" in look_in_words(looks[0], Growth(64))
    assert results.manifest.plan.replicates == 3


def test_nothing_to_decide_is_refused(tmp_path):
    with pytest.raises(FairwindError, match="no axis with several values"):
        run_until_decided(
            lambda seeds: plan((1,), replicates=seeds),
            plan((1,)),
            ScriptedEngine(),
            RunSettings(1, tmp_path),
            Growth(),
        )


def test_another_scenario_is_not_grown_into(tmp_path):
    run(variants(3, (4,)), tmp_path)
    with pytest.raises(FairwindError, match="another scenario or other settings"):
        grow(tmp_path, 64)


def test_fewer_seeds_than_there_are_is_refused_with_what_to_do(tmp_path):
    run(variants(4), tmp_path)
    with pytest.raises(FairwindError, match=r"4 instead of 2 seeds\n.*--set repeat=4"):
        run(variants(2), tmp_path)


def test_other_seeds_are_not_grown_into(tmp_path):
    document = variants(2).document | {"seeds": [901, 902]}
    run(type(plan()).from_document(document, ()), tmp_path)
    with pytest.raises(FairwindError, match="3 seeds"):
        grow(tmp_path, 64)


@pytest.mark.parametrize("content", ["", "{}", '{"seeds": [5, 3]}', '{"seeds": []}', "[]"])
def test_damaged_looks_are_reported(tmp_path, content):
    results = run(variants(), tmp_path)
    (tmp_path / LOOKS).write_text(content, encoding="utf-8")
    with pytest.raises(FairwindError, match=r"looks\.json is damaged"):
        answer_of(results)


def test_options_of_the_answer():
    assert growth_of("10 %", 7, is_growing=True) == Growth(7, 0.1)
    assert growth_of(None, None, is_growing=False) == Growth(64, None)
    with pytest.raises(FairwindError, match="--margin: cannot read"):
        growth_of("ten", None, is_growing=False)
    with pytest.raises(FairwindError, match=r"--most-seeds bounds .* --until-decided"):
        growth_of(None, 7, is_growing=False)


@pytest.mark.parametrize("content", ['{"seeds": [], "margin": 2}', '{"seeds": [], "margin": "a"}'])
def test_damaged_margin_is_reported(tmp_path, content):
    results = run(variants(1), tmp_path)
    (tmp_path / LOOKS).write_text(content, encoding="utf-8")
    with pytest.raises(FairwindError, match=r"looks\.json is damaged"):
        answer_of(results)


def test_margin_of_a_run_is_its_default(tmp_path):
    results = run(variants(), tmp_path)
    assert of_group(answer_of(results), "thin")[0].verdict is EffectVerdict.LESS
    write_margin(tmp_path, 0.5)
    assert read_looks(tmp_path) == []
    assert of_group(answer_of(results), "thin")[0].verdict is EffectVerdict.NO_DIFFERENCE
    assert "within 50 % of zero" in results.answer().method
    assert "within 50 % of zero" in page_of(results)
    assert "within 5 % of zero" in results.answer(0.05).method
    assert "within 5 % of zero" in page_of(results, 0.05)


def page_of(results, margin=None):
    return " ".join(render(results, (), (), margin).split())


def test_growing_run_keeps_its_margin(tmp_path):
    run_until_decided(
        lambda seeds: variants(seeds, (1,), ("TCP", "LT")),
        variants(3),
        ScriptedEngine(),
        RunSettings(1, tmp_path),
        Growth(4, 0.5),
    )
    looks = read_looks(tmp_path)
    assert (looks[0], read_margin(tmp_path)) == (3, 0.5)
    grow(tmp_path, 5)  # no margin is named: it stays
    assert read_margin(tmp_path) == 0.5
    write_margin(tmp_path, 0.1)
    assert read_looks(tmp_path)[0] == 3


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
    return tmp_path


def test_run_ends_with_the_answer(folder):
    code, out, _ = fairwind("run", "scenario.toml", "--out", "a", cwd=folder)
    assert code == 0
    words = out[out.index("count 2 (against 1): ") :]
    assert "greedy goodput" in words
    assert "thin delivery p99" in words
    assert "corrected for 2 effects" in " ".join(words.split())
    assert fairwind("show", "a", cwd=folder)[1] == out


def test_margin_is_kept_after_the_run(folder):
    code, out, _ = fairwind("run", "scenario.toml", "--margin", "20 %", "--out", "a", cwd=folder)
    assert code == 0
    assert "within 20 % of zero" in out
    assert fairwind("show", "a", cwd=folder)[1] == out
    assert "within 2 % of zero" in fairwind("show", "a", "--margin", "2 %", cwd=folder)[1]
    assert fairwind("show", "a", cwd=folder)[1] == out
    code, _, error = fairwind("report", "a", "--margin", "0 %", cwd=folder)
    assert code == 2
    assert "the margin must be above 0" in error


def test_run_without_an_axis_ends_with_its_tables(folder):
    arguments = ("run", "scenario.toml", "--set", "flows.*.count=1", "--out", "a")
    code, out, _ = fairwind(*arguments, cwd=folder)
    assert code == 0
    assert "against" not in out


def test_answer_as_json_is_that_of_python(folder):
    _, out, _ = fairwind("run", "scenario.toml", "--out", "a", "--format", "json", cwd=folder)
    document = json.loads(out)
    assert {row["table"] for row in document["summary"]} >= {"groups"}
    answer = answer_of(Results(folder / "a"))
    assert document["answer"]["paragraphs"] == [*answer.paragraphs]
    (axis,) = document["answer"]["axes"]
    assert [(one["name"], one["verdict"], one["low"]) for one in axis["effects"]] == [
        (one.name, one.verdict.value, one.low) for one in answer.effects
    ]
    shown = fairwind("show", "a", "--format", "json", "--margin", "20 %", cwd=folder)[1]
    assert "within 20 % of zero" in json.loads(shown)["answer"]["method"]
    assert fairwind("show", "a", "--format", "csv", cwd=folder)[1].startswith("flows_count,table,")


def test_json_of_a_run_without_an_axis_has_no_answer(folder):
    arguments = ("run", "scenario.toml", "--set", "flows.*.count=1", "--format", "json")
    assert json.loads(fairwind(*arguments, cwd=folder)[1])["answer"] is None


def test_unknown_numbers_are_null_in_json():
    assert known_values({"a": (math.nan, [1.5, math.inf])}) == {"a": [None, [1.5, None]]}


def test_unused_mechanism_changes_nothing(folder):
    axis = 'sweep."flows.thin.tcp.linear_timeouts"=[false, true]'
    arguments = ("--set", "flows.*.count=1", "--set", axis, "--until-decided")
    loss = ("--set", "path.rate=10 Mbit/s", "--set", "path.queue={ limit = '1000 packets' }")
    code, out, error = fairwind("run", "scenario.toml", *arguments, *loss, cwd=folder)
    assert code == 0, error
    assert "3 seeds: everything is decided" in error
    assert "linear_timeouts changed nothing in any run" in " ".join(out.split())


def test_run_until_decided_on_the_command_line(folder):
    arguments = ("run", "scenario.toml", "--until-decided", "--most-seeds", 4, "--out", "a")
    code, out, error = fairwind(*arguments, cwd=folder)
    assert code == 4, error
    assert "3 seeds: " in error
    assert "1 of 2 effects undecided; stopped at --most-seeds 4" in error
    assert "at growing numbers of seeds" in " ".join(out.split())
    # The same command again has nothing to run; a plain run is told what is there.
    seeds = read_looks(folder / "a")[-1]
    _, again, _ = fairwind(*arguments, cwd=folder)
    assert again == out
    code, _, error = fairwind("run", "scenario.toml", "--out", "a", cwd=folder)
    assert code == 2
    assert f"{seeds} instead of 2 seeds" in error


def test_python_runs_until_decided_and_answers(folder, monkeypatch):
    monkeypatch.chdir(folder)
    results = package.load("scenario.toml").run(out="a", until_decided=3)
    assert results.manifest.plan.replicates == 3
    answer = results.answer()
    assert answer == answer_of(results)
    assert {effect.seeds for effect in answer.effects} == {3}


def test_run_in_python_finds_named_tests(monkeypatch):
    ran = []
    monkeypatch.setattr(
        package.Scenario, "run", lambda self, on, **options: ran.append((self.file, on, options))
    )
    package.run("rrul", "kernel", until_decided=7, margin=0.1)
    ((name, on, options),) = ran
    assert name.endswith("rrul.toml")
    assert (on, options["until_decided"], options["margin"]) == ("kernel", 7, 0.1)
    with pytest.raises(FairwindError, match="did you mean rrul"):
        package.run("rrull")


@pytest.mark.parametrize("growth", [{}, {"until_decided": 3}])
def test_run_in_python_keeps_its_margin(folder, growth):
    file = folder / "scenario.toml"
    results = package.run(file, out=folder / "a", margin=0.2, **growth)
    assert "within 20 % of zero" in results.answer().method
    results = package.run(str(file), out=folder / "a", **growth)  # said once is enough
    assert "within 20 % of zero" in results.answer().method
    with pytest.raises(FairwindError, match="margin must be above 0"):
        package.run(file, out=folder / "b", margin=2)
    assert not (folder / "b").exists()

"""Studies: their files, their figures, and that verdicts follow their rules."""

from __future__ import annotations

import tomllib
from types import SimpleNamespace

import polars as pl
import pytest
from fairwind_studies.application_limited_streams.study import (
    fair_shares,
    greedy_unharmed,
    latency_reduced,
    thin_below_share,
)
from fairwind_studies.impact_on_others.study import changed_by
from fairwind_studies.thin_streams import offered_bits_per_second

from fairwind.errors import FairwindError
from fairwind.execution.execute import RunSettings, run_plan
from fairwind.quantities import parse_seconds
from fairwind.results import Results, Verdict
from fairwind.studies import SearchStudy, studies, study_named
from fairwind.studies.panels import panels_in_words
from fairwind.tuning import load_tuning
from fairwind.tuning.tuning import check_scenarios
from made_up import VARIANTS, ScriptedEngine, experiment, plan

NAME = "application-limited-streams"


@pytest.fixture
def results(tmp_path) -> Results:
    """Give a run in which latency falls with LT and nothing else differs."""
    return run_plan(plan((1, 4, 16), VARIANTS, 3), ScriptedEngine(), RunSettings(1, tmp_path))


def change(results: Results, change: pl.Expr, where: pl.Expr) -> Results:
    """Change a column of the groups table where a condition holds."""
    path = results.folder / "groups.parquet"
    name = change.meta.output_name()
    changed = pl.when(where).then(change).otherwise(pl.col(name)).alias(name)
    pl.read_parquet(path).with_columns(changed).write_parquet(path)
    return Results(results.folder)


@pytest.mark.parametrize("name", list(studies()))
def test_every_form_is_a_valid_scenario(name):
    study = study_named(name)
    for form in study.forms:
        if isinstance(study, SearchStudy):
            check_scenarios(load_tuning(study.file(form)))
        else:
            assert study.scenario(form).check().runs > 0


def test_unknown_study_or_form_lists_known_ones():
    with pytest.raises(FairwindError, match=NAME):
        study_named("unknown")
    with pytest.raises(FairwindError, match="reduced"):
        study_named(NAME).scenario("unknown")


def test_unknown_form_of_a_search_lists_known_ones():
    with pytest.raises(FairwindError, match="has no form 'unknown'") as error:
        study_named("right-aggressiveness").file("unknown")
    assert error.value.hint == "there are full, reduced, greedy, kernel"


def test_forms_differ_only_as_documented():
    full, payload, reduced = (
        tomllib.loads(study_named(NAME).scenario(form).text)
        for form in ("full", "payload", "reduced")
    )
    thin = payload["flows"][1]["workload"]
    thin["packet"] = thin.pop("payload")
    assert payload | {"name": full["name"]} == full

    for key in ("name", "duration"):
        reduced[key] = full[key]
    for group, of_full in zip(reduced["flows"], full["flows"], strict=True):
        group["start_spread"] = of_full["start_spread"]
    reduced["sweep"]["repeat"] = full["sweep"]["repeat"]
    reduced["measure"]["warmup"] = full["measure"]["warmup"]
    reduced["sweep"]["flows.*.count"] = full["sweep"]["flows.*.count"]
    assert reduced == full


def test_kernel_forms_differ_only_in_length():
    long, short = (
        tomllib.loads(study_named(NAME).scenario(form).text)
        for form in ("kernel", "kernel-reduced")
    )
    for key in ("name", "duration", "measure"):
        short[key] = long[key]
    for group, of_long in zip(short["flows"], long["flows"], strict=True):
        group["start_spread"] = of_long["start_spread"]
    for key in ("repeat", "flows.*.count"):
        short["sweep"][key] = long["sweep"][key]
    assert short == long


def test_kernel_form_has_four_variants_and_default():
    cells = study_named(NAME).scenario("kernel").check().cells
    thin = {cell.settings["variant"]: cell.experiment["flows"][1]["tcp"] for cell in cells}
    today = {"profile": "linux-6.18", "congestion": "cubic", "nagle": False}
    four = today | {"sack": False}
    four |= {"tail_loss_probe": False, "collapse_retransmissions": False}
    assert thin == {
        "TCP": four,
        "mFR": four | {"duplicate_threshold": 1},
        "LT": four | {"linear_timeouts": True},
        "LT+mFR": four | {"linear_timeouts": True, "duplicate_threshold": 1},
        "today": today,
    }


def test_kernel_replaces_full_and_reduced_forms():
    study = study_named(NAME)
    assert [study.form_on_kernel(form) for form in ("full", "reduced", "kernel")] == [
        "kernel",
        "kernel-reduced",
        "kernel",
    ]


def test_fifth_variant_is_judged_for_benefit_and_harm(tmp_path):
    grid = plan((1, 4), (*VARIANTS, "today"), 3)
    results = run_plan(grid, ScriptedEngine(), RunSettings(1, tmp_path))
    judged = study_named(NAME).claims(results)
    assert [set(claim.details["variant"]) for claim in judged[:2]] == [
        {*VARIANTS, "today"} - {"TCP"},
        set(VARIANTS),
    ]
    assert judged[-1].statement == (
        "Beyond the source: today's default (SACK, RACK, tail loss probe) reduces the latency that "
        "applications of thin streams experience (H1)."
    )
    assert len(study_named(NAME).figures(results)) == 2


def test_a_single_replicate_decides_no_claim(tmp_path):
    grid = plan((1, 4), VARIANTS, 1)
    results = run_plan(grid, ScriptedEngine(), RunSettings(1, tmp_path))
    claims = study_named(NAME).claims(results)
    assert {claim.verdict for claim in claims} == {Verdict.UNDECIDED}
    assert not [claim for claim in claims if "nan" in claim.evidence]


def test_variants_are_independent_samples_in_real_time(tmp_path):
    engine = ScriptedEngine(name="kernel", is_real_time=True)
    claim = greedy_unharmed(run_plan(plan((1,), VARIANTS, 3), engine, RunSettings(1, tmp_path)))
    assert set(claim.details["pairs"]) == {0}
    assert "independent samples (Welch)" in claim.rule


def test_full_form_has_panels_and_variants_of_source():
    grid = study_named(NAME).scenario().check()
    assert [axis.values for axis in grid.axes] == [
        [2**power for power in range(10)],
        ["TCP", "mFR", "LT", "LT+mFR"],
    ]
    assert len(grid.seeds) == 20


@pytest.mark.parametrize("form", study_named(NAME).forms)
def test_streams_start_randomly_during_warm_up(form):
    scenario = tomllib.loads(study_named(NAME).scenario(form).text)
    warmup = parse_seconds(scenario["measure"]["warmup"])
    for group in scenario["flows"]:
        assert group["start_pattern"] == "random"
        assert 0.75 * warmup <= parse_seconds(group["start_spread"]) < warmup


def test_offered_rate_of_160_byte_packets():
    assert offered_bits_per_second(experiment()) == pytest.approx(8533.33, abs=0.01)


def test_payload_adds_headers_and_timestamps():
    described = experiment()
    described["flows"][1]["workload"]["size"] = {"payload": "160 B"}
    assert offered_bits_per_second(described) == pytest.approx(8 * 212 / 0.15)
    described["flows"][1]["tcp"]["timestamps"] = False
    assert offered_bits_per_second(described) == pytest.approx(8 * 200 / 0.15)


def test_the_fair_share_saturates_at_half_the_capacity(tmp_path):
    grid = plan((1, 32, 64), VARIANTS, 1)
    shares = fair_shares(run_plan(grid, ScriptedEngine(), RunSettings(1, tmp_path)))
    assert shares["flows_count"].to_list() == [1, 32, 64]
    assert shares["fair_bits_per_second"].to_list() == pytest.approx(
        [8533.33, 273066.67, 500000], abs=0.01
    )


def test_first_claim_holds_with_equal_greedy_throughput(results):
    assert greedy_unharmed(results).verdict is Verdict.HOLDS


def test_large_throughput_loss_refutes_first_claim(results):
    column = pl.col("throughput_bits_per_second")
    where = (pl.col("variant") != "TCP") & (pl.col("group") == "greedy")
    claim = greedy_unharmed(change(results, column * (0.8 + pl.col("replicate") * 1e-4), where))
    assert claim.verdict is Verdict.FAILS
    assert "mFR: harm for every N; LT: harm for every N" in claim.evidence


def test_a_wide_spread_leaves_the_first_claim_undecided(results):
    column = pl.col("throughput_bits_per_second")
    where = (pl.col("variant") != "TCP") & (pl.col("group") == "greedy")
    noise = 1 + (pl.col("replicate").cast(pl.Float64) - 1) * 0.3
    assert greedy_unharmed(change(results, column * noise, where)).verdict is Verdict.UNDECIDED


def test_a_wide_spread_of_one_variant_leaves_the_others(results):
    column = pl.col("throughput_bits_per_second")
    where = (pl.col("variant") == "mFR") & (pl.col("group") == "greedy")
    noise = 1 + (pl.col("replicate").cast(pl.Float64) - 1) * 0.3
    claim = greedy_unharmed(change(results, column * noise, where))
    assert claim.verdict is Verdict.HOLDS_FOR_SOME
    assert claim.in_short.endswith("it is undecided for mFR at every N.")


def test_throughput_below_share_confirms_second_claim(results):
    where = (pl.col("group") == "thin") & (pl.col("flows_count") >= 4)
    changed = change(results, pl.col("throughput_bits_per_second") * 0.5, where)
    claim = thin_below_share(changed)
    assert claim.verdict is Verdict.HOLDS
    assert claim.evidence.count("below it for N >= 4") == len(VARIANTS)


def test_throughput_above_share_refutes_second_claim(results):
    where = pl.col("group") == "thin"
    changed = change(results, pl.col("throughput_bits_per_second") * 2, where)
    assert thin_below_share(changed).verdict is Verdict.FAILS


def test_first_claim_can_hold_in_some_panels(results):
    column = pl.col("throughput_bits_per_second")
    where = (
        (pl.col("variant") == "LT") & (pl.col("group") == "greedy") & (pl.col("flows_count") > 1)
    )
    claim = greedy_unharmed(change(results, column * (0.8 + pl.col("replicate") * 1e-4), where))
    assert claim.verdict is Verdict.HOLDS_FOR_SOME
    assert "mFR: no harm for every N; LT: no harm for N = 1, harm for N >= 4;" in claim.evidence


def test_second_claim_can_hold_for_some_variants(results):
    thin, has_linear = pl.col("group") == "thin", pl.col("variant").str.contains("LT")
    halved = change(results, pl.col("throughput_bits_per_second") * 0.5, thin & ~has_linear)
    doubled = change(halved, pl.col("throughput_bits_per_second") * 2, thin & has_linear)
    claim = thin_below_share(doubled)
    assert claim.verdict is Verdict.HOLDS_FOR_SOME
    assert "TCP: below it for every N; mFR: below it for every N;" in claim.evidence
    assert "LT: above it for every N;" in claim.evidence


def test_latency_is_judged_mechanism_by_mechanism(results):
    mfr, lt, both = latency_reduced(results)
    assert mfr.statement.startswith("mFR ")
    assert mfr.verdict is Verdict.FAILS
    assert mfr.evidence.count("without an effect that counts for any N") == 6
    for claim in (lt, both):
        assert claim.verdict is Verdict.HOLDS
        assert "99th percentile better for every N" in claim.evidence


def test_latency_gain_in_one_panel_is_partial(results):
    where = (pl.col("variant") == "mFR") & (pl.col("flows_count") == 4)
    changed = change(results, pl.col("delivery_latency_p99_s") * 0.7, where)
    mfr, *_ = latency_reduced(changed)
    assert mfr.verdict is Verdict.HOLDS_FOR_SOME
    assert "99th percentile better for N = 4 (most at N = 4: -30" in mfr.evidence


def test_latency_that_only_rises_refutes_its_claim(results):
    where = pl.col("variant") == "mFR"
    changed = change(results, pl.col("delivery_latency_p50_s") * 1.5, where)
    mfr, *_ = latency_reduced(changed)
    assert mfr.verdict is Verdict.FAILS
    assert "median worse for every N" in mfr.evidence


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([1, 2, 4, 8, 16], "every N"),
        ([], "no N"),
        ([1], "N = 1"),
        ([16], "N = 16"),
        ([1, 2, 4], "N <= 4"),
        ([4, 8, 16], "N >= 4"),
        ([2, 4], "N = 2, 4"),
        ([2, 4, 8], "N = 2 to 8"),
        ([1, 4, 16], "N = 1, 4, 16"),
        ([1, 2, 4, 16], "N = 1 to 4, 16"),
    ],
)
def test_panels_are_named_briefly(counts, words):
    assert panels_in_words(counts, [1, 2, 4, 8, 16]) == words


def test_first_figure_has_panel_per_count(results):
    figure = study_named(NAME).figures(results)[0]
    chart = figure.chart.to_dict()
    assert chart["columns"] == 5
    assert chart["facet"]["sort"] == ["N = 1", "N = 4", "N = 16"]
    assert any(layer["mark"].get("strokeDash") for layer in chart["spec"]["layer"])
    (rows,) = chart["datasets"].values()
    thin = [row for row in rows if row["group"] == "thin"]
    fair = sorted({row["fair_kbit_per_second"] for row in thin})
    assert fair == pytest.approx([8.53333, 34.13333, 136.53333], abs=1e-4)


@pytest.mark.parametrize(
    "name", ["impact-on-others", "queue-disciplines", "recorded-applications", "thin-streams-today"]
)
def test_reduced_form_differs_in_time_and_seeds(name):
    full, reduced = (
        tomllib.loads(study_named(name).scenario(form).text) for form in ("full", "reduced")
    )
    for key in ("name", "duration"):
        reduced[key] = full[key]
    for group, of_full in zip(reduced["flows"], full["flows"], strict=True):
        group["start_spread"] = of_full["start_spread"]
    reduced["sweep"]["repeat"] = full["sweep"]["repeat"]
    reduced["measure"]["warmup"] = full["measure"]["warmup"]
    assert reduced == full


@pytest.mark.parametrize(
    ("form", "settings"),
    [
        ("bundling", {"redundant_bundling": True}),
        ("rack", {"profile": "linux-6.18", "tail_loss_probe": True}),
    ],
)
def test_impact_forms_change_only_the_mechanism(form, settings):
    full, other = (
        tomllib.loads(study_named("impact-on-others").scenario(name).text)
        for name in ("full", form)
    )
    of_modified = {f"flows.modified.tcp.{key}": value for key, value in settings.items()}
    of_thin = {f"flows.thin.tcp.{key}": value for key, value in settings.items()}
    assert other["sweep"].pop("modified") == {
        "none": {},
        "half": of_modified,
        "all": of_modified | of_thin,
    }
    for key in ("name", "description"):
        other[key] = full[key]
    del full["sweep"]["modified"]
    assert other == full


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("full", "the modifications"),
        ("bundling", "redundant data bundling"),
        ("rack", "RACK and the tail loss probe"),
    ],
)
def test_hypotheses_name_what_a_form_changes(form, words):
    plan = study_named("impact-on-others").scenario(form).check()
    assert changed_by(SimpleNamespace(manifest=SimpleNamespace(plan=plan))) == words

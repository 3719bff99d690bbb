"""The studies of thin against greedy streams: their rules, on results made up by hand."""

from __future__ import annotations

import tomllib

import polars as pl
import pytest
from fairwind_studies import thin_streams
from fairwind_studies.duration.study import decides_the_same, deviations, one_run_tells, unbiased
from fairwind_studies.thin_streams import offered_bits_per_second, offered_payload_bits_per_second
from fairwind_studies.thin_vs_five_greedy.study import (
    THIN_COUNT,
    gets_what_it_asks,
    hits_many_at_once,
    is_repacketised,
    offered_rates,
)
from fairwind_studies.thin_vs_five_greedy.study import figures as five_greedy_figures
from fairwind_studies.thin_vs_greedy.study import figures as naive_figures
from fairwind_studies.thin_vs_greedy.study import too_congested
from made_up_groups import SEEDS, MadeUp, experiment, made_up, when

from fairwind.quantities import parse_seconds
from fairwind.results import Verdict
from fairwind.studies import study_named
from fairwind.studies.effects import DELIVERY_LATENCIES
from fairwind.studies.panels import Panels, circumstances, setting_in_words

THIN_STUDIES = ("thin-vs-greedy", "thin-vs-five-greedy", "duration")
VARIANTS = ("TCP", "LT")
GOODPUT = "goodput_bits_per_second"


NAIVE = {"flows.*.count": (10, 20), "variant": VARIANTS, "early_retrans": (0, 3)}
FIVE = {"flows.thin.count": (10,), "flows.greedy.count": (5, 20), "variant": VARIANTS}
BY_THIN = Panels(THIN_COUNT)
IS_THIN = pl.col("group") == "thin"
IS_LT = pl.col("variant") == "LT"


@pytest.mark.parametrize("name", THIN_STUDIES)
def test_path_and_streams_are_group_defaults(name):
    for cell in study_named(name).scenario().check().cells:
        (link,) = (x for x in cell.experiment["network"]["links"] if x["name"] == "bottleneck")
        assert link["rate"] == "5 Mbit/s"
        assert link["delay"] == "75 ms"
        assert link["queue"] == {"discipline": "pfifo", "limit_packets": 63}
        greedy, thin = cell.experiment["flows"]
        assert thin["workload"]["size"] == {"payload": "120 B"}
        assert thin["workload"]["interval"]["mean"] == "100 ms"
        for group in (greedy, thin):
            assert group["tcp"]["congestion"] == "cubic"
            assert group["tcp"]["profile"] == "linux-3.16"
            assert group["tcp"]["collapse_retransmissions"] is False


@pytest.mark.parametrize("name", THIN_STUDIES)
def test_short_form_differs_only_in_length(name):
    study = study_named(name)
    full, short = (tomllib.loads(study.scenario(form).text) for form in ("full", "reduced"))
    for key in ("name", "duration", "measure"):
        short[key] = full[key]
    for group, of_full in zip(short["flows"], full["flows"], strict=True):
        group["start_spread"] = of_full["start_spread"]
    for key in ("repeat", "duration", "flows.*.count", "flows.thin.count"):
        if key in full["sweep"]:
            short["sweep"][key] = full["sweep"][key]
    assert short == full


def test_long_run_matches_the_source():
    grid = study_named("duration").scenario().check()
    lengths = [parse_seconds(label) / 60 for label in grid.axis("duration").labels]
    assert [length - 5 for length in lengths] == [5, 10, 15, 20, 30, 60, 120]
    greedy, thin = grid.cells[-1].experiment["flows"]
    assert (greedy["count"], thin["count"]) == (10, 40)


def test_figure_4_5_has_its_cell():
    grid = study_named("thin-vs-five-greedy").scenario().check()
    assert "30" in grid.axis("flows.thin.count").labels
    assert grid.axis("flows.greedy.count").labels == ("5", "20")


def test_a_drawn_interval_offers_what_its_mean_says():
    # 120 B, 40 B of headers and 12 B of timestamps ten times a second.
    assert offered_bits_per_second(experiment()) == pytest.approx(8 * 172 * 10)
    assert offered_payload_bits_per_second(experiment()) == pytest.approx(8 * 120 * 10)


def test_offered_rates_have_one_row_per_cell():
    offered = offered_rates(made_up(FIVE))
    assert offered.height == 2 * 2
    assert offered.filter(pl.col("group") == "offered payload")["mean"].to_list() == [96_000.0] * 2


def test_circumstances_are_the_axes_beside_count_and_variant():
    assert circumstances(made_up(NAIVE), "flows_count") == ("early_retrans",)
    assert setting_in_words("flows_greedy_count", 5) == "5 greedy"
    assert setting_in_words("early_retrans", 3) == "early_retrans 3"


def test_equal_settings_are_described_once():
    panels = Panels("flows_count", ("early_retrans",))
    rows = pl.DataFrame({"flows_count": [1, 2, 1, 2], "early_retrans": [0, 0, 3, 3]})
    assert panels.sides(rows, {"low for": pl.col("flows_count") < 2}) == "low for N = 1"
    differing = {"low for": pl.col("flows_count") + pl.col("early_retrans") < 2}
    assert panels.sides(rows, differing) == (
        "(early_retrans 0) low for N = 1 | (early_retrans 3) neither for any N"
    )


def test_latency_gain_in_one_setting_is_partial():
    falls = when(
        IS_THIN & IS_LT & (pl.col("early_retrans") == 0),
        pl.col("delivery_latency_p99_s") * 0.5,
        "delivery_latency_p99_s",
    )
    results = made_up(NAIVE, delivery_latency_p99_s=falls)
    (claim,) = thin_streams.latency_reduced(results, Panels.of(results))
    assert claim.verdict is Verdict.HOLDS_FOR_SOME
    assert "(early_retrans 0) better for every N (most at N = " in claim.evidence
    assert "| (early_retrans 3) without an effect that counts for any N" in claim.evidence


def test_disadvantage_is_more_loss_per_run():
    results = made_up(
        NAIVE, packet_loss_ratio=when(IS_THIN, pl.col("packet_loss_ratio") * 2, "packet_loss_ratio")
    )
    claim = thin_streams.at_a_disadvantage(results, Panels.of(results))
    assert claim.verdict is Verdict.HOLDS
    assert "TCP: more for every N" in claim.evidence
    assert claim.details["difference"].to_list() == pytest.approx([0.02] * 8, rel=1e-4)

    equal = made_up(NAIVE)
    claim = thin_streams.at_a_disadvantage(equal, Panels.of(equal))
    assert claim.verdict is Verdict.FAILS


@pytest.mark.parametrize(
    ("problematic", "verdict"),
    [
        (pl.lit(0), Verdict.FAILS),
        (pl.lit(5), Verdict.HOLDS),
        (pl.when(pl.col("flows_count") == 10).then(5).otherwise(0), Verdict.HOLDS_FOR_SOME),
        (pl.lit(1), Verdict.UNDECIDED),
    ],
)
def test_too_congested_is_a_tenth_problematic(problematic, verdict):
    results = made_up(NAIVE, flows_problematic=problematic)
    assert too_congested(results, Panels.of(results)).verdict is verdict


def test_goodput_equal_to_writes_is_enough():
    panels = Panels(THIN_COUNT, ("flows_greedy_count",))
    assert gets_what_it_asks(made_up(FIVE), panels).verdict is Verdict.HOLDS
    halved = made_up(FIVE, goodput_bits_per_second=pl.col("goodput_bits_per_second") / 2)
    assert gets_what_it_asks(halved, panels).verdict is Verdict.FAILS


def test_what_workloads_do_not_tell_is_undecided():
    results = made_up(FIVE)
    for cell in results.manifest.plan.cells:
        cell.experiment["flows"][1]["workload"] = {"kind": "greedy"}
    panels = Panels(THIN_COUNT, ("flows_greedy_count",))
    claim = gets_what_it_asks(results, panels)
    assert claim.verdict is Verdict.UNDECIDED
    assert "is not known of their workload" in claim.evidence
    assert offered_rates(results)["mean"].to_list() == [None] * 4


def test_low_throughput_shows_joined_writes():
    panels = Panels(THIN_COUNT, ("flows_greedy_count",))
    assert is_repacketised(made_up(FIVE), panels).verdict is Verdict.FAILS
    joined = when(
        pl.col("flows_greedy_count") == 20,
        pl.col("throughput_bits_per_second") * 0.8,
        "throughput_bits_per_second",
    )
    claim = is_repacketised(made_up(FIVE, throughput_bits_per_second=joined), panels)
    assert claim.verdict is Verdict.HOLDS_FOR_SOME
    assert "TCP: (5 greedy) not joined for every N | (20 greedy) joined for every N" in (
        claim.evidence
    )


def losses(counts: tuple[int, ...], among: float | None, within: float | None) -> pl.DataFrame:
    """Make the table of loss runs up: alike for every count of thin streams, but for millionths."""
    return pl.DataFrame(
        [
            {
                "flows_thin_count": count,
                "variant": variant,
                "queue": "bottleneck",
                "group": group,
                "seed": seed,
                "in_succession_ratio": None if among is None else 0.5,
                "among_connections_ratio": None if among is None else among + at * 1e-6,
                "within_connections_ratio": within,
            }
            for count in counts
            for variant in VARIANTS
            for group in ("greedy", "thin")
            for at, seed in enumerate(SEEDS)
        ],
        schema_overrides={
            "in_succession_ratio": pl.Float64,
            "among_connections_ratio": pl.Float64,
            "within_connections_ratio": pl.Float64,
        },
    )


@pytest.mark.parametrize(
    ("among", "within", "verdict"),
    [
        (0.4, 0.1, Verdict.HOLDS),
        (0.1, 0.4, Verdict.FAILS),
        (None, None, Verdict.UNDECIDED),
    ],
)
def test_losses_among_and_within_connections_differ(among, within, verdict):
    runs = losses((1, 10), among, within)
    claim = hits_many_at_once(MadeUp(pl.DataFrame(), made_up(FIVE).manifest, {}, runs), BY_THIN)
    assert claim.verdict is verdict
    # One thin stream alone cannot share its losses, so N = 1 is no panel.
    assert claim.details["flows_thin_count"].to_list() == ([] if among is None else [10])


def test_runs_of_losses_cover_both_groups():
    runs = losses((10,), 0.4, 0.1)
    claim = hits_many_at_once(MadeUp(pl.DataFrame(), made_up(FIVE).manifest, {}, runs), BY_THIN)
    text = "50.0% in succession, 40.0% among connections, 10.0% within one"
    assert claim.evidence.endswith(f"N = 10: greedy: {text}; thin: {text}.")


def test_figure_4_3_has_fewest_greedy_streams():
    chart = five_greedy_figures(made_up(FIVE))[0].chart.to_dict()
    (rows,) = chart["datasets"].values()
    assert {row["flows_greedy_count"] for row in rows} == {5}


def test_naive_experiment_has_all_source_figures():
    names = [figure.name for figure in naive_figures(made_up(NAIVE))]
    assert names[:3] == ["aggregated-goodput", "relative-loss", "problematic-connections"]


def test_figure_4_5_falls_back_to_most_streams():
    chart = five_greedy_figures(made_up(FIVE))[2].chart.to_dict()
    (rows,) = chart["datasets"].values()
    assert {row["flows_greedy_count"] for row in rows} == {20}


LENGTHS = {"duration": ("2 min", "6 min", "21 min"), "variant": VARIANTS}
MINUTES = {"2 min": 1.0, "6 min": 5.0, "21 min": 20.0}


def of_lengths(**columns: pl.Expr) -> MadeUp:
    seconds = pl.col("duration").replace_strict({k: v * 60 for k, v in MINUTES.items()})
    return made_up(LENGTHS, measured_s=seconds, **columns)


def test_lengths_equal_to_longest_are_enough():
    details = deviations(of_lengths())
    assert details["measured_minutes"].unique().sort().to_list() == [1.0, 5.0, 20.0]
    assert unbiased(details).verdict is Verdict.HOLDS
    assert one_run_tells(details).verdict is Verdict.HOLDS


def test_missed_measure_names_sufficient_length():
    is_short = (pl.col("duration") == "2 min") & IS_THIN
    misses = when(is_short, pl.col("packet_loss_ratio") * 1.2, "packet_loss_ratio")
    claim = unbiased(deviations(of_lengths(packet_loss_ratio=misses)))
    assert claim.verdict is Verdict.HOLDS_FOR_SOME
    at_once, later = claim.evidence.split("; ")
    assert later == "from 5 min on: thin relative loss (TCP, LT)."
    assert at_once.startswith("from 1 min on: greedy goodput (TCP, LT), greedy relative loss")


def test_scatter_is_student_prediction_interval():
    # Seeds differ by -1, 0, 1 and 2 thousandths: s = 1.29e-3, t(3) = 3.182, sqrt(1 + 1/4) = 1.118.
    scattered = pl.col("packet_loss_ratio") * (1 + (pl.col("seed").cast(pl.Int64) - 102) * 1e-3)
    details = deviations(of_lengths(packet_loss_ratio=scattered))
    loss = details.filter(pl.col("measure") == "relative loss")
    assert loss["single_run_ratio"].to_list() == pytest.approx([4.593e-3] * 12, rel=2e-3)


def test_opposite_verdicts_of_short_runs_are_counted():
    latency = pl.col("delivery_latency_p99_s")
    lt = IS_THIN & IS_LT
    opposite = (
        pl.when(lt & (pl.col("duration") == "2 min"))
        .then(latency * 1.5)
        .when(lt)
        .then(latency * 0.5)
        .otherwise(latency)
    )
    assert decides_the_same(of_lengths()).verdict is Verdict.HOLDS
    unknown = pl.lit(float("nan"))
    nothing = {name: unknown for name in (*DELIVERY_LATENCIES, "packet_loss_ratio", GOODPUT)}
    assert decides_the_same(of_lengths(**nothing)).verdict is Verdict.UNDECIDED
    claim = decides_the_same(of_lengths(delivery_latency_p99_s=opposite))
    assert claim.verdict is Verdict.FAILS
    assert "1 decide otherwise" in claim.evidence
    scattered = latency * (0.7 + (pl.col("seed").cast(pl.Int64) - 102) * 0.3)
    unseen = (
        pl.when(lt & (pl.col("duration") == "2 min"))
        .then(scattered)
        .when(lt)
        .then(latency * 0.5)
        .otherwise(latency)
    )
    claim = decides_the_same(of_lengths(delivery_latency_p99_s=unseen))
    assert claim.verdict is Verdict.HOLDS_FOR_SOME


@pytest.mark.parametrize(
    "name",
    [
        *("thin-vs-greedy", "thin-vs-five-greedy", "impact-on-others", "thin-streams-today"),
        "recorded-applications",
    ],
)
def test_kernels_get_the_path_and_streams_of_the_source(name):
    study = study_named(name)
    full, kernel = (study.scenario(form).check() for form in ("full", "kernel"))
    (one, *_), (other, *_) = full.cells, kernel.cells
    assert other.experiment["network"] == one.experiment["network"]
    workloads = [[group["workload"] for group in cell.experiment["flows"]] for cell in (one, other)]
    assert workloads[0] == workloads[1]
    assert len(kernel.seeds) >= 20
    assert study.form_on_kernel("full") == "kernel"
    assert study.form_on_kernel("reduced") == "kernel-reduced"
    assert len(study.scenario("kernel-reduced").check().seeds) == 5

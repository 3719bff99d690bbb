"""The study of congestion controls: its measures by hand, and that verdicts follow their rules."""

from __future__ import annotations

import math
import tomllib
from types import SimpleNamespace

import polars as pl
import pytest
from fairwind_studies.congestion_control_evaluation.baseline import (
    BEYOND_BOUND,
    CONVERGENCE,
    FAIRNESS,
    against_bound,
    against_standard,
    verdict_of_fault,
    verdict_of_innocence,
)
from fairwind_studies.congestion_control_evaluation.claims import (
    _recovers_slowly,
    _suffers_from_an_early_drop,
    claims,
    exercised,
    with_decades,
)
from fairwind_studies.congestion_control_evaluation.measures import (
    OF_STREAMS,
    PAYLOAD_RATIO,
    harm_of,
    joining,
    recoveries,
    shares,
    transfers,
)

from fairwind.quantities import parse_bits_per_second, parse_bytes, parse_seconds
from fairwind.results import Results, Verdict
from fairwind.studies import study_named

NAME = "congestion-control-evaluation"
MEGA = 1e6


def groups(rows: list[tuple[str, str, float, float]]) -> SimpleNamespace:
    """Give results of runs at 10 Mbit/s: control, round trip, goodput of both in Mbit/s."""
    lines = [
        {
            "cell": cell,
            "replicate": 0,
            "seed": 1,
            "path_rtt": rtt,
            "path_queue_limit": "20 % bdp",
            "bandwidth": "10 Mbit/s",
            "control": control,
            "group": name,
            "goodput_bits_per_second": rate * MEGA,
            "packets_lost": 3,
        }
        for cell, (control, rtt, *rates) in enumerate(rows)
        for name, rate in zip(("first", "second"), rates, strict=True)
    ]
    return SimpleNamespace(
        groups=pl.DataFrame(lines), part=lambda _name: None, folder="made up", senders=None
    )


def compared(differences: list[float]) -> pl.DataFrame:
    """Give two seeds each of cells in which a control is so much less fair than standard TCP."""
    rows = [
        {
            "control": control,
            "bandwidth": "10 Mbit/s",
            "limit": "20 % bdp",
            "rtt_ms": cell,
            "seed": seed,
            "fairness": fairness,
        }
        for cell, less in enumerate(differences)
        for seed in (1, 2)
        for control, fairness in (("reno", 0.9), ("fast", 0.9 - less - 0.001 * seed))
    ]
    return against_standard(pl.DataFrame(rows), FAIRNESS)


@pytest.mark.parametrize("form", ["full", "beyond", "reduced", "extra", "kernel", "kernel-reduced"])
def test_every_part_is_a_valid_scenario(form):
    for scenario in study_named(NAME).further_scenarios(form).values():
        assert scenario.check().runs > 0


def test_full_form_has_cells_of_source():
    study = study_named(NAME)
    parts = {"symmetric": study.scenario(), **study.further_scenarios()}
    cells = {name: len(scenario.check().cells) for name, scenario in parts.items()}
    grid = 3 * 6 * 4
    assert cells["symmetric"] == 7 * grid
    assert cells["friendliness"] == 6 * grid
    assert cells["rtt-unfairness"] == 7 * 3 * 5 * 4
    assert cells["convergence"] == 7 * 3 * 6 * 2
    assert {len(parts[name].check().seeds) for name in ("symmetric", "convergence")} == {5}


def test_kernel_form_has_same_paths_everywhere():
    study = study_named(NAME)
    parts = {"symmetric": study.scenario("kernel"), **study.further_scenarios("kernel")}
    plans = {name: scenario.check() for name, scenario in parts.items()}
    assert set(plans) == {"symmetric", "friendliness", "rtt-unfairness", "convergence"}
    for name, plan in plans.items():
        assert plan.axis("bandwidth").labels == ("10 Mbit/s", "100 Mbit/s")
        trips = {"22 ms", "82 ms"} | (set() if name == "rtt-unfairness" else {"162 ms"})
        axis = "flows.second.rtt" if name == "rtt-unfairness" else "path.rtt"
        assert set(plan.axis(axis).labels) == trips
        flows = [flow for cell in plan.cells for flow in cell.experiment["flows"]]
        used = {flow["tcp"]["congestion"] for flow in flows}
        assert not used & {"reno", "bic", "cubic"}, "the kernel's are all of them C files"


def test_transfers_take_two_seconds_at_path_rate():
    for cell in study_named(NAME).further_scenarios("beyond")["transfers"].check().cells:
        transfer, beside = (flow["workload"].get("volume") for flow in cell.experiment["flows"])
        rate = parse_bits_per_second(cell.settings["bandwidth"])
        assert 8 * parse_bytes(transfer) == 2 * rate
        assert (beside == "1 B") == (cell.settings["control"] == "alone")


@pytest.mark.parametrize(
    "part", ["symmetric", "friendliness", "rtt-unfairness", "convergence", "alone"]
)
def test_measured_time_depends_on_bandwidth(part):
    study = study_named(NAME)
    scenarios = {"symmetric": study.scenario("beyond")} | study.further_scenarios("beyond")
    content = tomllib.loads(scenarios[part].text)
    usual = content["measure"]["warmup"]
    measured = {
        label: parse_seconds(keys["duration"]) - parse_seconds(keys.get("measure.warmup", usual))
        for label, keys in content["sweep"]["bandwidth"].items()
    }
    assert measured == {"10 Mbit/s": 600, "100 Mbit/s": 300, "250 Mbit/s": 300}


def test_slow_start_ends_within_the_warm_up(tmp_path):
    scenario = study_named(NAME).scenario("full")
    bandwidths = tomllib.loads(scenario.text)["sweep"]["bandwidth"]
    warmup = bandwidths["250 Mbit/s"]["measure.warmup"]
    rate = f'"path.rate" = "250 Mbit/s", duration = "20 s", "measure.warmup" = "{warmup}"'
    short = scenario.with_settings(
        {
            "sweep.path.rtt": '["324 ms"]',
            "sweep.path.queue.limit": '["100 % bdp"]',
            "sweep.bandwidth": f'{{ "250 Mbit/s" = {{ {rate} }} }}',
            "sweep.control": '["reno", "scalable", "fast"]',
            "sweep.repeat": "1",
            "measure.endpoint_interval": '"500 ms"',
        }
    )
    samples = short.run(out=tmp_path / "run").endpoint
    grown = samples.filter(pl.col("cwnd_packets") >= pl.col("ssthresh_packets"))
    left = grown.group_by("control", "flow").agg(pl.col("time_s").min())
    assert left.height == 6
    assert left["time_s"].max() <= parse_seconds(warmup) * 2 / 3


def test_fairness_is_smaller_by_larger_goodput():
    row = shares(groups([("reno", "42 ms", 6.0, 1.5)])).row(0, named=True)
    assert row["fairness"] == pytest.approx(0.25)
    assert row["friendliness"] == pytest.approx(0.25)
    assert row["jain_index"] == pytest.approx(7.5**2 / (2 * (36 + 2.25)))
    assert row["efficiency"] == pytest.approx(7.5 / (10 * PAYLOAD_RATIO))
    assert (row["rtt_ms"], row["limit"], row["packets_lost"]) == (42, "20 % bdp", 6)


def test_advantage_is_of_the_shorter_rtt():
    rows = [("reno", "42 ms", 1.0, 8.0), ("reno", "324 ms", 8.0, 1.0), ("reno", "82 ms", 0.0, 9.0)]
    assert shares(groups(rows))["advantage"].to_list() == pytest.approx([8.0, 8.0, 1000.0])


def test_equal_round_trips_have_no_advantage_to_compare():
    frame = shares(groups([("reno", "162 ms", 4.0, 4.0), ("reno", "16 ms", 0.09, 9.0)]))
    assert with_decades(frame)["advantage_decades"].to_list() == pytest.approx([2.0])


@pytest.mark.parametrize("rtt", ["81 ms", "324 ms"])
def test_bound_is_the_squared_rtt_ratio(rtt):
    rates = (2.0, 8.0) if rtt == "81 ms" else (8.0, 2.0)
    row = with_decades(shares(groups([("reno", rtt, *rates)]))).row(0, named=True)
    assert row["advantage_decades"] == pytest.approx(row["bound_decades"])
    assert row["bound_decades"] == pytest.approx(math.log10(4))


def advantages(ratios: list[float]) -> pl.DataFrame:
    """Give runs of one cell with 81 ms against 162 ms: so much more for the shorter one."""
    return pl.DataFrame(
        {
            "control": "bic",
            "rtt_ms": 81,
            "seed": range(len(ratios)),
            "advantage_decades": [math.log10(ratio) for ratio in ratios],
            "bound_decades": math.log10(4),
        }
    )


@pytest.mark.parametrize(
    ("ratios", "sides"),
    [
        ([7.0, 8.0, 9.0], (True, False)),
        ([4.4, 4.5, 4.6], (False, False)),  # within a tenth of a power of ten
        ([2.0, 8.0, 32.0], (False, False)),  # the seeds disagree
        ([1.9, 2.0, 2.1], (False, True)),
    ],
)
def test_bound_is_exceeded_by_interval_and_margin(ratios, sides):
    row = against_bound(advantages(ratios), BEYOND_BOUND, "bound_decades").row(0, named=True)
    assert (row["is_worse"], row["is_better"]) == sides
    assert 10 ** row["mean"] == pytest.approx(math.prod(ratios) ** (1 / 3))
    assert row["pairs"] == 3


def windows(second: list[float]) -> SimpleNamespace:
    """Give a run in which the second flow starts 0.5 s before the third window."""
    rates = {"first": [9.0 - rate for rate in second], "second": second}
    lines = [
        {
            "cell": 0,
            "seed": 1,
            "control": "htcp",
            "bandwidth": "10 Mbit/s",
            "interval_s": 1.0,
            "start_s": 60.0 + place,
            "group": name,
            "goodput_bits_per_second": rate * MEGA,
        }
        for name, values in rates.items()
        for place, rate in enumerate(values)
    ]
    flows = pl.DataFrame({"cell": [0], "seed": [1], "group": ["second"], "start_s": [61.5]})
    return SimpleNamespace(intervals=pl.DataFrame(lines), flows=flows)


def test_convergence_is_80_per_cent_of_fair_share():
    # 80 % of half of what 10 Mbit/s carry of payload is 3.86 Mbit/s.
    row = joining(windows([0.0, 9.0, 1.0, 3.8, 3.9, 4.4])).row(0, named=True)
    assert row["convergence_s"] == pytest.approx(65 - 61.5)
    assert row["delta_fair_s"] == pytest.approx(66 - 61.5)
    assert row["observed_s"] == pytest.approx(4.5)
    # Four windows since it has started: in the last two 3.9 and 4.4 of 9.
    assert row["settled_fairness"] == pytest.approx(8.3 / 9.7)


def stream(control: str | None, goodput: float, latency: float, loss: float) -> pl.DataFrame:
    """Give what standard TCP had beside a congestion control, or alone, in one run."""
    row = {
        "control": control,
        "bandwidth": "10 Mbit/s",
        "limit": "20 % bdp",
        "rtt_ms": 42,
        "seed": 1,
        "goodput_bits_per_second": goodput,
        "ack_latency_p95_s": latency,
        "packet_loss_ratio": loss,
    }
    return pl.DataFrame([{name: value for name, value in row.items() if value is not None}])


def test_harm_is_against_standard_tcp_alone():
    alone = stream(None, 8.0, 0.05, 0.0)
    beside = pl.concat([stream("reno", 4.0, 0.05, 0.001), stream("fast", 6.0, 0.1, 0.0)])
    found = harm_of(alone, beside, OF_STREAMS)
    values = {(row["control"], row["suffers"]): row["harm"] for row in found.to_dicts()}
    assert values == pytest.approx(
        {
            ("reno", "throughput"): 0.5,
            ("fast", "throughput"): 0.25,
            ("reno", "latency"): 0.0,
            ("fast", "latency"): 0.5,
            ("reno", "loss"): 1.0,
            ("fast", "loss"): 0.0,
        }
    )


def test_unfinished_transfer_counts_to_the_end():
    rows = {
        "cell": pl.Series([0, 0, 0], dtype=pl.UInt32),
        "seed": 1,
        "control": "fast",
        "bandwidth": "10 Mbit/s",
        "path_queue_limit": "20 % bdp",
        "path_rtt": "42 ms",
        "group": ["first", "first", "second"],
        "start_s": [30.0, 330.0, 0.5],
        "completion_time_s": [10.0, None, None],
    }
    cells = [SimpleNamespace(index=0, experiment={"duration": "400 s"})]
    manifest = SimpleNamespace(plan=SimpleNamespace(cells=cells))
    run = SimpleNamespace(flows=pl.DataFrame(rows), manifest=manifest)
    assert transfers(run)["completion_time_s"].to_list() == [(10 + 70) / 2]


def test_missing_event_counts_as_observed_time():
    row = joining(windows([0.0, 9.0, 1.0, 1.0])).row(0, named=True)
    assert row["convergence_s"] == math.inf
    assert row["convergence_capped_s"] == pytest.approx(2.5)


def test_recovery_lasts_until_the_window_is_regained():
    # Slow start ends at 60; from 100 the window falls to 50 and grows by one per 0.1 s.
    sawtooth = [30, 60, 30, *range(90, 101), *range(50, 101), *range(50, 70)]
    thresholds = [None, None, 30, *[30] * 11, *[50] * 51, *[49] * 20]
    frame = pl.DataFrame(
        {
            "control": "reno",
            "time_s": [0.1 * place for place in range(len(sawtooth))],
            "cwnd_packets": sawtooth,
            "ssthresh_packets": thresholds,
            "smoothed_rtt_s": 0.1,
        }
    )
    row = recoveries(SimpleNamespace(endpoint=frame)).row(0, named=True)
    assert (row["losses"], row["before_packets"], row["after_packets"]) == (1, 100.0, 50.0)
    # 99 % of 100 is reached 49 steps later.
    assert row["recovery_s"] == pytest.approx(4.9)
    assert row["round_trips"] == pytest.approx(49)


def test_first_loss_after_lossless_slow_start_counts():
    sawtooth = [30, 60, *range(90, 101), *range(50, 101)]
    frame = pl.DataFrame(
        {
            "control": "reno",
            "time_s": [0.1 * place for place in range(len(sawtooth))],
            "cwnd_packets": sawtooth,
            "ssthresh_packets": [*[90] * 13, *[50] * 51],
            "smoothed_rtt_s": 0.1,
        }
    )
    row = recoveries(SimpleNamespace(endpoint=frame)).row(0, named=True)
    assert (row["losses"], row["recovery_s"]) == (1, pytest.approx(4.9))
    early = frame.with_columns(ssthresh_packets=pl.Series([*[200] * 13, *[50] * 51]))
    assert recoveries(SimpleNamespace(endpoint=early)).row(0, named=True)["losses"] == 0


def test_a_window_without_a_loss_has_no_recovery():
    frame = pl.DataFrame(
        {
            "control": ["fast"] * 3,
            "time_s": [0.0, 1.0, 2.0],
            "cwnd_packets": [1, 2, 3],
            "ssthresh_packets": pl.Series([None] * 3, dtype=pl.UInt64),
            "smoothed_rtt_s": [0.1] * 3,
        }
    )
    row = recoveries(SimpleNamespace(endpoint=frame)).row(0, named=True)
    assert (row["losses"], row["recovery_s"]) == (0, None)


def test_worse_cell_exceeds_margin_and_interval():
    details = compared([0.5, 0.05, -0.5, 0.1])
    assert details["is_worse"].to_list() == [True, False, False, False]
    # The last interval is 0.1015 +- 0.006.
    assert details["may_be_worse"].to_list() == [True, False, False, True]
    assert details["is_better"].to_list() == [False, False, True, False]
    assert details["difference"][0] == pytest.approx(-0.5015)


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ([0.5, 0.5, 0.0], Verdict.HOLDS),
        ([0.5, 0.0, 0.0, 0.0], Verdict.HOLDS_FOR_SOME),
        ([0.5] + [0.0] * 9, Verdict.FAILS),
        ([-0.5, -0.5], Verdict.FAILS),
        ([0.5, 0.5, 0.5, -0.5], Verdict.HOLDS_FOR_SOME),
        ([0.5, -0.5, -0.5, 0.0], Verdict.FAILS),
    ],
)
def test_fault_verdict_follows_share_of_cells(differences, verdict):
    assert verdict_of_fault(compared(differences)) is verdict


def test_cells_that_may_be_worse_decide_nothing():
    cells = compared([0.0] * 20)
    undecided = cells.with_columns(may_be_worse=pl.Series([True] * 3 + [False] * 17))
    assert verdict_of_fault(undecided) is Verdict.UNDECIDED
    excluded = cells.with_columns(may_be_worse=pl.Series([True] * 2 + [False] * 18))
    assert verdict_of_fault(excluded) is Verdict.FAILS


@pytest.mark.parametrize(
    ("worse", "may_be_worse", "better", "verdict"),
    [
        (1, 3, 16, Verdict.FAILS),
        (0, 4, 3, Verdict.UNDECIDED),
        (3, 5, 5, Verdict.FAILS),
        (3, 6, 5, Verdict.UNDECIDED),
    ],
)
def test_fault_fails_where_more_cells_are_better_than_may_be_worse(
    worse, may_be_worse, better, verdict
):
    cells = compared([0.0] * 20).with_columns(
        is_worse=pl.Series([place < worse for place in range(20)]),
        may_be_worse=pl.Series([place < may_be_worse for place in range(20)]),
        is_better=pl.Series([place >= 20 - better for place in range(20)]),
    )
    assert verdict_of_fault(cells) is verdict


def test_one_seed_decides_nothing():
    frame = pl.DataFrame(
        {
            "control": ["reno", "bic"],
            "rtt_ms": [42, 42],
            "seed": [1, 1],
            "convergence_capped_s": [3.0, 300.0],
        }
    )
    assert verdict_of_fault(against_standard(frame, CONVERGENCE)) is Verdict.UNDECIDED


def test_who_has_one_fault_is_not_innocent():
    clean, guilty, some = compared([0.0]), compared([0.5]), compared([0.5, 0.0])
    assert verdict_of_innocence([clean, clean]) is Verdict.HOLDS
    assert verdict_of_innocence([clean, some]) is Verdict.HOLDS_FOR_SOME
    assert verdict_of_innocence([guilty, some]) is Verdict.FAILS


@pytest.mark.parametrize(
    ("round_trips", "verdict"),
    [(10_500.0, Verdict.HOLDS), (9_000.0, Verdict.FAILS)],
)
def test_the_recovery_is_judged_by_its_round_trips(round_trips, verdict):
    found = pl.DataFrame(
        {
            "control": ["reno"],
            "losses": [1],
            "before_packets": [21000.0],
            "recovery_s": [2100.0],
            "round_trips": [round_trips],
        }
    )
    assert _recovers_slowly(found).verdict is verdict


@pytest.mark.parametrize(
    ("seconds", "verdict"),
    [
        (120.0, Verdict.HOLDS),
        (50.0, Verdict.HOLDS_FOR_SOME),
        (5.0, Verdict.FAILS),
        (100.0, Verdict.UNDECIDED),
    ],
)
def test_early_drop_delay_is_a_thousand_rtts(seconds, verdict):
    times = [seconds - 0.5, seconds + 0.5, seconds]
    found = pl.DataFrame(
        {
            "control": ["highspeed"] * 3,
            "convergence_s": times,
            "convergence_capped_s": times,
            "observed_s": [330.0] * 3,
        }
    )
    assert _suffers_from_an_early_drop(found).verdict is verdict


def test_what_was_not_run_is_undecided():
    alike = groups([("reno", "42 ms", 5.0, 5.0), ("fast", "42 ms", 5.0, 5.0)])
    judged = claims(alike)
    assert {claim.verdict for claim in judged} == {Verdict.UNDECIDED}
    assert "not there" in judged[-2].evidence


def test_part_is_found_in_study_folder(tmp_path):
    results = Results(tmp_path)
    assert results.part("traces") is None
    folder = tmp_path / "parts" / "traces"
    folder.mkdir(parents=True)
    pl.DataFrame({"cell": [0]}).write_parquet(folder / "groups.parquet")
    part = results.part("traces")
    assert part is not None
    assert part.groups["cell"].to_list() == [0]


def limited_run(window_limited: list[float]) -> SimpleNamespace:
    """Give a run with greedy flows that the receiver's window held back for so many seconds."""
    senders = pl.DataFrame(
        {
            "cell": pl.Series(range(len(window_limited)), dtype=pl.UInt32),
            "seed": 1,
            "control": "fast",
            "group": "first",
            "open_s": 100.0,
            "busy_s": 100.0,
            "window_limited_s": window_limited,
            "buffer_limited_s": 0.0,
            "total_segments_retransmitted": 5,
            "in_slow_start": False,
        }
    )
    experiment = {"flows": [{"name": "first", "workload": {"kind": "greedy"}}]}
    cells = [SimpleNamespace(index=place, experiment=experiment) for place in range(senders.height)]
    manifest = SimpleNamespace(plan=SimpleNamespace(cells=cells))
    return SimpleNamespace(
        senders=senders, flows=pl.DataFrame(), manifest=manifest, part=lambda _name: None
    )


@pytest.mark.parametrize(
    ("window_limited", "verdict"),
    [
        ([0.0, 9.0, 1.0], Verdict.HOLDS),
        ([0.0, 60.0, 1.0], Verdict.HOLDS_FOR_SOME),
        ([50.0, 60.0, 1.0], Verdict.FAILS),
    ],
)
def test_control_is_exercised_without_other_limits(window_limited, verdict):
    assert exercised(limited_run(window_limited)).verdict is verdict


def test_limited_flows_and_causes_are_named():
    assert exercised(limited_run([50.0, 0.0])).evidence == (
        "1 of 2 flows were limited by something else: symmetric, fast: of 1 the receiver's window "
        "held data back for more than 10% of the time."
    )


def test_user_settings_override_the_form():
    scenario = study_named(NAME).further_scenarios("reduced")["friendliness"]
    chosen = scenario.with_settings({"sweep.control": '["reno", "bbr"]', "sweep.repeat": "1"})
    plan = chosen.check()
    assert plan.axis("control").labels == ("reno", "bbr")
    assert plan.runs == 2 * 2 * 2

"""The study of start-ups over capacity on demand: measures by hand, verdicts by their rules."""

from __future__ import annotations

import tomllib
from types import SimpleNamespace

import polars as pl
import pytest
from fairwind_studies.satellite_startup.measures import (
    CHANNEL_PAYLOAD,
    FREEBSD,
    WITH,
    WITHOUT,
    behaviour,
    carried,
    delay_ratio,
    equivalent_rtts,
    times_of_volumes,
    transfers,
    windows,
)
from fairwind_studies.satellite_startup.model_claims import (
    MULTIPLIERS,
    agrees,
    reconstruction,
    use_agrees,
)
from fairwind_studies.satellite_startup.request_claims import (
    _ours_is_no_slower,
    capacity_comes_late,
    larger_volumes_gain_more,
    time_falls,
    time_saturates,
    use_falls,
)
from fairwind_studies.satellite_startup.stack_claims import (
    _freebsd,
    _spread,
    _with_sack,
    _without_sack,
)
from fairwind_studies.satellite_startup.study import claims

from fairwind.models.dama import DemandAssignedLink
from fairwind.results import Verdict
from fairwind.studies import study_named
from slotted import Served, Transfer, simulated

NAME = "satellite-startup"


def made_up(flows: list[dict], frames: list[dict] | None = None) -> SimpleNamespace:
    """Return results of transfers that begin at 1 s; connections take another second."""
    rows = [
        {"cell": 0, "seed": 1, "group": "greedy", "start_s": 1.0, "setup_time_s": 1.0} | row
        for row in flows
    ]
    return SimpleNamespace(
        flows=pl.DataFrame(rows),
        slot_intervals=None if frames is None else pl.DataFrame(frames),
        has_table=lambda name: name == "slot_intervals" and frames is not None,
        part=lambda _name: None,
    )


def frame(start_s: float, assigned: int, used: int) -> dict:
    """Return a frame of 0.1 s with one guaranteed slot."""
    return {
        "cell": 0,
        "seed": 1,
        "start_s": start_s,
        "interval_s": 0.1,
        "slots_assigned": assigned,
        "slots_guaranteed": 1,
        "slots_used": used,
    }


def of_multipliers(change) -> pl.DataFrame:
    """Give two seeds of every cell of the reconstruction, changed by a function of its row."""
    rows = [
        {
            "multiplier": row["multiplier"],
            "segments": row["segments"],
            "seed": seed,
            "group": "greedy",
            "transfer_time_s": change(row) + 0.001 * seed,
            "slot_use_ratio": row["reckoned_use"],
            "demanded_slot_use_ratio": row["reckoned_use"],
        }
        for row in reconstruction().iter_rows(named=True)
        for seed in (-1, 1)
    ]
    return pl.DataFrame(rows)


def of_stacks(stack: str, **measures: float | str) -> pl.DataFrame:
    """Give two runs of a stack at k = 1 with one buffer."""
    row = {
        "stack": stack,
        "request": "rbdc",
        "limit": "300 packets",
        "timeouts": 1,
        "packets_lost": 100,
        "rate_ratio": 0.1,
        "irregularity_ratio": 0.5,
        "rtt_ratio": 4.0,
        "early_lost": 0,
        "early_rtt_ratio": 3.0,
    }
    return pl.DataFrame([row | measures | {"seed": seed} for seed in (1, 2)])


def test_transfer_time_begins_at_establishment():
    done = transfers(made_up([{"completion_time_s": 6.0, "segments": 20}]))
    assert done["transfer_time_s"].to_list() == [5.0]
    assert done["segments"].to_list() == [20.0]


def test_slots_count_from_establishment_to_last_segment():
    # Established at 2 s, the last segment there at 4 s: it left 0.42 s before.
    frames = [
        frame(start, assigned, used)
        for start, assigned, used in ((1.9, 9, 9), (2.1, 4, 1), (3.5, 6, 4), (3.6, 9, 0))
    ]
    done = transfers(made_up([{"completion_time_s": 3.0, "segments": 20}], frames))
    assert done["slot_use_ratio"].to_list() == [0.5]


def test_idle_guaranteed_slots_are_not_demanded():
    # Of four slots a quarter is guaranteed: of three idle ones 2.25 were asked for. The last
    # segment leaves at 3.58 s, four fifths into a frame of 0.1 s: of its six slots 4.8 have passed,
    # four of them used, five sixths asked for.
    frames = [frame(2.1, 4, 1), frame(3.5, 6, 4), frame(3.0, 1, 0)]
    done = transfers(made_up([{"completion_time_s": 3.0, "segments": 20}], frames))
    wasted = 2.25 + 0.8 * 5 / 6
    assert done["demanded_slot_use_ratio"].to_list() == pytest.approx([5 / (5 + wasted)])


def test_unfinished_transfer_has_no_time_and_use():
    frames = [frame(3.0, 4, 1)]
    results = made_up([{"completion_time_s": None}], frames)
    results.flows = results.flows.cast({"completion_time_s": pl.Float64})
    done = transfers(results)
    assert done["transfer_time_s"].to_list() == [None]
    assert done["slot_use_ratio"].to_list() == [None]
    assert done["demanded_slot_use_ratio"].to_list() == [None]


def test_equivalent_rtt_follows_from_doublings():
    rows = [
        {
            "cell": cell,
            "path_terminal_requests_multiplier": "1",
            "delay": "far, 4 and 1",
            "segments": segments,
            "completion_time_s": 6.0 + took,
        }
        for cell, (segments, took) in enumerate(((40, 0.0), (640, 8 * 0.84)))
    ]
    row = equivalent_rtts(made_up(rows)).row(0, named=True)
    assert row["equivalent_rtt_ratio"] == pytest.approx(2.0)
    assert row["delay_ratio"] == pytest.approx(2.8125)


def test_periods_have_the_platform_of_the_model():
    assert delay_ratio("far, 4 and 1") == pytest.approx(DemandAssignedLink().delay_ratio)


def test_volumes_are_counted_from_the_establishment():
    # 0.8 Mbit/s in windows of 0.1 s: 10 kB each; the connection is there at 2 s.
    intervals = pl.DataFrame(
        {
            "cell": [0] * 3,
            "seed": [1] * 3,
            "policy": ["rbdc"] * 3,
            "start_s": [1.9, 2.0, 2.1],
            "interval_s": [0.1] * 3,
            "goodput_bits_per_second": [0.0, 8e5, 8e5],
        }
    )
    results = made_up([{"completion_time_s": None}])
    results.intervals = intervals
    read = carried(results, ("policy",))
    assert read["carried_bytes"].to_list() == [0, 10_000, 20_000]
    assert read["time_s"].to_list() == pytest.approx([0.0, 0.1, 0.2])
    when = times_of_volumes(read, ("policy",), (10.0,)).row(0, named=True)
    assert when["time_s"] == pytest.approx(0.2)  # 14 480 bytes are there with the second window


def test_windows_are_timed_from_the_establishment():
    results = made_up([{"completion_time_s": None}])
    results.endpoint = pl.DataFrame(
        {"cell": [0], "seed": [1], "time_s": [5.0], "policy": ["rbdc"], "cwnd_packets": [12]}
    )
    row = windows(results, ("policy",)).row(0, named=True)
    assert (row["time_s"], row["window_segments"]) == (3.0, 12.0)


def test_stack_is_judged_from_twenty_seconds_on():
    results = made_up([{"completion_time_s": None, "timeouts": 2, "packets_lost": 7,
                        "data_segments_retransmitted": 9, "stack": WITH, "request": "rbdc",
                        "path_queue_limit": "300 packets"}])  # fmt: skip
    rates = [0.0, 0.5 * CHANNEL_PAYLOAD, 1.5 * CHANNEL_PAYLOAD]
    same = {"cell": [0] * 3, "seed": [1] * 3}
    results.intervals = pl.DataFrame(
        same
        | {
            "start_s": [5.0, 20.0, 21.0],
            "goodput_bits_per_second": rates,
            "packets_lost": [3, 4, 0],
        }
    )
    results.endpoint = pl.DataFrame(
        same | {"time_s": [10.0, 30.0, 31.0], "smoothed_rtt_s": [0.84, 1.68, 1.68]}
    )
    row = behaviour(results).row(0, named=True)
    assert row["rate_ratio"] == pytest.approx(1.0)
    assert row["irregularity_ratio"] == pytest.approx(0.5 * 2**0.5)  # two values, one degree less
    assert (row["early_lost"], row["packets_lost"]) == (3, 7)
    assert (row["early_rtt_ratio"], row["rtt_ratio"]) == pytest.approx((1.0, 2.0))


def test_the_reconstruction_agrees_with_itself():
    done = of_multipliers(lambda row: row["reckoned_s"] - 0.42)
    assert agrees(done).verdict is Verdict.HOLDS
    assert "35 of 35 within" in agrees(done).evidence
    assert use_agrees(done).verdict is Verdict.HOLDS
    assert time_falls(done).verdict is Verdict.HOLDS
    assert larger_volumes_gain_more(done).verdict is Verdict.HOLDS
    assert use_falls(done).verdict is Verdict.HOLDS


@pytest.mark.parametrize(
    ("longer", "verdict"),
    [
        ({1.0: 1.09, 2.0: 1.04}, Verdict.HOLDS),
        ({2.0: 1.06}, Verdict.HOLDS_FOR_SOME),
        (dict.fromkeys(MULTIPLIERS, 1.11), Verdict.FAILS),
    ],
)
def test_times_agree_with_reckoning_within_bounds(longer, verdict):
    # Ours end when the last segment is there: half of 840 ms before it is acknowledged.
    done = of_multipliers(lambda row: row["reckoned_s"] * longer.get(row["multiplier"], 1.0) - 0.42)
    assert agrees(done).verdict is verdict


@pytest.mark.parametrize(
    ("less", "verdict"),
    [
        ({20: 0.04}, Verdict.HOLDS),
        ({20: 0.06}, Verdict.HOLDS_FOR_SOME),
        (dict.fromkeys((20, 50, 100, 200, 500), 0.06), Verdict.FAILS),
    ],
)
def test_use_of_slots_is_judged_separately(less, verdict):
    done = of_multipliers(lambda row: row["reckoned_s"] - 0.42).with_columns(
        pl.col("demanded_slot_use_ratio")
        - pl.col("segments").cast(pl.Int64).replace_strict(less, default=0.0)
    )
    assert use_agrees(done).verdict is verdict
    assert agrees(done).verdict is Verdict.HOLDS


def test_times_saturate_where_two_per_cent_are_left():
    quicker = {4.8: 5.0, 8.0: 4.95}
    done = of_multipliers(lambda row: quicker.get(row["multiplier"], 10.0))
    assert time_saturates(done).verdict is Verdict.HOLDS
    quicker[8.0] = 4.5
    still = of_multipliers(lambda row: quicker.get(row["multiplier"], 10.0))
    assert time_saturates(still).verdict is Verdict.HOLDS_FOR_SOME
    # Elsewhere k = 8 gains a tenth of the five seconds that were gained before.
    text = time_saturates(done, still)
    assert text.verdict is Verdict.HOLDS
    assert "slots without frames to wait for" in text.evidence
    assert text.evidence.endswith("; 10% to 10%.")


@pytest.mark.parametrize(
    ("measures", "verdict"),
    [
        ({}, Verdict.HOLDS),
        ({"timeouts": 0}, Verdict.HOLDS_FOR_SOME),
        ({"timeouts": 0, "rate_ratio": 0.9}, Verdict.FAILS),
    ],
)
def test_run_without_sack_times_out_or_is_slow(measures, verdict):
    assert _without_sack(of_stacks(WITHOUT, **measures)).verdict is verdict


@pytest.mark.parametrize(
    ("measures", "verdict"),
    [
        ({"rate_ratio": 0.95}, Verdict.HOLDS),
        ({"rate_ratio": 0.95, "irregularity_ratio": 0.01}, Verdict.FAILS),
        ({"rate_ratio": 0.5}, Verdict.FAILS),
    ],
)
def test_with_sack_a_run_is_fast_and_irregular(measures, verdict):
    assert _with_sack(of_stacks(WITH, **measures)).verdict is verdict


@pytest.mark.parametrize(
    ("measures", "verdict"),
    [
        (
            {"packets_lost": 0, "irregularity_ratio": 0.0, "rtt_ratio": 1.1},
            Verdict.HOLDS,
        ),
        ({"early_rtt_ratio": 1.2}, Verdict.HOLDS_FOR_SOME),
        ({"early_rtt_ratio": 1.2, "early_lost": 1}, Verdict.FAILS),
        ({}, Verdict.FAILS),
    ],
)
def test_freebsd_is_regular_always_or_in_the_beginning(measures, verdict):
    assert _freebsd(of_stacks(FREEBSD, **measures)).verdict is verdict


@pytest.mark.parametrize(
    ("freebsd_at_one", "freebsd", "others", "verdict"),
    [
        (0, 0, 1.0, Verdict.HOLDS),
        (9, 0, 0.5, Verdict.HOLDS_FOR_SOME),
        (9, 9, 0.5, Verdict.FAILS),
    ],
)
def test_spread_slots_judge_all_stacks_and_multipliers(freebsd_at_one, freebsd, others, verdict):
    asked = ("rbdc, spread", "rbdc, spread, k = 4.8")
    regular = {"irregularity_ratio": 0.05, "rtt_ratio": 1.2}
    runs = [
        part
        for request, lost in zip(asked, (freebsd_at_one, freebsd), strict=True)
        for part in (
            of_stacks(WITHOUT, request=request, timeouts=int(others)),
            of_stacks(WITH, request=request, rate_ratio=others),
            of_stacks(FREEBSD, request=request, packets_lost=lost, **regular),
        )
    ]
    assert _spread(pl.concat(runs, how="vertical_relaxed")).verdict is verdict
    assert "not run" in _spread(of_stacks(FREEBSD)).evidence


@pytest.mark.parametrize(
    ("time", "use", "verdict"),
    [
        (5.0, 0.6, Verdict.HOLDS),
        (5.5, 0.6, Verdict.FAILS),
        (5.0, 0.4, Verdict.FAILS),
    ],
)
def test_forecast_must_be_quick_and_sparing(time, use, verdict):
    rows = [
        {
            "policy": policy,
            "segments": 100.0,
            "seed": seed,
            "group": "greedy",
            "transfer_time_s": took + 0.001 * seed,
            "slot_use_ratio": used + 0.001 * seed,
        }
        for policy, took, used in (
            ("rbdc", 9.0, 1.0),
            ("rbdc, k = 4.8", 5.0, 0.6),
            ("forecast", time, use),
        )
        for seed in (1, 2, 3)
    ]
    assert _ours_is_no_slower(pl.DataFrame(rows)).verdict is verdict


def test_what_was_not_run_is_undecided():
    done = [
        {
            "cell": cell,
            "seed": seed,
            "path_terminal_requests_multiplier": str(row["multiplier"]),
            "segments": row["segments"],
            "completion_time_s": row["reckoned_s"] + 1 + 0.001 * seed,
        }
        for cell, row in enumerate(reconstruction().iter_rows(named=True))
        for seed in (1, 2)
    ]
    frames = [
        {"cell": cell, "seed": seed, "start_s": 2.0, "interval_s": 0.273, "slots_assigned": 100,
         "slots_guaranteed": 1,
         "requested_max_bits_per_second": 0.0, "slots_by_rate": 0,
         "slots_used": round(100 * row["reckoned_use"])}
        for cell, row in enumerate(reconstruction().iter_rows(named=True))
        for seed in (1, 2)
    ]  # fmt: skip
    judged = claims(made_up(done, frames))
    missing = [claim for claim in judged if claim.verdict is Verdict.UNDECIDED]
    assert len(judged) == 32
    assert {claim.evidence for claim in missing if "not run" in claim.evidence} == {
        "This part of the study was not run."
    }
    assert len([claim for claim in missing if "not run" in claim.evidence]) == 26


@pytest.mark.parametrize("form", ["full", "reduced"])
def test_all_parts_have_the_source_s_platform(form):
    study = study_named(NAME)
    parts = {"table": study.scenario(form)} | study.further_scenarios(form)
    beyond = {"geo-uploads", "geo-downloads", "leo", "crowd"}
    source = {"table", "stacks", "startup", "periods", "policies", "terminals"}
    assert set(parts) == source | beyond | {"reckoning", "frame-offset"}
    offset, table = (
        parts[name].plan.cells[0].experiment["network"] for name in ("frame-offset", "table")
    )
    assert offset["carriers"][0].pop("frame_offset") == "147 ms"
    assert offset == table
    for name in source - {"terminals", "periods"}:
        path = tomllib.loads(parts[name].text)["path"]
        assert path["rtt"] == "840 ms"
        assert path["carrier"] == {"request_period": "1092 ms", "allocation_period": "273 ms"}
        assert path["terminal"]["most_slots"] == 28


@pytest.mark.parametrize("form", ["full", "reduced"])
def test_reckoning_has_model_periods_and_rate_slots(form):
    study = study_named(NAME)
    text = study.further_scenarios(form)["reckoning"].text
    reckoned, table = (tomllib.loads(each) for each in (text, study.scenario(form).text))
    carrier = reckoned["path"]["carrier"]
    link = DemandAssignedLink()
    assert carrier["request_period"] == f"{1000 * link.request_period_s:.0f} ms"
    assert carrier["allocation_period"] == f"{1000 * link.allocation_period_s:.0f} ms"
    # A tenth of a frame; 420 ms to the master and back are fifteen of them and 10.5 ms more.
    assert (carrier["frame"], carrier["frame_offset"]) == ("27.3 ms", "10.5 ms")
    # Three full segments and the handshake's last one, of 52 bytes, ask for no more than a slot.
    assert (3 * 1480 + 52) * 8 / link.request_period_s <= 44_000
    for segments, setting in reckoned["sweep"]["segments"].items():
        # 1480 bytes less 20 of IP, 20 of TCP and 12 of timestamps.
        volume = setting["flows.greedy.workload.volume"]
        assert volume == f"{int(segments) * 1428} B"
    for same in ("rtt", "terminal", "reverse_rate", "queue"):
        assert reckoned["path"][same] == table["path"][same]


def test_one_volume_leaves_gain_by_volume_undecided():
    done = of_multipliers(lambda row: row["reckoned_s"]).filter(pl.col("segments") == 100)
    assert larger_volumes_gain_more(done).verdict is Verdict.UNDECIDED


def test_kernel_form_is_part_of_the_table():
    study = study_named(NAME)
    assert study.form_on_kernel("full") == study.form_on_kernel("reduced") == "kernel"
    assert study.further_scenarios("kernel") == {}
    full, kernel = (tomllib.loads(study.scenario(form).text) for form in ("full", "kernel"))
    assert kernel["path"] == full["path"]
    assert kernel["flows"] == full["flows"]


@pytest.mark.parametrize(("came_s", "verdict"), [(2.8, Verdict.HOLDS), (2.7, Verdict.FAILS)])
def test_capacity_delay_is_request_to_slots(came_s, verdict):
    # More than is guaranteed is asked for in the frame from 2.0 s on; it ends 0.273 s later.
    frames = [
        {
            "cell": 0,
            "seed": 1,
            "start_s": start,
            "requested_max_bits_per_second": asked,
            "slots_by_rate": came,
        }
        for start, asked, came in (
            (1.0, 44_000.0, 0),
            (2.0, 88_000.0, 0),
            (came_s, 88_000.0, 1),
            (4.0, 0.0, 1),
        )
    ]
    results = made_up([{"completion_time_s": 3.0}], frames)
    assert capacity_comes_late(results).verdict is verdict


def test_rate_slots_match_reckoning_framed_slots_differ():
    """How times and uses were reckoned that the study is held to, found out by doing it."""

    def off(kind: type[Transfer]) -> list[tuple[float, float]]:
        return [
            (time / row["reckoned_s"] - 1, use - row["reckoned_use"])
            for row in reconstruction().iter_rows(named=True)
            for time, use in [
                simulated(int(row["segments"]), row["multiplier"], phases=6, kind=kind)
            ]
        ]

    assert all(abs(time) < 0.05 and abs(use) < 0.05 for time, use in off(Served))
    assert sum(abs(use) < 0.05 for _, use in off(Transfer)) < 30

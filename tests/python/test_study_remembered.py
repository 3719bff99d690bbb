"""The study of remembered windows: measures by hand, and verdicts by their rules."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType, SimpleNamespace

import polars as pl
import pytest

from fairwind.results import Claim, Verdict
from fairwind.studies import study_named
from fairwind.studies.remembered_windows.claims import (
    faster_far_away,
    faster_with_delay,
    keeps_rising,
    meets_the_form,
    meets_the_form_with_serialisation,
    slower_with_volume,
)
from fairwind.studies.remembered_windows.crowd_claims import (
    MANY_HOSTS,
    ONE_HOST,
    careful_crowds_lose_less,
    crowds_lose,
    largest_crowds,
)
from fairwind.studies.remembered_windows.others import in_the_first_second
from fairwind.studies.remembered_windows.price import (
    against,
    at_once,
    map_of_speed_ups,
    second_transfers,
)
from fairwind.studies.remembered_windows.price_claims import (
    careful_is_no_worse,
    costs_where_slowed,
    fills_the_queue_at_first,
    harms_greedy_flows,
    harms_where_worse,
    overflows_small_queues,
    pays_where_long,
)
from fairwind.studies.remembered_windows.speedups import by_delay, closed_form
from fairwind.studies.remembered_windows.transfers import later_times, old_by_new, transfers

NAME = "remembered-windows"


def flow(number: int, time_s: float | None, **axes: object) -> dict[str, object]:
    """Give the row of one transfer's data."""
    return {
        "cell": 0,
        "seed": 1,
        "group": "web-responses",
        "name": f"web-responses-1-{number}",
        "start_s": float(number),
        "completion_time_s": time_s,
        "packets_lost": number,
    } | axes


def made_up(flows: list[dict[str, object]], **tables: pl.DataFrame) -> SimpleNamespace:
    """Give results with these flows."""
    experiment = {"network": {"links": [{"name": "bottleneck", "rate": "100 Mbit/s"}]}}
    plan = SimpleNamespace(cells=[SimpleNamespace(experiment=experiment)])
    return SimpleNamespace(
        flows=pl.DataFrame(flows, infer_schema_length=None),
        manifest=SimpleNamespace(plan=plan, is_real_time=False),
        **tables,
    )


def of_memories(old: list[float], new: list[float], **axes: object) -> list[dict[str, object]]:
    """Give the transfers of two runs, without a memory and with it."""
    return [
        flow(number, time_s, memory=memory, cell=cell, **axes)
        for cell, (memory, times) in enumerate((("old", old), ("new", new)))
        for number, time_s in enumerate(times, start=1)
    ]


def test_transfers_have_numbers_and_those_that_did_not_end_are_left_out():
    done = transfers(made_up([flow(1, 2.0), flow(2, None), flow(12, 3.0)]))
    assert done["number"].to_list() == [1, 12]


def test_the_first_transfer_does_not_count_for_it_remembers_nothing():
    results = made_up(of_memories([9.0, 4.0, 6.0], [9.0, 2.0, 3.0]))
    assert later_times(results)["completion_time_s"].to_list() == [5.0, 2.5]


def test_speed_ups_are_old_by_new_seed_by_seed():
    rows = [
        *of_memories([0, 4.0], [0, 2.0], path_reverse_delay="20 ms"),
        *of_memories([0, 9.0], [0, 3.0], path_reverse_delay="20 ms", seed=2),
    ]
    found = old_by_new(later_times(made_up(rows)), ["delay_s"])
    assert found["delay_s"].to_list() == [0.02]
    assert found["mean"].to_list() == [2.5]
    assert found["replicates"].to_list() == [2]


def test_the_closed_form_stands_beside_each_volume_and_delay():
    axes = {"path_reverse_delay": "199.5 ms", "flows_web_workload_volume": "10 MB"}
    found = by_delay(made_up(of_memories([0, 3.19], [0, 1.42], **axes)))
    # 6907 segments take 0.829 s; 200 ms, ten stalls from one segment, one from 45.
    rounds = sum(0.2 + 0.00012 - 2**k * 0.00012 for k in range(11))
    expected = (0.4 + 6907 * 0.00012 + rounds) / (
        0.4 + 6907 * 0.00012 + 0.2 + 0.00012 - 45 * 0.00012
    )
    assert found["form"].to_list() == pytest.approx([expected])


def trend(speed_ups: dict[tuple[float, float], float]) -> pl.DataFrame:
    """Give speed-ups by volume and delay."""
    return pl.DataFrame(
        [
            {"volume_bytes": volume, "delay_s": delay, "mean": mean}
            for (volume, delay), mean in speed_ups.items()
        ]
    )


RISING = {(1e7, 0.0): 1.0, (1e7, 0.1): 1.5, (1e7, 0.2): 2.0}
RISING_LESS = {(4e7, 0.0): 1.0, (4e7, 0.1): 1.1, (4e7, 0.2): 1.2}


@pytest.mark.parametrize(
    ("change", "delay", "volume"),
    [
        ({}, Verdict.BORNE_OUT, Verdict.BORNE_OUT),
        ({(1e7, 0.1): 2.1}, Verdict.BORNE_OUT_IN_PART, Verdict.BORNE_OUT),
        ({(4e7, 0.2): 0.9}, Verdict.NOT_BORNE_OUT, Verdict.BORNE_OUT),
        ({(4e7, 0.1): 1.7, (4e7, 0.2): 2.3}, Verdict.BORNE_OUT, Verdict.NOT_BORNE_OUT),
    ],
)
def test_trends_are_judged_step_by_step_and_from_end_to_end(change, delay, volume):
    measured = trend(RISING | RISING_LESS | change)
    assert faster_with_delay(measured).verdict is delay
    assert slower_with_volume(measured).verdict is volume


def far_away(new: float) -> SimpleNamespace:
    """Give three seeds of two volumes, the second of which takes `new` with a memory."""
    rows = []
    for seed in (1, 2, 3):
        for volume, with_memory in (("10 kB", 2.0), ("100 kB", new)):
            axes = {"flows_web_workload_volume": volume, "seed": seed}
            old = 4.0 + 0.001 * seed
            rows += of_memories([0, old], [0, with_memory], **axes)
    return made_up(rows)


def test_a_long_path_is_judged_by_intervals():
    assert faster_far_away(far_away(3.0)).verdict is Verdict.BORNE_OUT
    assert faster_far_away(far_away(4.002)).verdict is Verdict.BORNE_OUT_IN_PART
    assert faster_far_away(far_away(5.0)).verdict is Verdict.NOT_BORNE_OUT
    assert faster_far_away(None).verdict is Verdict.UNDECIDED


def windows(new: list[int], to_the_end: list[int] | None = None) -> SimpleNamespace:
    """Give samples of connections that begin with these windows, and one segment without."""
    rows = [
        {
            "memory": memory,
            "group": "web-responses",
            "name": f"web-responses-1-{number}",
            "time_s": float(number),
            "cwnd_packets": window,
        }
        for memory, all_windows in (
            ("old", [1] * len(new)),
            ("new", new),
            ("new, to the end", to_the_end or new),
        )
        for number, window in enumerate(all_windows, start=1)
    ]
    # An old connection is still there, with a large window.
    rows.append(rows[-1] | {"name": "web-responses-1-1", "cwnd_packets": 5000})
    return made_up([], endpoint=pl.DataFrame(rows))


def test_windows_keep_rising_where_no_connection_begins_below_the_one_before():
    assert keeps_rising(windows([1, 10, 30, 40])).verdict is Verdict.BORNE_OUT
    assert keeps_rising(windows([1, 10, 30, 30])).verdict is Verdict.BORNE_OUT_IN_PART
    assert keeps_rising(windows([1, 10, 8, 30])).verdict is Verdict.NOT_BORNE_OUT
    assert keeps_rising(windows([1, 2, 3, 4])).verdict is Verdict.NOT_BORNE_OUT


def test_windows_are_to_rise_whenever_they_are_taken():
    falls = keeps_rising(windows([1, 10, 30, 40], to_the_end=[1, 50, 40, 90]))
    assert falls.verdict is Verdict.NOT_BORNE_OUT
    stays = keeps_rising(windows([1, 10, 30, 40], to_the_end=[1, 50, 90, 90]))
    assert stays.verdict is Verdict.BORNE_OUT
    assert "taken when all is acknowledged: 1, 50, 90, 90 and so on" in stays.evidence


def closed(new_of_five: float) -> SimpleNamespace:
    """Give transfers of 5 and 40 segments as the closed form has them, but for one time."""
    rows = []
    for volume, old, new in (("5 kB", 0.4, new_of_five), ("40 kB", 0.7, 0.3)):
        axes = {"flows_web_workload_volume": volume}
        rows += [
            flow(1, time_s, memory=memory, **axes)
            for memory, time_s in (("old", old), ("new", new))
        ]
    return made_up(rows)


def test_the_closed_form_is_met_within_two_per_cent():
    assert closed_form(closed(0.2))["form"].to_list() == pytest.approx([2.0, 7 / 3])
    assert meets_the_form(closed(0.203)).verdict is Verdict.BORNE_OUT
    assert meets_the_form(closed(0.21)).verdict is Verdict.BORNE_OUT_IN_PART


def test_the_form_with_serialisation_is_met_within_two_per_cent():
    def judged(*means: float) -> Verdict:
        measured = pl.DataFrame({"mean": means, "form": [2.0] * len(means)})
        return meets_the_form_with_serialisation(measured).verdict

    assert judged(2.03, 1.97) is Verdict.BORNE_OUT
    assert judged(2.05, 1.97) is Verdict.BORNE_OUT_IN_PART
    assert judged(2.05, 1.95) is Verdict.NOT_BORNE_OUT


MEMORIES = ("initial window", "classic", "classic, safe", "careful resume")


def windows_of(axes: dict[str, object], group: str, start_s: float) -> list[dict[str, object]]:
    """Give windows of a tenth before the call, at it, within its second, and after that."""
    return [
        axes | {"group": group, "start_s": start_s + since, "interval_s": 0.1}
        for since in (-0.1, 0.0, 0.9, 1.0)
    ]


def met(
    axes: dict[str, object], group: str, start_s: float, rate: float, wait_s: float
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Give windows of a group and of the queue, alike within the second and huge around it."""
    rows = windows_of(axes, group, start_s)
    around = [1e9, 1, 1, 1e9]
    groups = [
        row | {"packets_lost": int(factor), "goodput_bits_per_second": rate * factor}
        for row, factor in zip(rows, around, strict=True)
    ]
    queue = [
        row | {"queue": "bottleneck", "sojourn_mean_s": wait_s * factor}
        for row, factor in zip(rows, around, strict=True)
    ]
    return pl.DataFrame(groups), pl.DataFrame(queue)


def with_windows(
    flows: list[dict[str, object]],
    groups: list[dict[str, object]],
    windows: list[tuple[pl.DataFrame, pl.DataFrame]],
) -> SimpleNamespace:
    """Give results with these flows and groups, and with series of groups and of the queue."""
    intervals, queue = (pl.concat(parts) for parts in zip(*windows, strict=True))
    return made_up(
        flows,
        groups=pl.DataFrame(groups),
        intervals=intervals,
        has_table=lambda name: name == "queue_intervals",
        table=lambda _: queue,
    )


def worsened(change, group: str = "thin") -> SimpleNamespace:
    """Give four seeds of every cell; `change` gives time, losses and delay from a cell's axes.

    A greedy flow gets the less, the greater the delay; the queue is as long as it.
    """
    flows, groups, around = [], [], []
    for seed in (1, 2, 3, 4):
        for limit in ("20 % bdp", "100 % bdp"):
            for after in ("20 Mbit/s", "5 Mbit/s"):
                for memory in MEMORIES:
                    axes = {"path_queue_limit": limit, "after": after, "memory": memory}
                    time_s, lost, delay = change(limit, after, memory)
                    jitter = 0.001 * seed
                    row = flow(2, time_s + jitter, packets_lost=lost + seed, seed=seed, **axes)
                    flows.append(row)
                    axes = axes | {"seed": seed}
                    known = {
                        "delivery_latency_p99_s": delay + jitter,
                        "goodput_bits_per_second": 1e6 - 1e4 * (delay + jitter),
                    }
                    groups.append(axes | {"group": group} | known)
                    rate = 1e6 * (1 - delay - jitter)
                    around.append(met(axes, group, row["start_s"], rate, delay + jitter))
    return with_windows(flows, groups, around)


def test_the_first_second_begins_with_the_call_and_ends_a_second_later():
    results = worsened(as_expected)
    calls = second_calls(results)
    found = in_the_first_second(results, calls, "thin")
    assert set(found["thin_lost"].to_list()) == {2}
    assert max(found["wait_s"].to_list()) < 1
    assert found.height == calls.height


def second_calls(results: SimpleNamespace) -> pl.DataFrame:
    return transfers(results).select("limit", "after", "memory", "seed", "start_s")


def priced(change, reference: str = "initial window") -> pl.DataFrame:
    axes = ("limit", "after")
    return against(second_transfers(worsened(change), axes), axes, reference)


def careful(change) -> Claim:
    return careful_is_no_worse(priced(change), priced(change, "classic"))


def beside_greedy(change) -> pl.DataFrame:
    axes = ("limit", "after")
    return against(second_transfers(worsened(change, "greedy"), axes, "greedy"), axes)


def as_expected(limit: str, after: str, memory: str) -> tuple[float, int, float]:
    """Let the report's cache lose much, the others less; let all gain over the same path."""
    if memory == "initial window":
        return 2.0, 10, 0.1
    if after == "20 Mbit/s":
        return 1.5, 40 if limit == "20 % bdp" else 10, 0.1
    return 2.0, 80 if memory == "classic" else 20, 0.2


def test_a_memory_is_held_against_none_seed_by_seed():
    found = priced(as_expected).filter(
        (pl.col("limit") == "20 % bdp")
        & (pl.col("after") == "5 Mbit/s")
        & (pl.col("memory") == "classic")
    )
    assert found["more_lost"].to_list() == [70]
    assert found["thin_harm"].to_list() == pytest.approx([0.5], abs=0.01)
    assert found["speed_up"].to_list() == pytest.approx([1.0])


def test_the_price_is_judged_by_losses_and_by_what_others_meet():
    found = priced(as_expected)
    assert harms_where_worse(found).verdict is Verdict.BORNE_OUT
    assert overflows_small_queues(found).verdict is Verdict.BORNE_OUT
    assert careful(as_expected).verdict is Verdict.BORNE_OUT

    def harmless(limit: str, after: str, memory: str) -> tuple[float, int, float]:
        time_s, lost, _ = as_expected(limit, after, memory)
        return time_s, 90 if memory == "careful resume" else lost, 0.1

    other = priced(harmless)
    assert harms_where_worse(other).verdict is Verdict.NOT_BORNE_OUT
    judged = careful(harmless)
    assert judged.verdict is Verdict.BORNE_OUT_IN_PART
    assert judged.in_short == "So of classic, safe; not of careful resume."

    def slow(limit: str, after: str, memory: str) -> tuple[float, int, float]:
        time_s, lost, thin_s = as_expected(limit, after, memory)
        is_small = limit == "20 % bdp" and after == "20 Mbit/s"
        return 2.5 if is_small and memory == "classic, safe" else time_s, lost, thin_s

    judged = careful(slow)
    assert judged.verdict is Verdict.BORNE_OUT_IN_PART
    assert judged.in_short == "So of careful resume; not of classic, safe."


def test_how_long_packets_wait_at_first_is_judged_cell_by_cell():
    def longer_where_worse(limit: str, after: str, memory: str) -> tuple[float, int, float]:
        return 2.0, 10, 0.3 if memory == "classic" and after == "5 Mbit/s" else 0.1

    judged = fills_the_queue_at_first(priced(longer_where_worse))
    assert judged.verdict is Verdict.BORNE_OUT_IN_PART
    assert "5 Mbit/s, 20 % bdp; 5 Mbit/s, 100 % bdp" in judged.in_short
    alike = fills_the_queue_at_first(priced(lambda *_: (2.0, 10, 0.1)))
    assert alike.verdict is Verdict.NOT_BORNE_OUT


def test_a_greedy_flow_is_harmed_in_the_first_second():
    def burst(limit: str, after: str, memory: str) -> tuple[float, int, float]:
        return 2.0, 10, 0.3 if memory == "classic" else 0.1

    found = beside_greedy(burst).filter(pl.col("memory") == "classic")
    assert found["greedy_first_harm"].to_list() == pytest.approx([0.2 / 0.9] * 4, abs=0.01)
    assert found["greedy_harm"].to_list() == pytest.approx([0.002] * 4, abs=0.0005)
    assert harms_greedy_flows(beside_greedy(burst)).verdict is Verdict.BORNE_OUT
    unharmed = harms_greedy_flows(beside_greedy(lambda *_: (2.0, 10, 0.1)))
    assert unharmed.verdict is Verdict.NOT_BORNE_OUT


LOST_AT_ONCE = {"initial window": 1, "classic": 9, "classic, safe": 7, "careful resume": 2}


def crowd(
    time_s: float, thin_s: float, lost: dict[str, int] | None = None, **of_count: int
) -> SimpleNamespace:
    """Give three seeds of many at once, the slowest of which takes `time_s` with a memory."""
    flows, groups, around = [], [], []
    for seed in (1, 2, 3):
        for memory, each in (lost or LOST_AT_ONCE).items():
            slowest, delay = (2.0, 0.1) if memory == "initial window" else (time_s, thin_s)
            axes = of_count | {"memory": memory, "seed": seed}
            flows += [
                flow(1, 0.5, packets_lost=each, **axes),
                flow(2, slowest + 0.001 * seed, packets_lost=each + seed, **axes),
            ]
            thin = {"group": "thin", "delivery_latency_p99_s": delay + 0.001 * seed}
            groups.append(axes | thin)
            around.append(met(axes, "thin", 1.0, 1e6, delay))
    return with_windows(flows, groups, around)


def of_one_host(time_s: float, thin_s: float) -> pl.DataFrame:
    return against(at_once(crowd(time_s, thin_s, flows_web_count=20)), ["count"])


def test_a_crowd_is_judged_by_its_losses_by_others_and_by_its_slowest():
    assert of_one_host(2.5, 0.2)["more_lost"].to_list() == [0, 16, 12, 2]
    assert crowds_lose(of_one_host(2.5, 0.2), ONE_HOST).verdict is Verdict.BORNE_OUT
    sooner = crowds_lose(of_one_host(1.0, 0.2), ONE_HOST)
    assert sooner.verdict is Verdict.BORNE_OUT_IN_PART
    assert "sooner all the same" in sooner.in_short


def test_a_crowd_of_many_hosts_is_judged_likewise():
    own = against(at_once(crowd(2.5, 0.1), ()), ())
    judged = crowds_lose(own, MANY_HOSTS)
    assert judged.verdict is Verdict.BORNE_OUT_IN_PART
    assert judged.in_short.startswith("More are lost; that others are delayed is not sure")


def test_memories_in_crowds_are_held_against_the_reports():
    one_host = crowd(2.5, 0.2, flows_web_count=20)
    less = largest_crowds(one_host, crowd(2.5, 0.2), "classic")
    assert careful_crowds_lose_less(less).verdict is Verdict.BORNE_OUT
    as_much = LOST_AT_ONCE | {"careful resume": 9}
    other = largest_crowds(one_host, crowd(2.5, 0.2, as_much), "classic")
    judged = careful_crowds_lose_less(other)
    assert judged.verdict is Verdict.BORNE_OUT_IN_PART
    assert "careful resume, one host's" in judged.in_short
    assert "careful resume, twenty hosts'" not in judged.in_short
    assert largest_crowds(one_host, None) is None


Cell = tuple[str, str]


def chart(
    best: Cell = ("600 ms", "300 kB"),
    worst: Mapping[Cell, float] = MappingProxyType({}),
    seeds: int = 3,
) -> pl.DataFrame:
    """Give a map whose best speed-up is there, and which is `worst` at a tenth of the rate."""
    rows = []
    for after in ("the same", "a tenth"):
        for rtt in ("20 ms", "600 ms"):
            for volume in ("30 kB", "300 kB", "3 MB"):
                axes = {"after": after, "path_rtt": rtt, "flows_web_workload_volume": volume}
                speed_up = 1.5 if (rtt, volume) == best else 1.2
                gained = speed_up if after == "the same" else worst.get((rtt, volume), 1.0)
                for seed in range(1, seeds + 1):
                    took = 3.0 + 0.001 * seed**2
                    rows += [
                        flow(2, 3.0, memory="initial window", seed=seed, **axes),
                        flow(2, took / gained, memory="classic", seed=seed, **axes),
                    ]
    return map_of_speed_ups(made_up(rows))


def test_the_map_is_judged_by_where_its_best_is():
    assert pays_where_long(chart(("600 ms", "300 kB"))).verdict is Verdict.BORNE_OUT
    assert pays_where_long(chart(("600 ms", "3 MB"))).verdict is Verdict.BORNE_OUT_IN_PART
    assert pays_where_long(chart(("20 ms", "3 MB"))).verdict is Verdict.NOT_BORNE_OUT


def test_the_map_is_judged_by_how_many_cells_are_surely_slower():
    cells = [(rtt, volume) for rtt in ("20 ms", "600 ms") for volume in ("30 kB", "300 kB", "3 MB")]
    # Cells without a cost of their own are slower by less than their interval is wide.
    assert costs(dict.fromkeys(cells[:4], 0.5)).verdict is Verdict.BORNE_OUT
    assert costs(dict.fromkeys(cells[:3], 0.5)).verdict is Verdict.BORNE_OUT_IN_PART
    assert costs({}).verdict is Verdict.NOT_BORNE_OUT
    assert (
        "3 are slower with the whole interval, 3 of them by more than 5%, and 2 are faster"
        in costs(dict.fromkeys(cells[:3], 0.5) | dict.fromkeys(cells[4:], 1.5)).in_short
    )
    assert costs({}, seeds=1).verdict is Verdict.UNDECIDED


def costs(worst: Mapping[Cell, float], seeds: int = 3) -> Claim:
    return costs_where_slowed(chart(worst=worst, seeds=seeds))


def test_parts_that_were_not_run_leave_claims_undecided():
    for judged in (
        keeps_rising,
        meets_the_form,
        harms_where_worse,
        fills_the_queue_at_first,
        harms_greedy_flows,
        careful_crowds_lose_less,
        pays_where_long,
        costs_where_slowed,
    ):
        assert judged(None).verdict is Verdict.UNDECIDED
    assert careful_is_no_worse(None, None).verdict is Verdict.UNDECIDED
    assert crowds_lose(None, MANY_HOSTS).verdict is Verdict.UNDECIDED


def test_the_parts_of_the_short_form_are_those_of_the_long_one():
    study = study_named(NAME)
    assert set(study.parts["reduced"]) == set(study.parts["full"])
    for scenario in study.further_scenarios("reduced").values():
        assert scenario.check().runs > 0

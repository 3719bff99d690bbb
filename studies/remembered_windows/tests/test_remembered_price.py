"""The study of remembered windows: its price and what spares it, by hand and by rules."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType, SimpleNamespace

import polars as pl
import pytest
from fairwind_studies.remembered_windows.measures import (
    GREEDY_AXES,
    WORSE_AXES,
    after_the_change,
    against,
    at_once,
    in_the_first_second,
    last_transfers,
    map_of_speed_ups,
    second_transfers,
    transfers,
)
from fairwind_studies.remembered_windows.price_claims import (
    BEFORE,
    MANY_HOSTS,
    ONE_HOST,
    SINCE,
    careful_crowds_lose_less,
    careful_is_no_worse,
    costs_where_slowed,
    crowds_lose,
    fills_the_queue_at_first,
    forgetting_loses_less,
    forgetting_loses_no_more,
    harms_greedy_flows,
    harms_those_before,
    harms_where_worse,
    largest_crowds,
    overflows_small_queues,
    pays_where_long,
)

from fairwind.results import Claim, Verdict
from remembered import flow, made_up

MEMORIES = ("initial window", "classic", "classic, safe", "rfc9040", "careful resume")


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


Rows = tuple[list[dict[str, object]], list[dict[str, object]], list[tuple[pl.DataFrame, ...]]]


def cells(change, group: str = "thin", number: int = 2, memories=MEMORIES, **more: object) -> Rows:
    """Give four seeds of every cell; `change` gives time, losses and delay from a cell's axes.

    A greedy flow gets the less, the greater the delay; the queue is as long as it.
    """
    flows, groups, around = [], [], []
    for seed in (1, 2, 3, 4):
        for limit in ("20 % bdp", "100 % bdp"):
            for after in ("20 Mbit/s", "5 Mbit/s"):
                for memory in memories:
                    axes = {"path_queue_limit": limit, "after": after, "memory": memory} | more
                    time_s, lost, delay = change(limit, after, memory)
                    jitter = 0.001 * seed
                    lost += seed
                    row = flow(number, time_s + jitter, packets_lost=lost, seed=seed, **axes)
                    flows.append(row)
                    axes = axes | {"seed": seed}
                    known = {
                        "delivery_latency_p99_s": delay + jitter,
                        "goodput_bits_per_second": 1e6 - 1e4 * (delay + jitter),
                    }
                    groups.append(axes | {"group": group} | known)
                    rate = 1e6 * (1 - delay - jitter)
                    around.append(met(axes, group, row["start_s"], rate, delay + jitter))
    return flows, groups, around


def worsened(change) -> SimpleNamespace:
    return with_windows(*cells(change))


def test_first_second_begins_with_the_call():
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


def beside_greedy(since, before) -> pl.DataFrame:
    """Compare memories beside a flow that has come since, and beside one that was there before."""
    rows = cells(since, "greedy", presence=SINCE), cells(before, "greedy", presence=BEFORE)
    results = with_windows(*(one + other for one, other in zip(*rows, strict=True)))
    return against(second_transfers(results, GREEDY_AXES, "greedy"), GREEDY_AXES)


def as_expected(limit: str, after: str, memory: str) -> tuple[float, int, float]:
    """Let the report's cache lose much, the others less; let all gain over the same path."""
    if memory == "initial window":
        return 2.0, 10, 0.1
    if after == "20 Mbit/s":
        return 1.5, 40 if limit == "20 % bdp" else 10, 0.1
    return 2.0, 80 if memory == "classic" else 20, 0.2


def test_memory_is_compared_with_none_by_seed():
    found = priced(as_expected).filter(
        (pl.col("limit") == "20 % bdp")
        & (pl.col("after") == "5 Mbit/s")
        & (pl.col("memory") == "classic")
    )
    assert found["more_lost"].to_list() == [70]
    assert found["thin_harm"].to_list() == pytest.approx([0.5], abs=0.01)
    assert found["speed_up"].to_list() == pytest.approx([1.0])


def test_price_is_judged_by_losses_and_harm():
    found = priced(as_expected)
    assert harms_where_worse(found).verdict is Verdict.HOLDS
    assert overflows_small_queues(found).verdict is Verdict.HOLDS
    assert careful(as_expected).verdict is Verdict.HOLDS

    def harmless(limit: str, after: str, memory: str) -> tuple[float, int, float]:
        time_s, lost, _ = as_expected(limit, after, memory)
        return time_s, 90 if memory == "careful resume" else lost, 0.1

    other = priced(harmless)
    assert harms_where_worse(other).verdict is Verdict.FAILS
    judged = careful(harmless)
    assert judged.verdict is Verdict.HOLDS_FOR_SOME
    assert judged.in_short == "So of classic, safe; not of careful resume."

    def slow(limit: str, after: str, memory: str) -> tuple[float, int, float]:
        time_s, lost, thin_s = as_expected(limit, after, memory)
        is_small = limit == "20 % bdp" and after == "20 Mbit/s"
        return 2.5 if is_small and memory == "classic, safe" else time_s, lost, thin_s

    judged = careful(slow)
    assert judged.verdict is Verdict.HOLDS_FOR_SOME
    assert judged.in_short == "So of careful resume; not of classic, safe."


def test_first_wait_is_judged_by_cell():
    def longer_where_worse(limit: str, after: str, memory: str) -> tuple[float, int, float]:
        return 2.0, 10, 0.3 if memory == "classic" and after == "5 Mbit/s" else 0.1

    judged = fills_the_queue_at_first(priced(longer_where_worse))
    assert judged.verdict is Verdict.HOLDS_FOR_SOME
    assert "5 Mbit/s, 20 % bdp; 5 Mbit/s, 100 % bdp" in judged.in_short
    alike = fills_the_queue_at_first(priced(lambda *_: (2.0, 10, 0.1)))
    assert alike.verdict is Verdict.FAILS


def test_greedy_flow_is_harmed_in_first_second():
    def burst(limit: str, after: str, memory: str) -> tuple[float, int, float]:
        return 2.0, 10, 0.3 if memory == "classic" else 0.1

    def unharmed(limit: str, after: str, memory: str) -> tuple[float, int, float]:
        return 2.0, 10, 0.1

    found = beside_greedy(burst, burst).filter(pl.col("memory") == "classic")
    assert found["greedy_first_harm"].to_list() == pytest.approx([0.2 / 0.9] * 8, abs=0.01)
    assert found["greedy_harm"].to_list() == pytest.approx([0.002] * 8, abs=0.0005)
    only_since, only_before = beside_greedy(burst, unharmed), beside_greedy(unharmed, burst)
    assert harms_greedy_flows(only_since).verdict is Verdict.HOLDS
    assert harms_those_before(only_since).verdict is Verdict.FAILS
    assert harms_greedy_flows(only_before).verdict is Verdict.FAILS
    assert harms_those_before(only_before).verdict is Verdict.HOLDS


FORGETFUL = ("initial window", "classic", "classic, forgetting", "classic, fading")


def transfer_after_transfer(last) -> SimpleNamespace:
    """Give second transfers that lose much everywhere, and third ones by `last`."""
    rows = (
        cells(lambda *_: (9.0, 900, 0.1), memories=FORGETFUL),
        cells(last, number=3, memories=FORGETFUL),
    )
    (flows, _, before), (later, groups, around) = rows
    first = [row | {"name": "web-responses-1-1", "packets_lost": 5000} for row in flows]
    return with_windows([*first, *flows, *later], groups, [*before, *around])


def judged_last(last) -> tuple[Claim, Claim]:
    done = last_transfers(transfer_after_transfer(last), WORSE_AXES)
    return (
        forgetting_loses_less(against(done, WORSE_AXES, "classic")),
        forgetting_loses_no_more(against(done, WORSE_AXES)),
    )


def test_transfers_after_the_change_are_numbered():
    found = after_the_change(transfer_after_transfer(lambda *_: (2.0, 10, 0.1)))
    assert found.height == 2 * 2 * 2 * len(FORGETFUL)
    lost = dict(found.group_by("number").agg(pl.col("packets_lost").mean()).iter_rows())
    assert lost == {2: 902.5, 3: 12.5}


def test_forgetting_is_judged_by_the_last_transfer():
    def found(limit: str, after: str, memory: str) -> tuple[float, int, float]:
        return 2.0, 80 if memory == "classic" else 10, 0.1

    assert [claim.verdict for claim in judged_last(found)] == [Verdict.HOLDS] * 2

    def in_part(limit: str, after: str, memory: str) -> tuple[float, int, float]:
        lost = 40 if memory == "classic, fading" else 10
        return 2.0, 80 if memory == "classic" else lost, 0.1

    less, no_more = judged_last(in_part)
    assert less.verdict is Verdict.HOLDS
    assert no_more.verdict is Verdict.HOLDS_FOR_SOME
    assert "classic, forgetting" in no_more.in_short
    assert "classic, fading" not in no_more.in_short

    def in_vain(limit: str, after: str, memory: str) -> tuple[float, int, float]:
        return 2.0, 10 if memory == "initial window" else 80, 0.1

    assert [claim.verdict for claim in judged_last(in_vain)] == [Verdict.FAILS] * 2


LOST_AT_ONCE = {
    "initial window": 1,
    "classic": 9,
    "classic, safe": 7,
    "rfc9040": 3,
    "careful resume": 2,
}


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


def test_crowd_is_judged_by_losses_harm_and_slowest():
    assert of_one_host(2.5, 0.2)["more_lost"].to_list() == [0, 16, 12, 4, 2]
    assert crowds_lose(of_one_host(2.5, 0.2), ONE_HOST).verdict is Verdict.HOLDS
    sooner = crowds_lose(of_one_host(1.0, 0.2), ONE_HOST)
    assert sooner.verdict is Verdict.HOLDS_FOR_SOME
    assert "still ends sooner" in sooner.in_short


def test_a_crowd_of_many_hosts_is_judged_likewise():
    own = against(at_once(crowd(2.5, 0.1), ()), ())
    judged = crowds_lose(own, MANY_HOSTS)
    assert judged.verdict is Verdict.HOLDS_FOR_SOME
    assert judged.in_short.startswith("More are lost; that others are delayed is not sure")


def test_memories_in_crowds_are_held_against_the_reports():
    one_host = crowd(2.5, 0.2, flows_web_count=20)
    less = largest_crowds(one_host, crowd(2.5, 0.2), "classic")
    assert careful_crowds_lose_less(less).verdict is Verdict.HOLDS
    as_much = LOST_AT_ONCE | {"careful resume": 9}
    other = largest_crowds(one_host, crowd(2.5, 0.2, as_much), "classic")
    judged = careful_crowds_lose_less(other)
    assert judged.verdict is Verdict.HOLDS_FOR_SOME
    assert "careful resume, one host's" in judged.in_short
    assert "careful resume, twenty hosts'" not in judged.in_short
    assert "rfc9040, one host's" in judged.in_short
    assert "rfc9040, twenty hosts'" in judged.in_short
    assert largest_crowds(one_host, None) is None


Cell = tuple[str, str]


def chart(
    best: Cell = ("600 ms", "300 kB"),
    worst: Mapping[Cell, float] = MappingProxyType({}),
    seeds: int = 3,
) -> pl.DataFrame:
    """Return a map with its best speed-up there, and `worst` at a tenth of the rate."""
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


def test_map_is_judged_by_its_best_cell():
    assert pays_where_long(chart(("600 ms", "300 kB"))).verdict is Verdict.HOLDS
    assert pays_where_long(chart(("600 ms", "3 MB"))).verdict is Verdict.HOLDS_FOR_SOME
    assert pays_where_long(chart(("20 ms", "3 MB"))).verdict is Verdict.FAILS


def test_map_is_judged_by_slower_cells():
    cells = [(rtt, volume) for rtt in ("20 ms", "600 ms") for volume in ("30 kB", "300 kB", "3 MB")]
    # Cells without a cost of their own are slower by less than their interval is wide.
    assert costs(dict.fromkeys(cells[:4], 0.5)).verdict is Verdict.HOLDS
    assert costs(dict.fromkeys(cells[:3], 0.5)).verdict is Verdict.HOLDS_FOR_SOME
    assert costs({}).verdict is Verdict.FAILS
    assert (
        "3 are slower with the whole interval, 3 of them by more than 5%, and 2 are faster"
        in costs(dict.fromkeys(cells[:3], 0.5) | dict.fromkeys(cells[4:], 1.5)).in_short
    )
    assert costs({}, seeds=1).verdict is Verdict.UNDECIDED


def costs(worst: Mapping[Cell, float], seeds: int = 3) -> Claim:
    return costs_where_slowed(chart(worst=worst, seeds=seeds))


def test_parts_that_were_not_run_leave_claims_undecided():
    for judged in (
        harms_where_worse,
        fills_the_queue_at_first,
        forgetting_loses_less,
        forgetting_loses_no_more,
        harms_greedy_flows,
        harms_those_before,
        careful_crowds_lose_less,
        pays_where_long,
        costs_where_slowed,
    ):
        assert judged(None).verdict is Verdict.UNDECIDED
    assert careful_is_no_worse(None, None).verdict is Verdict.UNDECIDED
    assert crowds_lose(None, MANY_HOSTS).verdict is Verdict.UNDECIDED

"""The study of remembered windows: measures by hand, and verdicts by their rules."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pytest
from fairwind_studies.remembered_windows.claims import (
    faster_far_away,
    faster_with_delay,
    keeps_rising,
    meets_the_form,
    meets_the_form_with_serialisation,
    slower_with_volume,
    with_windows_of_its_time,
)
from fairwind_studies.remembered_windows.measures import (
    by_delay,
    closed_form,
    later_times,
    old_by_new,
    transfers,
)

from fairwind.results import Verdict
from fairwind.studies import study_named
from remembered import flow, made_up

NAME = "remembered-windows"


def of_memories(old: list[float], new: list[float], **axes: object) -> list[dict[str, object]]:
    """Give the transfers of two runs, without a memory and with it."""
    return [
        flow(number, time_s, memory=memory, cell=cell, **axes)
        for cell, (memory, times) in enumerate((("old", old), ("new", new)))
        for number, time_s in enumerate(times, start=1)
    ]


def test_transfers_are_numbered_and_unfinished_skipped():
    done = transfers(made_up([flow(1, 2.0), flow(2, None), flow(12, 3.0)]))
    assert done["number"].to_list() == [1, 12]


def test_first_transfer_does_not_count():
    results = made_up(of_memories([9.0, 4.0, 6.0], [9.0, 2.0, 3.0]))
    assert later_times(results)["completion_time_s"].to_list() == [5.0, 2.5]


def test_speed_up_is_old_by_new_per_seed():
    rows = [
        *of_memories([0, 4.0], [0, 2.0], flows_web_workload_ack_delay="20 ms"),
        *of_memories([0, 9.0], [0, 3.0], flows_web_workload_ack_delay="20 ms", seed=2),
    ]
    found = old_by_new(later_times(made_up(rows)), ["delay_s"])
    assert found["delay_s"].to_list() == [0.02]
    assert found["mean"].to_list() == [2.5]
    assert found["replicates"].to_list() == [2]


def test_closed_form_covers_each_volume_and_delay():
    axes = {"flows_web_workload_ack_delay": "199 ms", "flows_web_workload_volume": "10 MB"}
    found = by_delay(made_up(of_memories([0, 3.19], [0, 1.42], **axes)))
    # The answer comes after a millisecond, the first data 200 ms later. 6907 segments take
    # 0.829 s; eleven stalls from one segment, none from a window that fills the path.
    rounds = sum(0.2 + 0.00012 - 2**k * 0.00012 for k in range(11))
    expected = (0.201 + 6907 * 0.00012 + rounds) / (0.201 + 6907 * 0.00012)
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
        ({}, Verdict.HOLDS, Verdict.HOLDS),
        ({(1e7, 0.1): 2.1}, Verdict.HOLDS_FOR_SOME, Verdict.HOLDS),
        ({(4e7, 0.2): 0.9}, Verdict.FAILS, Verdict.HOLDS),
        ({(4e7, 0.1): 1.7, (4e7, 0.2): 2.3}, Verdict.HOLDS, Verdict.FAILS),
    ],
)
def test_trends_are_judged_by_steps_and_ends(change, delay, volume):
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
    assert faster_far_away(far_away(3.0)).verdict is Verdict.HOLDS
    assert faster_far_away(far_away(4.002)).verdict is Verdict.HOLDS_FOR_SOME
    assert faster_far_away(far_away(5.0)).verdict is Verdict.FAILS
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


def test_rising_windows_never_begin_lower():
    assert keeps_rising(windows([1, 10, 30, 40])).verdict is Verdict.HOLDS
    assert keeps_rising(windows([1, 10, 30, 30])).verdict is Verdict.HOLDS_FOR_SOME
    assert keeps_rising(windows([1, 10, 8, 30])).verdict is Verdict.FAILS
    assert keeps_rising(windows([1, 2, 3, 4])).verdict is Verdict.FAILS


def test_windows_are_to_rise_whenever_they_are_taken():
    falls = keeps_rising(windows([1, 10, 30, 40], to_the_end=[1, 50, 40, 90]))
    assert falls.verdict is Verdict.FAILS
    stays = keeps_rising(windows([1, 10, 30, 40], to_the_end=[1, 50, 90, 90]))
    assert stays.verdict is Verdict.HOLDS
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


def test_closed_form_holds_within_two_per_cent():
    assert closed_form(closed(0.2))["form"].to_list() == pytest.approx([2.0, 7 / 3])
    assert meets_the_form(closed(0.203)).verdict is Verdict.HOLDS
    assert meets_the_form(closed(0.21)).verdict is Verdict.HOLDS_FOR_SOME


def test_serialised_form_holds_within_two_per_cent():
    def judged(*means: float) -> Verdict:
        measured = pl.DataFrame({"mean": means, "form": [2.0] * len(means)})
        return meets_the_form_with_serialisation(measured).verdict

    assert judged(2.03, 1.97) is Verdict.HOLDS
    assert judged(2.05, 1.97) is Verdict.HOLDS_FOR_SOME
    assert judged(2.05, 1.95) is Verdict.FAILS


def test_parts_that_were_not_run_leave_claims_undecided():
    for judged in (
        keeps_rising,
        meets_the_form,
        faster_far_away,
        with_windows_of_its_time,
    ):
        assert judged(None).verdict is Verdict.UNDECIDED


def test_windows_of_64_kib_leave_nothing_to_gain_for_megabytes(tmp_path):
    scenario = study_named(NAME).further_scenarios("reduced")["receive-window"]
    found = with_windows_of_its_time(scenario.run(out=tmp_path / "run"))
    assert found.verdict is Verdict.HOLDS_FOR_SOME
    gains = {(row["volumes"], row["taken"]): row for row in found.details.iter_rows(named=True)}
    for (volumes, taken), row in gains.items():
        is_gaining = volumes == "kilobytes" and "acknowledged" in taken
        assert row["holds"] is is_gaining
        assert (row["most"] > 1.5) is is_gaining, (volumes, taken)
    # Of kilobytes the server remembers what it began with.
    assert gains["kilobytes", "taken when the server closes"]["most"] == pytest.approx(1)


def test_short_form_has_all_parts():
    study = study_named(NAME)
    assert set(study.parts["reduced"]) == set(study.parts["full"])
    for scenario in study.further_scenarios("reduced").values():
        assert scenario.check().runs > 0

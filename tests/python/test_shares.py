"""Shares of a link in the answer of a run, and reasons why an axis changed nothing."""

from __future__ import annotations

import json
import re

import polars as pl
import pytest

import fairwind as package
from fairwind.cli.answers import print_answer
from fairwind.results import Results
from fairwind.statistics import EffectVerdict, jain_index
from process import fairwind


def greedy(name, control, **more):
    return {
        "name": name,
        "workload": {"kind": "greedy"},
        "start_spread": "1 s",
        "start_pattern": "random",
        "tcp": {"congestion": control},
        **more,
    }


def thin(**tcp):
    workload = {"kind": "thin", "payload": "120 B", "interval": "150 ms"}
    return {"name": "thin", "workload": workload, "tcp": tcp}


def scenario(*flows, **more):
    path = {"rate": "5 Mbit/s", "rtt": "40 ms"}
    measure = {"warmup": "2 s"}
    common = {"name": "shares", "duration": "12 s", "path": path, "measure": measure, "repeat": 4}
    return common | {"flows": list(flows)} | more


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Run three flows with Reno beside one with CUBIC."""
    flows = (greedy("mine", "reno", count=3), greedy("cubic", "cubic"))
    return package.run(scenario(*flows), out=tmp_path_factory.mktemp("two") / "run")


def test_share_of_a_group_is_its_part_of_the_goodput(two):
    (share,) = two.answer().shares
    assert (share.link, share.name, share.others) == ("bottleneck", "mine", ("cubic",))
    rates = two.groups.pivot("group", index="seed", values="goodput_bits_per_second")
    parts = rates["mine"] / (rates["mine"] + rates["cubic"])
    assert share.share == pytest.approx(parts.mean())
    assert share.low < share.share < share.high
    assert (share.equal, share.seeds) == (0.75, 4)


def test_answers_of_one_folder_are_exactly_equal(two):
    shares = {package.open(two.folder).answer().shares for _ in range(8)}
    assert len(shares) == 1


def test_groups_that_read_nothing_share_nothing(tmp_path):
    flows = (greedy("mine", "reno"), greedy("cubic", "cubic"))
    lost = scenario(*flows, path={"rate": "5 Mbit/s", "rtt": "40 ms", "loss": "100 %"})
    assert package.run(lost, out=tmp_path / "run").answer() is None


def test_marks_matter_at_receivers_that_send_no_data(tmp_path):
    flows = (greedy("mine", "reno") | {"receiver_tcp": {"ecn": "when-asked"}},)
    sweep = {"flows.mine.receiver_tcp.ecn": ["when-asked", "accurate"]}
    answer = package.run(scenario(*flows, sweep=sweep), out=tmp_path / "run").answer()
    assert "no packet of mine was marked" in answer.paragraphs[0].lower()


def test_index_of_fairness_is_that_of_all_flows(two):
    of_all = two.fairness.filter(scope="all")["jain_index"]
    assert two.answer().shares[0].jain_index == pytest.approx(of_all.mean())
    goodputs = two.flows.filter(replicate=0)["goodput_bits_per_second"]
    assert of_all[0] == pytest.approx(jain_index(goodputs.to_numpy()))


def test_run_without_an_axis_answers_with_shares_alone(two, capsys):
    answer = two.answer()
    assert (answer.axes, len(answer.paragraphs)) == ((), 4)
    assert answer.paragraphs[0].startswith("Share of link bottleneck: mine ")
    assert " beside cubic, " in answer.paragraphs[0]
    assert "an equal share of 75 %; Jain" in answer.paragraphs[0]
    print_answer(two)
    assert answer.paragraphs[0][:30] in capsys.readouterr().out
    assert "Verdicts are corrected" not in answer.method
    assert "corrected for 1 share," in answer.method
    assert "beside cubic" in answer._repr_html_()
    assert "beside cubic" in two.report().read_text(encoding="utf-8")


def test_answer_says_what_the_queue_of_the_shared_link_did(two):
    queue = two.queues.filter(queue="bottleneck")
    wait_ms, drops = 1e3 * queue["sojourn_mean_s"].mean(), queue["drops_packets"].mean()
    words = two.answer().paragraphs[1]
    found = re.fullmatch(r"Queue of link bottleneck, mean wait: (\S+) ms and (\S+) drops\.", words)
    assert found is not None, words
    assert float(found[1]) == pytest.approx(wait_ms, rel=0.01)
    assert float(found[2]) == pytest.approx(drops, rel=0.01)


def test_answer_says_what_those_who_share_a_link_lost(two):
    for name, words in zip(("mine", "cubic"), two.answer().paragraphs[2:], strict=True):
        group = two.groups.filter(group=name)
        loss, latency = group["packet_loss_ratio"].mean(), group["ack_latency_p99_s"].mean()
        found = re.fullmatch(
            rf"Packet loss and ACK latency p99 of {name}: (\S+) % and (\S+) ms\.", words
        )
        assert found is not None, words
        assert float(found[1]) == pytest.approx(100 * loss, rel=0.01)
        assert float(found[2]) == pytest.approx(1e3 * latency, rel=0.01)


def test_shares_are_part_of_the_json_answer(two):
    code, out, error = fairwind("show", str(two.folder), "--format", "json", cwd=two.folder)
    assert code == 0, error
    (share,) = json.loads(out)["answer"]["shares"]
    assert (share["name"], share["equal"]) == ("mine", 0.75)


def doubled(two, tmp_path, **factors):
    """Copy a run with the goodput of groups multiplied."""
    for file in two.folder.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    goodput = pl.col("goodput_bits_per_second")
    factor = pl.col("group").replace_strict(factors, default=1.0, return_dtype=pl.Float64)
    pl.read_parquet(tmp_path / "flows.parquet").with_columns(goodput * factor).write_parquet(
        tmp_path / "flows.parquet"
    )
    return Results(tmp_path)


@pytest.mark.parametrize(
    ("factors", "verdict", "words"),
    [
        ({"mine": 20.0}, EffectVerdict.MORE, "more than an equal share of 75 %"),
        ({"cubic": 20.0}, EffectVerdict.LESS, "less than an equal share of 75 %"),
    ],
)
def test_verdict_is_against_an_equal_share(two, tmp_path, factors, verdict, words):
    answer = doubled(two, tmp_path, **factors).answer()
    assert answer.shares[0].verdict is verdict
    assert words in answer.paragraphs[0]


def test_each_cell_has_its_share_and_three_groups_have_three(tmp_path):
    flows = (greedy("a", "reno"), greedy("b", "cubic"), greedy("c", "cubic"))
    run = scenario(*flows, repeat=2, sweep={"flows.a.count": [1, 2]})
    answer = package.run(run, out=tmp_path / "run").answer()
    assert [(one.context, one.name) for one in answer.shares] == [
        (context, name) for context in ("count 1", "count 2") for name in "abc"
    ]
    first = answer.shares[:3]
    assert sum(one.share for one in first) == pytest.approx(1)
    assert [one.equal for one in answer.shares[3:]] == [0.5, 0.25, 0.25]
    assert "corrected for 6 shares" in answer.method
    assert "Verdicts are corrected for" in answer.method


@pytest.mark.parametrize(
    "flows",
    [
        (greedy("a", "reno"), thin()),
        (greedy("a", "reno"), greedy("b", "reno", start="6 s")),
        (greedy("a", "reno"), greedy("b", "reno", stop="6 s")),
        (
            greedy("a", "reno"),
            greedy("b", "reno", workload={"kind": "greedy", "volume": "1 MB"}),
        ),
    ],
)
def test_groups_that_do_not_compete_all_the_time_have_no_share(tmp_path, flows):
    assert package.run(scenario(*flows, repeat=1), out=tmp_path / "run").answer() is None


REASONS = {
    "linear_timeouts": "No flow of thin had a time-out, so there was nothing to change.",
    "undo": "No flow of thin retransmitted, so there was nothing to change.",
    "syn_retries": "No flow of thin retransmitted a SYN, so there was nothing to change.",
    "hystart": "The setting hystart is one of cubic, and thin has reno, so",
    "ecn": "No packet of thin was marked, so",
    "backoff_factor": "No flow of thin had a time-out, so",
    "linear_retries": "No flow of thin had a time-out, so",
    "probe_factor": "No flow of thin retransmitted, so",
    "probe_ack_delay": "No flow of thin retransmitted, so",
    "reordering_window": "No flow of thin retransmitted, so",
    "early_retransmit_delay": "No flow of thin retransmitted, so",
    "thin_duplicate_threshold": "No flow of thin retransmitted, so",
    "redundant_streams": "No flow of thin sent a bundle, so",
}
VALUES = {
    "syn_retries": [3, 5],
    "ecn": ["off", "classic"],
    "backoff_factor": [1.5, 2.0],
    "linear_retries": [2, 6],
    "probe_factor": [1.5, 2.0],
    "probe_ack_delay": ["25 ms", "200 ms"],
    "reordering_window": ["10 %", "25 %"],
    "early_retransmit_delay": ["0 %", "25 %"],
    "thin_duplicate_threshold": [1, 2],
    "redundant_streams": ["thin", "all"],
}


@pytest.mark.parametrize("setting", [*REASONS])
def test_axis_without_effect_says_what_never_happened(tmp_path, setting):
    values = VALUES.get(setting, [False, True])
    sweep = {f"flows.thin.tcp.{setting}": values}
    run = scenario(thin(congestion="reno"), sweep=sweep, repeat=1)
    (words, *_) = package.run(run, out=tmp_path / "run").answer().paragraphs
    assert "changed nothing in any run" in words
    assert REASONS[setting] in words


def test_mechanism_of_thin_streams_says_that_flows_were_not_thin(tmp_path):
    sweep = {"flows.mine.tcp.modified_fast_retransmit": [False, True]}
    run = scenario(greedy("mine", "reno"), sweep=sweep, repeat=1)
    results = package.run(run, out=tmp_path / "run")
    assert results.groups["data_segments_retransmitted"].min() > 0
    (words, *_) = results.answer().paragraphs
    assert "packets in flight or more in the mean, and modified_fast_retransmit acts on" in words


@pytest.mark.parametrize(
    ("tcp", "words"),
    [
        ({"thin_segments": 6}, "modified_fast_retransmit acts on fewer than 6"),
        ({"thin_definition": "all"}, None),
        ({"thin_definition": "application-limited"}, None),
    ],
)
def test_flows_are_thin_by_the_definition_of_their_group(tmp_path, tcp, words):
    sweep = {"flows.mine.tcp.modified_fast_retransmit": [False, True]}
    run = scenario(greedy("mine", "reno") | {"tcp": tcp}, sweep=sweep, repeat=1)
    text = " ".join(package.run(run, out=tmp_path / "run").answer().paragraphs)
    assert words is None or words in text
    assert ("in flight or more in the mean" in text) is (words is not None)


@pytest.mark.parametrize("setting", ["backoff_factor", "linear_retries"])
def test_settings_of_repeated_timeouts_say_that_none_was_repeated(tmp_path, setting):
    sweep = {f"flows.thin.tcp.{setting}": VALUES[setting]}
    path = {"rate": "5 Mbit/s", "rtt": "40 ms", "loss": "6 %"}
    run = scenario(thin(profile="rfc", linear_timeouts=True), sweep=sweep, repeat=1, path=path)
    results = package.run(run, out=tmp_path / "run")
    assert results.flows["timeouts"].min() > 0
    assert results.flows["timeouts_in_a_row_max"].max() == 1
    (words, *_) = results.answer().paragraphs
    assert "No flow of thin had two time-outs in a row, so" in words


def test_queue_that_never_dropped_explains_its_limit(tmp_path):
    sweep = {"path.queue.limit": ["1000 packets", "500 packets"]}
    path = {"rate": "5 Mbit/s", "rtt": "40 ms", "queue": {"discipline": "pfifo"}}
    run = scenario(thin(), sweep=sweep, repeat=1, path=path)
    (words, *_) = package.run(run, out=tmp_path / "run").answer().paragraphs
    assert "Queue bottleneck dropped nothing, so there was nothing to change." in words


def test_axis_without_a_visible_reason_says_what_to_look_at(tmp_path):
    sweep = {"flows.thin.tcp.slow_start_after_idle": [False, True]}
    run = scenario(thin(), sweep=sweep, repeat=1)
    (words, *_) = package.run(run, out=tmp_path / "run").answer().paragraphs
    assert words.endswith("Either the setting was never used, or it applies to no flow.")

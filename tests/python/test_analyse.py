"""Captures analysed by the command line, against the runs that made them."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from ipaddress import ip_address
from pathlib import Path

import polars as pl
import pytest

import fairwind as package
from fairwind.analysis.summary import summary_frame
from fairwind.compare import compare
from process import SCENARIO, fairwind, start

EDITCAP = shutil.which("editcap")
KEYS = ("cell", "replicate")
ARRIVAL = ("throughput", "received", "delivery", "lost", "loss")
"""Parts of names of columns that a capture at the sender alone does not know; what was read, it
takes from acknowledgments."""


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """Run a scenario of two cells and two seeds with captures."""
    folder = tmp_path_factory.mktemp("run")
    scenario = SCENARIO.replace('duration = "12 s"', 'duration = "6 s"') + "\n[capture]\n"
    (folder / "two.toml").write_text(scenario)
    code, _, error = fairwind("run", "two.toml", "--out", "run", cwd=folder)
    assert code == 0, error
    return folder / "run"


@pytest.fixture(scope="module")
def seen(run) -> package.Results:
    """Analyse all its captures into a folder."""
    code, _, error = fairwind("analyse", run, "--out", run.parent / "seen", cwd=run.parent)
    assert code == 0, error
    return package.open(run.parent / "seen")


@pytest.fixture(scope="module")
def sender(run) -> Path:
    """Give the capture at one cell's sender."""
    return run / "cells" / "0001-0000" / "sender.pcapng"


def groups_of(results: package.Results) -> pl.DataFrame:
    return results.groups.filter(pl.col("flows") > 0).sort(*KEYS, "group")


def test_captures_of_both_sides_tell_what_the_run_measured_itself(run, seen):
    measured, found = groups_of(package.open(run)), groups_of(seen)
    assert found.select(*KEYS, "group").equals(measured.select(*KEYS, "group"))
    for column in (
        "packets_sent",
        "wire_bytes_sent",
        "data_segments_sent",
        "payload_bytes_sent",
        "data_segments_retransmitted",
        "bytes_retransmitted",
        "packets_received",
        "wire_bytes_received",
        "payload_bytes_received",
        "payload_bytes_duplicate",
        "throughput_bits_per_second",
        "payload_bytes_read",
        "goodput_bits_per_second",
        "ack_packets_sent",
        "ack_latency_p50_s",
        "ack_latency_p99_s",
        "ack_latency_max_s",
        "timeouts",
    ):
        assert found[column].to_list() == measured[column].to_list(), column


def test_responses_of_a_run_have_groups_of_their_own_in_its_captures_and_datagrams_none(tmp_path):
    (tmp_path / "talk.toml").write_text(
        """
        name = "talk"
        duration = "5 s"
        path = { rate = "5 Mbit/s", rtt = "40 ms" }
        measure = { warmup = "1 s" }
        capture = {}
        [[flows]]
        name = "call"
        workload = { kind = "constant", rate = "100 kbit/s", packet = "500 B" }
        [[flows]]
        name = "rpc"
        [flows.workload]
        kind = "request-response"
        request = "200 B"
        response = "9 kB"
        pause = "90 ms"
        """
    )
    code, _, error = fairwind("run", "talk.toml", "--out", "talk", cwd=tmp_path)
    assert code == 0, error
    code, _, error = fairwind("analyse", "talk", "--out", "seen", cwd=tmp_path)
    assert code == 0, error
    measured, found = (package.open(tmp_path / name).groups for name in ("talk", "seen"))
    columns = ("group", "flows", "payload_bytes_read", "packets_sent", "payload_bytes_sent")
    assert found["group"].to_list() == ["rpc", "rpc-responses"]
    assert found.select(columns).equals(
        measured.filter(pl.col("group").is_in(found["group"].implode())).select(columns)
    )


def test_losses_are_those_of_the_run_but_for_what_was_under_way_at_the_end(run, seen):
    known, found = groups_of(package.open(run)), groups_of(seen)
    passages = seen.table("passages").filter(pl.col("scope") == "group")
    unjudged = found.select(*KEYS, "group").join(
        passages, on=[*KEYS, "group"], how="left", maintain_order="left"
    )["packets_unjudged"]
    missing = known["packets_lost"].cast(pl.Int64) - found["packets_lost"].cast(pl.Int64)
    assert sum(known["packets_lost"]) > 50
    assert all(0 <= many <= most for many, most in zip(missing, unjudged, strict=True))
    assert sum(missing) <= 2


def test_the_folder_of_captures_is_compared_with_the_run_in_pairs(run, seen):
    differences = compare(package.open(run), seen, measures=["throughput_bits_per_second"])
    assert set(differences["pairs"]) == {2}
    assert differences["difference"].to_list() == [0] * differences.height


def test_show_report_and_compare_take_the_folder_of_a_capture(seen, run, tmp_path):
    code, out, _ = fairwind("show", seen.folder, cwd=tmp_path)
    assert code == 0
    assert "greedy" in out
    code, _, error = fairwind("compare", run, seen.folder, cwd=tmp_path)
    assert code == 0, error
    code, _, error = fairwind("report", seen.folder, cwd=tmp_path)
    assert code == 0, error
    assert (seen.folder / "report.html").exists()


def test_one_cell_of_a_run_is_analysed_alone(run, sender, tmp_path):
    code, out, error = fairwind("analyse", sender.parent, "--format", "json", cwd=tmp_path)
    assert code == 0, error
    document = json.loads(out)
    assert [entry["point"] for entry in document["inputs"]] == ["sender", "receiver"]
    assert {fact["cell"] for fact in document["facts"]} == {1}
    assert {group["name"] for group in document["groups"]} >= {"greedy", "thin"}


def with_another_clock(file: Path, out: Path, address: str, seen_as: str) -> None:
    """Write a capture as by a clock 1.6 s behind and 50 ppm fast, behind a translator."""
    plain = out.with_suffix(".plain")
    command = [str(EDITCAP), "-F", "nsecpcap", str(file), str(plain)]
    subprocess.run(command, check=True, timeout=120)
    content, place = bytearray(plain.read_bytes()), 24
    while place < len(content):
        seconds, parts, kept = struct.unpack_from("<III", content, place)
        at = (seconds * 10**9 + parts) * 1_000_050 // 1_000_000
        at += 1_700_000_000 * 10**9 - 1_600_000_000
        struct.pack_into("<II", content, place, *divmod(at, 10**9))
        for ends in (place + 28, place + 32):  # source and destination of the IPv4 header
            if content[ends : ends + 4] == ip_address(address).packed:
                content[ends : ends + 4] = ip_address(seen_as).packed
        place += 16 + kept
    out.write_bytes(content)


@pytest.mark.skipif(EDITCAP is None, reason="no editcap; install wireshark-common")
def test_captures_of_two_clocks_and_translated_addresses_tell_the_same_losses(sender, tmp_path):
    subprocess.run(
        [str(EDITCAP), "-F", "nsecpcap", "-t", "1700000000", str(sender), str(tmp_path / "a.pcap")],
        check=True,
        timeout=120,
    )
    receiver = sender.with_name("receiver.pcapng")
    with_another_clock(receiver, tmp_path / "b.pcap", "10.0.0.5", "192.0.2.7")
    code, out, error = fairwind(
        *("analyse", "a.pcap", "b.pcap", "--nat", "10.0.0.5=192.0.2.7"),
        *("--format", "json", "--table", "clocks"),
        cwd=tmp_path,
    )
    assert code == 0, error
    document = json.loads(out)
    (clock,) = document["tables"]["clocks"]
    assert clock["drift_parts_per_million"] == pytest.approx(50, abs=0.5)
    assert "The captures have different clocks: the receiver's is 1.59999" in error
    assert "s behind the sender's; its drift of +50 parts per million is removed" in error
    assert clock["offset_s"] == pytest.approx(-1.6, abs=0.001)
    assert clock["is_symmetric"]
    together = package.analyse(sender, receiver).groups
    assert document["groups"][0]["packet_loss_ratio"] == together["packet_loss_ratio"][0] > 0
    translated = ("--filter", "host 10.0.0.5 or host 192.0.2.7")
    code, _, error = fairwind("analyse", "a.pcap", "b.pcap", *translated, cwd=tmp_path)
    assert code == 0, error
    assert "No packet is in both captures" in error
    assert "use --nat" in error


def test_a_sender_alone_knows_nothing_of_arrivals(sender):
    found = package.analyse(sender).groups
    known = [name for name in found.columns if found[name].null_count() < found.height]
    assert [name for name in known if any(part in name for part in ARRIVAL)] == []
    assert found["packets_sent"][0] > 0


def summary(*arguments: object, cwd: Path, **options: str) -> dict[str, object]:
    code, out, error = fairwind("analyse", *arguments, "--format", "json", cwd=cwd, **options)
    assert code == 0, error
    document = json.loads(out)
    return {key: document[key] for key in ("groups", "connections")}


def test_compressed_and_piped_captures_tell_the_same(sender, tmp_path):
    expected = summary(sender, cwd=tmp_path)
    packed = tmp_path / "packed.pcapng.gz"
    packed.write_bytes(gzip.compress(sender.read_bytes()))
    assert summary(packed, cwd=tmp_path) == expected
    with sender.open("rb") as piped:
        code, out, error = analysed_from(piped, tmp_path)
    assert code == 0, error
    document = json.loads(out)
    assert {key: document[key] for key in expected} == expected


def analysed_from(piped, cwd: Path) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "fairwind.cli", "analyse", "-", "--format", "json"],
        stdin=piped,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "python")},
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.skipif(EDITCAP is None, reason="no editcap; install wireshark-common")
def test_a_folder_of_rotated_files_is_read_as_one(sender, tmp_path):
    rotated = tmp_path / "rotated"
    rotated.mkdir()
    subprocess.run(
        [str(EDITCAP), "-c", "300", str(sender), str(rotated / "part.pcapng")],
        check=True,
        timeout=120,
    )
    assert len(list(rotated.iterdir())) > 1
    whole, parts = (package.analyse(path).flows for path in (sender, rotated))
    for column in ("packets_sent", "payload_bytes_sent", "data_segments_retransmitted"):
        assert parts[column].sum() == whole[column].sum(), column


def test_groups_filters_and_limits_choose_what_counts(sender, tmp_path):
    code, out, error = fairwind(
        *("analyse", sender, "--group", "small=dst port 60001", "--to", "3s"),
        *("--filter", "portrange 60000-60001", "--table", "groups", "--format", "json"),
        cwd=tmp_path,
    )
    assert code == 0, error
    rows = json.loads(out)["tables"]["groups"]
    assert [row["group"] for row in rows] == ["small", "other"]
    assert [row["flows"] for row in rows] == [2, 2]
    assert {row["measured_s"] for row in rows} == {3.0}


def wait_for_place(process: int, file: Path, place: int) -> None:
    """Wait until a process has read so much of a file, as the system tells of what it has open."""
    files = Path(f"/proc/{process}/fd")
    for _ in range(6000):
        time.sleep(0.01)
        try:
            opened = [entry.name for entry in files.iterdir() if entry.readlink() == file]
            facts = [(files.parent / "fdinfo" / name).read_text() for name in opened]
        except FileNotFoundError:  # closed meanwhile
            continue
        if any(int(fact.split()[1]) >= place for fact in facts):
            return
    pytest.fail(f"{file} was not read up to {place} within a minute")


def test_following_a_file_reads_what_is_appended_until_it_is_interrupted(sender, tmp_path):
    content = sender.read_bytes()
    growing = tmp_path / "growing.pcapng"
    growing.write_bytes(content[: len(content) // 2])
    process = start(
        "analyse", growing, "--follow", "--format", "json", "--out", "seen", cwd=tmp_path
    )
    try:
        wait_for_place(process.pid, growing, len(content) // 2)
        with growing.open("ab") as file:
            file.write(content[len(content) // 2 :])
        wait_for_place(process.pid, growing, len(content))
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, error
    document = json.loads(out)
    assert document["is_complete"]
    assert document["groups"] == summary(sender, cwd=tmp_path)["groups"]
    assert package.open(tmp_path / "seen").manifest.captured.is_complete


def test_a_receiver_alone_tells_what_arrived_largest_first(sender, tmp_path):
    receiver = sender.with_name("receiver.pcapng")
    found = package.analyse(receiver)
    flows = found.flows.filter(pl.col("packets_received").is_not_null())
    largest = flows.sort("payload_bytes_received", descending=True).row(0, named=True)
    code, out, error = fairwind("analyse", receiver, "--format", "json", cwd=tmp_path)
    assert code == 0, error
    first = json.loads(out)["connections"][0]
    assert first["name"] == largest["name"]
    assert first["payload_bytes_received"] == largest["payload_bytes_received"] > 0
    code, out, error = fairwind("analyse", receiver, cwd=tmp_path)
    assert code == 0, error
    headers = out.split("\n\n")[1].splitlines()[0]
    assert "packets arrived" in headers
    code, out, error = fairwind("analyse", sender, cwd=tmp_path)
    assert "packets arrived" not in out


def test_connections_are_sorted_by_any_column_of_the_summary(sender, tmp_path):
    for column in ("retransmitted_segments", "packets_sent"):
        shown = summary(sender, "--sort", column, "--limit", "3", cwd=tmp_path)["connections"]
        every = summary(sender, "--limit", "100", cwd=tmp_path)["connections"]
        largest = sorted((row[column] for row in every), reverse=True)
        assert [row[column] for row in shown] == largest[:3]


def test_the_causes_in_the_summary_add_up_and_what_is_zero_everywhere_is_left_out(sender, tmp_path):
    (group,) = summary(sender, cwd=tmp_path)["groups"]
    causes = (
        *("fast_retransmit_segments", "timeout_segments", "after_timeout_segments"),
        *("tail_loss_probe_segments", "unknown_segments"),
    )
    assert sum(group[cause] for cause in causes) == group["retransmitted_segments"] > 0
    assert group["bundles"] == group["refused"] == 0
    code, out, error = fairwind("analyse", sender, cwd=tmp_path)
    assert code == 0, error
    assert "retransmitted" in out
    assert "bundles" not in out
    assert "refused" not in out


def test_a_connection_has_its_goodput_while_it_was_open(sender, tmp_path):
    code, out, error = fairwind(
        *("analyse", sender, "--format", "json", "--table", "flows", "--table", "connections"),
        cwd=tmp_path,
    )
    assert code == 0, error
    document = json.loads(out)
    lives = {row["name"]: row["duration_s"] for row in document["tables"]["connections"]}
    read = {row["name"]: row["payload_bytes_read"] for row in document["tables"]["flows"]}
    first = document["connections"][0]
    assert first["goodput_while_open_bits_per_second"] == pytest.approx(
        read[first["name"]] * 8 / lives[first["name"]]
    )


def test_the_group_of_others_is_there_only_if_something_is_in_it(sender, tmp_path):
    for rule, names in (("tcp", ["every"]), ("dst port 60001", ["every", "other"])):
        found = package.analyse(sender, groups={"every": rule})
        assert found.groups["group"].to_list() == names
        windows = found.table("intervals").filter(pl.col("scope") == "group")
        assert sorted(windows["group"].unique()) == names


def test_empty_group_is_reported(sender, tmp_path):
    for port, is_told in ((60001, False), (6001, True)):
        code, _, error = fairwind(
            "analyse", sender, "--group", f"thin=dst port {port}", cwd=tmp_path
        )
        assert code == 0
        assert ("Group thin has no connection with data" in error) == is_told


def test_what_is_wrong_with_a_capture_is_noted_and_the_rest_is_analysed(sender, tmp_path):
    cut = tmp_path / "cut.pcapng"
    cut.write_bytes(sender.read_bytes()[:-20])
    code, out, error = fairwind("analyse", cut, cwd=tmp_path)
    assert code == 0
    assert "packets" in out
    assert "note: " in error
    assert "cut.pcapng" in error


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["missing.pcap"], "there is no capture missing.pcap"),
        (["words.txt"], "is text, not a capture"),
        (["here.pcapng", "--filter", "dst prt 5"], "did you mean `port`?"),
        (["here.pcapng", "--group", "thin"], "NAME=FILTER was expected"),
        (["here.pcapng", "--interval", "5"], "--interval 5: a time with its unit was expected"),
        (["here.pcapng", "--percentiles", "0,50"], "numbers above 0 and up to 100"),
        (["here.pcapng", "--from", "noon"], "neither a time since the first packet nor an instant"),
        (["here.pcapng", "--table", "nothing"], "there is no table 'nothing'"),
        (["here.pcapng", "--sort", "beauty"], "connections have no such column"),
        (["here.pcapng", "--table", "flows", "--sort", "beauty"], "has no such column"),
        (["here.pcapng", "--nat", "here=there"], "--nat: `here` is not an address"),
        (["here.pcapng", "--draw", "1"], "--draw needs a folder"),
        (["-", "--draw", "1", "--out", "seen"], "by a filter: --draw 'port 80'"),
        (["here.pcapng", "--xplot", "graphs"], "--xplot needs --draw"),
        (["here.pcapng", "--draw", "tcp[0] = 1", "--out", "seen"], "addresses and ports only"),
        (["-", "-"], "standard input can be read only once"),
    ],
)
def test_wrong_usage_is_explained(sender, tmp_path, arguments, text):
    shutil.copy(sender, tmp_path / "here.pcapng")
    (tmp_path / "words.txt").write_text("just some words, line by line\n" * 9)
    code, out, error = fairwind("analyse", *arguments, cwd=tmp_path)
    assert code == 2
    assert out == ""
    assert text in error


def test_a_folder_with_another_run_is_not_overwritten(run, sender, tmp_path):
    code, _, error = fairwind("analyse", sender, "--out", run, cwd=tmp_path)
    assert code == 2
    assert "holds a run" in error
    assert package.open(run).manifest.captured is None


def test_the_same_capture_may_be_analysed_again_into_its_folder(sender, tmp_path):
    for filters in ([], ["--filter", "port 60000"]):
        code, _, error = fairwind("analyse", sender, "--out", "seen", *filters, cwd=tmp_path)
        assert code == 0, error
    assert package.open(tmp_path / "seen").manifest.captured.settings["packet_filter"]


@pytest.mark.parametrize("chosen", ["1", "port 60000 and port 49152"])
def test_chosen_connections_are_drawn(sender, tmp_path, chosen):
    code, _, error = fairwind("analyse", sender, "--draw", chosen, "--out", "seen", cwd=tmp_path)
    assert code == 0, error
    results = package.open(tmp_path / "seen")
    drawn = results.table("traces")
    assert set(drawn["name"].unique()) == {"10.0.0.3:49152>10.0.0.4:60000"}
    assert drawn.filter(pl.col("series") == "data")["points"].sum() > 0


def test_what_is_drawn_is_as_many_strokes_as_segments_and_has_its_figure_in_the_page(
    sender, tmp_path
):
    both = (sender, sender.with_name("receiver.pcapng"))
    options = ("--draw", "2", "--out", "seen", "--xplot", "graphs")
    code, _, error = fairwind("analyse", *both, *options, cwd=tmp_path)
    assert code == 0, error
    results = package.open(tmp_path / "seen")
    flows = results.flows.top_k(2, by="payload_bytes_sent").sort("name")
    data = results.table("traces").filter(pl.col("series") == "data")
    counted = data.group_by("name").agg(pl.col("points").sum()).sort("name")
    assert counted["name"].to_list() == flows["name"].to_list()
    assert counted["points"].to_list() == flows["data_segments_sent"].to_list()
    assert len(list((tmp_path / "graphs").glob("*.xpl"))) == 2
    code, _, error = fairwind("report", "seen", "--figures", cwd=tmp_path)
    assert code == 0, error
    page = (results.folder / "report.html").read_text(encoding="utf-8")
    for name in flows["name"]:
        assert f"Flow {name.replace('>', '&gt;')}" in page
    figures = {file.stem for file in (results.folder / "figures").glob("*.png")}
    assert {
        *("flow-1", "flow-2", "delay-variation", "loss-over-time", "queueing-over-time"),
        *("round-trip-time", "inter-transmission-time", "segment-size", "ack-latency"),
    } <= figures


def test_tables_are_printed_whole_as_csv(sender, tmp_path):
    code, out, error = fairwind(
        "analyse", sender, "--table", "connections", "--format", "csv", cwd=tmp_path
    )
    assert code == 0, error
    rows = pl.read_csv(out.encode())
    assert rows.height == 4
    assert rows.columns[0] == "connection"


def test_each_connection_says_what_limited_its_sender(tmp_path):
    thin = {"kind": "thin", "payload": "120 B", "interval": "150 ms"}
    greedy, small = {"kind": "greedy"}, {"receive_buffer": "20 kB"}
    scenario = {
        "name": "limits",
        "duration": "5 s",
        "path": {"rate": "20 Mbit/s", "rtt": "100 ms"},
        "capture": {},
        "flows": [
            {"name": "thin", "workload": thin},
            {"name": "window", "workload": greedy, "receiver_tcp": small},
            {"name": "greedy", "workload": greedy},
        ],
    }
    run = package.run(scenario, out=tmp_path / "run")
    sides = [run.capture_folder(0) / f"{side}.pcapng" for side in ("sender", "receiver")]
    at_sender, at_receiver = (summary_frame(package.analyse(side), 10) for side in sides)
    connections = at_sender.filter(scope="connection")
    found = {
        name.rpartition(":")[2]: limit.rpartition(" ")[0].rpartition(" ")[0]
        for name, limit in connections.select("name", "limited_by").iter_rows()
    }
    ports = {"60000": "application", "60001": "receiver window", "60002": "congestion window"}
    assert found == ports
    # Near the receiver nobody sees what a sender waits for.
    assert "limited_by" not in at_receiver.columns

"""Captures that are broken or unusual: a note, and the rest is analysed."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from process import fairwind

SYN, FIN, RST, ACK = 2, 1, 4, 16
CLIENT, SERVER = (bytes([10, 0, 0, 1]), 40_000), (bytes([10, 0, 0, 2]), 80)
START = 1_000_000_000
WAY = 0.02

Packet = tuple[float, bytes]


def packet(is_client: bool, flags: int, sequence: int, acknowledgment: int, size: int) -> bytes:
    """Give a bare IPv4 packet without checksums."""
    source, destination = (CLIENT, SERVER) if is_client else (SERVER, CLIENT)
    numbers = (sequence & 0xFFFF_FFFF, acknowledgment & 0xFFFF_FFFF)
    tcp = struct.pack(">HHIIBBHHH", source[1], destination[1], *numbers, 5 << 4, flags, 8000, 0, 0)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 40 + size, 0, 0, 64, 6, 0)
    return ip + source[0] + destination[0] + tcp + bytes(size)


def dialogue(count: int = 20, first: int = 1000, begin: float = 0.0) -> list[Packet]:
    """Set up, send so many segments of 500 bytes, one each 100 ms, and end."""
    said = [
        (begin, packet(True, SYN, first, 0, 0)),
        (begin + 0.05, packet(False, SYN | ACK, 0, first + 1, 0)),
        (begin + 0.051, packet(True, ACK, first + 1, 1, 0)),
    ]
    at, sequence = begin, first + 1
    for _ in range(count):
        at += 0.1
        said.append((at, packet(True, ACK, sequence, 1, 500)))
        sequence += 500
        said.append((at + 0.05, packet(False, ACK, 1, sequence, 0)))
    said.append((at + 0.06, packet(True, FIN | ACK, sequence, 1, 0)))
    said.append((at + 0.11, packet(False, FIN | ACK, 1, sequence + 1, 0)))
    said.append((at + 0.111, packet(True, ACK, sequence + 1, 2, 0)))
    return said


def pcap(said: list[Packet], shift: float = 0.0) -> bytes:
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 101)
    return head + b"".join(record(at + shift, data) for at, data in said)


def record(at: float, data: bytes) -> bytes:
    micros = round((START + at) * 1e6)
    return struct.pack("<IIII", micros // 10**6, micros % 10**6, len(data), len(data)) + data


def analysed(folder: Path, *captures: bytes) -> tuple[dict[str, object], str]:
    """Analyse captures; gives the document and the standard error."""
    names = [f"{number}.pcap" for number in range(len(captures))]
    for name, capture in zip(names, captures, strict=True):
        (folder / name).write_bytes(capture)
    code, out, error = fairwind("analyse", *names, "--format", "json", cwd=folder)
    assert code == 0, error
    return json.loads(out), error


def connections(folder: Path, *names: str) -> list[dict[str, object]]:
    code, out, error = fairwind(
        "analyse", *names, "--table", "connections", "--format", "json", cwd=folder
    )
    assert code == 0, error
    return json.loads(out)["tables"]["connections"]


def one(folder: Path, capture: bytes) -> tuple[dict[str, object], str]:
    _, notes = analysed(folder, capture)
    (connection,) = connections(folder, "0.pcap")
    return connection, notes


def test_a_whole_capture_has_no_notes(tmp_path):
    connection, notes = one(tmp_path, pcap(dialogue()))
    assert connection["opener_payload_bytes"] == 10_000
    assert (connection["set_up"], connection["ending"]) == ("completed", "closed")
    assert "note: " not in notes


def test_a_capture_that_ends_in_a_packet_is_read_up_to_it(tmp_path):
    whole = pcap(dialogue())
    last = len(whole) - 16 - 40
    connection, notes = one(tmp_path, whole[:-7])
    assert connection["opener_payload_bytes"] == 10_000
    assert connection["opener_packets"] == 24 - 1
    assert str(last) in notes


def test_behind_a_wrong_length_reading_goes_on_at_the_next_packet(tmp_path):
    said = dialogue()
    whole = bytearray(pcap(said))
    at = 24 + sum(16 + len(data) for _, data in said[:5])
    whole[at + 8 : at + 12] = struct.pack("<I", 0x7FFF_FFFF)
    connection, notes = one(tmp_path, bytes(whole))
    packets = int(str(connection["opener_packets"])) + int(str(connection["answerer_packets"]))
    assert packets == len(said) - 1
    assert str(at) in notes


def test_times_running_back_are_reported_and_counted(tmp_path):
    said = [(at - (60 if number > 20 else 0), data) for number, (at, data) in enumerate(dialogue())]
    connection, notes = one(tmp_path, pcap(said))
    assert connection["opener_payload_bytes"] == 10_000
    assert "note: " in notes


def test_an_hour_of_silence_does_not_end_a_connection(tmp_path):
    said = [
        (at + (3600 if number > 20 else 0), data) for number, (at, data) in enumerate(dialogue())
    ]
    connection, _ = one(tmp_path, pcap(said))
    assert connection["opener_payload_bytes"] == 10_000
    assert connection["longest_silence_s"] == pytest.approx(3600.05, abs=0.06)


def test_sequence_numbers_begin_again_behind_the_largest(tmp_path):
    connection, notes = one(tmp_path, pcap(dialogue(first=2**32 - 3000)))
    assert connection["opener_payload_bytes"] == 10_000
    assert connection["ending"] == "closed"
    assert "note: " not in notes


def test_the_same_ports_again_are_another_connection(tmp_path):
    (tmp_path / "0.pcap").write_bytes(
        pcap(dialogue(count=3) + dialogue(count=5, first=900_000, begin=10))
    )
    found = connections(tmp_path, "0.pcap")
    assert [row["opener_payload_bytes"] for row in found] == [1500, 2500]


def test_a_capture_may_begin_in_mid_connection(tmp_path):
    connection, _ = one(tmp_path, pcap(dialogue()[9:]))
    assert connection["beginning"] == "midway"
    assert connection["set_up"] == "unseen"
    assert connection["opener_payload_bytes"] == 17 * 500


@pytest.mark.parametrize(("kept", "missing"), [(CLIENT, "answerer"), (SERVER, "opener")])
def test_one_direction_may_be_missing(tmp_path, kept, missing):
    said = [(at, data) for at, data in dialogue() if data[12:16] == kept[0]]
    _, _ = analysed(tmp_path, pcap(said))
    (connection,) = connections(tmp_path, "0.pcap")
    assert {connection["opener_packets"], connection["answerer_packets"]} == {0, len(said)}
    if missing == "answerer":
        assert connection["answerer_packets"] == 0


def test_empty_capture_is_reported(tmp_path):
    (tmp_path / "0.pcap").write_bytes(b"")
    code, _, error = fairwind("analyse", "0.pcap", cwd=tmp_path)
    assert "0.pcap" in error
    assert code in (0, 2)


def test_a_capture_without_packets_has_no_connections(tmp_path):
    document, _ = analysed(tmp_path, pcap([]))
    assert document["connections"] == []


def test_foreign_files_are_reported_and_left_out(tmp_path):
    folder = tmp_path / "rotated"
    folder.mkdir()
    (folder / "a.pcap").write_bytes(pcap(dialogue()[:10]))
    (folder / "b.pcap").write_bytes(pcap(dialogue()[10:]))
    (folder / "notes.txt").write_text("what was done that day\n" * 20)
    (connection,) = connections(tmp_path, "rotated")
    assert connection["opener_payload_bytes"] == 10_000
    _, _, error = fairwind("analyse", "rotated", cwd=tmp_path)
    assert "notes.txt" in error


@pytest.mark.parametrize("shift", [0.0, -1.6, 7200.0, -7200.0])
def test_clocks_of_two_captures_may_be_far_apart(tmp_path, shift):
    near_client = pcap(dialogue())

    def there(at: float, data: bytes) -> float:
        return at + (WAY if data[12:16] == CLIENT[0] else -WAY)

    said = sorted(((there(at, data), data) for at, data in dialogue()), key=lambda it: it[0])
    (tmp_path / "near.pcap").write_bytes(near_client)
    (tmp_path / "far.pcap").write_bytes(pcap(said, shift))
    names = ("near.pcap", "far.pcap")
    code, out, error = fairwind(
        "analyse", *names, "--table", "flows", "--format", "json", cwd=tmp_path
    )
    assert code == 0, error
    flow = json.loads(out)["tables"]["flows"][0]
    assert flow["packets_sent"] == flow["packets_received"] == 24
    assert flow["payload_bytes_sent"] == flow["payload_bytes_received"] == 10_000
    assert flow["packets_lost"] == 0


@pytest.mark.parametrize("kind", ["nothing in common", "twice the same", "swapped"])
def test_captures_that_do_not_fit_are_analysed(tmp_path, kind):
    mine = pcap(dialogue())
    other = {
        "nothing in common": pcap(dialogue())
        .replace(CLIENT[0] + SERVER[0], b"\xc0\x00\x02\x01\xc0\x00\x02\x02")
        .replace(SERVER[0] + CLIENT[0], b"\xc0\x00\x02\x02\xc0\x00\x02\x01"),
        "twice the same": mine,
        "swapped": mine,
    }[kind]
    pair = (other, mine) if kind == "swapped" else (mine, other)
    document, _ = analysed(tmp_path, *pair)
    assert document["connections"]
    rows = connections(tmp_path, "0.pcap", "1.pcap")
    assert max(int(str(row["opener_payload_bytes"])) for row in rows) == 10_000

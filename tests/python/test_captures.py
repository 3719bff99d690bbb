"""Captures of real simulations, read back with tshark."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from process import SCENARIO, fairwind

TSHARK = shutil.which("tshark")


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """Run a scenario with captures."""
    folder = tmp_path_factory.mktemp("captures")
    (folder / "two.toml").write_text(SCENARIO + "\n[capture]\n")
    code, _, error = fairwind("run", "two.toml", "--out", "run", cwd=folder)
    assert code == 0, error
    assert "captures: 8 files, the first: run/cells/0000-0000/receiver.pcapng" in error
    return folder / "run"


def fields(file: Path, *names: str) -> list[tuple[str, ...]]:
    text = subprocess.run(
        [
            *(str(TSHARK), "-r", str(file), "-T", "fields"),
            *(part for name in names for part in ("-e", name)),
        ],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    ).stdout
    return [tuple(line.split("\t")) for line in text.splitlines()]


def test_every_simulation_has_the_captures_of_both_points(run):
    for cell in ("0000-0000", "0000-0001", "0001-0000", "0001-0001"):
        names = {path.name for path in (run / "cells" / cell).glob("*.pcapng")}
        assert names == {"sender.pcapng", "receiver.pcapng"}


@pytest.mark.skipif(TSHARK is None, reason="no tshark found; install the package tshark")
def test_tshark_sees_every_packet_that_was_counted(run):
    import fairwind as package

    results = package.open(run)
    flows = results.flows.filter((results.flows["cell"] == 1) & (results.flows["replicate"] == 0))
    folder = results.capture_folder(1, 0)
    sent = fields(folder / "sender.pcapng", "ip.src", "tcp.stream", "tcp.len")
    received = fields(folder / "receiver.pcapng", "ip.src", "tcp.stream", "tcp.len")
    assert len({stream for _, stream, _ in sent}) == flows.height == 4

    senders = {source for source, _, length in sent if int(length) > 0}
    forward = [row for row in sent if row[0] in senders]
    arrived = [row for row in received if row[0] in senders]
    assert len(forward) == flows["packets_sent"].sum()
    assert len(arrived) == flows["packets_received"].sum()


@pytest.mark.skipif(TSHARK is None, reason="no tshark found; install the package tshark")
def test_tshark_finds_no_fault_in_a_capture(run):
    file = run / "cells" / "0000-0000" / "receiver.pcapng"
    for fault in ("_ws.malformed", 'tcp.checksum.status == "Bad"'):
        found = subprocess.run(
            [str(TSHARK), "-r", str(file), "-o", "tcp.check_checksum:TRUE", "-Y", fault],
            check=True,
            capture_output=True,
            text=True,
            timeout=120,
        ).stdout
        assert found == "", fault


def test_a_run_without_a_capture_table_has_none(tmp_path):
    (tmp_path / "two.toml").write_text(SCENARIO)
    code, _, error = fairwind("run", "two.toml", "--out", "run", cwd=tmp_path)
    assert code == 0
    assert "captures" not in error
    assert not list(tmp_path.rglob("*.pcapng"))

"""Hints that name the cause: unreadable captures, full disks, folders of others, missing rights."""

from __future__ import annotations

import errno
import os
import warnings
from pathlib import Path

import pytest

from fairwind import _core, analyse
from fairwind.cli.output import exit_code_of
from fairwind.errors import FairwindError
from fairwind.execution.execute import RunSettings, run_plan
from fairwind.report import page
from fairwind.report.page import write_report
from fairwind.shell import PathOptions, ShellSettings, path_scenario, run_shell
from made_up import ScriptedEngine, plan

HEADER = bytes.fromhex("d4c3b2a1 0200 0400 00000000 00000000 ffff0000 01000000")
"""A capture file without a packet, as tcpdump leaves it."""

UDP = bytes.fromhex(
    "00000000 00000000 2a000000 2a000000"  # time and length
    "020000000001 020000000002 0800"
    "4500001c 00000000 40110000 0a000001 0a000002 04d20035 00080000"
)


def test_unreadable_capture_is_named_with_what_to_do(tmp_path, monkeypatch):
    file = tmp_path / "secret.pcap"
    file.write_bytes(HEADER)
    usual = Path.open

    def refused(path: Path, *arguments, **named):
        if path.name == file.name:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return usual(path, *arguments, **named)

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(FairwindError, match=r"(?s)cannot read the capture .*secret.*chown") as text:
        analyse(file, out=tmp_path / "out")
    assert "--out" not in str(text.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("packets", "text"),
    [(b"", "holds no packets, only a header"), (UDP, "None of the 1 packets in the capture is")],
)
def test_capture_without_tcp_packets_is_named(tmp_path, packets, text):
    file = tmp_path / "empty.pcap"
    file.write_bytes(HEADER + packets)
    results = analyse(file, out=tmp_path / "out")
    caveats = "\n".join(results.manifest.captured.caveats)
    assert text in caveats
    assert "the rule fits none" not in caveats


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (errno.ENOSPC, r"(?s)the disk is full: the report of .*free some space"),
        (errno.EACCES, r"(?s)cannot write the report of .*Permission denied.*--out FOLDER"),
    ],
)
def test_report_that_cannot_be_written_names_folder_and_remedy(tmp_path, monkeypatch, number, text):
    results = run_plan(plan(), ScriptedEngine(), RunSettings(1, tmp_path))

    def refused(*_arguments):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(page, "write_file", refused)
    with pytest.raises(FairwindError, match=text):
        write_report(results)


def test_shell_of_an_ordinary_user_names_sudo(monkeypatch):
    def refused(*_arguments, **_named):
        raise _core.KernelUnavailable("open /dev/net/tun: Permission denied (os error 13)")

    monkeypatch.setattr(_core, "run_shell", refused)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    chosen = path_scenario(PathOptions(rate="1 Mbit/s", rtt="10 ms"))
    with pytest.raises(FairwindError, match=r"(?s)requires root.*sudo .*fairwind.* shell"):
        run_shell(chosen.plan, ShellSettings(("true",)), None)


@pytest.mark.filterwarnings("always::RuntimeWarning")
def test_warnings_of_the_core_are_printed_once_without_source_lines(capsys):
    def command() -> None:
        for text in ("tcp.initial_rto: the kernel has 1 s", "tcp.x", "tcp.x"):
            warnings.warn(text, RuntimeWarning, stacklevel=1)

    shown = warnings.showwarning
    assert exit_code_of(command) == 0
    assert capsys.readouterr().err == (
        "warning: tcp.initial_rto: the kernel has 1 s\nwarning: tcp.x\n"
    )
    assert warnings.showwarning is shown

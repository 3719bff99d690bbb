"""A front confirmed on a built kernel in virtual time, and its lines typed there."""

from __future__ import annotations

import json
import re

import pytest

from fairwind.kernels import catalogue
from fairwind.kernels.catalogue import built_kernels
from fairwind.scenario.settings import toml_document
from fairwind.tuning.kernel_lines import kernel_settings
from process import fairwind

FIRST = (6, 15)
"""Has all socket options of the lines that are typed."""

KERNELS = [one for one in built_kernels() if tuple(map(int, one.release.split(".")[:2])) >= FIRST]
REASON = "no kernel from 6.15 on is built for virtual time: fairwind kernel build linux-7.3"

pytestmark = pytest.mark.skipif(not KERNELS or not catalogue.WORKER.exists(), reason=REASON)

RTO, BACKOFF = (f"flows.thin.tcp.{key}" for key in ("minimum_rto", "backoff_factor"))
TODAY = {"profile": "linux-7.3"}
SEARCH = {
    "name": "what a kernel can be told",
    "tune": {"seeds": 2, "method": "grid", "over": "mean"},
    "scenario": {
        "name": "thin streams of today",
        "duration": "15 s",
        "path": {"rate": "1 Mbit/s", "rtt": "60 ms", "loss": "4 %"},
        "flows": [
            {
                "name": "thin",
                "count": 4,
                "start_spread": "1 s",
                "start_pattern": "random",
                "workload": {"kind": "thin", "payload": "120 B", "interval": "300 ms"},
                "tcp": TODAY,
            },
            {"name": "greedy", "workload": {"kind": "greedy"}, "tcp": TODAY},
        ],
        "measure": {"warmup": "2 s"},
    },
    "parameters": {RTO: ["30 ms", "400 ms"]},
    "known": {"slow back-off": {BACKOFF: 1.2, RTO: "30 ms"}},
    "objectives": [{"minimise": "thin.delivery_latency_p99"}],
    "confirm": {"seeds": 3, "points": 1},
}


def test_front_is_confirmed_on_a_kernel_in_virtual_time(tmp_path):
    (tmp_path / "search.toml").write_text(toml_document(SEARCH), encoding="utf-8")
    command = ["tune", "search.toml", "--on", KERNELS[0].name, "--out", "found"]
    code, out, error = fairwind(*command, "--format", "json", cwd=tmp_path)
    assert code == 0, error
    document = json.loads(out)
    (point,) = [one for one in document["points"] if not one["is_known"]]
    assert point["setting"] == {RTO: "30 ms"}
    there = document["on_kernel"]
    assert there["engine"] == KERNELS[0].release
    # A time-out in the place of the probe's, on the kernel as in the simulator.
    assert point["costs"][0]["high"] < 0
    assert there["points"][point["name"]][0]["cost"] < 0
    assert (tmp_path / "found" / "kernel" / "points" / point["name"] / "groups.parquet").exists()
    if "slow back-off" in document["confirmed_front"]:
        assert "each time-out is twice" in there["refused"]["slow back-off"]
    page = (tmp_path / "found" / "tune.html").read_text(encoding="utf-8")
    assert f"Confirmed on {there['engine']}" in page


OPTIONS = {"TCP_NODELAY": 1, "TCP_THIN_LINEAR_TIMEOUTS": 16, "TCP_RTO_MAX_MS": 44}
TYPED = r"""
import re, socket, subprocess
def printed(command):
    found = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    print(found.stdout, end="")
    return found.stdout
route = printed("ip route show").splitlines()[0].strip()
for line in LINES:
    if found := re.match(r"setsockopt\(fd, IPPROTO_TCP, (\w+), &\(int\){(\d+)}", line):
        option, value = OPTIONS[found[1]], int(found[2])
        one = socket.socket()
        one.setsockopt(socket.IPPROTO_TCP, option, value)
        assert one.getsockopt(socket.IPPROTO_TCP, option) == value
    else:
        printed(line.replace("ROUTE", route))
printed("ip route show")
"""


def test_lines_of_a_setting_can_be_typed_on_a_kernel(tmp_path):
    values = {
        "minimum_rto": "46 ms",
        "maximum_rto": "2 s",
        "linear_timeouts": True,
        "linear_retries": 6,
        "duplicate_threshold": 1,
        "tail_loss_probe": False,
        "reordering_window_grows": False,
        "rack_duplicate_threshold": False,
        "delayed_ack": False,
        "forward_rto": False,
        "ecn": "when-asked",
        "initial_window": 12,
        "nagle": False,
        "retransmission_limit": 8,
        "sack": True,
        "slow_start_after_idle": False,
        "timestamps": True,
    }
    told = kernel_settings({f"flows.thin.tcp.{key}": one for key, one in values.items()}, {})
    assert not told.untold
    # Six retries are there anyway; two keys share a sysctl, and three a route.
    assert len(told.lines) == len(values) - 4
    program = tmp_path / "typed.py"
    head = f"OPTIONS, LINES = {OPTIONS}, {told.lines}"
    program.write_text(head + TYPED, encoding="utf-8")
    code, out, error = fairwind(
        "shell", "--on", KERNELS[0].name, "--rtt", "10ms", "--", "python3", program, cwd=tmp_path
    )
    assert code == 0, error
    for line in told.lines:
        if found := re.fullmatch(r"sysctl -w (.*)=(\d+)", line):
            assert f"{found[1]} = {found[2]}" in out
    for words in ("rto_min lock 46ms", "initcwnd 12", "quickack 1"):
        assert words in out

"""Sources of Linux as congestion controls: programs of the kernel's selftests, and modules."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

import fairwind as package
from fairwind.congestion.files import with_compiled_files
from fairwind.congestion.sources import control_of_file, own_named
from fairwind.errors import FairwindError
from fairwind.kernels import catalogue
from fairwind.kernels.catalogue import built_kernels
from fairwind.kernels.sources import INSTALLED
from process import fairwind

PROGRAMS = "tools/testing/selftests/bpf/progs"
MODULES = "net/ipv4"
RUN_UNCHANGED = (
    *(f"{PROGRAMS}/{name}.c" for name in ("bpf_cubic", "bpf_dctcp")),
    *(
        f"{MODULES}/tcp_{name}.c"
        for name in (
            *("bbr", "bic", "cubic", "highspeed", "htcp", "hybla", "illinois"),
            *("nv", "scalable", "vegas", "veno", "westwood"),
        )
    ),
)
VERSION = "7.3"
KERNEL = f"linux-{VERSION}"

SCENARIO = """
name = "sources of Linux"
duration = "30 s"
seed = 5
repeat = 3

[path]
rate = "20 Mbit/s"
rtt = "40 ms"
queue = {{ discipline = "pfifo", limit = "{queue}" }}
{more}

[[flows]]
name = "mine"
count = 2
start_spread = "2 s"
start_pattern = "random"
workload = {{ kind = "greedy" }}
tcp = {{ congestion = "{control}" }}

[measure]
warmup = "5 s"
"""

RENO_IN_C = """
#include <fairwind.h>

char _license[] SEC("license") = "Dual MIT/GPL";

SEC("struct_ops")
u32 BPF_PROG(mine_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops")
void BPF_PROG(mine_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

SEC("struct_ops")
u32 BPF_PROG(mine_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops mine = {
	.ssthresh = (void *)mine_ssthresh,
	.cong_avoid = (void *)mine_cong_avoid,
	.undo_cwnd = (void *)mine_undo_cwnd,
	.name = "mine",
};
"""


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "controls"
    monkeypatch.setenv("FAIRWIND_CONGESTION", str(folder))
    return folder


@pytest.fixture(scope="session")
def linux(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with the sources: a tree, or part of the package `linux-source-VERSION`."""
    if tree := os.environ.get("FAIRWIND_LINUX_SOURCE"):
        return Path(tree)
    name = f"linux-source-{VERSION}"
    places = [INSTALLED, catalogue.cache() / "sources"]
    found = [file for place in places for file in place.glob(f"{name}*.tar.xz")]
    if not found:
        pytest.skip(
            f"no sources of Linux: apt-get install {name}, or set FAIRWIND_LINUX_SOURCE to a tree"
        )
    folder = tmp_path_factory.mktemp("linux")
    wanted = [f"{name}/{PROGRAMS}/bpf_*", f"{name}/{MODULES}/tcp_*"]
    command = ["tar", "--extract", "--file", found[0], "--strip-components=1", "--wildcards"]
    subprocess.run([*command, *wanted], cwd=folder, check=True)
    return folder


def _written(folder: Path, control: str, queue: str = "50 % bdp", more: str = "") -> Path:
    file = folder / "scenario.toml"
    file.write_text(SCENARIO.format(control=control, queue=queue, more=more), encoding="utf-8")
    return file


@pytest.mark.parametrize("name", RUN_UNCHANGED, ids=lambda name: Path(name).stem)
def test_source_of_linux_runs_unchanged(name: str, linux: Path, tmp_path: Path) -> None:
    scenario = package.load(_written(tmp_path, str(linux / name)))
    results = scenario.with_settings({"duration": "15 s", "repeat": 1}).run(out=tmp_path / "run")
    assert results.control_complaints is None
    assert results.groups["goodput_bits_per_second"].sum() > 0.6 * 20e6


def test_reduction_of_cc_cubic_asks_for_an_empty_window(linux: Path, tmp_path: Path) -> None:
    scenario = package.load(_written(tmp_path, str(linux / PROGRAMS / "bpf_cc_cubic.c")))
    results = scenario.with_settings({"duration": "15 s", "repeat": 1}).run(out=tmp_path / "run")
    assert results.groups["goodput_bits_per_second"].sum() > 0.6 * 20e6
    assert results.control_complaints is not None
    assert results.control_complaints["complaint"].str.contains("window of no segments").all()


@pytest.mark.parametrize("name", ["tcp_cdg", "tcp_lp", "tcp_yeah"])
def test_module_that_needs_more_is_refused(name: str, linux: Path) -> None:
    with pytest.raises(FairwindError, match="does not compile"):
        control_of_file(linux / MODULES / f"{name}.c")


@dataclass(frozen=True)
class Equal:
    """A source of Linux, and the control of a kernel that it is to equal."""

    source: str
    control: str


@pytest.mark.slow
@pytest.mark.skipif(
    KERNEL not in {kernel.name for kernel in built_kernels()} or not catalogue.WORKER.exists(),
    reason=f"no {KERNEL} for virtual time is built: fairwind kernel build {VERSION}",
)
@pytest.mark.parametrize("queue", ["20 % bdp", "200 % bdp"])
@pytest.mark.parametrize(
    "equal",
    [
        Equal(f"{PROGRAMS}/bpf_cubic.c", "cubic"),
        Equal(f"{MODULES}/tcp_bbr.c", "bbr"),
        Equal(f"{MODULES}/tcp_cubic.c", "cubic"),
        Equal(f"{MODULES}/tcp_westwood.c", "westwood"),
    ],
    ids=lambda equal: Path(equal.source).stem,
)
def test_source_equals_module_of_kernel(
    equal: Equal, queue: str, linux: Path, tmp_path: Path
) -> None:
    file = _written(tmp_path, str(linux / equal.source), queue)
    ours = package.load(file).run(out=tmp_path / "ours")
    theirs = package.load(_written(tmp_path, equal.control, queue)).run(
        KERNEL, out=tmp_path / "theirs"
    )
    for table, column, tolerance in (
        ("groups", "goodput_bits_per_second", 0.02),
        ("queues", "sojourn_mean_s", 0.1),
    ):
        mine, kernels = (_mean(results, table, column) for results in (ours, theirs))
        assert mine == pytest.approx(kernels, rel=tolerance), f"{table}.{column}"


def _mean(results: package.Results, table: str, column: str) -> float:
    rows = getattr(results, table)
    if table == "queues":
        rows = rows.filter(pl.col("queue") == "bottleneck")
    return float(rows[column].mean())  # type: ignore[arg-type] # a column of numbers


def test_scenario_names_a_c_file(tmp_path: Path) -> None:
    (tmp_path / "mine.c").write_text(RENO_IN_C, encoding="utf-8")
    file = _written(tmp_path, "mine.c")
    code, _, error = fairwind("run", str(file), "--out", "run", "--set", "repeat=1", cwd=tmp_path)
    assert code == 0, error
    experiment = package.load(file).plan.cells[0].experiment
    assert experiment["flows"][0]["tcp"]["congestion"] == "mine"


def test_override_names_a_c_file(tmp_path: Path) -> None:
    (tmp_path / "mine.c").write_text(RENO_IN_C, encoding="utf-8")
    scenario = package.load(_written(tmp_path, "reno"))
    changed = scenario.with_settings({"flows.mine.tcp.congestion": "mine.c"})
    assert changed.plan.cells[0].experiment["flows"][0]["tcp"]["congestion"] == "mine"


def test_file_is_compiled_again_only_when_it_changed(tmp_path: Path) -> None:
    file = tmp_path / "mine.c"
    file.write_text(RENO_IN_C, encoding="utf-8")
    first = control_of_file(file)[0].library.stat().st_mtime_ns
    assert control_of_file(file)[0].library.stat().st_mtime_ns == first
    file.write_text(RENO_IN_C + "\n", encoding="utf-8")
    assert control_of_file(file)[0].library.stat().st_mtime_ns > first


def test_file_never_takes_the_name_of_another_control(tmp_path: Path) -> None:
    (tmp_path / "cubic.c").write_text(RENO_IN_C, encoding="utf-8")
    assert control_of_file(tmp_path / "cubic.c")[0].name == "cubic-own"
    assert own_named("cubic") is None


def test_comments_and_missing_files_are_left_alone(tmp_path: Path) -> None:
    text = 'congestion = "none.c" # not "mine.c"\n'
    (tmp_path / "mine.c").write_text(RENO_IN_C, encoding="utf-8")
    assert with_compiled_files(text, [("a", "none.c")], tmp_path) == (text, (("a", "none.c"),))


def test_missing_c_file_is_named(tmp_path: Path) -> None:
    code, _, error = fairwind("check", str(_written(tmp_path, "none.c")), cwd=tmp_path)
    assert code == 2
    assert "none.c" in error


def test_module_of_a_kernel_is_built_for_the_simulator_only(linux: Path, tmp_path: Path) -> None:
    file = str(linux / MODULES / "tcp_westwood.c")
    code, _, error = fairwind("congestion", "build", file, "--take-name", cwd=tmp_path)
    assert code == 2
    assert "compile it with --no-object" in error
    words = ("congestion", "build", file, "--take-name", "--no-object")
    code, _, error = fairwind(*words, cwd=tmp_path)
    assert code == 0, error

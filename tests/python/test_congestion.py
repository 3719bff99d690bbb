"""Congestion controls in C and in Python: made known, run, loaded, and what goes wrong."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path

import polars as pl
import pytest

import fairwind as package
from fairwind.congestion import sources as congestion
from fairwind.engine.core import ScenarioError
from fairwind.engine.selection import engine_named
from fairwind.errors import ControlClassError, FairwindError
from fairwind.report.warnings import warnings
from process import fairwind

PROBLEM = engine_named("kernel").obstacle()

SCENARIO = """
name = "one control"
duration = "{duration}"
[path]
rate = "2 Mbit/s"
rtt = "60 ms"
queue = {{ limit = "10 packets" }}
[[flows]]
name = "greedy"
count = 2
workload = {{ kind = "greedy" }}
tcp = {{ congestion = "{name}" }}
"""

RENO = congestion.built_in_named("reno-c").source.replace("fw_reno", "fwt_py")
HALVES = "return max(tcp_sk(sk)->snd_cwnd >> 1U, 2U);"
GROWS = "tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);"


class Reno:
    """Reno as the C has it."""

    def ssthresh(self, sender):
        return max(sender.snd_cwnd >> 1, 2)

    def cong_avoid(self, sender, ack, acked):
        if not sender.is_cwnd_limited:
            return
        if sender.in_slow_start:
            window = min(sender.snd_cwnd + acked, sender.snd_ssthresh)
            acked -= window - sender.snd_cwnd
            sender.snd_cwnd = window
            if not acked:
                return
        window = sender.snd_cwnd
        if sender.snd_cwnd_cnt >= window:
            sender.snd_cwnd_cnt = 0
            sender.snd_cwnd += 1
        sender.snd_cwnd_cnt += acked
        if sender.snd_cwnd_cnt >= window:
            whole = sender.snd_cwnd_cnt // window
            sender.snd_cwnd_cnt -= whole * window
            sender.snd_cwnd += whole


@pytest.fixture(autouse=True)
def own_place(tmp_path, monkeypatch) -> Path:
    place = tmp_path / "controls"
    monkeypatch.setenv("FAIRWIND_CONGESTION", str(place))
    return place


def scenario(folder: Path, name: str, duration: str = "8 s") -> Path:
    file = folder / f"{name}.toml"
    file.write_text(SCENARIO.format(name=name, duration=duration), encoding="utf-8")
    return file


def source(folder: Path, name: str, text: str = RENO) -> Path:
    file = folder / f"{name}.c"
    file.write_text(text, encoding="utf-8")
    return file


def groups(results):
    return results.groups.drop("cell", "replicate", "seed")


def test_a_class_of_python_and_the_same_algorithm_in_c_give_the_same_tables(tmp_path):
    in_c = package.load(scenario(tmp_path, "reno-c")).run(out=tmp_path / "c")
    in_python = package.load(scenario(tmp_path, "mine")).run(
        out=tmp_path / "python", congestion={"mine": Reno}
    )
    assert in_c.groups["fast_retransmits"].sum() > 0, "there were losses to react to"
    assert groups(in_c).equals(groups(in_python))
    versions = in_python.manifest.versions
    assert len(versions["congestion_mine"]) == 64
    assert in_c.manifest.versions["congestion_reno-c"] == (
        hashlib.sha256(congestion.built_in_named("reno-c").source.encode()).hexdigest()
    )


def test_the_shortest_class_has_one_method(tmp_path):
    class Steady:
        def on_ack(self, sender, acked):
            sender.snd_cwnd = 4

    sampled = package.load(scenario(tmp_path, "steady", "4 s")).with_settings(
        {"measure.endpoint_interval": "100 ms"}
    )
    results = sampled.run(out=tmp_path / "run", congestion={"steady": Steady})
    later = results.endpoint.filter(pl.col("time_s") > 1)
    assert set(later["cwnd_packets"]) == {4}


def test_class_is_notified_of_losses(tmp_path):
    parts: list[int] = []

    class Listening(Reno):
        def on_loss(self, sender):
            parts.append(sender.ca_state)

    results = package.load(scenario(tmp_path, "listening")).run(
        out=tmp_path / "run", congestion={"listening": Listening}
    )
    found = results.groups.select("fast_retransmits", "timeouts").sum_horizontal().sum()
    assert len(parts) == found > 0
    assert {3, 4}.isdisjoint(parts[:1]), "as in the kernel, the state is that before"


def test_an_exception_of_a_class_ends_the_run_with_its_traceback_and_leaves_no_half_results(
    tmp_path,
):
    class Wrong(Reno):
        def ssthresh(self, sender):
            return sender.snd_cwnd / sender.no_such_field

    out = tmp_path / "run"
    with pytest.raises(ControlClassError) as raised:
        package.load(scenario(tmp_path, "wrong")).run(out=out, congestion={"wrong": Wrong})
    text = str(raised.value)
    assert 'the congestion control "wrong" has raised an exception' in text
    assert "return sender.snd_cwnd / sender.no_such_field" in text
    assert "AttributeError" in text
    assert isinstance(raised.value.__cause__, AttributeError)
    assert not list((out / "cells").iterdir())


def test_invalid_number_of_segments_is_reported(tmp_path):
    class Half(Reno):
        def ssthresh(self, sender):
            return sender.snd_cwnd / 2

    with pytest.raises(
        ControlClassError, match=r"ssthresh\(\) gave \d+\.\d: it has to give a whole"
    ):
        package.load(scenario(tmp_path, "half")).run(
            out=tmp_path / "run", congestion={"half": Half}
        )


def test_classes_are_for_the_simulator_and_take_no_name_that_is_there(tmp_path):
    loaded = package.load(scenario(tmp_path, "mine"))
    with pytest.raises(FairwindError, match="cannot be a congestion control of the kernel"):
        loaded.run("kernel", congestion={"mine": Reno})
    with pytest.raises(FairwindError, match="there is a congestion control 'cubic' already"):
        loaded.run(congestion={"cubic": Reno})


def test_misspelt_hook_is_reported(tmp_path):
    class Misspelt(Reno):
        def on_losses(self, sender):
            sender.snd_cwnd = 1

    class Empty:
        def _helper(self):
            pass

    class Helped(Reno):
        def grown_window(self, sender):
            return sender.snd_cwnd + 1

    loaded = package.load(scenario(tmp_path, "mine", "1 s"))
    with pytest.raises(FairwindError, match="on_losses of Misspelt is not a hook") as raised:
        loaded.run(congestion={"mine": Misspelt})
    assert "rename it to on_loss" in str(raised.value.hint)
    with pytest.raises(FairwindError, match="Empty has no hook, so it would do nothing"):
        loaded.run(congestion={"mine": Empty})
    assert loaded.run(out=tmp_path / "run", congestion={"mine": Helped}).groups.height


@pytest.mark.parametrize("value", [-5, 2.5, 1 << 40])
def test_invalid_window_is_reported(tmp_path, value):
    class Wrong(Reno):
        def on_ack(self, sender, acked):
            sender.snd_cwnd = value

    with pytest.raises(ControlClassError, match=r"snd_cwnd = .*: it has to be a whole number"):
        package.load(scenario(tmp_path, "wrong")).run(
            out=tmp_path / "run", congestion={"wrong": Wrong}
        )


def test_what_was_built_is_known_to_every_scenario_and_a_changed_source_is_another_run(tmp_path):
    file = scenario(tmp_path, "mine")
    with pytest.raises(
        ScenarioError, match=r"becomes known by `fairwind congestion build mine\.c`"
    ):
        _ = package.load(file).plan
    own, _ = congestion.build(source(tmp_path, "mine"), with_object=False)
    assert (own.name, own.kernel_name) == ("mine", "fwt_py")
    first = package.load(file).run(out=tmp_path / "run")
    in_c = package.load(scenario(tmp_path, "reno-c")).run(out=tmp_path / "c")
    assert groups(first).equals(groups(in_c))
    assert first.manifest.versions["congestion_mine"] == own.sha256
    congestion.build(source(tmp_path, "mine", RENO + "\n/* changed */\n"), with_object=False)
    with pytest.raises(FairwindError, match=r"another version \(congestion_mine\)"):
        package.load(file).run(out=tmp_path / "run")


def test_a_library_of_another_interface_is_compiled_again_before_it_is_loaded(tmp_path):
    own, _ = congestion.build(source(tmp_path, "mine"), with_object=False)
    facts = own.folder / "control.json"
    old = json.loads(facts.read_text()) | {"interface": "of another version"}
    facts.write_text(json.dumps(old))
    own.library.write_text("not to be loaded")
    package.load(scenario(tmp_path, "mine", "1 s")).run(out=tmp_path / "run")
    assert congestion.own_named("mine").origin == own.origin


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ((HALVES, "return nonsense;"), r"(?s)nonsense.*does not compile: what it may use"),
        (
            (HALVES, "return (u32)(tcp_sk(sk)->snd_cwnd * 0.7);"),
            "all numbers are integers, and one there has a fraction",
        ),
        (
            (".undo_cwnd = (void *)fwt_py_undo_cwnd,", ""),
            "has no undo_cwnd: every congestion control needs this hook",
        ),
        (("struct tcp_congestion_ops", "struct something"), "has no `struct tcp_congestion_ops"),
    ],
)
def test_build_errors_show_compiler_messages(tmp_path, change, text):
    assert change[0] in RENO
    with pytest.raises(FairwindError, match=text):
        congestion.build(source(tmp_path, "mine", RENO.replace(*change)), with_object=False)
    assert congestion.own_controls() == []


def test_names_that_cannot_be_had_are_refused(tmp_path):
    file = source(tmp_path, "mine")
    for name in ("cubic", "reno-c"):
        with pytest.raises(FairwindError, match="already"):
            congestion.build(file, name, with_object=False)
    with pytest.raises(FairwindError, match="at most 31 letters"):
        congestion.build(file, "no name", with_object=False)
    with pytest.raises(FairwindError, match="cannot read"):
        congestion.build(tmp_path / "nothing.c", with_object=False)


def test_taken_name_needs_take_name_option(tmp_path):
    for taken, owner in (("cubic", "Linux"), ("fw_htcp", "this repository")):
        file = source(tmp_path, "mine", RENO.replace("fwt_py", taken))
        with pytest.raises(FairwindError, match=f'"{taken}", is already used by {owner}'):
            congestion.build(file, with_object=False)
        own, _ = congestion.build(file, with_object=False, takes_name=True)
        assert own.kernel_name == taken


@pytest.mark.parametrize(
    ("name", "text"),
    [("", "its table has no name"), ("sixteen_letters_", "more than 15 letters")],
)
def test_names_that_no_kernel_could_have_are_refused(tmp_path, name, text):
    file = source(tmp_path, "mine", RENO.replace('.name = "fwt_py"', f'.name = "{name}"'))
    with pytest.raises(FairwindError, match=rf"mine\.c: .*{text}"):
        congestion.build(file, with_object=False)


def test_only_files_of_c_are_built(tmp_path):
    text = tmp_path / "auto.txt"
    text.write_text(RENO, encoding="utf-8")
    with pytest.raises(FairwindError, match=r"auto\.txt does not end in .c"):
        congestion.build(text, with_object=False)


def test_what_a_source_includes_is_kept_with_it_and_part_of_its_digest(tmp_path):
    folder = tmp_path / "sources"
    (folder / "parts").mkdir(parents=True)
    header = folder / "parts" / "least.h"
    header.write_text("#define LEAST 2U\n", encoding="utf-8")
    text = '#include "parts/least.h"\n' + RENO.replace("2U);", "LEAST);")
    file = source(folder, "mine", text)
    own, _ = congestion.build(file, with_object=False)
    first = own.sha256
    assert own.headers == ("parts/least.h",)
    assert (own.folder / "parts" / "least.h").read_text() == "#define LEAST 2U\n"
    header.write_text("#define LEAST 3U\n", encoding="utf-8")
    assert congestion.own_named("mine").sha256 == first, "what was compiled is what counts"
    again, _ = congestion.build(file, with_object=False)
    assert again.source == own.source
    assert again.sha256 != first
    # Made for another version it is compiled again, of what was kept.
    facts = again.folder / "control.json"
    facts.write_text(json.dumps(json.loads(facts.read_text()) | {"interface": "older"}))
    shutil.rmtree(folder)
    assert congestion.own_named("mine").sha256 == again.sha256
    assert package.load(scenario(tmp_path, "mine", "1 s")).run(out=tmp_path / "run").groups.height


def test_foreign_includes_are_reported(tmp_path):
    (tmp_path / "least.h").write_text("#define LEAST 2U\n", encoding="utf-8")
    folder = tmp_path / "sources"
    folder.mkdir()
    file = source(folder, "mine", '#include "../least.h"\n' + RENO)
    with pytest.raises(FairwindError, match=r"includes .*least\.h, which lies outside"):
        congestion.build(file, with_object=False)


def test_a_hook_that_a_kernel_would_not_have_taken_ends_and_is_a_warning_of_the_run(tmp_path):
    for name, text, words in (
        ("null", "((struct tcp_sock *)(u64)(ack - ack))->snd_cwnd = 1;", "followed a null pointer"),
        ("beyond", "((volatile u32 *)inet_csk_ca(sk))[26] = 1;", "went beyond its state"),
    ):
        congestion.build(source(tmp_path, name, RENO.replace(GROWS, text)), with_object=False)
        results = package.load(scenario(tmp_path, name, "20 s")).run(out=tmp_path / f"run-{name}")
        assert any(words in line for line in warnings(results)), warnings(results)


def test_a_window_of_nothing_and_a_division_by_zero_are_warnings_of_the_run(tmp_path):
    nothing = RENO.replace(GROWS, "tp->snd_cwnd = 0;")
    divided = RENO.replace(GROWS, "tp->snd_cwnd += acked / tp->snd_cwnd_cnt;")
    assert nothing != RENO != divided
    for name, text, words in (
        ("nothing", nothing, "asked for a window of no segments"),
        ("divided", divided, "divided by zero in cong_avoid, at line "),
    ):
        congestion.build(source(tmp_path, name, text), with_object=False)
        results = package.load(scenario(tmp_path, name, "20 s")).run(out=tmp_path / f"run-{name}")
        (warning,) = [line for line in warnings(results) if line.startswith("Congestion control")]
        assert warning.startswith(f"Congestion control {name} of group greedy: ")
        assert words in warning
    sound = package.load(scenario(tmp_path, "reno-c", "4 s")).run(out=tmp_path / "sound")
    assert sound.control_complaints is None


class Damped(Reno):
    """Reno that keeps a share of the window after a loss."""

    def __init__(self, beta: float = 0.5, *, least: int = 2, mode: str | None = None) -> None:
        self.beta, self.least, self.mode = beta, least, mode

    def ssthresh(self, sender):
        return max(int(sender.snd_cwnd * self.beta), self.least)


BETAS = '[sweep]\n"flows.greedy.tcp.congestion.beta" = [0.3, 0.9]\n'


def swept(tmp_path, name: str, sweep: str) -> package.Scenario:
    file = scenario(tmp_path, name)
    file.write_text(file.read_text(encoding="utf-8") + sweep, encoding="utf-8")
    return package.load(file)


def test_parameters_of_a_class_are_swept(tmp_path):
    results = swept(tmp_path, "damped", BETAS).run(
        out=tmp_path / "run", congestion={"damped": Damped}
    )
    axis = "flows_greedy_tcp_congestion_beta"
    for beta in ("0.3", "0.9"):
        fixed = package.load(scenario(tmp_path, "fixed")).run(
            out=tmp_path / beta, congestion={"fixed": with_beta(float(beta))}
        )
        cell = groups(results).filter(pl.col(axis) == beta).drop(axis)
        assert cell.equals(groups(fixed)), beta
    assert results.groups["packets_sent"].n_unique() == 2


def with_beta(beta: float) -> type:
    class Fixed(Damped):
        def __init__(self):
            super().__init__(beta)

    return Fixed


def test_classes_of_a_factory_do_not_share_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runs = [
        package.load(scenario(tmp_path, "fixed")).run(congestion={"fixed": with_beta(beta)})
        for beta in (0.3, 0.9)
    ]
    assert runs[0].folder != runs[1].folder
    assert not groups(runs[0]).equals(groups(runs[1]))
    again = package.load(scenario(tmp_path, "fixed")).run(congestion={"fixed": with_beta(0.3)})
    assert again.folder == runs[0].folder


def test_two_groups_may_have_one_class_with_other_parameters(tmp_path):
    second = """
[[flows]]
name = "other"
workload = { kind = "greedy" }
tcp = { congestion = { name = "damped", beta = 0.9 } }
"""
    found = swept(tmp_path, "damped", second).with_settings(
        {"flows.greedy.tcp.congestion.beta": 0.3}
    )
    made = []

    class Noted(Damped):
        def init(self, sender):
            made.append(self.beta)

    found.run(out=tmp_path / "run", congestion={"damped": Noted})
    assert sorted(made) == [0.3, 0.3, 0.9]


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        (
            {"bta": 0.5},
            "bta = 0.5: there is no such parameter\n  hint: damped has beta (0.5), least",
        ),
        ({"beta": "half"}, 'beta = "half": expected a number, found a text'),
        ({"least": 2.5}, "least = 2.5: expected a whole number, found a number"),
        ({"least": True}, "least = true: expected a whole number, found true or false"),
        ({"mode": 3}, "mode = 3: expected a text, found a whole number"),
    ],
)
def test_wrong_parameters_of_a_class_are_named(tmp_path, setting, text):
    found = package.load(scenario(tmp_path, "damped")).with_settings(
        {"flows.greedy.tcp.congestion": {"name": "damped", **setting}}
    )
    with pytest.raises(ScenarioError, match=re.escape(f"flows.greedy.tcp.congestion.{text}")):
        found.run(out=tmp_path / "run", congestion={"damped": Damped})
    assert not (tmp_path / "run").exists()


def test_a_missing_parameter_is_named(tmp_path):
    class Bare(Damped):
        def __init__(self, gain):
            super().__init__(gain)

    found = package.load(scenario(tmp_path, "bare"))
    with pytest.raises(
        ScenarioError, match=r"(?s)parameter gain of bare is missing.*gain = \.\.\."
    ):
        found.run(out=tmp_path / "run", congestion={"bare": Bare})


def test_only_what_declares_parameters_has_them(tmp_path):
    found = package.load(scenario(tmp_path, "htcp")).with_settings(
        {"flows.greedy.tcp.congestion.beta": 1}
    )
    with pytest.raises(ScenarioError, match="htcp has no parameters"):
        found.check()


SHARE = RENO.replace(HALVES, "return max(tcp_sk(sk)->snd_cwnd * beta / 1024U, 2U);").replace(
    "char _license", "FAIRWIND_PARAM(u32, beta, 512);\nchar _license", 1
)


def test_parameters_of_a_c_file_are_swept(tmp_path):
    congestion.build(source(tmp_path, "share", SHARE), with_object=False)
    sweep = BETAS.replace("0.3, 0.9", "300, 512, 900")
    results = swept(tmp_path, "share", sweep).run(out=tmp_path / "run")
    cells = [
        groups(results)
        .filter(pl.col("flows_greedy_tcp_congestion_beta") == beta)
        .drop("flows_greedy_tcp_congestion_beta")
        for beta in (300, 512, 900)
    ]
    assert not cells[0].equals(cells[1])
    assert not cells[1].equals(cells[2])
    usual = package.load(scenario(tmp_path, "share")).run(out=tmp_path / "usual")
    assert cells[1].equals(groups(usual))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ('"half"', "expected a whole number, found a text"),
        ("-1", "it must be 0 or more"),
        ("0.5", "expected a whole number, found a number"),
    ],
)
def test_wrong_parameters_of_a_c_file_are_named(tmp_path, value, text):
    congestion.build(source(tmp_path, "share", SHARE), with_object=False)
    found = package.load(scenario(tmp_path, "share")).with_settings(
        {"flows.greedy.tcp.congestion.beta": value}
    )
    with pytest.raises(ScenarioError, match=re.escape(text)):
        found.check()


def test_parameters_are_refused_on_the_kernel(tmp_path):
    congestion.build(source(tmp_path, "share", SHARE), with_object=False)
    found = package.load(scenario(tmp_path, "share")).with_settings(
        {"flows.greedy.tcp.congestion.beta": 600}
    )
    (refusal,) = [
        one
        for one in engine_named("kernel").refusals(found.plan.cells[0])
        if one.key.endswith("beta")
    ]
    assert "the defaults of its source" in str(refusal)


def test_the_command_lists_builds_and_shows(tmp_path):
    status, out, error = fairwind("congestion", "build", source(tmp_path, "mine"), cwd=tmp_path)
    assert status == 0, error
    assert 'congestion = "mine"' in error
    status, out, _ = fairwind("congestion", "list", "--format", "json", cwd=tmp_path)
    rows = {row["name"]: row for row in json.loads(out)}
    assert rows["mine"] == {
        "name": "mine",
        "kind": "own",
        "kernel_name": "fwt_py",
        "loaded": False,
        "what": str(tmp_path / "mine.c"),
    }
    available = congestion.available()
    assert rows["cubic"]["loaded"] == ("cubic" in available)
    assert rows["reno"]["loaded"], "every Linux has it"
    assert (rows["bbr3"]["kernel_name"], rows["bbr3"]["loaded"]) == (None, None)
    assert rows["reno-c"]["what"] == "Reno: slow start, additive increase, halving."
    assert fairwind("congestion", "show", "mine", cwd=tmp_path)[1] == RENO
    status, _, error = fairwind("congestion", "show", "nobody", cwd=tmp_path)
    assert status == 2 and "no congestion control 'nobody'" in error


def may_load() -> str | None:
    """Tell why nothing can be loaded into this kernel."""
    if PROBLEM is not None:
        return f"no run on the kernel: {PROBLEM}"
    if not Path("/sys/kernel/btf/vmlinux").exists():
        return "this kernel does not describe its types"
    return None


loading = pytest.mark.skipif(may_load() is not None, reason=str(may_load()))
"""Of tests that load something into this kernel."""


def need_programs(error: str) -> None:
    """Skip a test where this build has no eBPF programs."""
    if "no eBPF programs" in error:
        pytest.skip("this build has no eBPF programs")


@pytest.mark.kernel
@loading
@pytest.mark.alone
def test_one_file_runs_on_the_kernel_as_well_and_is_gone_afterwards(tmp_path):
    available = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    text = RENO.replace("fwt_py", "fwt_pyk")
    status, _, error = fairwind("congestion", "build", source(tmp_path, "mine", text), cwd=tmp_path)
    assert status == 0, error
    file = scenario(tmp_path, "mine", "2 s")
    status, _, error = fairwind("run", file, "--on", "kernel", "--out", "run", cwd=tmp_path)
    need_programs(error)
    assert status == 0, error
    assert "fwt_pyk" not in available.read_text().split()
    read = package.open(tmp_path / "run").groups["payload_bytes_read"].sum()
    assert read > 100_000

    assert fairwind("congestion", "load", "mine", cwd=tmp_path)[0] == 0
    try:
        assert "fwt_pyk" in available.read_text().split()
        status, _, error = fairwind("congestion", "load", "mine", cwd=tmp_path)
        assert status == 2 and 'already has a congestion control "fwt_pyk"' in error
    finally:
        status, out, error = fairwind("congestion", "unload", "mine", cwd=tmp_path)
    assert (status, out) == (0, "fwt_pyk\n"), error
    assert "fwt_pyk" not in available.read_text().split()
    status, _, error = fairwind("congestion", "unload", "mine", cwd=tmp_path)
    assert status == 2 and "was loaded by eBPF" in error


@pytest.mark.kernel
@loading
@pytest.mark.alone
def test_a_window_of_nothing_on_the_kernel_is_a_warning_of_the_run(tmp_path):
    nothing = RENO.replace("fwt_py", "fwt_pyn").replace(GROWS, "tp->snd_cwnd = 0;")
    nothing = nothing.replace("fairwind_reaches_avoidance(sk, &acked)", "acked")
    file = source(tmp_path, "nothing", nothing)
    status, _, error = fairwind("congestion", "build", file, cwd=tmp_path)
    assert status == 0, error
    file = scenario(tmp_path, "nothing", "2 s")
    # Of several: a flow has a window of one at the end if its probe has just timed out.
    several = file.read_text().replace("count = 2", "count = 8").replace("10 p", "100 p")
    file.write_text(several, encoding="utf-8")
    status, _, error = fairwind("run", file, "--on", "kernel", "--out", "run", cwd=tmp_path)
    need_programs(error)
    assert status == 0, error
    text = re.search(r"window of (\d) flows? of group greedy was 0 at the end", error)
    assert text, error
    windows = package.open(tmp_path / "run").senders["cwnd_packets"]
    assert int(text[1]) == (windows == 0).sum() > 0


@pytest.mark.kernel
@loading
@pytest.mark.alone
def test_a_file_is_loaded_without_being_built_first(tmp_path):
    available = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    file = source(tmp_path, "mine", RENO.replace("fwt_py", "fwt_pyl"))
    status, out, error = fairwind("congestion", "load", file, cwd=tmp_path)
    need_programs(error)
    assert (status, out) == (0, "fwt_pyl\n"), error
    try:
        assert "fwt_pyl" in available.read_text().split()
    finally:
        status, _, error = fairwind("congestion", "unload", "fwt_pyl", cwd=tmp_path)
    assert status == 0, error
    assert "fwt_pyl" not in available.read_text().split()


@pytest.mark.kernel
@loading
@pytest.mark.alone
def test_verifier_refusal_shows_its_message(tmp_path):
    text = RENO.replace("fwt_py", "fwt_pyv").replace(HALVES, "return *(volatile u32 *)0x1000;")
    file = source(tmp_path, "mine", text)
    status, _, error = fairwind("congestion", "load", file, cwd=tmp_path)
    need_programs(error)
    assert status == 2
    assert "mine is refused by the kernel's verifier" in error
    assert "invalid mem access" in error
    assert "Traceback" not in error

"""Live figures of runs: numbers, terminal and lines; results do not depend on them."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from collections import deque
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

import fairwind as package
from fairwind.cli.live import LiveLines, LiveScreen, Picture, in_words
from fairwind.cli.shell_live import PANEL_HEIGHT, Panel
from fairwind.engine.live import LiveWatch
from fairwind.engine.selection import engine_named
from fairwind.execution.execute import RunSettings, RunState, run_plan
from fairwind.execution.workers import RunningCell
from fairwind.kernels import catalogue
from fairwind.kernels.catalogue import built_kernels
from fairwind.packetdrill import kernel_problem
from fairwind.scenario import Scenario
from process import SCENARIO, fairwind, start

LONG = SCENARIO.replace('"12 s"', '"200000 s"').replace('["5 s"]', "[]")
LINE = re.compile(
    r"cell \d, replicate \d, flows\.\*\.count = \d, \d+\.\d s \(\d+%\)(, warm-up)?, "
    r"\S+x real time: greedy \S+ [kM]?bit/s, RTT .*, \d+ lost; thin .* lost"
)


@dataclass
class Counts:
    """Counts that a run under way gives, one after the other."""

    texts: deque[str] = field(default_factory=deque)
    fraction: float = 0.25

    def add(self, time_s: float, read: int, counted_from_s: float = 0.0, **changed: object) -> None:
        group = {
            "name": "thin",
            "payload_bytes_read": read,
            "data_segments_sent": 100,
            "data_segments_retransmitted": 4,
            "packets_lost": 7,
            "timeouts": 2,
            "ack_latency_ns": [],
        }
        queue = {
            "name": "bottleneck",
            "enqueued_packets": 10,
            "dropped_packets": 3,
            "marked_packets": 0,
            "backlog_packets_sum": 40,
            "backlog_bytes_sum": 60_000,
        }
        counts = {
            "time_s": time_s,
            "counted_from_s": counted_from_s,
            "is_warm": True,
            "groups": [group | {key: changed[key] for key in group.keys() & changed}],
            "queues": [queue | {key: changed[key] for key in queue.keys() & changed}],
        }
        self.texts.append(json.dumps(counts))

    def live_counts(self) -> str | None:
        return self.texts.popleft() if self.texts else None

    def cancel(self) -> None:
        pass


def running(counts: Counts, place: int) -> RunningCell:
    plan = Scenario("process.toml", SCENARIO).check()
    return RunningCell(plan.cells[place % 2], place // 2, counts)


def state(*cells: RunningCell) -> RunState:
    return RunState(total=9, finished=1, resumed=0, failed=0, fraction=0.2, running=cells)


def test_figures_are_about_a_second_at_least():
    counts = Counts()
    for tenth in range(31):
        counts.add(tenth / 10, 1000 * tenth)
    watch = LiveWatch(counts)
    figures = [watch.look() for _ in range(31)][-1]
    assert figures is not None
    assert figures.window_s == pytest.approx(1.0)
    assert figures.groups[0].goodput_bits_per_second == pytest.approx(80_000)
    assert watch.look() is None


def test_first_figures_begin_where_counting_began():
    counts = Counts()
    counts.add(12.0, 1000, counted_from_s=10.0)
    figures = LiveWatch(counts).look()
    assert figures is not None
    assert (figures.time_s, figures.window_s) == (12.0, 2.0)
    (group,), (queue,) = figures.groups, figures.queues
    assert group.goodput_bits_per_second == 4000
    assert (group.packets_lost, group.timeouts, group.retransmission_ratio) == (7, 2, 0.04)
    assert (queue.backlog_packets, queue.backlog_bytes, queue.dropped_packets) == (4.0, 6000.0, 3)


def test_totals_that_begin_anew_after_the_warmup_give_no_negative_rates():
    counts = Counts()
    counts.add(9.0, 90_000)
    counts.add(11.0, 1000, counted_from_s=10.0)
    watch = LiveWatch(counts)
    watch.look()
    figures = watch.look()
    assert figures is not None
    assert figures.groups[0].goodput_bits_per_second == 8000
    assert figures.window_s == 1.0


def test_rtt_is_the_median_of_new_samples():
    counts = Counts()
    old = [[100_000_000, 1000]]
    counts.add(1.0, 0, ack_latency_ns=old)
    counts.add(2.0, 0, ack_latency_ns=[[20_000_000, 3], [50_000_000, 2], [100_000_000, 1002]])
    counts.add(3.5, 0, ack_latency_ns=[[20_000_000, 3], [50_000_000, 2], [100_000_000, 1002]])
    watch = LiveWatch(counts)
    medians = [figures.groups[0].ack_latency_s for _ in range(3) if (figures := watch.look())]
    assert medians == [0.1, 0.05, None]


def test_counts_given_twice_are_taken_once():
    counts = Counts()
    counts.add(1.0, 1000)
    counts.add(1.0, 1000)
    watch = LiveWatch(counts)
    assert watch.look() is not None
    assert watch.look() is None


def screen(height: int, width: int = 120) -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=width, height=height)


def drawn(console: Console, *cells: RunningCell) -> list[str]:
    picture = LiveScreen(console).draw(state(*cells), Text("simulating"))
    with console.capture() as capture:
        console.print(picture)
    return Text.from_ansi(capture.get()).plain.splitlines()


@pytest.mark.parametrize("height", [8, 14, 20, 40])
def test_pictures_fit_the_terminal(height):
    counts = [Counts() for _ in range(6)]
    for one in counts:
        one.add(12.0, 100_000)
    lines = drawn(screen(height), *(running(one, place) for place, one in enumerate(counts)))
    assert len(lines) < height
    whole = (height - 3) // 5
    assert sum("thin" in line for line in lines) == min(6, max(1, whole))
    hidden = 6 - max(1, whole)
    assert any(f"and {hidden} more under way" in line for line in lines) == (hidden > 0)


def test_picture_shows_figures_of_groups_and_queues():
    counts = Counts()
    counts.add(12.0, 100_000, ack_latency_ns=[[312_000_000, 5]])
    lines = drawn(screen(20), running(counts, 0))
    assert lines[0] == "simulating"
    assert re.match(r"cell 0, replicate 0, flows.\*.count = 1, 12.0 s \(25%\)", lines[1])
    assert lines[3].split()[:9] == ["thin", "66.7", "kbit/s", "312", "ms", "7", "4.00%", "2", "█"]
    assert lines[5].split() == ["bottleneck", "4.0", "packets", "6.00", "kB", "3", "0"]


def test_narrow_terminal_has_no_line_breaks():
    counts = Counts()
    counts.add(12.0, 100_000)
    lines = drawn(screen(20, width=60), running(counts, 0))
    assert len(lines) == 6
    assert max(map(len, lines)) <= 60


def test_lines_come_once_a_second():
    counts = Counts()
    console = Console(file=io.StringIO(), width=80)
    show = LiveLines(console)
    for tenth in range(1, 16):
        counts.add(tenth, 1000 * tenth)
        show(state(running(counts, 0)))
        time.sleep(0.1)
    text = console.file.getvalue()
    assert 1 <= text.count("\n") <= 2
    assert "thin 8.00 kbit/s, RTT -, 7 lost; queue bottleneck 4.0 packets, 3 dropped" in text


MOMENT = SCENARIO[: SCENARIO.index("[sweep]")].replace("1 Mbit/s", "20 Mbit/s")


def test_run_of_a_moment_prints_its_last_state(tmp_path):
    (tmp_path / "short.toml").write_text(MOMENT)
    code, _, error = fairwind("run", "short.toml", "--live", cwd=tmp_path)
    assert code == 0, error
    lines = [line for line in error.splitlines() if line.startswith("replicate 0, ")]
    assert 1 <= len(lines) <= 3, error
    assert len({*lines}) == len(lines), error
    assert re.match(
        r"replicate 0, .*\d s \(.*: greedy \S+ Mbit/s, RTT .*, \d+ lost; thin", lines[-1]
    )


def test_run_of_a_moment_leaves_its_last_state_on_the_terminal():
    counts, console = Counts(), screen(20)
    cell = running(counts, 0)
    show = LiveScreen(console)
    with console.capture() as capture:
        assert show.draw(state(cell), Text("simulating")) is not None
        counts.add(12.0, 100_000)
        over = replace(state(), finished=9, ended=(cell,))
        assert show.draw(over, Text("simulating")) is None
    lines = Text.from_ansi(capture.get()).plain.splitlines()
    assert lines[0].startswith("cell 0, replicate 0, flows.*.count = 1, 12.0 s")
    assert lines[2].split()[:3] == ["thin", "66.7", "kbit/s"]


def tables(folder: Path) -> dict[str, bytes]:
    files = [*folder.glob("cells/*/*"), *folder.glob("*.parquet")]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def test_live_run_has_the_same_tables(tmp_path):
    (tmp_path / "both.toml").write_text(SCENARIO)
    for out, options in (("plain", ()), ("live", ("--live",))):
        code, _, error = fairwind("run", "both.toml", "--out", out, *options, cwd=tmp_path)
        assert code == 0, error
    assert tables(tmp_path / "plain")
    assert tables(tmp_path / "plain") == tables(tmp_path / "live")


def watched_run(scenario: Path, engine: str, out: Path) -> list[float]:
    """Run, and give the seconds of all counts that a watcher got meanwhile."""
    seen: list[float] = []
    watches: dict[tuple[int, int], LiveWatch] = {}

    def look(state: RunState) -> None:
        for one in state.running:
            watch = watches.setdefault((one.cell.index, one.replicate), LiveWatch(one.progress))
            if (figures := watch.look()) is not None:
                assert [group.name for group in figures.groups] == ["greedy", "thin"]
                seen.append(figures.time_s)

    plan = package.load(scenario).check()
    run_plan(plan, engine_named(engine), RunSettings(jobs=1, out=out), look)
    return seen


def test_lines_without_a_terminal(tmp_path):
    (tmp_path / "long.toml").write_text(LONG)
    process = start("run", "long.toml", "--live", "--out", "run", cwd=tmp_path)
    lines = [next(process.stderr), next(process.stderr)]
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    for line in lines:
        assert LINE.match(line), line
    assert "interrupted:" in error


def terminal(*arguments: str, cwd: Path, height: int = 24) -> tuple[subprocess.Popen[bytes], int]:
    """Start a command on a terminal of its own."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", height, 120, 0, 0))
    environment = {key: os.environ[key] for key in os.environ if key not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(
        [sys.executable, "-m", "fairwind.cli", *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=cwd,
        start_new_session=True,
        env=environment
        | {"TERM": "xterm", "PYTHONPATH": str(Path(__file__).parents[2] / "python")},
    )
    os.close(theirs)
    return process, ours


def read_until(terminal: int, text: bytes, seconds: float = 60) -> bytes:
    """Read what a command draws until a text appears, or the terminal is closed."""
    seen, end = b"", time.monotonic() + seconds
    while text not in seen:
        assert time.monotonic() < end, seen
        try:
            seen += os.read(terminal, 65536)
        except OSError:
            break
    return seen


def test_interrupt_leaves_the_terminal_clean_and_finished_runs(tmp_path):
    # The second cell takes long enough to be interrupted.
    text = LONG.replace("repeat = 2", "").replace('"flows.*.count" = [1, 2]', "")
    text += 'duration = ["1 s", "300000 s"]\n'
    text = text.replace('duration = "200000 s"\n', 'duration = "1 s"\n')
    (tmp_path / "long.toml").write_text(text)
    process, screen = terminal("run", "long.toml", "--live", "--out", "run", cwd=tmp_path)
    seen = read_until(screen, b"goodput over time")
    assert b"\x1b[?25l" in seen, "the cursor is hidden while the picture changes"
    process.send_signal(signal.SIGINT)
    rest = read_until(screen, b"\0")
    assert process.wait(60) == 130
    os.close(screen)
    assert b"1 of 2 simulations are finished and kept in run" in rest
    assert (seen + rest).rfind(b"\x1b[?25h") > (seen + rest).rfind(b"\x1b[?25l")
    assert len(list((tmp_path / "run/cells").iterdir())) == 1


KERNELS = sorted({kernel.name for kernel in built_kernels()})
NO_KERNEL = all("hz" in name for name in KERNELS) or not catalogue.WORKER.exists()


@pytest.mark.skipif(NO_KERNEL, reason="no kernel for virtual time is built")
def test_kernel_in_virtual_time_is_watched_without_effect(tmp_path):
    scenario = tmp_path / "both.toml"
    text = SCENARIO.replace('"12 s"', '"20 s"').replace("repeat = 2", "repeat = 1")
    scenario.write_text(text.replace("[1, 2]", "[1]").replace('"1 Mbit/s"', '"2 Mbit/s"'))
    kernel = [name for name in KERNELS if "hz" not in name][-1]
    seen = watched_run(scenario, kernel, tmp_path / "watched")
    assert seen
    assert 0 <= seen[0] <= seen[-1] <= 20
    watched = tables(tmp_path / "watched")

    def is_same(number: int) -> bool:
        package.load(scenario).run(on=kernel, out=tmp_path / str(number))
        return tables(tmp_path / str(number)) == watched

    # Some kernels have two or three outcomes that differ by microseconds, watched or not.
    assert any(map(is_same, range(4)))


PROBLEM = engine_named("kernel").obstacle()


@pytest.mark.alone
@pytest.mark.kernel
@pytest.mark.skipif(PROBLEM is not None, reason=f"no run on the kernel: {PROBLEM}")
def test_run_on_the_kernel_is_watched(tmp_path):
    scenario = tmp_path / "both.toml"
    text = SCENARIO.replace('"12 s"', '"3 s"').replace('["5 s"]', "[]")
    scenario.write_text(text.replace("repeat = 2", "repeat = 1").replace("[1, 2]", "[1]"))
    seen = watched_run(scenario, "kernel", tmp_path / "run")
    assert len(seen) >= 5
    assert seen == sorted(seen)
    assert 2 < seen[-1] <= 3


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 bit/s"),
        (0.4, "0.400 bit/s"),
        (999.4, "999 bit/s"),
        (999.6, "1.00 kbit/s"),
        (23_040, "23.0 kbit/s"),
        (9.62e6, "9.62 Mbit/s"),
        (12.34e9, "12.3 Gbit/s"),
        (4.2e12, "4200 Gbit/s"),
    ],
)
def test_rates_have_three_digits(value, text):
    counts = Counts()
    counts.add(8.0, value)
    figures = LiveWatch(counts).look()
    assert figures is not None
    assert in_words(figures).startswith(f"thin {text}, RTT")


NO_SHELL = kernel_problem()
needs_a_shell = pytest.mark.skipif(NO_SHELL is not None, reason=f"no shell here: {NO_SHELL}")


@needs_a_shell
@pytest.mark.alone
@pytest.mark.kernel
def test_program_behind_a_path_is_watched(tmp_path):
    fetch = (
        "import os, socket, time\n"
        "with socket.create_server((os.environ['FAIRWIND_INSIDE'], 0)) as server:\n"
        "    time.sleep(3)\n"
    )
    arguments = ("shell", "--rate", "5mbit", "--rtt", "20ms", "--live", "--quiet")
    code, _, error = fairwind(*arguments, "--", sys.executable, "-c", fetch, cwd=tmp_path)
    assert code == 0, error
    lines = error.splitlines()
    assert lines
    for line in lines:
        assert re.match(r"\d+\.\d s: from-program 0 bit/s, RTT -, 0 lost; to-program", line), line


@needs_a_shell
@pytest.mark.alone
@pytest.mark.kernel
def test_program_on_a_terminal_keeps_its_place_above_the_panel(tmp_path):
    options = ("shell", "--rate", "5mbit", "--rtt", "20ms", "--live")
    process, screen = terminal(*options, "--", "sleep", "3", cwd=tmp_path)
    seen = read_until(screen, b"\0")
    assert process.wait(60) == 0
    os.close(screen)
    assert f"\x1b[1;{24 - PANEL_HEIGHT}r".encode() in seen
    for word in (b"behind the path for", b"from-program", b"to-program", b"goodput over time"):
        assert word in seen
    # On a busy machine one warning follows.
    before, _, after = seen.rpartition(b"\x1b8")
    assert before, "the cursor finds its way back"
    assert not after or b"of the packets were more than" in after, "nothing else follows"
    assert seen.rfind(b"\x1b[r") > seen.rfind(b"from-program"), "the lines were given back"


def test_panel_keeps_the_last_lines_and_gives_them_back():
    console = screen(24)
    counts = Counts()
    counts.add(12.0, 100_000)
    figures = LiveWatch(counts).look()
    assert figures is not None
    panel = Panel(console)
    panel.open()
    panel.draw(figures)
    panel.close()
    text = console.file.getvalue()
    first = 24 - PANEL_HEIGHT + 1
    assert text.startswith("\n" * PANEL_HEIGHT + f"\x1b7\x1b[1;{first - 1}r\x1b8")
    assert f"\x1b[{first};1H\x1b[2K" in text
    assert "behind the path for 12.0 s" in text
    assert text.endswith(f"\x1b7\x1b[r\x1b[{first};1H\x1b[J\x1b8")
    # Whatever is drawn, the cursor goes back to where the program has it.
    assert text.count("\x1b7") == text.count("\x1b8") == 3


def test_graph_has_the_height_of_its_values():
    picture = Picture()
    counts = Counts()
    for second, read in enumerate((0, 1000, 3000), start=1):
        counts.add(second, read)
    watch = LiveWatch(counts)
    while (figures := watch.look()) is not None:
        picture.take(figures)
    console = screen(20)
    console.print(*picture.shown("title", 9, has_graphs=True))
    assert "▁▅█" in console.file.getvalue()

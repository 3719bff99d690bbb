"""Time Fairwind beside its peers, by turns, and write docs/performance.md: `make bench-peers`.

    python tools/bench_peers.py [--rounds N] [--no-page]

The simulator against ns-2 (its Linux TCP with CUBIC) on the scenarios A, A3, B, C and D; the
analyser and the start of the command against tcptrace. Each round runs every program once, so that
both meet the same machine; a ratio is that of the medians, its spread that of the rounds. ns-2 and
tcptrace come from Debian; as root they are installed where they are missing.

Exit code: 0 all was timed, 2 a peer is missing.
"""

import argparse
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bench_analyse import CORE, TARGET, analyse, captures, cpu_of_children, installed, trace

ROOT = Path(__file__).resolve().parent.parent
FAIRWIND = Path(sys.executable).with_name("fairwind")
PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- measured -->", "<!-- end -->"
ROUNDS = 5

PEERS = {"ns": "ns2", "tcptrace": "tcptrace"}
"""Debian's packages by the programs that they install."""

SCENARIOS = {
    "A": ("one greedy flow, 100 Mbit/s, 40 ms", 4.0, "1 cubic 1 0 100e6 0.040 333 60"),
    "A3": ("the same over three serialising links", 4.0, "3 cubic 1 0 100e6 0.040 333 60"),
    "B": ("two greedy flows, 250 Mbit/s, 162 ms", 4.0, "1 cubic 2 0 250e6 0.162 675 120"),
    "C": ("64 greedy and 64 thin flows, 1 Mbit/s", 3.0, "1 cubic 64 64 1e6 0.100 9 300"),
    "D": ("1000 greedy flows, 1 Gbit/s", 3.0, "1 cubic 1000 0 1e9 0.050 4166 10"),
}
"""What each is, the ratio that is aimed at, and the arguments of benches/peers/dumbbell.tcl."""


@dataclass
class Comparison:
    """Rates of Fairwind and of a peer, round by round."""

    work: str
    unit: str
    peer: str
    aim: float | None = None
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """Median rate of Fairwind over that of the peer."""
        return statistics.median(self.ours) / statistics.median(self.theirs)

    @property
    def spread(self) -> tuple[float, float]:
        """Least and greatest ratio of a round."""
        ratios = [own / other for own, other in zip(self.ours, self.theirs, strict=True)]
        return min(ratios), max(ratios)

    def cells(self) -> list[str]:
        """Return the row of the page's table."""
        low, high = self.spread
        return [
            self.work,
            f"{statistics.median(self.ours):.3g}",
            f"{statistics.median(self.theirs):.3g}",
            self.unit,
            self.peer,
            f"{self.ratio:.2f} ({low:.2f} to {high:.2f})",
            f"{self.aim:g}" if self.aim is not None else "",
        ]


def main() -> int:
    """Time everything, print the table, write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"default: {ROUNDS}")
    parser.add_argument("--no-page", action="store_true", help="only print the table")
    arguments = parser.parse_args()
    missing = [program for program, package in PEERS.items() if not installed(program, package)]
    if missing:
        packages = " ".join(PEERS[program] for program in missing)
        print(f"error: {', '.join(missing)} missing; apt-get install {packages}", file=sys.stderr)
        return 2
    comparisons = [
        *compared_simulators(arguments.rounds),
        *compared_analysers(arguments.rounds),
        compared_starts(arguments.rounds),
    ]
    lines = table(comparisons)
    print("\n".join(lines))
    if not arguments.no_page:
        PAGE.write_text(page(lines, arguments.rounds), encoding="utf-8")
        print(f"written: {PAGE.relative_to(ROOT)}")
    return 0


def compared_simulators(rounds: int) -> list[Comparison]:
    """Return millions of data segments per CPU second."""
    found = []
    for name, (work, aim, arguments) in SCENARIOS.items():
        one = Comparison(f"{name}: {work}", "10^6 segments/s", "ns-2", aim)
        by_turns(one, rounds, partial(own_rate, name), partial(ns2_rate, arguments))
        found.append(one)
    return found


def own_rate(scenario: str) -> float:
    """Run a benchmark scenario; give millions of segments per CPU second, set-up included."""
    program = TARGET / "release" / "examples" / "benchmark"
    file = ROOT / "benches" / "scenarios" / f"{scenario}.toml"
    answer = output([str(program), "--repeat", "1", str(file)])
    return float(answer.splitlines()[-1].split()[-2]) / 1e6


def ns2_rate(arguments: str) -> float:
    """Run the same dumbbell in ns-2; give millions of segments per CPU second."""
    script = ROOT / "benches" / "peers" / "dumbbell.tcl"
    # ns-2 counts hundredths of a second: short runs are repeated until they add up.
    segments = seconds = 0.0
    while seconds < 0.5:
        answer = output(["ns", str(script), *arguments.split()])
        counted, cpu, _ = next(line.split()[-3:] for line in lines_of_numbers(answer))
        segments, seconds = segments + float(counted), seconds + float(cpu)
    return segments / seconds / 1e6


def lines_of_numbers(text: str) -> list[str]:
    """Return the lines that hold three numbers; ns-2's own remarks may stand before or behind."""
    found = []
    for line in text.splitlines():
        words = [word for word in line.split() if word.replace(".", "", 1).isdigit()]
        if len(words) == 3:
            found.append(" ".join(words))
    return found


def compared_analysers(rounds: int) -> list[Comparison]:
    """Return millions of packets per CPU second of the analyser, its core and the whole command."""
    sender, receiver = captures(str(FAIRWIND))
    packets, _ = analyse(sender)

    def peer() -> float:
        return packets / trace("tcptrace", sender) / 1e6

    def core(*files: Path) -> float:
        return packets / analyse(*files)[1] / 1e6

    def command() -> float:
        before = cpu_of_children()
        output([str(FAIRWIND), "analyse", str(sender), "--format", "json"])
        return packets / (cpu_of_children() - before) / 1e6

    unit, name = "10^6 packets/s", "tcptrace -n -l -r"
    works: Mapping[str, tuple[float, Callable[[], float]]] = {
        "analyser's core, one capture": (5.0, lambda: core(sender)),
        "analyser's core, both sides joined": (3.0, lambda: core(sender, receiver)),
        "fairwind analyse, the whole command": (3.0, command),
    }
    found = []
    for work, (aim, own) in works.items():
        one = Comparison(work, unit, name, aim)
        by_turns(one, rounds, own, peer)
        found.append(one)
    return found


def compared_starts(rounds: int) -> Comparison:
    """Return starts per CPU second of the command and of tcptrace."""

    def starts(command: Sequence[str]) -> Callable[[], float]:
        def measured() -> float:
            before = cpu_of_children()
            for _ in range(10):
                output(command)
            return 10 / (cpu_of_children() - before)

        return measured

    one = Comparison("start of the command, --version", "starts/s", "tcptrace -v")
    by_turns(one, rounds, starts([str(FAIRWIND), "--version"]), starts(["tcptrace", "-v"]))
    return one


def by_turns(
    one: Comparison, rounds: int, own: Callable[[], float], peer: Callable[[], float]
) -> None:
    """Measure both in every round, in alternating order."""
    for number in range(rounds):
        if number % 2:
            one.theirs.append(peer())
            one.ours.append(own())
        else:
            one.ours.append(own())
            one.theirs.append(peer())


def output(command: Sequence[str]) -> str:
    """Run a program on one core; give what it prints."""
    with tempfile.TemporaryDirectory() as folder:
        answer = subprocess.run(
            ["taskset", "-c", CORE, *command],
            check=True,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
    return answer.stdout


def table(comparisons: Sequence[Comparison]) -> list[str]:
    """Return the lines of a Markdown table."""
    head = ["work", "Fairwind", "peer's", "unit", "peer", "ratio (spread)", "aimed at"]
    rows = [head, ["---"] * len(head), *(one.cells() for one in comparisons)]
    return [f"| {' | '.join(row)} |" for row in rows]


def page(lines: Sequence[str], rounds: int) -> str:
    """Return the text of docs/performance.md with another table."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    when = f"{rounds} rounds on one core of {processor()}."
    return "\n".join([f"{before}{BEGIN}", when, "", *lines, "", f"{END}{after}"])


def processor() -> str:
    """Name the processor."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    names = [line.split(":", 1)[1] for line in text.splitlines() if line.startswith("model name")]
    return names[0].strip() if names else platform.machine()


if __name__ == "__main__":
    sys.exit(main())

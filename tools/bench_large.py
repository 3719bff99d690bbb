"""Costs of large simulations: many flows at once, many one after another, many links, long time.

    python tools/bench_large.py target/release/examples/benchmark

Each scenario is a process of its own, since a process can tell only its own greatest use of
memory; times are processor time. What is aimed at stands beside what was measured: ratios of this
run's own figures, and memory.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MANY = {10: 600.0, 100: 60.0, 1000: 20.0, 10_000: 5.0, 100_000: 3.0}
"""Numbers of greedy flows, each with a share of 1 Mbit/s, and the simulated seconds."""

FEWEST, MOST = min(MANY), max(MANY)

COST_AIM = 2.0
"""A segment among most flows costs at most so many times one among fewest."""

ACTIVE_AIM, IDLE_AIM = 8.0, 2.0
"""KiB of a flow that sends, and of one that waits."""

SETUP_AIM = 13.0
"""Ten times as many flows take at most so many times as long to set up."""

LINKS = 100
SHORT_FLOWS = 1_000_000
FLOWS_AT_ONCE = 200


@dataclass(frozen=True)
class Cost:
    """What a simulation took.

    Attributes
    ----------
    segments : int
        Data segments that were delivered.
    cpu_s : float
        Processor time.
    memory_mib : float
        Greatest use of memory.
    """

    segments: int
    cpu_s: float
    memory_mib: float

    @property
    def segment_ns(self) -> float:
        """Processor time of a delivered segment."""
        return self.cpu_s * 1e9 / max(1, self.segments)


def main() -> None:
    """Print the costs, and what is aimed at."""
    benchmark = sys.argv[1]
    print(f"{'simulation':<44} {'segments':>10} {'CPU s':>8} {'ns/segment':>10} {'MiB':>8}")
    costs = {name: measured(benchmark, name, text) for name, text in scenarios()}
    for what, found, bound in aims(costs):
        verdict = "reached" if found <= bound else "not reached"
        print(f"{what:<56} {found:8.2f}, aimed at {bound:4.1f} at most: {verdict}")


def measured(benchmark: str, name: str, text: str) -> Cost:
    """Run a scenario and print its row."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.toml"
        file.write_text(text)
        done = subprocess.run(
            [benchmark, "--repeat", "1", str(file)], capture_output=True, text=True, check=False
        )
    if done.returncode != 0:
        sys.exit(f"{name}: {done.stderr}")
    segments, cpu, _, memory = done.stdout.splitlines()[-1].split()[-4:]
    cost = Cost(int(segments), float(cpu), float(memory))
    print(
        f"{name:<44} {cost.segments:10} {cost.cpu_s:8.2f} {cost.segment_ns:10.0f}"
        f" {cost.memory_mib:8.1f}",
        flush=True,
    )
    return cost


def scenarios() -> Iterator[tuple[str, str]]:
    """Give names and texts of the scenarios."""
    for count, seconds in MANY.items():
        yield greedy_name(count), greedy(count, seconds)
    yield idle_name(MOST), idle(MOST)
    for count in (MOST // 10, MOST):
        yield setup_name(count), greedy(count, 0.001, spread="0 s")
    yield f"{SHORT_FLOWS:,} connections one after another", short_flows()
    yield f"one flow over {LINKS} links, each with another", parking_lot()
    yield "one hour of ten flows, sampled every second", hour()


def greedy_name(count: int) -> str:
    """Name the simulation of so many greedy flows."""
    return f"{count:,} greedy flows of 1 Mbit/s"


def idle_name(count: int) -> str:
    """Name the simulation of so many idle flows."""
    return f"{count:,} flows that write once"


def setup_name(count: int) -> str:
    """Name the simulation that only sets up."""
    return f"{count:,} flows set up, a millisecond"


def path(rate: str, rtt: str, duration: float) -> str:
    """Write the beginning of a scenario."""
    return f"""
name = "large"
duration = "{duration} s"
[path]
rate = "{rate}"
rtt = "{rtt}"
queue = {{ discipline = "pfifo", limit = "1 bdp" }}
"""


def greedy(count: int, duration: float, spread: str = "50 ms") -> str:
    """Let so many flows fill a link that has 1 Mbit/s for each."""
    return f"""{path(f"{count} Mbit/s", "50 ms", duration)}
[[flows]]
name = "greedy"
count = {count}
start_spread = "{spread}"
workload = {{ kind = "greedy" }}
"""


def idle(count: int) -> str:
    """Let so many connections write once within five seconds, and then wait."""
    return f"""{path("10 Gbit/s", "50 ms", 10.0)}
[[flows]]
name = "idle"
count = {count}
start_spread = "5 s"
workload = {{ kind = "thin", payload = "100 B", interval = "1000 s" }}
"""


def short_flows() -> str:
    """Let connections of 10 kB follow one another."""
    transfers = SHORT_FLOWS // FLOWS_AT_ONCE
    return f"""{path("1 Gbit/s", "10 ms", 3000.0)}
[[flows]]
name = "short"
count = {FLOWS_AT_ONCE}
start_spread = "10 ms"
workload = {{ kind = "transfers", volume = "10 kB", transfers = {transfers} }}
"""


def parking_lot() -> str:
    """Let one flow cross many bottlenecks, each shared with a flow of its own."""
    routers = [f"r{number}" for number in range(LINKS + 1)]
    hosts = ["a", "z"] + [f"{end}{number}" for number in range(LINKS) for end in "ft"]
    links = [
        link(f"r{number}", f"r{number + 1}", 'rate = "10 Mbit/s"\ndelay = "1 ms"')
        + 'queue = { discipline = "pfifo", limit = "20 ms" }\n'
        for number in range(LINKS)
    ]
    links += [link("a", "r0"), link("z", f"r{LINKS}")]
    flows = [flow("long", "a", "z")]
    for number in range(LINKS):
        links += [link(f"f{number}", f"r{number}"), link(f"t{number}", f"r{number + 1}")]
        flows.append(flow(f"over-{number}", f"f{number}", f"t{number}"))
    nodes = f"hosts = {hosts}\nrouters = {routers}"
    return "\n".join(['name = "large"\nduration = "20 s"\n[topology]', nodes, *links, *flows])


def link(start: str, end: str, more: str = "") -> str:
    """Write a link in both directions."""
    return f'\n[[topology.links]]\nfrom = "{start}"\nto = "{end}"\n{more}\n'


def flow(name: str, start: str, end: str) -> str:
    """Write a greedy flow."""
    return (
        f'\n[[flows]]\nname = "{name}"\nfrom = "{start}"\nto = "{end}"\n'
        'workload = { kind = "greedy" }\n'
    )


def hour() -> str:
    """Let ten flows send for an hour, with windows and samples of each second."""
    return f"""{path("10 Mbit/s", "50 ms", 3600.0)}
[[flows]]
name = "greedy"
count = 10
start_spread = "50 ms"
workload = {{ kind = "greedy" }}
[measure]
intervals = ["1 s"]
endpoint_interval = "1 s"
"""


def aims(costs: dict[str, Cost]) -> Iterator[tuple[str, float, float]]:
    """Give what is aimed at: what it is of, its value, and the most that it may be."""
    fewest, most = costs[greedy_name(FEWEST)], costs[greedy_name(MOST)]
    yield (
        f"a segment among {MOST:,} flows, in those of one among {FEWEST}",
        most.segment_ns / fewest.segment_ns,
        COST_AIM,
    )
    yield "KiB of a flow that sends", kib_of_each(most, fewest), ACTIVE_AIM
    yield "KiB of a flow that waits", kib_of_each(costs[idle_name(MOST)], fewest), IDLE_AIM
    yield (
        "set-up of ten times as many flows, in times",
        costs[setup_name(MOST)].cpu_s / costs[setup_name(MOST // 10)].cpu_s,
        SETUP_AIM,
    )


def kib_of_each(many: Cost, few: Cost) -> float:
    """Give the memory of each of most flows, in KiB."""
    return (many.memory_mib - few.memory_mib) * 1024 / MOST


if __name__ == "__main__":
    main()

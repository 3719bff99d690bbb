"""A new scenario from four answers: what is studied, over which path, and what is compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fairwind.scenario.settings import toml_value

SCHEMA_FILE = "fairwind.schema.json"
"""The schema beside the scenario, which editors read."""


@dataclass(frozen=True)
class InitChoice:
    """One possible answer of `fairwind init`.

    Attributes
    ----------
    description : str
        What it means, in a line.
    lines : str
        What it writes into the scenario, as TOML.
    """

    description: str
    lines: str


DOWNLOAD = """
[[flows]]
name = "download"          # one request, and a response that does not end
start_spread = "5 s"
start_pattern = "random"
workload = { kind = "request-response", request = "300 B", response = "100 GB" }
"""
"""A greedy stream in the direction of responses, beside what is asked for."""

WORKLOADS: Mapping[str, InitChoice] = {
    "thin": InitChoice(
        "thin streams, such as games, beside greedy ones",
        """\
[[flows]]
name = "thin"              # the group in tables, and in keys such as flows.thin.count
count = 4
start_spread = "5 s"       # starts drawn at random, so that repetitions differ
start_pattern = "random"
workload = { kind = "thin", payload = "120 B", interval = "100 ms" }

[[flows]]
name = "greedy"
count = 4
start_spread = "5 s"
start_pattern = "random"
workload = { kind = "greedy" }
""",
    ),
    "greedy": InitChoice(
        "greedy streams alone, such as downloads",
        """\
[[flows]]
name = "greedy"            # the group in tables, and in keys such as flows.greedy.count
count = 2
start_spread = "5 s"       # starts drawn at random, so that repetitions differ
start_pattern = "random"
workload = { kind = "greedy" }
""",
    ),
    "requests": InitChoice(
        "requests and responses beside a greedy stream",
        """\
[[flows]]
name = "requests"          # responses are measured as "requests-responses"
count = 4
start_spread = "5 s"       # starts drawn at random, so that repetitions differ
start_pattern = "random"
workload = { kind = "request-response", request = "300 B", response = "50 kB", pause = "1 s" }
"""
        + DOWNLOAD,
    ),
    "web": InitChoice(
        "web users beside a greedy stream",
        """\
[[flows]]
name = "web"               # objects of pages are measured as "web-responses"
count = 8
start_spread = "5 s"       # starts drawn at random, so that repetitions differ
start_pattern = "random"
workload = { kind = "web", reading_time = { distribution = "exponential", mean = "5 s" } }
"""
        + DOWNLOAD,
    ),
    "transfers": InitChoice(
        "files, each over a new connection",
        """\
[[flows]]
name = "files"             # what is sent is measured as "files-responses"
count = 4
start_spread = "5 s"       # starts drawn at random, so that repetitions differ
start_pattern = "random"

[flows.workload]
kind = "transfers"
transfers = 100            # one after the other, as many as there is time for
request = "300 B"
volume = "300 kB"
pause = { distribution = "exponential", mean = "1 s" }
""",
    ),
}
"""What is studied."""

COMPARISONS: Mapping[str, InitChoice] = {
    "queue": InitChoice(
        "queue disciplines",
        """
[sweep.discipline]         # pfifo is as long as many access links have it: it shows bufferbloat
pfifo = { "path.queue.limit" = "8 bdp", "path.reverse_queue.limit" = "8 bdp" }
codel = { "path.queue" = "codel", "path.reverse_queue" = "codel" }
fq_codel = { "path.queue" = "fq_codel", "path.reverse_queue" = "fq_codel" }
cake = { "path.queue" = "cake", "path.reverse_queue" = "cake" }
""",
    ),
    "length": InitChoice(
        "lengths of the queue",
        """
[sweep.queue_length]
short = { "path.queue.limit" = "0.5 bdp", "path.reverse_queue.limit" = "0.5 bdp" }
usual = {}
long = { "path.queue.limit" = "4 bdp", "path.reverse_queue.limit" = "4 bdp" }
""",
    ),
    "congestion": InitChoice(
        "congestion controls of all flows",
        """\
"flows.*.tcp.congestion" = ["reno", "cubic", "bbr"]
""",
    ),
    "rtt": InitChoice(
        "round-trip times",
        """\
"path.rtt" = [{rtts}]
""",
    ),
    "none": InitChoice("nothing: one setting, repeated", ""),
}
"""What is compared."""


@dataclass(frozen=True)
class Answers:
    """What a new scenario is about.

    Attributes
    ----------
    workload : str
        A key of `WORKLOADS`.
    rate, rtt : str
        Rate and round-trip time of the path, as in scenarios: ``10 Mbit/s``, ``50 ms``.
    comparison : str
        A key of `COMPARISONS`.
    """

    workload: str = "thin"
    rate: str = "10 Mbit/s"
    rtt: str = "50 ms"
    comparison: str = "queue"


def scenario_text(name: str, answers: Answers, rtts: tuple[str, ...] = ()) -> str:
    """Write a commented scenario.

    Parameters
    ----------
    name : str
        Name of the experiment.
    answers : Answers
        What it is about.
    rtts : tuple of str
        Round-trip times to compare.
    """
    about, compared = WORKLOADS[answers.workload], COMPARISONS[answers.comparison]
    sentence = f"{about.description[0].upper()}{about.description[1:]}"
    description = f"{sentence}; compared: {compared.description}."
    times = ", ".join(toml_value(rtt, "path.rtt") for rtt in rtts)
    return f"""\
#:schema ./{SCHEMA_FILE}
# Editors that know the schema complete and check keys: docs/guides/editors.md.
# Try it: fairwind check FILE, then fairwind run FILE. All keys: fairwind schema.
name = {toml_value(name, "name")}
description = {toml_value(description, "description")}
duration = "60 s"          # of virtual time, warm-up included

[path]                     # one bottleneck in each direction; [topology] describes anything else
rate = {toml_value(answers.rate, "path.rate")}
rtt = {toml_value(answers.rtt, "path.rtt")}
queue = {{ discipline = "pfifo", limit = "1 bdp" }}          # towards the right: data of streams
reverse_queue = {{ discipline = "pfifo", limit = "1 bdp" }}  # towards the left: ACKs and responses

{about.lines}
[measure]
warmup = "10 s"            # not measured: starts and slow start
intervals = ["1 s"]        # windows of time series

[sweep]                    # all combinations are run, each with the same seeds
repeat = 5                 # runs of each combination, for intervals
{compared.lines.replace("{rtts}", times)}"""

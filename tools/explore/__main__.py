"""Ask the running kernel and our endpoint the same random questions, and show what differs.

A question is a packetdrill script of stimuli alone, made from a seed by a family. Both systems are
recorded with it (``cargo build -p fairwind-testbed --example record``), and the recordings are
compared line by line: first the packets and results, then ``TCP_INFO``, then windows. What differs
is shown with both recordings side by side, and kept.

    PYTHONPATH=tools python -m explore recovery --seeds 1:50 --out /tmp/differences

Stimuli that answer packets are made with our endpoint as the partner: it is recorded up to an
instant, and a model of a peer behind a lossy path answers what was sent. Needs root, as everything
that asks the kernel does.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import conversations, monologues
from .inquiry import Inquiry
from .recordings import Recorder
from .scripts import Builder

FAMILIES = {
    family.__name__: family
    for family in (
        conversations.recovery,
        conversations.growth,
        conversations.sending,
        conversations.urgent,
        conversations.marked,
        conversations.messages,
        conversations.alive,
        monologues.guesses,
        monologues.receiving,
        monologues.stream,
        monologues.opening,
        monologues.connecting,
        monologues.closing,
    )
}


def made(family: str, seed: int, recorder: Recorder) -> str:
    """Make the question of a family and a seed."""
    make = Builder(random.Random(f"{family}-{seed}"), recorder)
    FAMILIES[family](make)
    return make.text()


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("families", nargs="+", choices=[*FAMILIES, "all"])
    add("--seeds", type=seeds_of, default="1:20", help="first:last, or one alone")
    add("--jobs", type=int, default=2, help="questions asked at a time")
    add("--ignore", default="", help="fields of TCP_INFO that may differ, parted by commas")
    add("--watch", type=float, default=1.0, help="seconds after the last stimulus")
    add("--out", type=Path, default=Path("target/differences"))
    add("--record", type=Path, default=Path("target/debug/examples/record"))
    add("--minimise", action="store_true", help="leave out what does not matter")
    add("--show", action="store_true", help="print the questions and ask nobody")
    given = parser.parse_args()
    if not given.record.is_file():
        parser.error(f"{given.record} is missing: cargo build -p fairwind-testbed --example record")
    return given


def seeds_of(text: str) -> range:
    """Read `first:last`, or one seed alone."""
    first, _, last = text.partition(":")
    return range(int(first), int(last or first) + 1)


def main() -> None:
    """Ask all questions of some families and seeds, and list what differs."""
    given = arguments()
    recorder = Recorder(given.record)
    inquiry = Inquiry(recorder, given.out, given.watch, frozenset(given.ignore.split(",")))
    families = list(FAMILIES) if "all" in given.families else given.families
    questions = [(family, seed) for seed in given.seeds for family in families]
    if given.show:
        print("\n".join(made(*question, recorder) for question in questions))
        return
    for folder in ("questions", "kernel"):
        (given.out / folder).mkdir(parents=True, exist_ok=True)

    def ask(question: tuple[str, int]) -> tuple[str, str]:
        family, seed = question
        kept = given.out / "questions" / f"{family}-{seed}.pkt"
        if not kept.exists():
            kept.write_text(made(family, seed, recorder))
        text = kept.read_text()
        if given.minimise:
            text = inquiry.minimised(family, text)
            (given.out / f"{family}-{seed}.pkt").write_text(text)
        return inquiry.ask(family, f"{family} {seed}", text)

    found: dict[str, list[int]] = defaultdict(list)
    with ThreadPoolExecutor(given.jobs) as workers:
        answers = workers.map(ask, questions)
        for (family, seed), (signature, report) in zip(questions, answers, strict=True):
            if signature:
                found[signature].append(seed)
                (given.out / f"{family}-{seed}.txt").write_text(f"{signature}\n{report}")
    for signature, seeds in sorted(found.items(), key=lambda item: -len(item[1])):
        print(f"{len(seeds):4}  {signature}  {seeds[:12]}")
    same = len(questions) - sum(map(len, found.values()))
    print(f"{len(questions)} asked, {same} answered the same")


if __name__ == "__main__":
    main()

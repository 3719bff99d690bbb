"""Draw the pictures of the documents anew, from the studies: `make pictures`.

    python tools/pictures.py [STUDY...] [--runs DIR] [--reduced]

Without names all studies are drawn, each from its run in DIR/STUDY. What is finished there is
drawn, what is missing is run before. --reduced takes the short forms instead, to see
what pictures will look like; they are left in DIR/STUDY-reduced/figures, the documents keep
theirs. The picture of the kernel's form of application-limited-streams is not made here: it needs
root and half an hour (see that study's page).

Exit code: 0 all are drawn, 2 a study or figure is missing, otherwise the failing study's own.
"""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"

PICTURES: Mapping[str, Mapping[str, str]] = {
    "application-limited-streams": {"throughput-by-variant": "application-limited-streams"},
    "thin-vs-greedy": {"relative-loss": "thin-vs-greedy-loss"},
    "duration": {"measures-by-length": "duration"},
    "thin-vs-five-greedy": {
        "goodput-against-throughput": "thin-vs-five-greedy-goodput-against-throughput",
        "relative-packet-loss": "thin-vs-five-greedy-relative-packet-loss",
    },
    "queue-disciplines": {
        "byte-loss-by-discipline": "queue-disciplines-loss",
        "ack-latency-by-discipline": "queue-disciplines",
    },
    "impact-on-others": {
        "throughput-by-group": "impact-on-others-throughput",
        "ack-latency-of-thin": "impact-on-others-latency",
        "packet-loss-by-group": "impact-on-others-loss",
        "ack-latency-annotated": "impact-on-others",
    },
    "rate-limit-granularity": {"rate-accuracy": "rate-limit-granularity"},
    "thin-streams-today": {"delivery-latency-by-mechanism": "thin-streams-today"},
    "congestion-control-evaluation": {
        "fairness-against-rtt": "congestion-control-evaluation",
        "windows-over-time": "congestion-control-evaluation-windows",
        "rtt-unfairness": "congestion-control-evaluation-rtt-unfairness",
        "convergence-time": "congestion-control-evaluation-convergence",
        "friendliness": "congestion-control-evaluation-friendliness",
        "fairness-by-queue": "congestion-control-evaluation-queues",
        "harm": "congestion-control-evaluation-harm",
    },
    "aggression": {"aggression-of-controls": "aggression"},
    "recorded-applications": {"latency-by-application": "recorded-applications"},
    "right-aggressiveness": {"front": "right-aggressiveness"},
    "satellite-startup": {
        "duration-against-multiplier": "satellite-startup",
        "slot-use-against-multiplier": "satellite-startup-slot-use",
        "stacks-over-time": "satellite-startup-stacks",
        "stacks-over-constant": "satellite-startup-stacks-constant",
        "stacks-by-placement": "satellite-startup-stacks-placement",
        "window-against-model": "satellite-startup-window",
        "equivalent-rtt": "satellite-startup-equivalent-rtt",
        "transfer-time-against-volume": "satellite-startup-volume",
        "time-by-policy": "satellite-startup-policies",
        "geo-uploads": "satellite-startup-geo-uploads",
        "geo-downloads": "satellite-startup-geo-downloads",
        "low-orbit": "satellite-startup-low-orbit",
    },
    "remembered-windows": {
        "speed-up-against-delay": "remembered-windows",
        "times-locally": "remembered-windows-locally",
        "times-far-away": "remembered-windows-far-away",
        "windows-over-time": "remembered-windows-over-time",
        "price-in-losses": "remembered-windows-losses",
        "price-in-time": "remembered-windows-times",
        "price-at-first": "remembered-windows-at-first",
        "forgetting": "remembered-windows-forgetting",
        "price-to-a-greedy-flow": "remembered-windows-greedy",
        "many-at-once": "remembered-windows-many",
        "many-hosts-at-once": "remembered-windows-hosts",
        "when-remembering-pays": "remembered-windows-map",
    },
}
"""Of each study: which of its figures is which picture."""

FORMS: Mapping[str, str] = {
    "congestion-control-evaluation": "beyond",
    "right-aggressiveness": "reduced",
}
"""Forms of studies with pages that show another form than the full one."""


def main() -> int:
    """Run what is missing, and copy the figures that documents show."""
    arguments = _arguments()
    unknown = [name for name in arguments.studies if name not in PICTURES]
    if unknown:
        _tell(f"error: no pictures are of {', '.join(unknown)}; there are: {', '.join(PICTURES)}")
        return 2
    for study in arguments.studies or PICTURES:
        folder = arguments.runs / (f"{study}-reduced" if arguments.reduced else study)
        form = ["--form", "reduced" if arguments.reduced else FORMS.get(study, "full")]
        code = _run(study, ["--figures", "--out", str(folder), *form])
        if code:
            return code
        if arguments.reduced:
            _tell(f"{study}: {folder / 'figures'}")
            continue
        missing = _copy(folder / "figures", PICTURES[study])
        if missing:
            _tell(f"error: {study} draws no {', '.join(missing)}: mend PICTURES in {__file__}")
            return 2
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("studies", metavar="STUDY", nargs="*", help="all if none is named")
    parser.add_argument("--runs", metavar="DIR", type=Path, default=ROOT / "runs")
    parser.add_argument("--reduced", action="store_true", help="try the short forms")
    return parser.parse_args()


def _run(study: str, options: Sequence[str]) -> int:
    """Run a study as far as its folder lacks it, and draw its figures; print no tables."""
    command = [sys.executable, "-m", "fairwind.cli", "study", study, *options]
    return subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode


def _copy(figures: Path, pictures: Mapping[str, str]) -> list[str]:
    """Copy figures to the documents' pictures, and give the names of those that are missing."""
    missing = []
    for figure, picture in pictures.items():
        drawn = figures / f"{figure}.png"
        if not drawn.is_file():
            missing.append(figure)
            continue
        target = IMAGES / f"{picture}.png"
        shutil.copyfile(drawn, target)
        _tell(f"{target.relative_to(ROOT)}")
    return missing


def _tell(message: str) -> None:
    sys.stderr.write(f"{message}\n")


if __name__ == "__main__":
    sys.exit(main())

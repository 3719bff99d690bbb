"""Recordings: scripts that tell what a system did, line by line."""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

LINE = re.compile(r"^(\d*\.?\d+)(?:\.\.\.(\d*\.?\d+))? (.*)$")
PACKET = re.compile(
    r"> (?:\[(?P<mark>\w+)\] )?(?P<flags>\S+) (?P<seq>\d+):(?P<end>\d+)\((?P<size>\d+)\)"
    r"(?: ack (?P<ack>\d+))?(?: win (?P<win>\d+))?(?: urg (?P<urg>\d+))?(?: <(?P<options>.*)>)?$"
)


@dataclass
class Line:
    """One event of a recording."""

    at: float
    text: str
    end: float | None = None

    @property
    def packet(self) -> re.Match[str] | None:
        """Take a packet apart."""
        return PACKET.match(self.text)

    @property
    def is_code(self) -> bool:
        """Whether it tells of TCP_INFO."""
        return self.text.startswith("%{")

    def bare(self, *, window: bool) -> str:
        """Give the text without what may differ: stamps of the endpoint's clock, windows."""
        text = (
            re.sub(r"TS val \d+", "TS val *", self.text) if self.text.startswith(">") else self.text
        )
        if window:
            return text
        return re.sub(r"wscale \d+", "wscale *", re.sub(r"^(> .*?) win \d+", r"\1", text))

    def __str__(self) -> str:
        """Write it as a script does."""
        end = "" if self.end is None else f"...{self.end:g}"
        return f"{self.at:g}{end} {self.text}"


def lines_of(text: str) -> list[Line]:
    """Read a recording."""
    lines: list[Line] = []
    for raw in re.sub(
        r"%\{.*?\}%", lambda code: code[0].replace("\n", ";"), text, flags=re.S
    ).splitlines():
        match = LINE.match(raw)
        if match:
            end = float(match[2]) if match[2] else None
            lines.append(Line(float(match[1]), match[3], end))
    return lines


@dataclass(frozen=True)
class Recorder:
    """The program that records, an example of the crate ``fairwind-testbed``."""

    binary: Path

    def record(self, on: str, text: str, *, watch: float = 0, fields: tuple[str, ...] = ()) -> str:
        """Give the recording, or why there is none, which begins with the word for it."""
        with tempfile.NamedTemporaryFile("w", suffix=".pkt") as script:
            script.write(text)
            script.flush()
            command = [str(self.binary), "--on", on, "--absolute", "--windows"]
            command += ["--watch", str(watch)]
            command += ["--fields", ",".join(fields)] if fields else []
            done = subprocess.run(
                [*command, script.name], capture_output=True, text=True, check=False
            )
        return (done.stdout or f"failed {done.stderr}").replace(script.name, "script")

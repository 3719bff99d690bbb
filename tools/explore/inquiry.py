"""Asking both systems a question, and telling where their answers part."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from .comparison import Difference, compare, information_difference
from .recordings import Line, Recorder, lines_of

FIELDS = (
    "tcpi_state",
    "tcpi_ca_state",
    "tcpi_snd_cwnd",
    "tcpi_snd_ssthresh",
    "tcpi_unacked",
    "tcpi_sacked",
    "tcpi_lost",
    "tcpi_retrans",
    "tcpi_total_retrans",
    "tcpi_reordering",
    "tcpi_retransmits",
    "tcpi_backoff",
    "tcpi_snd_mss",
    "tcpi_rcv_mss",
    "tcpi_rcv_ssthresh",
    "tcpi_bytes_acked",
    "tcpi_bytes_received",
    "tcpi_bytes_sent",
    "tcpi_bytes_retrans",
    "tcpi_segs_out",
    "tcpi_segs_in",
    "tcpi_data_segs_out",
    "tcpi_data_segs_in",
    "tcpi_delivered",
    "tcpi_dsack_dups",
    "tcpi_reord_seen",
    "tcpi_rcv_ooopack",
    "tcpi_snd_wnd",
    "tcpi_rcv_wnd",
    "tcpi_notsent_bytes",
)
NOT_RECORDED = ("failed", "unsupported")


@dataclass(frozen=True)
class Inquiry:
    """How questions are asked, and where what was learnt is kept."""

    recorder: Recorder
    out: Path
    watch: float
    ignored: frozenset[str]

    def kernels(self, text: str, turn: int = 0) -> str:
        """Tell what the kernel does, which is asked once for all."""
        question = f"{self.watch} {turn} {list(FIELDS)} {text}"
        kept = self.out / "kernel" / f"{hashlib.sha256(question.encode()).hexdigest()[:24]}.pkt"
        if not kept.exists():
            answer = self.recorder.record("kernel", text, watch=self.watch, fields=FIELDS)
            kept.write_text(answer)
        return kept.read_text()

    def ask(self, family: str, name: str, text: str) -> tuple[str, str]:
        """Give the signature of what differs, and the report about it; none where nothing does."""
        ours = self.recorder.record("sim", text, watch=self.watch, fields=FIELDS)
        kernel = self.kernels(text)
        if kernel.startswith(NOT_RECORDED) or ours.startswith(NOT_RECORDED):
            return not_recorded(family, name, text, (kernel, ours))
        seen, ours_lines = lines_of(kernel), lines_of(ours)
        difference = compare(seen, ours_lines, self.ignored)
        if difference is None:
            return "", ""
        noise = compare(seen, lines_of(self.kernels(text, 1)), self.ignored, noise=True)
        if noise is not None:
            return f"{family}: the kernel differs from itself", f"{name}\n{noise}\n{text}\n"
        what = difference.what
        if information := information_difference(seen, ours_lines, self.ignored):
            at, words = information
            what += f"\nTCP_INFO first differs at {at:g}: {', '.join(words)}"
        table = side_by_side(seen, ours_lines, difference)
        report = f"{name}: {difference.level}: kernel | ours\n{what}\n{table}\n\n{text}\n"
        return f"{family}: {difference.level}: {difference.signature}", report

    def minimised(self, family: str, text: str) -> str:
        """Leave out every stimulus without which the difference is the same."""
        wanted, _ = self.ask(family, "", text)
        lines = text.splitlines()
        place = len(lines) - 1
        while wanted and place >= 0:
            fewer = lines[:place] + lines[place + 1 :]
            if self.ask(family, "", "\n".join(fewer) + "\n")[0] == wanted:
                lines = fewer
            place -= 1
        return "\n".join(lines) + "\n"


def not_recorded(family: str, name: str, text: str, answers: tuple[str, str]) -> tuple[str, str]:
    """Report a question that at least one of the two cannot be asked."""
    first = [
        answer.splitlines()[0] if answer.startswith(NOT_RECORDED) else "recorded"
        for answer in answers
    ]
    shapes = [re.sub(r"\d+", "N", line)[:120] for line in first]
    return f"{family}: not recorded: {' / '.join(shapes)}", f"{name}\n{first}\n\n{text}\n"


def side_by_side(kernel: list[Line], ours: list[Line], difference: Difference) -> str:
    """Show both recordings without what TCP_INFO told, up to a little behind the difference."""
    columns = [[line for line in lines if not line.is_code] for lines in (kernel, ours)]
    rows = []
    longest = max(map(len, columns))
    marked = difference.place if difference.level != "information" else longest
    for number in range(min(marked + 5, longest)):
        one, other = (str(lines[number]) if number < len(lines) else "-" for lines in columns)
        mark = ">>" if number == marked else "  "
        rows.append(f"{mark} {one:<86} | {'=' if one == other else other}")
    return "\n".join(rows)

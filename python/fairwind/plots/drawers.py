"""Several charts at once, each by a process: to work one out keeps an interpreter for seconds."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from fairwind.errors import FairwindError

SCRIPT = Path(__file__).with_name("drawer.py")


class Drawer:
    """A process that draws one chart after the other.

    Parameters
    ----------
    vega_lite : str
        Version of the grammar that charts are written in.
    pixels_per_inch : int
        Of the PNG.
    """

    def __init__(self, vega_lite: str, pixels_per_inch: int) -> None:
        self._settings = {"vega_lite": vega_lite, "pixels_per_inch": pixels_per_inch}
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            process_group=0,  # whoever interrupts means the process that asks
        )

    def close(self) -> None:
        """End it, whatever it is doing."""
        self._process.kill()
        self._process.communicate()

    def draw(self, chart: Mapping[str, Any]) -> dict[str, bytes]:
        """Give a chart's files by their endings.

        Raises
        ------
        FairwindError
            If it cannot be drawn.
        """
        answer = self._answer(json.dumps({"chart": chart, **self._settings}) + "\n")
        if "error" in answer:
            raise FairwindError(f"cannot draw a chart: {answer['error']}")
        svg = answer.pop(".svg").encode()
        return {".svg": svg, **{end: base64.b64decode(text) for end, text in answer.items()}}

    def _answer(self, request: str) -> dict[str, str]:
        line = ""
        requests, answers = self._process.stdin, self._process.stdout
        if requests is not None and answers is not None:
            try:
                requests.write(request)
                requests.flush()
                line = answers.readline()
            except BrokenPipeError:
                pass  # it has ended, as the lack of an answer tells
        if not line:
            raise FairwindError(
                f"a process that draws has ended with code {self._process.wait()}",
                "its last words, if any, stand above; the tables are whole: `fairwind report` "
                "draws them again",
            )
        answer: dict[str, str] = json.loads(line)
        return answer


def drawn_at_once(
    charts: Sequence[Mapping[str, Any]], vega_lite: str, pixels_per_inch: int
) -> Generator[dict[str, bytes]]:
    """Give the files of charts in their order, drawn by as many processes as processors."""
    processes = min(len(os.sched_getaffinity(0)), len(charts))
    if not processes:
        return
    idle: SimpleQueue[Drawer] = SimpleQueue()

    def draw(chart: Mapping[str, Any]) -> dict[str, bytes]:
        drawer = idle.get()
        try:
            return drawer.draw(chart)
        finally:
            idle.put(drawer)

    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(max_workers=processes))
        # At the end processes go before the threads that wait for them.
        stack.callback(pool.shutdown, wait=False, cancel_futures=True)
        for _ in range(processes):
            idle.put(stack.enter_context(closing(Drawer(vega_lite, pixels_per_inch))))
        yield from pool.map(draw, charts)

"""The door to the compiled part, for captures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal, cast

from fairwind import _core
from fairwind.analysis.settings import AnalysisSettings
from fairwind.engine.engines import frames_of
from fairwind.errors import FairwindError, translated

if TYPE_CHECKING:
    import polars as pl

Step = Literal["going", "waiting", "done"]

OTHER = "other"
"""The group of connections that fit no rule."""

PACKETS_AT_ONCE = 200_000
"""Packets between two looks at the keyboard and the clock: some tens of milliseconds."""


class CaptureError(FairwindError):
    """A capture cannot be read at all, or a filter cannot be understood."""


class CoreAnalysis:
    """One analysis that is under way.

    Parameters
    ----------
    sender, receiver : sequence of str
        Files or folders of each side, read one after the other; ``-`` for the standard input.
    follow : bool
        Wait for more at the end of what is there.

    Raises
    ------
    CaptureError
        If nothing can be read, or a filter is wrong.
    """

    @translated(_core.CaptureError, CaptureError)
    def __init__(
        self,
        sender: Sequence[str],
        receiver: Sequence[str],
        settings: AnalysisSettings,
        *,
        follow: bool = False,
    ) -> None:
        self._core = _core.Analysis(
            list(sender), list(receiver), json.dumps(asdict(settings)), follow=follow
        )

    @translated(_core.CaptureError, CaptureError)
    def advance(self) -> Step:
        """Go on for a moment: ``waiting`` if there is nothing more yet, ``done`` at the end."""
        return cast("Step", self._core.advance(PACKETS_AT_ONCE))

    @property
    def bytes_read(self) -> int:
        """Share of the files that has been read."""
        return self._core.bytes_read

    @property
    def packets(self) -> int:
        """Number of packets that have been read."""
        return self._core.packets

    @translated(_core.CaptureError, CaptureError)
    def take_rows(self, least: int) -> dict[str, pl.DataFrame]:
        """Take the rows that are final, by table, if there are at least so many."""
        return frames_of(self._core.take_rows(least))

    @translated(_core.CaptureError, CaptureError)
    def snapshot(self) -> dict[str, pl.DataFrame]:
        """Give the tables as they would be if the capture ended now."""
        return frames_of(self._core.snapshot())

    @translated(_core.CaptureError, CaptureError)
    def finish(self) -> tuple[dict[str, pl.DataFrame], dict[str, Any]]:
        """End the analysis: the rows not taken yet, and what else there is to tell.

        Returns
        -------
        dict of str to DataFrame
            By table.
        dict
            ``facts`` (dict) and ``notes`` (list of sentences).
        """
        tables, text = self._core.finish()
        return frames_of(tables), json.loads(text)


def rate_columns(table: str) -> dict[str, str]:
    """Give the columns of a table that are rates over the measured time.

    Returns
    -------
    dict of str to str
        The column of the bytes by that of the rate.
    """
    return {rate: bytes_ for of, rate, bytes_ in _core.rate_columns() if of == table}

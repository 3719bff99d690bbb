"""Captures analysed by one call."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fairwind.analysis.execute import Watch, analyse_source
from fairwind.analysis.settings import AnalysisSettings, span_ns
from fairwind.analysis.source import find_source
from fairwind.results import Results

Inputs = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def analyse(
    sender: Inputs,
    receiver: Inputs = (),
    *,
    groups: Mapping[str, str] | None = None,
    intervals: Sequence[str] | None = None,
    settings: AnalysisSettings | None = None,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: Watch | None = None,
) -> Results:
    """Analyse captures of one side or both, and give their tables.

    Parameters
    ----------
    sender : path or sequence of paths
        Captures taken at the side that sends the data: files (pcap or pcapng, plain, gzip or zstd),
        folders of rotated ones; several are read one after the other. Or one folder of a run.
    receiver : path or sequence of paths
        The same of the other side.
    groups : mapping of str to str, optional
        Filter of each group of connections, in pcap-filter syntax: ``{"thin": "dst port 5000"}``. A
        connection belongs to the first that fits, all others to ``other``.
    intervals : sequence of str, optional
        Lengths of the windows that series are given in: ``["100 ms"]``.
    settings : AnalysisSettings, optional
        All that can be said of an analysis; groups and intervals replace those in it.
    out : path, optional
        The folder that is written; a temporary one, which lasts as long as the results, if not
        given.
    force : bool
        Replace whatever run is in the folder.
    progress : callable, optional
        Called with an `AnalysisState` several times a second.

    Raises
    ------
    CaptureError
        If nothing can be read, or a filter is wrong.
    FairwindError
        If a capture is not there, or the folder cannot be used.
    """
    source = find_source(_paths(sender), _paths(receiver))
    chosen = settings or AnalysisSettings()
    if groups is not None:
        chosen = replace(chosen, groups=tuple(groups.items()))
    if intervals is not None:
        lengths = tuple(span_ns(text, "interval") for text in intervals)
        chosen = replace(chosen, intervals_ns=lengths)
    if out is not None:
        return analyse_source(source, chosen, Path(out), force=force, watch=progress)
    folder = tempfile.mkdtemp(prefix="fairwind-")
    try:
        results = analyse_source(source, chosen, Path(folder), watch=progress)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(results, shutil.rmtree, folder, ignore_errors=True)
    return results


def _paths(inputs: Inputs) -> list[str]:
    if isinstance(inputs, (str, os.PathLike)):
        return [os.fspath(inputs)]
    return [os.fspath(path) for path in inputs]

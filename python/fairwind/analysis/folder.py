"""The run's folder that an analysis is written into."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fairwind.analysis.caveats import caveats_of
from fairwind.analysis.rows import Rows
from fairwind.analysis.settings import AnalysisSettings
from fairwind.analysis.source import Source
from fairwind.engine import analysis_columns, core_versions, table_columns
from fairwind.errors import FairwindError
from fairwind.folder.captured import Captured
from fairwind.folder.lock import locked
from fairwind.folder.manifest import CAPTURE_ENGINE, MANIFEST, Manifest, read_manifest
from fairwind.folder.store import TEMPORARY
from fairwind.run.prepare import discard, make_folder

PARTS = f"{TEMPORARY}parts"


@dataclass
class Keep:
    """Folder of an analysis in progress."""

    rows: Rows
    manifest: Manifest

    def told(self, *, facts: list[dict[str, Any]], notes: list[str], is_complete: bool) -> None:
        """Add to the manifest what is known at the end only."""
        self._replace(facts=tuple(facts), notes=tuple(notes), is_complete=is_complete)

    def write(self, out: Path) -> None:
        """Write the tables, and the manifest with what they make a reader mind."""
        self.rows.write(out)
        self._replace(caveats=caveats_of(out, self._captured().facts))
        self.manifest.write(out)

    def _captured(self) -> Captured:
        assert self.manifest.captured is not None, "it is the manifest of captures"
        return self.manifest.captured

    def _replace(self, **changed: Any) -> None:  # noqa: ANN401 - attributes of `Captured`
        self.manifest = replace(self.manifest, captured=replace(self._captured(), **changed))


@contextmanager
def new_folder(
    out: Path, source: Source, settings: AnalysisSettings, *, force: bool
) -> Iterator[Keep]:
    """Make a folder ready, and write into it what the block leaves.

    The manifest is written first, so that a folder whose analysis was killed is known as one. If
    the block fails, nothing is left.

    Raises
    ------
    FairwindError
        If the folder is none, is in use, or holds another run and ``force`` is not given.
    """
    make_folder(out)
    with locked(out):
        manifest = _manifest(source, settings)
        _make_room(out, manifest, force=force)
        manifest.write(out)
        keep = Keep(Rows(out / PARTS), manifest)
        try:
            yield keep
            keep.write(out)
        except BaseException:  # whoever tries again shall find the folder free
            discard(out)
            raise
        finally:
            shutil.rmtree(out / PARTS, ignore_errors=True)


def _manifest(source: Source, settings: AnalysisSettings) -> Manifest:
    inputs = tuple(entry for taps in source.taps for entry in taps.inputs())
    return Manifest.of_run(
        source.plan,
        CAPTURE_ENGINE,
        dict(core_versions()),
        columns=[*table_columns(), *analysis_columns()],
        facts={},
        study=None,
        captured=Captured(
            inputs=inputs, settings=settings.document, made_by=source.made_by, is_complete=False
        ),
    )


def _make_room(out: Path, manifest: Manifest, *, force: bool) -> None:
    if not (out / MANIFEST).exists():
        return
    earlier = read_manifest(out)
    if not force and not _is_same_analysis(earlier, manifest):
        raise FairwindError(
            f"{out} holds {_what(earlier)}",
            "name another folder with --out, or discard what is there with --force",
        )
    discard(out)


def _is_same_analysis(earlier: Manifest, manifest: Manifest) -> bool:
    """Return whether the folder has an analysis of the same captures."""
    if earlier.captured is None or manifest.captured is None:
        return False
    return earlier.captured.inputs == manifest.captured.inputs


def _what(earlier: Manifest) -> str:
    if earlier.captured is None:
        return f"a run, {earlier.plan.name}"
    return f"the analysis of other captures, {earlier.plan.name}"


@contextmanager
def storage_errors(out: Path) -> Iterator[None]:
    """Translate errors of storage.

    Raises
    ------
    FairwindError
        In the place of an `OSError`.
    """
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise FairwindError(
                f"the disk is full: {out} could not be written, and nothing is left there",
                "free some space, or name a folder on another disk with --out",
            ) from error
        reason = error.strerror or str(error)
        raise FairwindError(
            f"cannot use {error.filename or out}: {reason}", "choose another --out"
        ) from error

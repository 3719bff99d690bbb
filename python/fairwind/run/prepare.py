"""The folder that a run is written into: made, taken up again, or refused."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from fairwind.congestion.used import NO_DIGEST
from fairwind.errors import FairwindError
from fairwind.folder.manifest import FAILURES, MANIFEST, Manifest, read_manifest
from fairwind.folder.store import CELLS, LOCK, PARTS, TEMPORARY, remove_unfinished


def default_folder(manifest: Manifest) -> Path:
    """Folder of a run that names none: the same scenario comes back to the same one."""
    name = re.sub(r"[^0-9a-z]+", "-", manifest.plan.name.lower()).strip("-")[:60] or "run"
    return Path("runs") / f"{name}-{manifest.fingerprint[:10]}"


def make_folder(out: Path) -> None:
    """Make the folder, or refuse one that is none of ours before anything is written to it."""
    if out.exists() and not out.is_dir():
        raise FairwindError(f"{out} is a file", "name a folder with --out")
    out.mkdir(parents=True, exist_ok=True)
    foreign = (
        path.name
        for path in out.iterdir()
        if path.name != LOCK and not path.name.startswith(TEMPORARY)
    )
    if not (out / MANIFEST).exists() and any(foreign):
        raise FairwindError(
            f"{out} is not empty, and what it holds is not a run of Fairwind",
            "name another folder with --out",
        )


def prepare(out: Path, manifest: Manifest, *, force: bool) -> None:
    """Make an earlier run ready to go on, or the folder ready for a new one."""
    if (out / MANIFEST).exists():
        earlier = read_manifest(out)
        if earlier.fingerprint == manifest.fingerprint:
            remove_unfinished(out)
            (out / CELLS).mkdir(exist_ok=True)
            return
        if not force:
            _refuse_unknown_classes(out, manifest)
            raise FairwindError(
                f"{out} holds a run of {_what_differs(earlier, manifest)}",
                "name another folder with --out, or discard that run with --force",
            )
        discard(out)
    manifest.write(out)
    (out / CELLS).mkdir(exist_ok=True)


def _refuse_unknown_classes(out: Path, manifest: Manifest) -> None:
    """Refuse to go on where a class refers to a value that cannot be compared."""
    for name, version in manifest.versions.items():
        if version.startswith(NO_DIGEST):
            control = name.removeprefix("congestion_")
            reason = version.removeprefix(f"{NO_DIGEST}: ").rpartition(" (")[0]
            raise FairwindError(
                f"{out} holds an earlier run, and it is unknown whether its congestion control "
                f"{control} was the same: {reason}",
                "give the class such values as parameters, "
                f'congestion = {{ name = "{control}", ... }}; '
                "or name another folder with --out, or discard that run with --force",
            )


def _what_differs(earlier: Manifest, manifest: Manifest) -> str:
    if earlier.engine != manifest.engine:
        return f"another engine, {earlier.engine}"
    if earlier.plan.document == manifest.plan.document:
        names = sorted(
            name
            for name in earlier.versions.keys() | manifest.versions.keys()
            if earlier.versions.get(name) != manifest.versions.get(name)
        )
        return f"the same scenario, made by another version ({', '.join(names)})"
    return "another scenario or other settings"


def discard(out: Path) -> None:
    """Remove what Fairwind wrote into a folder, and nothing else."""
    (out / MANIFEST).rename(out / f"{TEMPORARY}{MANIFEST}")
    for folder in (CELLS, PARTS, "figures"):
        shutil.rmtree(out / folder, ignore_errors=True)
    for file in [*out.glob("*.parquet"), out / FAILURES, out / "report.html"]:
        file.unlink(missing_ok=True)
    remove_unfinished(out)

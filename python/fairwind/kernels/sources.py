"""Sources of kernels: Debian's packages ``linux-source-VERSION``, source trees and tarballs."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from fairwind.errors import FairwindError
from fairwind.kernels.tools import output, run

INSTALLED = Path("/usr/src")
"""Where Debian's packages put their tarballs."""

UPDATE = "run `apt-get update` as root and try again"

ADD_SUITE = """\
other Debian suites have other versions; as root, for bullseye (5.10) or experimental (the newest):
    cat > /etc/apt/sources.list.d/kernels.sources <<END
    Types: deb
    URIs: http://deb.debian.org/debian
    Suites: sid experimental
    Components: main
    Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
    END
    printf 'Package: *\\nPin: release n=sid\\nPin-Priority: 1\\n' > /etc/apt/preferences.d/kernels
    apt-get update
  or give any other source with --source TREE|TARBALL"""
"""How to get versions that the machine's suites do not have."""


@dataclass(frozen=True)
class Source:
    """The source of a kernel.

    Attributes
    ----------
    place : Path
        A tarball, or the top folder of a source tree.
    origin : str
        Where it comes from, in words that also tell versions apart.
    """

    place: Path
    origin: str


def offered_versions() -> list[str]:
    """List the versions whose source the machine's package sources have, the newest first."""
    names: set[str] = {
        file.name.removeprefix("linux-source-").removesuffix(".tar.xz")
        for file in INSTALLED.glob("linux-source-*.tar.xz")
    }
    if shutil.which("apt-cache") is not None:
        found = output("apt-cache", "pkgnames", "linux-source-")
        names |= {line.removeprefix("linux-source-") for line in found.split()}
    plain = {name for name in names if re.fullmatch(r"\d+\.\d+", name)}
    return sorted(plain, key=lambda name: tuple(map(int, name.split("."))), reverse=True)


def source_of_version(version: str, downloads: Path) -> Source:
    """Find the source of a version: an installed package, or one that is downloaded without root.

    Parameters
    ----------
    version : str
        Such as ``6.12``.
    downloads : Path
        The folder for downloaded packages.

    Raises
    ------
    FairwindError
        If no package source has it.
    """
    name = f"linux-source-{version}"
    installed = INSTALLED / f"{name}.tar.xz"
    if installed.exists():
        found = output("dpkg-query", "--show", "--showformat=${Version}", name)
        return Source(installed, f"{name} {found.strip()}".strip())
    if not re.fullmatch(r"\d+\.\d+", version) or version not in offered_versions():
        raise _unknown(version)
    return _downloaded(name, downloads)


def source_of_file(place: Path) -> Source:
    """Take a source tree or a tarball.

    Raises
    ------
    FairwindError
        If it is neither.
    """
    is_tree = place.is_dir() and (place / "arch" / "um" / "Kconfig").exists()
    is_tarball = place.is_file() and ".tar" in place.name
    if not (is_tree or is_tarball):
        raise FairwindError(
            f"{place} is neither a kernel source tree nor a tarball of one",
            "name the folder that has arch/um/Kconfig, or a file *.tar.xz",
        )
    whole = place.resolve()
    changed = int(whole.stat().st_mtime)
    return Source(whole, f"{whole} of {changed}")


def unpack(source: Source, tree: Path) -> None:
    """Put a source into a new folder, complete or not at all."""
    part = tree.with_name(f"{tree.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    if source.place.is_dir():
        shutil.copytree(
            source.place, part, symlinks=True, ignore=shutil.ignore_patterns(".git", "*.o", "*.cmd")
        )
        subprocess.run(["make", "-s", "ARCH=um", "mrproper"], cwd=part, check=True)
    else:
        part.mkdir(parents=True)
        subprocess.run(
            ["tar", "--extract", "--file", source.place, "--strip-components=1"],
            cwd=part,
            check=True,
        )
    part.rename(tree)


def release_of(tree: Path) -> str:
    """Read the version of a source tree, such as ``6.12.117``.

    Raises
    ------
    FairwindError
        If it has none.
    """
    try:
        text = (tree / "Makefile").read_text(encoding="utf-8")
    except OSError as error:
        raise FairwindError(
            f"{tree} is not a kernel source tree: {error.strerror}",
            "name the folder that has arch/um/Kconfig",
        ) from error
    numbers = re.match(
        r"(?s).*?^VERSION = (\d+)\nPATCHLEVEL = (\d+)\nSUBLEVEL = (\d*)\n"
        r"(?:EXTRAVERSION = *(\S*)\n)?",
        text,
        re.MULTILINE,
    )
    if numbers is None:
        raise FairwindError(
            f"{tree}/Makefile has no kernel version", "name the folder that has arch/um/Kconfig"
        )
    major, minor, patch, extra = numbers.groups()
    return f"{major}.{minor}.{patch or 0}{extra or ''}"


def _downloaded(name: str, downloads: Path) -> Source:
    downloads.mkdir(parents=True, exist_ok=True)
    candidate = re.search(r"Candidate: (\S+)", output("apt-cache", "policy", name))
    wanted = "(none)" if candidate is None else candidate[1]
    if wanted == "(none)":
        raise _unknown(name.removeprefix("linux-source-"))
    tarball = downloads / f"{name}_{wanted}.tar.xz"
    if not tarball.exists():
        run(["apt-get", "download", f"{name}={wanted}"], f"downloading {name}", UPDATE, downloads)
        packages = sorted(downloads.glob(f"{name}_*.deb"))
        if not packages:
            raise FairwindError(f"apt-get download {name} left no package in {downloads}", UPDATE)
        unpacked = downloads / f".{name}"
        shutil.rmtree(unpacked, ignore_errors=True)
        run(["dpkg-deb", "--extract", str(packages[-1]), str(unpacked)], "unpacking", UPDATE)
        (unpacked / "usr" / "src" / f"{name}.tar.xz").rename(tarball)
        shutil.rmtree(unpacked)
        for package in packages:
            package.unlink()
    return Source(tarball, f"{name} {wanted}")


def _unknown(version: str) -> FairwindError:
    offered = ", ".join(offered_versions()) or "none"
    return FairwindError(
        f"no package source of this machine has linux-source-{version}; there are: {offered}",
        ADD_SUITE,
    )

"""C sources of congestion controls: those of the repository, and the user's own."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from fairwind import _core
from fairwind.errors import FairwindError, read_text, translated


@dataclass(frozen=True)
class BuiltIn:
    """A congestion control of the repository.

    Attributes
    ----------
    name : str
        As scenarios have it.
    kernel_name : str
        The name under which a kernel knows it once it is loaded.
    source : str
        Its C.
    """

    name: str
    kernel_name: str
    source: str

    @property
    def sha256(self) -> str:
        """Digest of the source."""
        return digest(self.source)

    @property
    def description(self) -> str:
        """First sentence of the source's first comment that is not the licence."""
        words: list[str] = []
        for line in self.source.splitlines():
            star, _, text = line.strip().partition("*")
            if star or not line.strip().startswith("*"):
                continue
            text = text.strip().strip("/").strip()
            if not text and words:
                break
            if text:
                words.append(text)
            if text.endswith("."):
                break
        return " ".join(words)


@lru_cache(maxsize=1)
def built_in() -> tuple[BuiltIn, ...]:
    """Give all of them, by the alphabet."""
    return tuple(BuiltIn(*one) for one in _core.built_in_controls())


def built_in_named(name: str) -> BuiltIn | None:
    """Give the one of this name, if there is one."""
    return next((one for one in built_in() if one.name == name), None)


def digest(text: str) -> str:
    """Give the SHA-256 of a text, in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


PLACE = "FAIRWIND_CONGESTION"
"""The variable of the environment that names another folder than the usual one."""

SOURCE, LIBRARY, OBJECT, FACTS = "source.c", "control.so", "control.o", "control.json"
ENDPOINTS_OWN = ("reno", "bic", "cubic", "bbr", "bbr3")


@dataclass(frozen=True)
class Own:
    """A congestion control that somebody has compiled.

    Attributes
    ----------
    name : str
        As scenarios have it.
    kernel_name : str
        The name under which a kernel knows it: ``.name`` of its table of hooks.
    folder : Path
        Where it lies.
    origin : str
        The file that it was compiled from.
    interface : str
        Digest of what it was compiled against.
    headers : tuple of str
        Files that the source includes, by their paths beside it.
    """

    name: str
    kernel_name: str
    folder: Path
    origin: str
    interface: str
    headers: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """Its C, as it was compiled."""
        return (self.folder / SOURCE).read_text(encoding="utf-8")

    @property
    def sha256(self) -> str:
        """Digest of the source and of what it includes."""
        texts = [(self.folder / name).read_text(encoding="utf-8") for name in self.headers]
        return digest("\0".join([self.source, *texts]))

    def is_of(self, file: Path) -> bool:
        """Return whether it was compiled from this file as it is now."""
        beside = file.resolve().parent
        kept = {SOURCE: file, **{name: beside / name for name in self.headers}}
        return self.origin == str(file.resolve()) and all(
            one.is_file() and one.read_bytes() == (self.folder / name).read_bytes()
            for name, one in kept.items()
        )

    @property
    def library(self) -> Path:
        """Library for the simulator."""
        return self.folder / LIBRARY

    @property
    def object_bytes(self) -> bytes:
        """Object for the kernel; empty if not compiled for one."""
        file = self.folder / OBJECT
        return file.read_bytes() if file.exists() else b""


def own_folder() -> Path:
    """Give the folder in which one's own congestion controls lie.

    It is ``$FAIRWIND_CONGESTION`` if that is set, and else ``fairwind/congestion`` below
    ``$XDG_DATA_HOME`` (``~/.local/share``): a name means the same to every scenario of a person.
    """
    if place := os.environ.get(PLACE):
        return Path(place)
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "fairwind" / "congestion"


def own_controls() -> list[Own]:
    """Give all that were compiled, by the alphabet."""
    try:
        files = sorted(own_folder().glob(f"*/{FACTS}"))
    except PermissionError:
        # What lies in somebody else's folder is nobody else's.
        return []
    return [_read(file.parent) for file in files]


def own_named(name: str) -> Own | None:
    """Give the one of this name, if there is one, compiled for this version of Fairwind."""
    folder = own_folder() / name
    try:
        if not (folder / FACTS).exists():
            return None
    except PermissionError:  # it is in a folder that one may not look into
        return None
    own = _read(folder)
    if own.interface == _interface():
        return own
    # A library made against another layout of a sender must not be loaded.
    has_object = (folder / OBJECT).exists()
    again = folder / SOURCE
    return build(again, name, with_object=has_object, origin=own.origin, takes_name=True)[0]


def free_name(name: str) -> str:
    """Put ``-own`` behind a name that a control of the endpoint or of the repository has."""
    return f"{name}-own" if _is_taken(name) else name


def _is_taken(name: str) -> bool:
    return name in ENDPOINTS_OWN or built_in_named(name) is not None


def control_of_file(file: Path, *, with_object: bool = False) -> tuple[Own, list[str]]:
    """Give the congestion control of a C file, compiled unless that was done since it changed.

    It is registered under the file's name without the ending, as `build` does (see `free_name`).

    Parameters
    ----------
    file : Path
        The C source.
    with_object : bool
        Whether to compile it for a kernel, too, which needs clang.

    Returns
    -------
    tuple of Own and list of str
        The control, and what the compilers warned of, if they ran.

    Raises
    ------
    FairwindError
        As `build`.
    """
    name = free_name(file.stem)
    known = own_named(name)
    if known is not None and known.is_of(file) and (known.object_bytes or not with_object):
        return known, []
    return build(file, name, with_object=with_object, takes_name=True)


def build(
    file: Path,
    name: str | None = None,
    *,
    with_object: bool = True,
    origin: str | None = None,
    takes_name: bool = False,
) -> tuple[Own, list[str]]:
    """Compile a source for the simulator and for a kernel, and make it known under a name.

    Parameters
    ----------
    file : Path
        The C source. What it includes from its own folder is kept with it.
    name : str, optional
        What scenarios are to call it; the file's name without its ending if not given.
    with_object : bool
        Whether to compile it for a kernel, too, which needs clang.
    origin : str, optional
        The file that is named as the one that it comes from; this file if not given.
    takes_name : bool
        Whether its ``.name`` may be one that Linux or this repository has for another one.

    Returns
    -------
    tuple of Own and list of str
        What was made, and what the compilers warned of.

    Raises
    ------
    FairwindError
        If the name cannot be had or a compiler refuses the source; its words are in the message.
    """
    name = name or file.stem
    _check_name(name)
    _read_source(file)
    folder = own_folder() / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder.parent) as place:
        fresh = Path(place) / "control"
        fresh.mkdir()
        shutil.copyfile(file, fresh / SOURCE)
        with translated(_core.ControlError, FairwindError):
            kernel_name, said, included = _compile(
                file, fresh, with_object=with_object, takes_name=takes_name
            )
        facts = {
            "kernel_name": kernel_name,
            "origin": origin or str(file.resolve()),
            "interface": _interface(),
            "headers": _keep_headers(file, included, fresh),
        }
        (fresh / FACTS).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
        if folder.exists():
            folder.rename(Path(place) / "former")
        fresh.rename(folder)
    return _read(folder), [text for text in said if text]


def _compile(
    file: Path, folder: Path, *, with_object: bool, takes_name: bool
) -> tuple[str, list[str], list[Path]]:
    """Compile a source into a folder; give its name in kernels, warnings, and what it includes."""
    kernel_name, warned, included = _core.compile_control(str(file), str(folder / LIBRARY))
    if not takes_name and (owner := _core.owner_of_kernel_name(kernel_name)) is not None:
        raise FairwindError(
            f'{file}: the `.name` of its table, "{kernel_name}", is already used by {owner}',
            "choose another `.name`: kernels know controls by it; --take-name allows this one",
        )
    if not with_object:
        return kernel_name, [warned], included
    of_object, more = _core.compile_control_object(str(file), str(folder / OBJECT))
    return kernel_name, [warned, of_object], included + more


def _keep_headers(file: Path, included: list[Path], folder: Path) -> list[str]:
    """Copy what a source includes to beside its copy; give the paths there."""
    around = file.resolve().parent
    kept = []
    for header in sorted(set(included)):
        if not header.is_relative_to(around):
            raise FairwindError(
                f"{file} includes {header}, which lies outside of its folder",
                "move it into the folder of the source, which is copied with it",
            )
        name = header.relative_to(around)
        if str(name) in {SOURCE, LIBRARY, OBJECT, FACTS}:
            raise FairwindError(
                f"{file} includes {name}, a header of Fairwind", "rename your header"
            )
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(header, folder / name)
        kept.append(str(name))
    return kept


def _check_name(name: str) -> None:
    if (fault := _core.control_name_fault(name)) is not None:
        raise FairwindError(
            f"{name!r} cannot be the name of a congestion control: {fault}", _TRY_NAME
        )
    if _is_taken(name):
        raise FairwindError(f"there is a congestion control {name!r} already", _TRY_NAME)


_TRY_NAME = "choose another name with --name"


def _read_source(file: Path) -> None:
    if file.suffix != ".c":
        raise FairwindError(f"{file} does not end in .c", "give a C source")
    text = read_text(file, "give the path of a C source")
    if not re.search(r"struct\s+tcp_congestion_ops(\s+\w+)+\s*=", text):
        raise FairwindError(
            f"{file} has no `struct tcp_congestion_ops NAME = {{ ... }}`",
            "add this table of its hooks at the end; `fairwind congestion show reno-c` prints one",
        )


def _read(folder: Path) -> Own:
    try:
        facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        headers = tuple(facts.pop("headers", ()))
        return Own(folder.name, folder=folder, headers=headers, **facts)
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise FairwindError(
            f"{folder / FACTS} cannot be read", "compile the congestion control again, or remove it"
        ) from error


def _interface() -> str:
    return digest(_core.control_interface())


def load(what: str) -> str:
    """Load a congestion control into the running kernel, where it stays when this process ends.

    Parameters
    ----------
    what : str
        The name of one, or a C source, which is compiled for it.

    Returns
    -------
    str
        The kernel's name for it, which programs choose by ``TCP_CONGESTION``.

    Raises
    ------
    FairwindError
        If there is none, a compiler or the kernel's verifier refuses it, or this is not root.
    """
    if what.endswith(".c"):
        return _load_source(Path(what))
    with translated(_core.ControlError, FairwindError):
        if (ours := built_in_named(what)) is not None:
            _core.load_control(ours.name, ours.kernel_name)
            return ours.kernel_name
        if (own := own_named(what)) is not None:
            _core.load_control(own.name, own.kernel_name, own.object_bytes)
            return own.kernel_name
    raise FairwindError(
        f"there is no congestion control {what!r}",
        "list them with `fairwind congestion list`; a file must end in .c",
    )


def _load_source(file: Path) -> str:
    with tempfile.TemporaryDirectory(prefix="fairwind-congestion-") as place:
        with translated(_core.ControlError, FairwindError):
            kernel_name, *_ = _compile(file, Path(place), with_object=True, takes_name=True)
            _core.load_control(file.stem, kernel_name, (Path(place) / OBJECT).read_bytes())
        return kernel_name


def unload(name: str) -> str:
    """Remove a congestion control from the running kernel; connections that have it keep it.

    Parameters
    ----------
    name : str
        The name that scenarios have for it, or the kernel's.

    Returns
    -------
    str
        The kernel's name for it.

    Raises
    ------
    FairwindError
        If none of this name was loaded, or this is not root.
    """
    known: list[BuiltIn | Own] = [*built_in(), *own_controls()]
    kernel_name = next((one.kernel_name for one in known if one.name == name), name)
    with translated(_core.ControlError, FairwindError):
        _core.unload_control(kernel_name)
    return kernel_name


AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
"""File that lists the kernel's available congestion controls."""


def available() -> set[str] | None:
    """Give the kernel's names of all that sockets may be given now; None where there is no Linux.

    Everybody may ask, in every build: those that were loaded are among them.
    """
    try:
        return set(AVAILABLE.read_text(encoding="ascii").split())
    except OSError:
        return None


def loaded() -> list[str]:
    """Give the kernel's names of those that were loaded; empty where nobody could have."""
    try:
        return _core.loaded_controls()
    except _core.ControlError:
        return []

"""Refuse every dependency between two rooms that `tools/layers.toml` does not allow.

Reads the crates' dependencies from `cargo metadata` and the Python package's imports from its
syntax trees, and prints one line for each forbidden arrow with the place where it was found.
It never changes a file. Needs the standard library and cargo only.

    python3 tools/layers.py [--root DIR] [--table FILE]

Exit code: 0 all arrows are allowed, 1 at least one is not, 2 the table itself is wrong.
"""

import argparse
import ast
import graphlib
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CRATE_PREFIX = "fairwind-"
PACKAGE = "fairwind"
GUEST, GUEST_ROOM = "fairwind_studies", "studies/"
"""The package of studies, and its room: the folder `studies`, which nothing else may import."""
EVERYTHING = "*"

Table = Mapping[str, Sequence[str]]


@dataclass(frozen=True, order=True)
class Arrow:
    """One room that knows another.

    Attributes
    ----------
    language : str
        Which half of the table rules it, ``rust`` or ``python``.
    source : str
        The room that depends or imports.
    target : str
        The room that is depended on or imported.
    place : str
        Where it is written, as ``file`` or ``file:line``.
    """

    language: str
    source: str
    target: str
    place: str


class TableError(Exception):
    """The table of allowed arrows cannot be used; the message says why."""


def read_tables(path: Path) -> dict[str, Table]:
    """Read the allowed arrows of both languages, and refuse a table with a circle."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise TableError(f"{path}: {error}") from error
    for language, table in tables.items():
        unknown = sorted(
            {target for targets in table.values() for target in targets} - set(table) - {EVERYTHING}
        )
        if unknown:
            names = ", ".join(unknown)
            raise TableError(f"{path}: [{language}] allows rooms that have no line: {names}")
        try:
            graphlib.TopologicalSorter(
                {room: set(targets) - {EVERYTHING} for room, targets in table.items()}
            ).prepare()
        except graphlib.CycleError as error:
            circle = " -> ".join(reversed(error.args[1]))
            raise TableError(f"{path}: [{language}] runs in a circle: {circle}") from error
    return tables


def cargo_metadata(root: Path) -> dict[str, Any]:
    """Ask cargo for the workspace's own packages; needs neither lock file nor network."""
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--offline"]
    answer = subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE)
    metadata: dict[str, Any] = json.loads(answer.stdout)
    return metadata


def rust_rooms(metadata: Mapping[str, Any]) -> set[str]:
    """Name the rooms that exist as crates."""
    return {package["name"].removeprefix(CRATE_PREFIX) for package in metadata["packages"]}


def rust_arrows(metadata: Mapping[str, Any], root: Path) -> Iterator[Arrow]:
    """List the dependencies between crates of the workspace, of every kind."""
    members = {package["name"] for package in metadata["packages"]}
    for package in metadata["packages"]:
        manifest = Path(package["manifest_path"])
        place = manifest.relative_to(root) if manifest.is_relative_to(root) else manifest
        for dependency in package["dependencies"]:
            # A crate may name itself among its dev-dependencies, to switch on a feature in tests.
            if dependency["name"] in members - {package["name"]}:
                yield Arrow(
                    "rust",
                    package["name"].removeprefix(CRATE_PREFIX),
                    dependency["name"].removeprefix(CRATE_PREFIX),
                    f"{place} ({dependency['kind'] or 'normal'} dependency)",
                )


def python_rooms(package: Path, table: Table) -> dict[str, list[Path]]:
    """Collect the source files of each room of the package."""
    rooms: dict[str, list[Path]] = {}
    for file in sorted([*package.rglob("*.py"), *package.rglob("*.pyi")]):
        rooms.setdefault(room_of(module_parts(file, package), table), []).append(file)
    return rooms


def module_parts(file: Path, package: Path) -> list[str]:
    """Return the parts of a module's dotted name, without the package's own."""
    parts = list(file.relative_to(package).with_suffix("").parts)
    return parts[:-1] if parts[-1] == "__init__" else parts


def room_of(parts: Sequence[str], table: Table) -> str:
    """Name the room of a module: the longest beginning of its name that has a line in the table.

    Without any such line it is the first part, and for the package itself the public face.
    """
    for length in range(len(parts), 0, -1):
        if ".".join(parts[:length]) in table:
            return ".".join(parts[:length])
    return parts[0] if parts else PACKAGE


def python_arrows(package: Path, root: Path, table: Table) -> Iterator[Arrow]:
    """List the imports from one room of the package into another."""
    rooms = python_rooms(package, table)
    everything = [module_parts(file, package) for files in rooms.values() for file in files]
    first_parts = {parts[0] for parts in everything if parts} | {"_core"}
    for room, files in rooms.items():
        for file in files:
            for module, line in imported_modules(file, package):
                outer, *parts = module.split(".")
                # A name that is no module, as in `from fairwind import load`, is the public face's.
                target = room_of(parts if parts[:1] and parts[0] in first_parts else [], table)
                target = GUEST_ROOM if outer == GUEST else target
                if outer in (PACKAGE, GUEST) and target != room:
                    yield Arrow("python", room, target, f"{file.relative_to(root)}:{line}")


def guest_sources(folder: Path) -> list[Path]:
    """List the modules of the studies, without their tests."""
    return [file for file in sorted(folder.rglob("*.py")) if file.parent.name != "tests"]


def guest_arrows(folder: Path, root: Path, table: Table) -> Iterator[Arrow]:
    """List the imports from the studies into rooms of the package."""
    for file in guest_sources(folder):
        for module, line in imported_modules(file, folder, GUEST):
            outer, *parts = module.split(".")
            if outer == PACKAGE:
                target = room_of(parts[:1] if parts and parts[0] in table else [], table)
                yield Arrow("python", GUEST_ROOM, target, f"{file.relative_to(root)}:{line}")


def imported_modules(file: Path, package: Path, name: str = PACKAGE) -> Iterator[tuple[str, int]]:
    """Yield the dotted name and line of everything that a file imports, wherever it stands."""
    tree = ast.parse(file.read_text(encoding="utf-8"), filename=str(file))
    parents = [name, *file.relative_to(package).parts[:-1]]
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for each in names:
                    yield each.name, node.lineno
            case ast.ImportFrom(module=module, names=names, level=level):
                base = parents[: len(parents) - level + 1] if level else []
                for each in names:
                    yield ".".join([*base, *([module] if module else []), each.name]), node.lineno
            case ast.Call(func=function, args=[ast.Constant(value=str(module)), *_]):
                if called_name(function) in {"import_module", "__import__"}:
                    yield module, node.lineno


def called_name(function: ast.expr) -> str | None:
    """Return the last name of a called expression, without what it is looked up in."""
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return None


def complaints(
    arrows: Sequence[Arrow], rooms: Mapping[str, set[str]], tables: Mapping[str, Table]
) -> list[str]:
    """Say what is wrong: rooms without a line in the table, and arrows that it does not allow."""
    lines = [
        f"{language}: room `{room}` has no line in the table of layers; give it one"
        for language in sorted(rooms)
        for room in sorted(rooms[language] - set(tables.get(language, {})))
    ]
    for arrow in sorted(set(arrows)):
        allowed = tables.get(arrow.language, {}).get(arrow.source, ())
        if arrow.target not in allowed and EVERYTHING not in allowed:
            known = ", ".join(allowed) or "nothing"
            lines.append(
                f"{arrow.place}: {arrow.language} room `{arrow.source}` may not know "
                f"`{arrow.target}` (it may know: {known})"
            )
    return lines


def survey(root: Path, tables: Mapping[str, Table]) -> tuple[list[Arrow], dict[str, set[str]]]:
    """Read all arrows and all rooms of the tree at ``root``."""
    metadata = cargo_metadata(root)
    package, table = root / "python" / PACKAGE, tables.get("python", {})
    guest = root / "studies"
    arrows = [
        *rust_arrows(metadata, root),
        *python_arrows(package, root, table),
        *guest_arrows(guest, root, table),
    ]
    rooms = set(python_rooms(package, table)) | ({GUEST_ROOM} if guest_sources(guest) else set())
    return arrows, {"rust": rust_rooms(metadata), "python": rooms}


def main(arguments: Sequence[str] | None = None) -> int:
    """Check one tree and print what is wrong with it."""
    parser = argparse.ArgumentParser(description="Refuse forbidden dependencies of rooms.")
    here = Path(__file__).resolve().parent
    parser.add_argument("--root", type=Path, default=here.parent, help="the tree to check")
    parser.add_argument(
        "--table", type=Path, default=here / "layers.toml", help="the allowed arrows"
    )
    options = parser.parse_args(arguments)
    try:
        tables = read_tables(options.table)
    except TableError as error:
        print(error, file=sys.stderr)
        return 2
    arrows, rooms = survey(options.root.resolve(), tables)
    wrong = complaints(arrows, rooms, tables)
    for line in wrong:
        print(line, file=sys.stderr)
    total = len({(arrow.language, arrow.source, arrow.target) for arrow in arrows})
    counts = f"{total} arrows between {sum(map(len, rooms.values()))} rooms"
    print(f"layers: {counts}, {len(wrong)} complaints")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

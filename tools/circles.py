"""Count circles of imports among the files of a crate or of a Python package.

Follows `use` declarations and paths that begin with `crate`, `self` or `super` in Rust, and import
statements in Python, to the file that defines the name, through re-exports. It reads files as text
and never changes one. Standard library only.

    python3 tools/circles.py [--root DIR] [--most N]

Exit code: 0 there are at most N circles (3 unless said otherwise), 1 there are more.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Edges = dict[Path, set[Path]]
Name = tuple[str, ...]

RUST_OPAQUE = re.compile(
    r'//[^\n]*|/\*.*?\*/|\bb?c?r(?P<hashes>#*)".*?"(?P=hashes)|"(?:\\.|[^"\\])*"', re.DOTALL
)
RUST_TESTS = re.compile(r"#\[cfg\(test\)\]\s*mod\s+\w+\s*\{.*", re.DOTALL)
RUST_USE = re.compile(r"\b(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);")
RUST_PATH = re.compile(r"\b(?:crate|self|super)(?:::\w+)+")
RUST_DEFINITION = re.compile(
    r"\b(?:fn|struct|enum|union|trait|type|const|static|macro_rules!)\s+(?:mut\s+)?(\w+)"
)


@dataclass
class Module:
    """One file: what it defines, and under which names it hands on what others define."""

    file: Path
    defines: set[str] = field(default_factory=set)
    exports: dict[str, Name] = field(default_factory=dict)
    globs: list[Name] = field(default_factory=list)
    uses: set[Name] = field(default_factory=set)


Modules = Mapping[Name, Module]


def rust_modules(source: Path) -> dict[Name, Module]:
    """Read the files below a crate's `src`, by module path."""
    modules: dict[Name, Module] = {}
    for file in sorted(source.rglob("*.rs")):
        parts = list(file.relative_to(source).with_suffix("").parts)
        if parts[-1] in {"mod", "lib", "main"}:
            parts.pop()
        modules[tuple(parts)] = read_rust(file, tuple(parts))
    return modules


def read_rust(file: Path, own: Name) -> Module:
    """Read one Rust file; tests at its end do not count."""
    text = RUST_TESTS.sub("", RUST_OPAQUE.sub('""', file.read_text(encoding="utf-8")))
    module = Module(file, defines=set(RUST_DEFINITION.findall(text)))
    for visibility, tree in RUST_USE.findall(text):
        for path, alias in use_paths(tree):
            absolute = rust_absolute(path, own)
            if not absolute:
                continue
            if absolute[-1] == "*":
                module.globs.append(absolute[:-1])
            elif visibility:
                module.exports[alias] = absolute
            # Handing a name on is no import, and a module's own submodules are part of it.
            if not visibility and path[0] in {"crate", "self", "super"}:
                module.uses.add(absolute)
    for path in RUST_PATH.findall(RUST_USE.sub("", text)):
        module.uses.add(rust_absolute(tuple(path.split("::")), own))
    return module


def use_paths(tree: str, before: Name = ()) -> Iterator[tuple[Name, str]]:
    """List the paths of a `use` tree, each with the name under which it is known."""
    for part in split_use(tree):
        head, brace, rest = part.partition("{")
        names = tuple(name.strip() for name in head.split("::") if name.strip())
        if brace:
            yield from use_paths(rest[: rest.rindex("}")], before + names)
        elif names:
            last, _, alias = names[-1].partition(" as ")
            path = before + names[:-1] + ((last.strip(),) if last.strip() != "self" else ())
            yield path or (last.strip(),), alias.strip() or path[-1]


def split_use(tree: str) -> Iterator[str]:
    """Split a `use` tree at the commas outside of braces."""
    depth, start = 0, 0
    for index, letter in enumerate(tree):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            yield tree[start:index].strip()
            start = index + 1
    yield tree[start:].strip()


def rust_absolute(path: Name, own: Name) -> Name:
    """Return a path from the crate's root."""
    base = own
    while path and path[0] in {"self", "super"}:
        base, path = (base if path[0] == "self" else base[:-1]), path[1:]
        if path[:1] != ("super",):
            return base + path
    # Another crate's path ends at the own file, as none of the own modules has its name.
    return path[1:] if path[:1] == ("crate",) else own + path


def python_modules(package: Path) -> dict[Name, Module]:
    """Read the modules of a Python package, by dotted name."""
    modules: dict[Name, Module] = {}
    for file in sorted([*package.rglob("*.py"), *package.rglob("*.pyi")]):
        parts = (package.name, *file.relative_to(package).with_suffix("").parts)
        is_package = parts[-1] == "__init__"
        own = parts[:-1] if is_package else parts
        modules[own] = read_python(file, own, own if is_package else own[:-1])
    return modules


def read_python(file: Path, own: Name, parent: Name) -> Module:
    """Read one Python file."""
    tree = ast.parse(file.read_text(encoding="utf-8"), filename=str(file))
    module = Module(file)
    module.defines.update(
        statement.name
        for statement in tree.body
        if isinstance(statement, ast.ClassDef | ast.FunctionDef)
    )
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                module.uses.update(tuple(name.name.split(".")) for name in names)
            case ast.ImportFrom(module=base, names=names, level=level):
                above = parent[: len(parent) - level + 1] if level else ()
                origin = (*above, *(base.split(".") if base else ()))
                for name in names:
                    module.uses.add((*origin, name.name))
                    module.exports[name.asname or name.name] = (*origin, name.name)
    return module


def file_of(path: Name, modules: Modules, seen: frozenset[Name] = frozenset()) -> Path | None:
    """Find the file that defines what a path names."""
    if path in seen:
        return None
    for length in range(len(path), -1, -1):
        module = modules.get(path[:length])
        if module is None:
            continue
        if length == len(path) or path[length] in module.defines:
            return module.file
        origins = [module.exports[path[length]]] if path[length] in module.exports else []
        origins += [(*glob, path[length]) for glob in module.globs if glob != path[:length]]
        for origin in origins:
            found = file_of(origin, modules, seen | {path})
            if found is not None:
                return found
        return module.file
    return None


def edges_of(modules: Modules) -> Edges:
    """List which file imports which."""
    edges: Edges = {module.file: set() for module in modules.values()}
    for module in modules.values():
        for path in module.uses:
            target = file_of(path[:-1] if path[-1] == "*" else path, modules)
            if target is not None and target != module.file:
                edges[module.file].add(target)
    return edges


def circles_in(edges: Edges) -> list[list[Path]]:
    """List the strongly connected components of more than one file (Tarjan 1972)."""
    order: dict[Path, int] = {}
    low: dict[Path, int] = {}
    stack: list[Path] = []
    circles: list[list[Path]] = []

    def visit(file: Path) -> None:
        order[file] = low[file] = len(order)
        stack.append(file)
        for target in sorted(edges[file]):
            if target not in order:
                visit(target)
                low[file] = min(low[file], low[target])
            elif target in stack:
                low[file] = min(low[file], order[target])
        if low[file] == order[file]:
            members = stack[stack.index(file) :]
            del stack[stack.index(file) :]
            if len(members) > 1:
                circles.append(sorted(members))

    for file in sorted(edges):
        if file not in order:
            visit(file)
    return circles


def survey(root: Path) -> list[list[Path]]:
    """List the circles of all crates and Python packages below ``root``."""
    sources = sorted({*root.glob("crates/*/src"), *root.glob("fuzz/src")})
    trees: list[dict[Name, Module]] = [rust_modules(source) for source in sources]
    packages = sorted({*root.glob("python/*/__init__.py"), *root.glob("studies/__init__.py")})
    trees += [python_modules(init.parent) for init in packages]
    return [circle for tree in trees for circle in circles_in(edges_of(tree))]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print each circle on a line; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument(
        "--most", type=int, default=3, help="circles allowed (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    sys.setrecursionlimit(10_000)
    circles = survey(options.root)
    for circle in circles:
        names = ", ".join(str(file.relative_to(options.root)) for file in circle)
        print(f"{len(circle)} files import each other: {names}")
    print(f"{len(circles)} circles of imports (at most {options.most} are allowed)")
    return int(len(circles) > options.most)


if __name__ == "__main__":
    sys.exit(main())

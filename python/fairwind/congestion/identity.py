"""Digest of a class of Python: its code, its values, and all that they refer to.

Two classes with equal digests behave alike, so that a run may go on in an earlier one's folder. The
digest covers the code of methods and of the functions and classes that they refer to, defaults,
values of closures, referenced globals, bases, and attributes of classes. Of installed packages it
covers the version. A value that Python cannot describe has no digest.
"""

from __future__ import annotations

import copyreg
import dis
import enum
import functools
import hashlib
import importlib
import importlib.metadata
import platform
import site
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

GLOBALS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM", "LOAD_SUPER_ATTR"})

IRRELEVANT = frozenset(
    {
        "__annotate__",
        "__annotate_func__",
        "__annotations__",
        "__annotations_cache__",
        "__dict__",
        "__doc__",
        "__firstlineno__",
        "__module__",
        "__orig_bases__",
        "__parameters__",
        "__static_attributes__",
        "__type_params__",
        "__weakref__",
        "_abc_impl",
    }
)
"""Attributes of classes that have no influence on what their methods do."""

PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented))
OF_C = (
    BuiltinFunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    WrapperDescriptorType,
)


class NoDigestError(Exception):
    """Something that a class refers to has a state that cannot be described: what, and where."""


def digest_of(written: type[Any]) -> str:
    """Give the SHA-256 of a class and of all that it refers to, in hexadecimal digits.

    Raises
    ------
    NoDigestError
        If it refers to a value without a digest, such as an open file or a lock.
    """
    described = _Description()
    described.add(written, getattr(written, "__qualname__", repr(written)))
    return described.hash.hexdigest()


class _Description:
    """A digest that grows value by value; each value is described once."""

    def __init__(self, seen: dict[int, int] | None = None) -> None:
        self.hash = hashlib.sha256()
        self._seen: dict[int, int] = {} if seen is None else seen
        self._kept: list[object] = []  # an id is taken again once its object has gone

    def _write(self, *texts: object) -> None:
        for text in texts:
            encoded = str(text).encode("utf-8", "surrogatepass")
            self.hash.update(f"{len(encoded)}:".encode() + encoded)

    def add(self, value: Any, where: str) -> None:  # noqa: ANN401 - anything can be referred to
        """Describe a value; `where` says how the class refers to it."""
        if isinstance(value, PLAIN) and type(value) in PLAIN:
            self._write(type(value).__name__, repr(value))
            return
        if (number := self._seen.get(id(value))) is not None:
            self._write("again", number)
            return
        self._seen[id(value)] = len(self._seen)
        self._kept.append(value)
        match value:
            case ModuleType():
                self._add_module(value, frozenset(), where)
            case CodeType():
                self._add_code(value, where)
            case FunctionType():
                self._add_function(value, where)
            case type():
                self._add_class(value, where)
            case enum.Enum():
                self._write("enum", value.name)
                self.add(type(value), where)
            case tuple() | list() if type(value) in (tuple, list):
                self._write(type(value).__name__, len(value))
                for index, item in enumerate(value):
                    self.add(item, f"{where}[{index}]")
            case dict() if type(value) is dict:
                self._write("dict", len(value))
                for key, item in value.items():
                    self.add(key, where)
                    self.add(item, f"{where}[{key!r}]" if isinstance(key, PLAIN) else where)
            case MappingProxyType():
                self.add(dict(value), where)
            case set() | frozenset():
                self._write(
                    type(value).__name__, *sorted(self._apart(item, where) for item in value)
                )
            case _:
                self._add_object(value, where)

    def _apart(self, value: Any, where: str) -> str:  # noqa: ANN401
        """Give the digest of an element of a set, which has no place."""
        apart = _Description(dict(self._seen))
        apart.add(value, where)
        self._kept.append(apart)
        return apart.hash.hexdigest()

    def _add_code(self, code: CodeType, where: str) -> None:
        self._write("code", code.co_name, code.co_argcount, code.co_posonlyargcount)
        self._write(code.co_kwonlyargcount, code.co_flags, code.co_code.hex())
        exceptions = getattr(code, "co_exceptiontable", b"")
        self._write(exceptions.hex(), *code.co_names, *code.co_varnames, *code.co_freevars)
        for constant in code.co_consts:
            self.add(constant, where)

    def _add_function(self, function: FunctionType, where: str) -> None:
        if _is_installed(function.__module__):
            self._write("installed", _version_of(function.__module__), function.__qualname__)
            return
        self._write("function")
        self.add(function.__code__, where)
        self.add(function.__defaults__, f"a default of {where}")
        self.add(function.__kwdefaults__, f"a default of {where}")
        self.add(dict(vars(function)), f"an attribute of {where}")
        names = function.__code__.co_freevars
        for name, cell in zip(names, function.__closure__ or (), strict=True):
            try:
                content = cell.cell_contents
            except ValueError:
                self._write("empty")
                continue
            self.add(content, f"{name} in the closure of {where}")
        self._add_references(function, where)

    def _add_references(self, function: FunctionType, where: str) -> None:
        """Describe the globals and modules that a function's code refers to."""
        instructions = list(_instructions(function.__code__))
        attributes = frozenset(one.argval for one in instructions if one.opname in ATTRIBUTES)
        names = {one.argval for one in instructions if one.opname in GLOBALS}
        for name in sorted(names & function.__globals__.keys()):
            self._write("global", name)
            self._add_used(function.__globals__[name], attributes, f"{name}, a global of {where}")
        for name in sorted({one.argval for one in instructions if one.opname == "IMPORT_NAME"}):
            for module in _imported(name, function.__globals__):
                self._add_used(module, attributes, f"{name}, which {where} imports")

    def _add_used(self, value: Any, attributes: frozenset[str], where: str) -> None:  # noqa: ANN401
        if isinstance(value, ModuleType):
            self._add_module(value, attributes, where)
        else:
            self.add(value, where)

    def _add_module(self, module: ModuleType, attributes: frozenset[str], where: str) -> None:
        """Describe an installed module by its version, another by source and attributes."""
        self._write("module", module.__name__)
        if _is_installed(module.__name__):
            self._write(_version_of(module.__name__))
            return
        file = getattr(module, "__file__", None)
        if file is not None and Path(file).is_file():
            self._write(hashlib.sha256(Path(file).read_bytes()).hexdigest())
        for name in sorted(attributes & vars(module).keys()):
            self._write("attribute", name)
            self._add_used(vars(module)[name], attributes, f"{name} of {where}")

    def _add_class(self, written: type[Any], where: str) -> None:
        self._write("class", written.__module__, written.__qualname__)
        if _is_installed(written.__module__):
            self._write(_version_of(written.__module__))
            return
        for base in (type(written), *written.__bases__):
            self.add(base, f"{base.__name__}, a base of {where}")
        for name, value in vars(written).items():
            if name not in IRRELEVANT:
                self._write("attribute", name)
                self.add(value, f"{where}.{name}")

    def _add_object(self, value: Any, where: str) -> None:  # noqa: ANN401
        match value:
            case property():
                self.add((value.fget, value.fset, value.fdel), where)
            case staticmethod() | classmethod():
                self._write(type(value).__name__)
                self.add(value.__func__, where)
            case MethodType():
                self._write("method")
                self.add((value.__func__, value.__self__), where)
            case functools.cached_property():
                self.add(value.func, where)
            case _ if isinstance(value, OF_C):
                owner = getattr(value, "__self__", None)
                self._write("of C", value.__qualname__, getattr(value, "__module__", None))
                if owner is not None and not isinstance(owner, (type, ModuleType)):
                    self.add(owner, where)
            case _ if callable(value) and hasattr(value, "__wrapped__"):
                self.add((type(value).__qualname__, value.__wrapped__), where)
            case _:
                self._add_state(value, where)

    def _add_state(self, value: Any, where: str) -> None:  # noqa: ANN401
        """Describe an object as it would be made again: its class, arguments and state."""
        self._write("object")
        self.add(type(value), f"the class of {where}")
        try:
            reduce = copyreg.dispatch_table.get(type(value))
            reduced = value.__reduce_ex__(4) if reduce is None else reduce(value)
        except Exception as error:
            kind = type(value)
            raise NoDigestError(f"{where} is a {kind.__module__}.{kind.__qualname__}") from error
        if isinstance(reduced, str):
            self._write(reduced)
            return
        for part in reduced:
            self.add(list(part) if isinstance(part, Iterator) else part, where)


def _instructions(code: CodeType) -> Iterator[dis.Instruction]:
    """Give the instructions of code and of all code within it."""
    yield from dis.get_instructions(code)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _instructions(constant)


def _imported(name: str, around: dict[str, Any]) -> list[ModuleType]:
    """Give the module that a function imports; none where it cannot be imported."""
    for package in (None, around.get("__package__")):
        try:
            full = f".{name}" if package else name
            return [importlib.import_module(full, package)] if name else []
        except (ImportError, ValueError, TypeError):
            continue
    return []


@functools.cache
def _is_installed(module: str | None) -> bool:
    """Whether a module belongs to Python, to Fairwind or to an installed package."""
    if module is None or module == "__main__":
        return False
    if module.partition(".")[0] in {*sys.stdlib_module_names, "fairwind"}:
        return True
    loaded = sys.modules.get(module)
    if loaded is None:
        return False
    file = getattr(loaded, "__file__", None)
    if file is None:
        return getattr(loaded, "__spec__", None) is not None and not hasattr(loaded, "__path__")
    path = Path(file).resolve()
    return any(path.is_relative_to(place) for place in _places())


@functools.cache
def _places() -> tuple[Path, ...]:
    """Where installed packages lie."""
    paths = [*site.getsitepackages(), site.getusersitepackages()]
    paths += [sysconfig.get_path(name) for name in ("purelib", "platlib")]
    return tuple(Path(path).resolve() for path in paths)


@functools.cache
def _version_of(module: str | None) -> str:
    """Give name and version of the package that an installed module belongs to."""
    top = (module or "").partition(".")[0]
    if top in sys.stdlib_module_names:
        return f"Python {platform.python_version()}"
    names = _distributions().get(top, [top])
    try:
        return f"{top} {importlib.metadata.version(names[0])}"
    except importlib.metadata.PackageNotFoundError:
        version = getattr(sys.modules.get(top), "__version__", None)
        if version is not None:
            return f"{top} {version}"
        loaded = sys.modules.get(module or "")
        return f"{module} without a version" if loaded else top


_distributions = functools.cache(importlib.metadata.packages_distributions)

"""The congestion controls of the repository that are written in C."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

from fairwind import _core


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
        """First comment of the source."""
        return first_words(self.source)


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


def first_words(source: str) -> str:
    """Give the first sentence of a source's first comment that is not the licence."""
    words: list[str] = []
    for line in source.splitlines():
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

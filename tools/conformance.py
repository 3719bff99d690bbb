"""Read the conformance ledger `docs/conformance/*.toml`, check it, and say where we stand.

Each file holds the requirements of one document (an RFC). A requirement that is met names tests
that show it, one that is not gives its reason. Files must have the right form, and every test that
is named must exist: `path/to/tests.rs::name_of_function`, a script `path/to/one.pkt`, or
`path/to/test.py::name`. It never runs a test: the ordinary test runs do. Standard library only.

    python3 tools/conformance.py [--root DIR] [--table]

Exit code: 0 all is well, 1 something named does not exist or an entry is malformed.
"""

import argparse
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LEDGER = Path("docs") / "conformance"
STATUSES = ("met", "partly", "not met", "not applicable")
LEVELS = ("MUST", "SHOULD", "MAY")
DOCUMENT_KEYS = {"document", "title", "requirement"}
REQUIREMENT_KEYS = {"section", "level", "says", "status", "reason", "tests"}


@dataclass(frozen=True)
class Requirement:
    """One requirement of a document.

    Attributes
    ----------
    document : str
        For example ``RFC 9293``.
    section : str
        Where it stands in the document.
    level : str
        ``MUST``, ``SHOULD`` or ``MAY``; documents without these words count by their sense.
    says : str
        What is required, in our words.
    status : str
        ``met``, ``partly``, ``not met`` or ``not applicable``.
    reason : str
        Why it is not met, or in what it is met otherwise; may be empty if it is met.
    tests : tuple of str
        The tests that show it.
    """

    document: str
    section: str
    level: str
    says: str
    status: str
    reason: str
    tests: tuple[str, ...]


class LedgerError(Exception):
    """A file of the ledger cannot be used; the message says which and why."""


def read_document(path: Path) -> tuple[str, str, list[Requirement]]:
    """Read one file: the document's name, its title, and its requirements."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise LedgerError(f"{path.name}: {error}") from error
    if set(content) != DOCUMENT_KEYS:
        raise LedgerError(f"{path.name}: the keys are document, title and [[requirement]]")
    document = str(content["document"])
    requirements = [
        read_requirement(path.name, document, place, entry)
        for place, entry in enumerate(content["requirement"], start=1)
    ]
    return document, str(content["title"]), requirements


def read_requirement(file: str, document: str, place: int, entry: dict[str, Any]) -> Requirement:
    """Read one entry, and refuse a malformed one."""
    where = f"{file}: requirement {place}"
    unknown = set(entry) - REQUIREMENT_KEYS
    if unknown:
        raise LedgerError(f"{where}: unknown keys {', '.join(sorted(unknown))}")
    missing = {"section", "level", "says", "status"} - set(entry)
    if missing:
        raise LedgerError(f"{where}: {', '.join(sorted(missing))} missing")
    requirement = Requirement(
        document,
        str(entry["section"]),
        str(entry["level"]),
        str(entry["says"]),
        str(entry["status"]),
        str(entry.get("reason", "")),
        tuple(entry.get("tests", ())),
    )
    if requirement.status not in STATUSES:
        raise LedgerError(f"{where}: the status is one of {', '.join(STATUSES)}")
    if requirement.level not in LEVELS:
        raise LedgerError(f"{where}: the level is one of {', '.join(LEVELS)}")
    if requirement.status in ("met", "partly") and not requirement.tests:
        raise LedgerError(f"{where}: what is {requirement.status} names a test that shows it")
    if requirement.status != "met" and not requirement.reason:
        raise LedgerError(f"{where}: what is {requirement.status} needs a reason")
    return requirement


def missing_test(root: Path, test: str) -> str | None:
    """Say what is wrong with the name of a test; None if the test exists."""
    place, _, name = test.partition("::")
    file = root / place
    if not file.is_file():
        return f"there is no file {place}"
    if place.endswith(".pkt"):
        return None if not name else f"a script has no tests inside: {test}"
    text = file.read_text(encoding="utf-8")
    if place.endswith(".rs"):
        pattern = rf"#\[test\](?:\s*#\[[^\]]*\])*\s*fn\s+{re.escape(name)}\s*\("
        # Random tests stand inside a macro, where the attribute is the same.
        return None if name and re.search(pattern, text) else f"{place} has no test {name}"
    pattern = rf"^(?:async )?def {re.escape(name)}\("
    return None if name and re.search(pattern, text, re.M) else f"{place} has no test {name}"


def check(root: Path) -> Iterator[str]:
    """Yield one complaint for each thing that is wrong."""
    files = sorted((root / LEDGER).glob("*.toml"))
    if not files:
        yield f"{LEDGER} holds no ledger"
    for file in files:
        try:
            _, _, requirements = read_document(file)
        except LedgerError as error:
            yield str(error)
            continue
        for requirement in requirements:
            for test in requirement.tests:
                if complaint := missing_test(root, test):
                    yield f"{file.name}: section {requirement.section}: {complaint}"


def table(root: Path) -> str:
    """Summarise the ledger as a Markdown page with one table for each document."""
    documents = [read_document(file) for file in sorted((root / LEDGER).glob("*.toml"), key=number)]
    lines = [
        "# Conformance",
        "",
        "What the standards require of a TCP endpoint, and how ours stands to it. The profile",
        "`rfc` is meant where profiles differ and nothing else is said. The ledger is",
        "`docs/conformance/*.toml`; a check looks for the tests that it names.",
        "",
        "| document | requirements | met | partly | not met | not applicable |",
        "|---|---|---|---|---|---|",
    ]
    for name, title, requirements in documents:
        count = Counter(requirement.status for requirement in requirements)
        numbers = " | ".join(str(count[status]) for status in STATUSES)
        lines.append(f"| {name}: {title} | {len(requirements)} | {numbers} |")
    for name, title, requirements in documents:
        lines += ["", f"## {name}: {title}", "", "| section | level | requirement | status |"]
        lines.append("|---|---|---|---|")
        lines += [row(requirement) for requirement in requirements]
    return "\n".join(lines) + "\n"


def number(file: Path) -> tuple[int, str]:
    """Order files by the number in their name; papers, which have none, come last."""
    digits = re.search(r"\d+", file.stem)
    return (int(digits[0]) if digits else sys.maxsize, file.stem)


def row(requirement: Requirement) -> str:
    """Show one requirement as a line of its table."""
    shown = ", ".join(f"`{short(test)}`" for test in requirement.tests)
    status = requirement.status
    if requirement.reason:
        status += f": {requirement.reason}"
    if shown:
        status += f" ({shown})"
    cells = (requirement.section, requirement.level, requirement.says, status)
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def short(test: str) -> str:
    """Name a test without the folders before it."""
    place, _, name = test.partition("::")
    return name or "/".join(Path(place).parts[-2:])


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the ledger, or print it."""
    parser = argparse.ArgumentParser(description="Check the conformance ledger.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--table", action="store_true", help="print the ledger as Markdown")
    options = parser.parse_args(arguments)
    complaints = list(check(options.root))
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    if complaints:
        return 1
    if options.table:
        print(table(options.root), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Write the pages of `docs/reference/` from the program that they describe.

    .venv/bin/python tools/reference.py           write the pages
    .venv/bin/python tools/reference.py --check   write nothing; name the pages that are stale

Needs the built package `fairwind`. Exit code: 0 all is well, 1 a page is stale.
"""

import argparse
import difflib
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path

import conformance
from python_page import python_page
from schema_page import NONE, cell, schema_page

import fairwind._core as core

NOTICE = "<!-- Made by `make docs`; a change made here is lost. -->\n\n"


def scenario_page() -> str:
    """Describe all keys of a scenario."""
    return schema_page(json.loads(core.schema()))


def columns_page() -> str:
    """Describe all columns of all tables, table by table."""
    columns = [*json.loads(core.columns()), *json.loads(core.analysis_columns())]
    lines = [
        "# Columns",
        "",
        "The tables of a run and what their columns mean. In merged tables they stand behind the",
        "columns `cell`, `replicate`, `seed` and one for each axis of the sweep. The choices made",
        "for the definitions are in [what a measure means](../concepts/measures.md); tables",
        "from `connections` on are of captures only, see [the analyser](../concepts/analyser.md).",
        "",
    ]
    for table, rows in groupby(columns, key=lambda column: column["table"]):
        lines += [f"## {table}", "", "| column | unit | definition |", "|---|---|---|"]
        lines += [
            f"| `{row['column']}` | {cell(row['unit'] or NONE)} | {cell(row['definition'])} |"
            for row in rows
        ]
        lines.append("")
    return "\n".join(lines)


def command_line_page() -> str:
    """Describe all commands with their arguments and options."""
    command = [sys.executable, "-m", "typer", "fairwind.cli.commands", "utils", "docs"]
    command += ["--name", "fairwind", "--title", "Command line"]
    answer = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE)
    return "\n".join(line.rstrip() for line in answer.stdout.splitlines()).rstrip() + "\n"


def profiles_page() -> str:
    """Describe the TCP profiles, in the words of the module that defines them."""
    source = Path(__file__).resolve().parents[1] / "crates" / "tcp" / "src" / "profile.rs"
    lines = source.read_text(encoding="utf-8").splitlines()
    words = [line.removeprefix("//!").removeprefix(" ") for line in lines if line.startswith("//!")]
    return "\n".join(["# TCP profiles", "", *words, ""])


def kernel_settings_page() -> str:
    """Describe the kernel setting for each key of a `tcp` table."""
    keys = json.loads(core.kernel_settings())
    lines = [
        "# Kernel settings",
        "",
        "On the kernel (`--on kernel`) the keys of `tcp` and `receiver_tcp` become sysctls and",
        "route attributes of a host's namespace, and options of its sockets. What a kernel cannot",
        "have is refused before anything runs, with what comes nearest; `fairwind check SCENARIO",
        "--on kernel` tells it. A key that is left out means what Linux 6.18 does out of the box,",
        "whatever the machine's own settings are. Namespaces remember nothing of connections that",
        "were (`tcp_no_metrics_save`), and buffers are ample unless a key bounds them.",
        "",
        "Sysctls and route attributes hold for a host. Groups that share a host must agree on",
        "them; under `[path]` every group has its own hosts. Times are kept in steps of",
        "the kernel's timers (4 ms at 250 Hz); its timer wheel may add an eighth of a long one.",
        "",
        "`crates/testbed/tests/settings` has a script for every key that does something: it holds",
        "on the kernel with the key and fails without.",
        "",
        "| key | kernel setting | limits |",
        "|---|---|---|",
    ]
    lines += [
        f"| `{key['name']}` | {cell(key['setting'])} | {cell(key['limits'] or NONE)} |"
        for key in keys
    ]
    return "\n".join([*lines, ""])


def conformance_page() -> str:
    """Show the conformance ledger."""
    return conformance.table(Path(__file__).resolve().parents[1])


PAGES: Mapping[str, Callable[[], str]] = {
    "scenario.md": scenario_page,
    "columns.md": columns_page,
    "cli.md": command_line_page,
    "python.md": python_page,
    "profiles.md": profiles_page,
    "kernel-settings.md": kernel_settings_page,
    "conformance.md": conformance_page,
}


def stale(file: Path, text: str) -> bool:
    """Say what differs, if a page is not what it should be."""
    there = file.read_text(encoding="utf-8") if file.exists() else ""
    difference = difflib.unified_diff(
        there.splitlines(),
        text.splitlines(),
        f"{file.name} (there)",
        f"{file.name} (now)",
        n=1,
        lineterm="",
    )
    for line in difference:
        print(line, file=sys.stderr)
    return there != text


def main(arguments: Sequence[str] | None = None) -> int:
    """Write all pages, or compare them."""
    parser = argparse.ArgumentParser(description="Write the pages of docs/reference/.")
    parser.add_argument("--check", action="store_true", help="write nothing, fail if one is stale")
    options = parser.parse_args(arguments)
    folder = Path(__file__).resolve().parents[1] / "docs" / "reference"
    pages = {folder / name: NOTICE + page() for name, page in PAGES.items()}
    if options.check:
        outdated = [file.name for file, text in pages.items() if stale(file, text)]
        if outdated:
            print(f"stale: {', '.join(outdated)}; `make docs` writes them anew", file=sys.stderr)
        return 1 if outdated else 0
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in pages.items():
        file.write_text(text, encoding="utf-8")
        print(f"wrote docs/reference/{file.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

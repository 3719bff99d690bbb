"""Run the notebooks of `docs/notebooks/`, or remove what a run has left in them.

    python tools/notebooks.py                       run all; exit code 1 if one fails
    python tools/notebooks.py sweep-and-plot        run some
    python tools/notebooks.py --strip               remove outputs and counters, which are not kept

Each runs in a process and an empty folder of its own. Needs `nbclient` and `ipykernel`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"

CELL_SECONDS = 120
"""A cell that takes longer is no example."""


def notebooks() -> list[Path]:
    """List the notebooks."""
    return sorted(FOLDER.glob("*.ipynb"))


def executed(file: Path, folder: Path) -> Any:  # noqa: ANN401 - of nbformat
    """Run a notebook in a folder, and give it with its outputs.

    Raises
    ------
    CellExecutionError
        If a cell raises an exception; it has the cell and the traceback.
    """
    notebook = nbformat.read(file, as_version=4)
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=CELL_SECONDS, resources=resources).execute()
    return notebook


def stripped(file: Path) -> str:
    """Give a notebook's text without outputs and counters, cells named by their places."""
    notebook = nbformat.read(file, as_version=4)
    for place, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{place:02}"
        cell["metadata"] = {}
        if cell.cell_type == "code":
            cell["outputs"], cell["execution_count"] = [], None
    python = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook["metadata"] = {"kernelspec": python, "language_info": {"name": "python"}}
    text: str = nbformat.writes(notebook, version=4)
    return text.rstrip() + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run or strip notebooks."""
    parser = argparse.ArgumentParser(description="Run the notebooks of docs/notebooks/.")
    parser.add_argument("names", nargs="*", help="such as first-experiment; all if none is given")
    parser.add_argument("--strip", action="store_true", help="run nothing, remove outputs")
    given = parser.parse_args(arguments)
    chosen = [FOLDER / f"{name}.ipynb" for name in given.names] or notebooks()
    for missing in (file for file in chosen if not file.exists()):
        parser.error(f"there is no notebook {missing}")
    failed = False
    for file in chosen:
        if given.strip:
            file.write_text(stripped(file), encoding="utf-8")
            continue
        began = time.monotonic()
        try:
            with tempfile.TemporaryDirectory(prefix="fairwind-notebook-") as folder:
                executed(file, Path(folder))
        except CellExecutionError as error:
            failed = True
            print(f"{file.name}: {error}", file=sys.stderr)
            continue
        print(f"{file.name}: {time.monotonic() - began:.0f} s")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

"""The notebooks of the documentation: each runs, and is kept without outputs."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

pytest.importorskip("nbclient", reason="requires nbclient and ipykernel")
pytest.importorskip("ipykernel", reason="requires nbclient and ipykernel")

from notebooks import FOLDER, executed, main, notebooks, stripped  # noqa: E402

FILES = notebooks()
NAMES = [file.stem for file in FILES]
DRAWN = {"first-experiment", "sweep-and-plot", "own-congestion-control", "tune"}
"""Notebooks that show a chart."""


def pages(notebook) -> list[str]:
    """Give all that cells show as HTML: tables, charts, scenarios and results."""
    code = (cell for cell in notebook.cells if cell.cell_type == "code")
    shown = (output.get("data", {}).get("text/html") for cell in code for output in cell.outputs)
    return ["".join(page) for page in shown if page]


def test_there_are_notebooks():
    assert DRAWN | {"analyse-a-capture"} <= set(NAMES)


# Packages of Jupyter warn of each other's versions, which says nothing about the notebook.
@pytest.mark.filterwarnings("default")
@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_notebook_runs(file, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "python"))
    found = pages(executed(file, tmp_path))
    assert found
    if file.stem in DRAWN:
        assert any("vegaEmbed" in page for page in found)


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_notebook_is_kept_without_outputs(file):
    assert file.read_text(encoding="utf-8") == stripped(file), "python tools/notebooks.py --strip"


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_links_of_notebooks_lead_somewhere(file):
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    for link in re.findall(r"\]\(([^)#]+)", text):
        assert link.startswith("https://") or (FOLDER / link).exists(), link


def test_all_notebooks_are_listed():
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\]\(([^)]+)\.ipynb\)", page)) == NAMES


@pytest.mark.filterwarnings("default")
def test_failing_cell_fails_the_run(tmp_path, monkeypatch, capsys):
    import nbformat
    import notebooks as tool

    wrong = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")])
    nbformat.write(wrong, tmp_path / "wrong.ipynb")
    monkeypatch.setattr(tool, "FOLDER", tmp_path)
    assert main(["wrong"]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().err

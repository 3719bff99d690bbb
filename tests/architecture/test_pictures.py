"""`make pictures` draws every picture of the documents."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from fairwind.studies import studies

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "pictures.py"
DRAWN_BY_HAND = {"application-limited-streams-kernel"}


@pytest.fixture
def tool() -> ModuleType:
    """Load the tool as a module."""
    specification = importlib.util.spec_from_file_location("pictures", TOOL)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_every_picture_is_of_one_study(tool: ModuleType) -> None:
    assert set(tool.PICTURES) == set(studies())
    names = [picture for pictures in tool.PICTURES.values() for picture in pictures.values()]
    assert len(names) == len(set(names))
    assert set(names) | DRAWN_BY_HAND == {file.stem for file in tool.IMAGES.glob("*.png")}


def test_a_figure_that_a_study_does_not_draw_is_named(tool: ModuleType, tmp_path: Path) -> None:
    tool.IMAGES, tool.ROOT = tmp_path / "images", tmp_path
    tool.IMAGES.mkdir()
    (tmp_path / "loss.png").write_bytes(b"a picture")
    assert tool._copy(tmp_path, {"loss": "study-loss", "delay": "study-delay"}) == ["delay"]
    assert (tool.IMAGES / "study-loss.png").read_bytes() == b"a picture"
    assert not (tool.IMAGES / "study-delay.png").exists()


def test_a_study_without_pictures_is_refused_with_those_that_have_some() -> None:
    refused = subprocess.run(
        [sys.executable, str(TOOL), "thin-vs-greedly"], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2
    assert "no pictures are of thin-vs-greedly; there are: " in refused.stderr
    assert "thin-vs-greedy" in refused.stderr

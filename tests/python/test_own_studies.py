"""Studies of users' packages, installed as the guide says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fairwind.errors import FairwindError
from fairwind.studies import study, study_named, study_names

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "own-studies.md"
FILE = re.compile(r"^`([\w./]+)`:\n\n```\w+\n(.*?)```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """Install the package of the guide into a folder."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("installed")
    files = dict(FILE.findall(GUIDE.read_text("utf-8")))
    assert set(files) == {"my_studies/queues.toml", "my_studies/queues.py", "pyproject.toml"}
    for name, text in files.items():
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_text(text)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    options = ["--no-index", "--no-deps", "--no-build-isolation", "--target", target]
    subprocess.run([*command, *options, source], check=True)
    return target


def fairwind(installed: Path, *arguments: object) -> str:
    path = os.pathsep.join(map(str, (ROOT / "python", installed)))
    command = [sys.executable, "-m", "fairwind.cli", "study", *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": path}
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_study_of_the_guide_is_listed(installed):
    assert "Does a fair queue shorten the waits of thin streams?" in fairwind(installed)


def test_study_of_the_guide_runs(installed, tmp_path):
    out = fairwind(installed, "fair-queue", "--reduced", "--out", tmp_path / "run")
    assert "Thin streams wait less behind fq_codel than behind pfifo." in out
    assert (tmp_path / "run" / "report.html").is_file()


def plant(folder: Path, package: str, *studies: str) -> None:
    """Write what an installed package leaves behind: a module and its entry points."""
    (folder / f"{package}.py").write_text("STUDY = 1\n")
    record = folder / f"{package}-1.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"{name} = {package}:STUDY" for name in studies]
    (record / "entry_points.txt").write_text("\n".join([f"[{study.GROUP}]", *lines, ""]))


def test_broken_studies_name_their_package(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    plant(tmp_path, "first_package", "broken", "twice")
    plant(tmp_path, "second_package", "twice")
    assert {"broken", "twice"} <= set(study_names())
    with pytest.raises(FairwindError, match=r"not a study named 'broken'.*\n.*first_package"):
        study_named("broken")
    with pytest.raises(FairwindError, match="'twice': first_package and second_package"):
        study_named("twice")

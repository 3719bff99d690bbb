"""Shell completion: what is offered, and how little it imports."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from fairwind.scenario.named import named_test_names
from fairwind.studies import study_names
from process import SCENARIO, fairwind
from test_start import HEAVY


def completed(*words: str, cwd, flags: tuple[str, ...] = ()) -> tuple[list[str], str]:
    """Ask for completions of the last word as bash does."""
    environment = os.environ | {
        "_FAIRWIND_COMPLETE": "complete_bash",
        "COMP_WORDS": "\n".join(("fairwind", *words)),
        "COMP_CWORD": str(len(words)),
    }
    process = subprocess.run(
        [sys.executable, *flags, "-m", "fairwind.cli"],
        capture_output=True, text=True, check=True, cwd=cwd, env=environment,
    )  # fmt: skip
    return process.stdout.split(), process.stderr


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.toml").write_text(SCENARIO)
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "later.toml").write_text(SCENARIO)
    return tmp_path


def test_scenarios_are_named_tests_files_and_folders(folder):
    assert completed("run", "", cwd=folder)[0] == [*named_test_names(), "mine.toml", "runs/"]
    assert completed("check", "mi", cwd=folder)[0] == ["mine.toml"]
    assert completed("run", "rr", cwd=folder)[0] == ["rrul"]
    assert completed("run", "runs/", cwd=folder)[0] == ["runs/later.toml"]
    assert completed("run", "nowhere/", cwd=folder)[0] == []


def test_engines_studies_folders_and_commands(folder):
    assert completed("run", "mine.toml", "--on", "", cwd=folder)[0][:2] == ["sim", "kernel"]
    assert completed("study", "", cwd=folder)[0] == study_names()
    assert completed("show", "r", cwd=folder)[0] == ["runs/"]
    assert {"check", "compare", "completion"} <= set(completed("c", cwd=folder)[0])
    assert completed("run", "--wi", cwd=folder)[0] == ["--wide"]


def test_zsh_gets_help_texts_without_rich(folder):
    environment = os.environ | {
        "_FAIRWIND_COMPLETE": "complete_zsh",
        "_TYPER_COMPLETE_ARGS": "fairwind sho",
    }
    process = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "fairwind.cli"],
        capture_output=True, text=True, check=True, cwd=folder, env=environment,
    )  # fmt: skip
    assert '"show":"Print the summary' in process.stdout
    assert "rich.text" not in process.stderr


def test_completion_imports_no_data_frames(folder):
    for words in (("run", ""), ("study", ""), ("run", "x", "--on", "")):
        _, error = completed(*words, cwd=folder, flags=("-X", "importtime"))
        lines = [line for line in error.splitlines() if line.startswith("import time:")]
        roots = {line.rsplit("|", 1)[1].strip().partition(".")[0] for line in lines}
        assert "typer" in roots
        assert not roots & HEAVY


@pytest.mark.parametrize(
    ("shell", "words"),
    [("bash", "complete -o"), ("zsh", "compdef"), ("fish", "complete --command")],
)
def test_scripts_of_shells_are_printed(shell, words, tmp_path):
    code, out, error = fairwind("completion", shell, cwd=tmp_path)
    assert code == 0, error
    assert words in out
    assert "_FAIRWIND_COMPLETE" in out


def test_bash_takes_the_script(folder):
    out = fairwind("completion", "bash", cwd=folder)[1]
    process = subprocess.run(
        ["bash", "--norc", "-c", f"{out}\ncomplete -p fairwind"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "_fairwind_completion" in process.stdout


def test_an_unknown_shell_is_refused(tmp_path):
    code, _, error = fairwind("completion", "tcsh", cwd=tmp_path)
    assert code == 2
    assert "bash" in error

"""Modules that the command line imports before it does anything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from process import SCENARIO

MOST_MODULES = 60
"""Beyond those of a bare interpreter."""

UNNEEDED = {"distributed", "optuna", "pandas", "pydantic"}
"""What neither pages nor light commands need."""

HEAVY = UNNEEDED | {"altair", "jinja2", "numpy", "polars", "rich", "scipy", "vl_convert"}

MOST_MODULES_OF_REPORT = 880
"""Imports are half of the time that a page takes."""

SCRIPT = Path(__file__).parents[1] / "packetdrill" / "close" / "shut-for-reading.pkt"


def imported(*arguments: str) -> set[str]:
    """Run a Python process and give the modules that it imports."""
    process = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments], capture_output=True, text=True, check=True
    )
    lines = [line for line in process.stderr.splitlines() if line.startswith("import time:")]
    return {line.rsplit("|", 1)[1].strip() for line in lines}


def test_version_imports_few_modules():
    more = imported("-m", "fairwind.cli", "--version") - imported("-c", "")
    assert len(more) <= MOST_MODULES, sorted(more)


@pytest.mark.parametrize(
    "command",
    [
        ["--help"],
        ["schema"],
        ["columns"],
        ["check", "scenario.toml"],
        ["check", "rrul"],
        ["init", "new.toml"],
        ["tests"],
        ["completion", "bash"],
        ["packetdrill", str(SCRIPT)],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_light_commands_import_no_data_frames(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("scenario.toml").write_text(SCENARIO, encoding="utf-8")
    roots = {name.partition(".")[0] for name in imported("-m", "fairwind.cli", *command)}
    assert not roots & HEAVY


def test_pages_alone_import_what_they_draw_with(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("scenario.toml").write_text(SCENARIO.replace("12 s", "2 s"), encoding="utf-8")
    for command in ("run scenario.toml --out run", "show run"):
        modules = imported("-m", "fairwind.cli", *command.split())
        roots = {name.partition(".")[0] for name in modules}
        assert not roots & (UNNEEDED | {"altair", "jinja2", "vl_convert"})
    imported("-m", "fairwind.cli", "report", "run")  # keeps the drawing code
    modules = imported("-m", "fairwind.cli", "report", "run")
    assert not {name.partition(".")[0] for name in modules} & (UNNEEDED | {"scipy"})
    assert len(modules) <= MOST_MODULES_OF_REPORT, len(modules)


def test_one_command_is_the_same_as_among_all():
    from typer.main import get_command

    from fairwind.cli.chosen import application, with_one_command
    from fairwind.cli.commands import app

    for name, command in get_command(app).commands.items():
        alone = get_command(with_one_command(app, name))
        assert list(alone.commands) == [name]
        (one,) = alone.commands.values()
        with command.make_context(name, ["--help"], resilient_parsing=True) as context:
            assert one.get_help(context) == command.get_help(context)
        assert list(get_command(application(name)).commands) == [name]
    assert application("chek") is application(None) is app

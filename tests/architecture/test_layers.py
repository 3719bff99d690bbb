"""The check of layers lets allowed arrows pass and refuses a planted one, in Rust and in Python."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

TABLE = """
[rust]
units = []
tcp = ["units"]
network = ["units"]

[python]
errors = []
statistics = []
run = ["errors"]
fairwind = ["run"]
cli = ["*"]
"""


class Tree:
    """A small copy of the project's shape, to plant arrows in."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.table = root / "layers.toml"
        self.table.write_text(TABLE)
        (root / "Cargo.toml").write_text('[workspace]\nresolver = "3"\nmembers = ["crates/*"]\n')
        for room in ("units", "tcp", "network"):
            self.crate(room)
        self.crate("tcp", "units")
        self.module("__init__.py", "from fairwind.run import execute\n")
        self.module("errors.py", "")
        self.module("run/__init__.py", "from fairwind.errors import FairwindError\n")
        self.module("cli/__init__.py", "import fairwind.run\nfrom fairwind import errors\n")

    def crate(self, room: str, *needs: str, kind: str = "dependencies") -> None:
        """Write a crate that depends on the named rooms."""
        folder = self.root / "crates" / room
        (folder / "src").mkdir(parents=True, exist_ok=True)
        (folder / "src" / "lib.rs").write_text("")
        lines = [f'fairwind-{need} = {{ path = "../{need}" }}' for need in needs]
        package = f'[package]\nname = "fairwind-{room}"\nversion = "0.1.0"\nedition = "2024"\n'
        (folder / "Cargo.toml").write_text("\n".join([package, f"[{kind}]", *lines, ""]))

    def module(self, path: str, text: str) -> None:
        """Write a file of the Python package."""
        file = self.root / "python" / "fairwind" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def check(self) -> subprocess.CompletedProcess[str]:
        """Run the check on this tree."""
        return run_check("--root", str(self.root), "--table", str(self.table))


def run_check(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the tool as a person would."""
    command = [sys.executable, str(ROOT / "tools" / "layers.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Return a tree in which every arrow is allowed."""
    return Tree(tmp_path)


def test_the_project_itself_keeps_its_layers() -> None:
    answer = run_check()
    assert answer.returncode == 0, answer.stderr


def test_allowed_arrows_pass(tree: Tree) -> None:
    answer = tree.check()
    assert answer.returncode == 0, answer.stderr
    assert "5 arrows between 7 rooms, 0 complaints" in answer.stdout


@pytest.mark.parametrize("kind", ["dependencies", "dev-dependencies", "build-dependencies"])
def test_a_forbidden_dependency_of_a_crate_is_refused(tree: Tree, kind: str) -> None:
    tree.crate("network", "tcp", kind=kind)
    answer = tree.check()
    assert answer.returncode == 1
    assert "crates/network/Cargo.toml" in answer.stderr
    assert "rust room `network` may not know `tcp` (it may know: units)" in answer.stderr


@pytest.mark.parametrize(
    "statement",
    [
        "import fairwind.run",
        "from fairwind import run",
        "from fairwind.run import execute",
        "from . import run",
        "from .run.one import two",
        "def later():\n    from fairwind.run import execute",
        "import importlib\nimportlib.import_module('fairwind.run')",
    ],
)
def test_a_forbidden_import_is_refused_however_it_is_written(tree: Tree, statement: str) -> None:
    tree.module("statistics.py", statement + "\n")
    answer = tree.check()
    assert answer.returncode == 1
    assert "python/fairwind/statistics.py:" in answer.stderr
    assert "python room `statistics` may not know `run` (it may know: nothing)" in answer.stderr


def test_a_relative_import_is_followed_out_of_a_package(tree: Tree) -> None:
    tree.module("statistics/__init__.py", "")
    tree.module(
        "statistics/deep/mean.py", "from ...run import execute\nfrom ..deep import median\n"
    )
    answer = tree.check()
    assert answer.returncode == 1
    assert "python/fairwind/statistics/deep/mean.py:1: " in answer.stderr
    assert "1 complaints" in answer.stdout


def test_a_line_may_speak_of_one_module_of_a_package(tree: Tree) -> None:
    tree.table.write_text(TABLE + '"cli.colours" = []\n')
    tree.module("cli/colours.py", "from fairwind import run\n")
    tree.module("errors.py", "from fairwind.cli.colours import RED\n")
    answer = tree.check()
    assert answer.returncode == 1
    assert "room `cli.colours` may not know `run`" in answer.stderr
    assert "room `errors` may not know `cli.colours`" in answer.stderr
    assert "2 complaints" in answer.stdout


def test_taking_a_name_from_the_public_face_is_an_arrow_to_it(tree: Tree) -> None:
    tree.module("statistics.py", "from fairwind import load\n")
    answer = tree.check()
    assert answer.returncode == 1
    assert "may not know `fairwind`" in answer.stderr


def test_studies_know_only_allowed_rooms(tree: Tree) -> None:
    study = tree.root / "studies" / "one" / "study.py"
    study.parent.mkdir(parents=True)
    study.write_text("from ..run import own\nfrom fairwind import run\nimport fairwind.errors\n")
    tree.table.write_text(TABLE + '"studies/" = ["errors"]\n')
    answer = tree.check()
    assert answer.returncode == 1
    assert "studies/one/study.py:2: python room `studies/` may not know `run`" in answer.stderr
    assert "1 complaints" in answer.stdout


def test_the_package_may_not_import_studies(tree: Tree) -> None:
    tree.module("statistics.py", "from fairwind_studies.one.study import STUDY\n")
    answer = tree.check()
    assert answer.returncode == 1
    assert "room `statistics` may not know `studies/`" in answer.stderr


def test_a_room_without_a_line_in_the_table_is_reported(tree: Tree) -> None:
    tree.crate("testbed")
    tree.module("plots.py", "")
    answer = tree.check()
    assert answer.returncode == 1
    assert "rust: room `testbed` has no line" in answer.stderr
    assert "python: room `plots` has no line" in answer.stderr


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ("a = ['b']\nb = ['a']\n", "runs in a circle: "),
        ("a = ['nowhere']\n", "allows rooms that have no line: nowhere"),
        ("a = [\n", "layers.toml"),
    ],
)
def test_a_table_that_cannot_be_right_is_refused(tree: Tree, extra: str, said: str) -> None:
    tree.table.write_text(TABLE + extra)
    answer = tree.check()
    assert answer.returncode == 2
    assert said in answer.stderr

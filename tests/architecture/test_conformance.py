"""The conformance ledger names tests that exist, and its check notices when one does not."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

ENTRY = """
document = "RFC 1"
title = "one"

[[requirement]]
section = "2"
level = "MUST"
says = "it works"
"""


def run_check(root: Path, *options: str) -> tuple[int, str, str]:
    command = [sys.executable, str(ROOT / "tools" / "conformance.py"), "--root", str(root)]
    answer = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    return answer.returncode, answer.stdout, answer.stderr


def ledger(root: Path, rest: str) -> Path:
    """Write a ledger of one entry beside one Rust test, one script and one Python test."""
    (root / "docs" / "conformance").mkdir(parents=True)
    (root / "docs" / "conformance" / "rfc1.toml").write_text(ENTRY + rest)
    (root / "one.rs").write_text("#[test]\nfn it_works() {}\nfn helper() {}\n")
    (root / "one.pkt").write_text("// shows it\n")
    (root / "one.py").write_text("def test_it() -> None: ...\n")
    return root


def test_the_projects_own_ledger_names_tests_that_exist() -> None:
    code, _, said = run_check(ROOT)
    assert code == 0, said


@pytest.mark.parametrize("test", ["one.rs::it_works", "one.pkt", "one.py::test_it"])
def test_a_test_that_exists_is_found(tmp_path: Path, test: str) -> None:
    root = ledger(tmp_path, f'status = "met"\ntests = ["{test}"]\n')
    assert run_check(root) == (0, "", "")


@pytest.mark.parametrize(
    ("test", "complaint"),
    [
        ("one.rs::helper", "one.rs has no test helper"),
        ("one.rs::it_work", "one.rs has no test it_work"),
        ("two.rs::it_works", "there is no file two.rs"),
        ("two.pkt", "there is no file two.pkt"),
        ("one.py::test_i", "one.py has no test test_i"),
    ],
)
def test_a_test_that_does_not_exist_is_named(tmp_path: Path, test: str, complaint: str) -> None:
    root = ledger(tmp_path, f'status = "met"\ntests = ["{test}"]\n')
    code, _, said = run_check(root)
    assert (code, said) == (1, f"rfc1.toml: section 2: {complaint}\n")


@pytest.mark.parametrize(
    ("rest", "complaint"),
    [
        ('status = "met"\n', "what is met names a test that shows it"),
        ('status = "not met"\n', "what is not met needs a reason"),
        ('status = "done"\n', "the status is one of"),
        ('status = "met"\ntest = ["one.pkt"]\n', "unknown keys test"),
    ],
)
def test_a_malformed_entry_is_refused(tmp_path: Path, rest: str, complaint: str) -> None:
    code, _, said = run_check(ledger(tmp_path, rest))
    assert code == 1
    assert complaint in said


def test_the_table_counts_what_is_met(tmp_path: Path) -> None:
    root = ledger(tmp_path, 'status = "met"\ntests = ["one.pkt"]\n')
    code, shown, _ = run_check(root, "--table")
    assert code == 0
    assert "| RFC 1: one | 1 | 1 | 0 | 0 | 0 |" in shown

"""The check of circles finds planted ones, in Rust and in Python, and passes a tree without any."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def write(root: Path, path: str, text: str) -> None:
    """Write a file below ``root``."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def check(root: Path, most: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the check on the tree at ``root``."""
    tool = [sys.executable, str(ROOT / "tools" / "circles.py"), "--root", str(root)]
    return subprocess.run([*tool, "--most", str(most)], capture_output=True, text=True, check=False)


def test_tree_without_circles_passes(tmp_path: Path) -> None:
    write(tmp_path, "crates/a/src/lib.rs", "mod one;\nmod two;\npub use one::One;\n")
    write(tmp_path, "crates/a/src/one.rs", "use crate::two::Two;\npub struct One(Two);\n")
    write(tmp_path, "crates/a/src/two.rs", "// use crate::One;\npub struct Two;\n")
    write(tmp_path, "python/p/__init__.py", "from p.one import f\n")
    write(tmp_path, "python/p/one.py", "import p.two\n\ndef f() -> None: ...\n")
    write(tmp_path, "python/p/two.py", "")
    result = check(tmp_path)
    assert result.returncode == 0, result.stdout


def test_circle_through_reexport_is_found_in_rust(tmp_path: Path) -> None:
    write(tmp_path, "crates/a/src/lib.rs", "mod one;\nmod two;\npub use one::{One, Other};\n")
    write(tmp_path, "crates/a/src/one.rs", "use super::two::{self, Two};\npub struct One;\n")
    write(tmp_path, "crates/a/src/two.rs", "use crate::One;\npub struct Two(One);\n")
    result = check(tmp_path)
    assert result.returncode == 1
    assert "crates/a/src/one.rs, crates/a/src/two.rs" in result.stdout


def test_circle_by_inline_path_is_found_in_rust(tmp_path: Path) -> None:
    write(tmp_path, "crates/a/src/lib.rs", "mod one;\nmod two;\n")
    write(tmp_path, "crates/a/src/one.rs", "pub fn f() { crate::two::g() }\n")
    write(tmp_path, "crates/a/src/two.rs", "pub fn g() { super::one::f() }\n")
    assert check(tmp_path).returncode == 1


def test_use_in_tests_makes_no_circle(tmp_path: Path) -> None:
    write(tmp_path, "crates/a/src/lib.rs", "mod one;\nmod two;\n")
    write(tmp_path, "crates/a/src/one.rs", "use crate::two::Two;\npub struct One(Two);\n")
    tests = "#[cfg(test)]\nmod tests {\n    use crate::one::One;\n}\n"
    write(tmp_path, "crates/a/src/two.rs", "pub struct Two;\n" + tests)
    assert check(tmp_path).returncode == 0


def test_lazy_import_makes_circle_in_python(tmp_path: Path) -> None:
    write(tmp_path, "python/p/__init__.py", "")
    write(tmp_path, "python/p/one.py", "from p.two import g\n\ndef f() -> None: ...\n")
    write(tmp_path, "python/p/two.py", "def g() -> None:\n    from p.one import f\n")
    assert check(tmp_path).returncode == 1
    assert check(tmp_path, most=1).returncode == 0

"""The check of sizes finds long functions and files where they are, and nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

LIMITS = """
[[limits]]
files = "src/*.rs"
function_lines = 4
file_lines = 12

[[limits]]
files = "src/*.py"
function_lines = 4
file_lines = 12
"""


def run_check(
    root: Path, source: str, name: str = "one.rs", exceptions: str = ""
) -> tuple[int, str]:
    """Measure one file by small limits, and return the exit code and the complaints."""
    file = root / "src" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(source)
    table = root / "sizes.toml"
    table.write_text(f"{LIMITS}\n[exceptions]\n{exceptions}")
    tool = ROOT / "tools" / "sizes.py"
    command = [sys.executable, str(tool), "--root", str(root), "--table", str(table)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    return answer.returncode, answer.stderr


LONG_RUST = """fn short() -> u8 {
    1
}

fn long() -> u8 {
    let x = 1;
    let y = 2;
    x + y
}
"""


def test_the_project_itself_keeps_its_sizes() -> None:
    command = [sys.executable, str(ROOT / "tools" / "sizes.py")]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr


def test_a_long_function_is_named_with_its_line(tmp_path: Path) -> None:
    code, said = run_check(tmp_path, LONG_RUST)
    assert code == 1
    assert said.splitlines() == [
        "src/one.rs:5: `src/one.rs::long` has 5 lines, more than 4; "
        "divide it, or give a reason in tools/sizes.toml"
    ]


def test_a_long_file_is_named(tmp_path: Path) -> None:
    code, said = run_check(tmp_path, "// line\n" * 13)
    assert code == 1
    assert said.startswith("src/one.rs:1: `src/one.rs` has 13 lines, more than 12")


@pytest.mark.parametrize(
    "body",
    [
        '    "}";',
        "    '}';",
        '    r#"}"}"#;',
        "    /* } */",
        "    // }",
        '    "\\"}";',
        "    '\\u{7d}';",
        "    /* // } */",
    ],
)
def test_a_brace_without_meaning_does_not_end_a_function(tmp_path: Path, body: str) -> None:
    source = "fn long<'a>(x: &'a [u8; { 1 + 1 }]) {\n" + f"{body}\n" * 3 + "}\n"
    code, said = run_check(tmp_path, source)
    assert code == 1
    assert "`src/one.rs::long` has 5 lines" in said


def test_a_declaration_without_a_body_has_no_length(tmp_path: Path) -> None:
    source = (
        "trait Clock {\n    fn now(&self) -> [u8; 2];\n    fn later(&self);\n}\n\n\nfn e() {}\n"
    )
    assert run_check(tmp_path, source) == (0, "")


def test_a_long_python_function_is_found(tmp_path: Path) -> None:
    body = "".join(f"        a{index} = {index}\n" for index in range(4))
    source = f"class Clock:\n    def now(self):\n{body}"
    code, said = run_check(tmp_path, source, name="one.py")
    assert code == 1
    assert "src/one.py:2: `src/one.py::now` has 5 lines" in said


def test_an_exception_with_a_reason_excuses(tmp_path: Path) -> None:
    assert run_check(tmp_path, LONG_RUST, exceptions='"src/one.rs::long" = "a table"\n') == (0, "")


def test_an_exception_without_a_reason_or_a_use_is_refused(tmp_path: Path) -> None:
    exceptions = '"src/one.rs::long" = " "\n"src/one.rs::short" = "was long"\n'
    code, said = run_check(tmp_path, LONG_RUST, exceptions=exceptions)
    assert code == 1
    assert "the exception for `src/one.rs::long` gives no reason" in said
    assert "the exception for `src/one.rs::short` is no longer needed" in said

"""What the documents say is true: their links lead somewhere, and their scenarios are valid."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted(
    file
    for place in ("*.md", "docs/**/*.md", "studies/**/*.md")
    for file in ROOT.glob(place)
    if "reference" not in file.parts
)
# Pages that `make docs` writes; that they are there and not stale is what `make docs-check` tests.
GENERATED = ROOT / "docs" / "reference"

LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)")
SCENARIO = re.compile(r"```toml\n(.*?)```", re.DOTALL)


def scenarios() -> list[tuple[str, str]]:
    """Collect the whole scenarios of all documents; a fragment has no duration."""
    return [
        (file.relative_to(ROOT).as_posix(), block)
        for file in DOCUMENTS
        for block in SCENARIO.findall(file.read_text(encoding="utf-8"))
        if re.search(r"^duration = ", block, re.MULTILINE)
    ]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(document: Path) -> None:
    targets = [document.parent / link for link in LINK.findall(document.read_text("utf-8"))]
    missing = [
        target
        for target in targets
        if not target.exists() and GENERATED not in target.resolve().parents
    ]
    assert missing == []


def test_the_documents_show_scenarios() -> None:
    assert {file for file, _ in scenarios()} >= {"README.md", "docs/guides/first-experiment.md"}


@pytest.mark.parametrize(("document", "text"), scenarios())
def test_every_scenario_shown_is_valid(document: str, text: str) -> None:
    not_built = "the core is not built: make build"
    pytest.importorskip("fairwind._core", reason=not_built, exc_type=ImportError)
    from fairwind.scenario import Scenario

    assert Scenario(document, text).check().warnings == ()

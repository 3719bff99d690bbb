"""Open the page of every reduced study in Chromium and check it: `make study-pages`.

    python tools/study_pages.py [STUDY...] [--runs DIR]

Each study is run into DIR/STUDY-reduced, as far as that folder lacks it, and its page is written
anew. A page must write nothing to the console, draw every figure, be no wider than a window of 1280
or 400 pixels, and have less than 1.5 MB.

Exit code: 0 all pages pass, 1 some do not, 2 a study is unknown or Chromium is missing.
"""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from fairwind.studies.study import study_names

ROOT = Path(__file__).resolve().parents[1]
MOST_BYTES = 1_500_000
WIDTHS = (1280, 400)

sys.path.insert(0, str(ROOT / "tests" / "python"))
from browser import shown  # noqa: E402 - the tests look at pages in the same way


def main() -> int:
    """Run what is missing, and check each page."""
    arguments = _arguments()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    unknown = [name for name in arguments.studies if name not in study_names()]
    if unknown or chromium is None:
        _tell(f"error: no study {', '.join(unknown)}" if unknown else "error: no Chromium found")
        return 2
    has_failed = False
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name in arguments.studies or study_names():
            complaints = [*_checked(name, arguments.runs / f"{name}-reduced", browser)]
            has_failed |= bool(complaints)
            _tell(f"{name}: {'; '.join(complaints) or 'passed'}")
        browser.close()
    return int(has_failed)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("studies", metavar="STUDY", nargs="*", help="all if none is named")
    parser.add_argument("--runs", metavar="DIR", type=Path, default=ROOT / "runs")
    return parser.parse_args()


def _checked(name: str, folder: Path, browser: Browser) -> Iterator[str]:
    """Run a study as far as its folder lacks it, and tell what is wrong with its page."""
    command = [sys.executable, "-m", "fairwind.cli", "study", name, "--reduced"]
    run = subprocess.run([*command, "--out", str(folder)], stdout=subprocess.DEVNULL, check=False)
    # The second is that of a search.
    pages = [file for name in ("report.html", "tune.html") if (file := folder / name).exists()]
    if run.returncode != 0 or not pages:
        yield f"the study ended with code {run.returncode}"
        return
    page = pages[0].resolve()
    if (size := page.stat().st_size) >= MOST_BYTES:
        yield f"the page has {size:,} bytes, not less than {MOST_BYTES:,}"
    for width in WIDTHS:
        with shown(browser, page, width) as found:
            yield from (f"console at {width} px: {text}" for text in found.messages)
            yield from (f"not drawn at {width} px: {figure}" for figure in found.undrawn())
            if found.overflow:
                yield f"{found.overflow} px wider than a window of {width} px"


def _tell(message: str) -> None:
    sys.stderr.write(f"{message}\n")


if __name__ == "__main__":
    sys.exit(main())

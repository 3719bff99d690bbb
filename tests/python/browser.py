"""Pages in Chromium: what is on the console, what is drawn, and how it looks from afar."""

from __future__ import annotations

import base64
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PICTURES = Path(__file__).with_name("pictures")
"""Reference pictures; FAIRWIND_PICTURES_WRITE=1 writes those of the selected tests anew."""

WRITES = os.environ.get("FAIRWIND_PICTURES_WRITE") == "1"
COARSE = 32
"""Pictures are compared as so many times so many spots: letters of other fonts blur into grey."""

TOLERANCE = 0.25
"""Share of the ink that another font or another Chromium may move to other spots."""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start Chromium once; skip where there is none."""
    if CHROMIUM is None:
        pytest.skip("no Chromium found; install the package chromium")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield chromium
        chromium.close()


@dataclass
class Shown:
    """A page in a window, with every figure drawn.

    Attributes
    ----------
    page : Page
        To be asked about what it shows.
    messages : list of str
        All that was written to the console, and errors that nobody caught.
    requests : list of str
        Addresses that the page asked for, its own included.
    """

    page: Page
    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def undrawn(self) -> list[str]:
        """Name the figures without a mark, or whose canvas is of one colour."""
        names: list[str] = self.page.evaluate(UNDRAWN)
        return names

    @property
    def overflow(self) -> int:
        """Pixels by which the page is wider than the window."""
        pixels: int = self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        return pixels


UNDRAWN = """() => [...document.querySelectorAll(".chart")].filter((chart) => {
  const canvas = chart.querySelector("canvas");
  if (canvas) {
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    return pixels.every((value, place) => value === pixels[place % 4]);
  }
  const marks = ".mark-rule *, .mark-line *, .mark-rect *, .mark-symbol *, .mark-area *";
  return !chart.querySelector(marks) || chart.getBoundingClientRect().height < 50;
}).map((chart) => chart.dataset.figure)"""


SAME_FONT = """document.addEventListener("DOMContentLoaded", () => {
  const style = document.createElement("style");
  style.textContent = 'body { font-family: "DejaVu Sans", sans-serif !important; }';
  document.head.append(style);
});"""
"""The font of the reference pictures: others are narrower, and break lines elsewhere."""


@contextmanager
def shown(browser: Browser, path: Path, width: int = 1280, height: int = 900) -> Iterator[Shown]:
    """Open a page in a window of this size and wait until its figures are drawn."""
    page = browser.new_page(viewport={"width": width, "height": height})
    page.add_init_script(SAME_FONT)
    found = Shown(page)
    page.on("console", lambda message: found.messages.append(message.text))
    page.on("pageerror", lambda error: found.messages.append(str(error)))
    page.on("request", lambda request: found.requests.append(request.url))
    try:
        page.goto(path.as_uri())
        page.wait_for_function("document.documentElement.dataset.drawn", timeout=120_000)
        yield found
    finally:
        page.close()


def assert_looks_as_before(browser: Browser, name: str, picture: bytes) -> None:
    """Compare a screenshot with its reference from afar: as spots of grey, whatever the font.

    Raises
    ------
    AssertionError
        If they differ by more than `TOLERANCE`.
    """
    file = PICTURES / f"{name}.png"
    page = browser.new_page()
    try:
        address: str = page.evaluate(SHRUNK, _address(picture))
        small = base64.b64decode(address.partition(",")[2])
        if WRITES:
            PICTURES.mkdir(exist_ok=True)
            file.write_bytes(small)
        reference, drawn = spots(page, file.read_bytes()), spots(page, small)
    finally:
        page.close()
    difference = moved_ink(reference, drawn)
    assert difference < TOLERANCE, (
        f"the picture {name} differs by {difference:.3f} from {file}; if it is meant to, write it "
        "anew with FAIRWIND_PICTURES_WRITE=1 and look at it"
    )


def spots(page: Page, picture: bytes) -> list[float]:
    """Give the darkness of a picture's spots, 0 for white and 1 for black."""
    found: list[float] = page.evaluate(SPOTS, [_address(picture), COARSE])
    return found


def moved_ink(one: list[float], other: list[float]) -> float:
    """Give the share of the ink of two pictures that is not in the same spots, 0 to 1."""
    ink = sum(one) + sum(other)
    return sum(abs(a - b) for a, b in zip(one, other, strict=True)) / ink if ink else 0.0


def _address(picture: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(picture).decode()


LOADED = """const image = new Image();
  image.src = address;
  await image.decode();
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";"""

SHRUNK = (
    "async (address) => {"
    + LOADED
    + """
  const scale = Math.min(1, 240 / image.width);
  canvas.width = image.width * scale;
  canvas.height = image.height * scale;
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL("image/png");
}"""
)

SPOTS = (
    "async ([address, side]) => {"
    + LOADED
    + """
  canvas.width = canvas.height = side;
  context.fillStyle = "white";
  context.fillRect(0, 0, side, side);
  context.drawImage(image, 0, 0, side, side);
  const pixels = context.getImageData(0, 0, side, side).data;
  return Array.from({ length: side * side }, (_, spot) =>
    1 - (pixels[4 * spot] + pixels[4 * spot + 1] + pixels[4 * spot + 2]) / 765);
}"""
)

"""A real headless Chromium that opens pages from disk as a reader would. The fixtures are in conftest.py."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip

# Pixels of the canvas that differ from its commonest colour: a drawn chart has thousands, a blank one none.
DRAWN = """canvas => {
  const d = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
  const counts = new Map();
  for (const p of d) counts.set(p, (counts.get(p) ?? 0) + 1);
  return d.length - Math.max(...counts.values());
}"""

# Every text whose colour has less than 4.5:1 against its surface.
POOR_CONTRAST = """() => {
  const parse = c => c.match(/[0-9.]+/g).map(Number), channel = v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0.99) return c; } return [255, 255, 255]; };
  const poor = [];
  for (const e of document.querySelectorAll("main *")) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) || !e.getClientRects().length) continue;
    const a = light(parse(getComputedStyle(e).color)), b = light(behind(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push(`${e.className} ${e.textContent.slice(0, 30)} ${ratio.toFixed(2)}`);
  }
  return poor;
}"""


def chromium() -> str | None:
    return next((path for path in map(shutil.which, NAMES) if path), None)


def need_chromium() -> None:
    """Skips the module that calls it where there is no Chromium: at its top, so that pytest says it in one line."""
    if chromium() is None:
        pytest.skip(
            "browser tests not run: no Chromium on PATH; install it with: apt-get install -y chromium (as root)",
            allow_module_level=True,
        )


@contextmanager
def started_browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        yield started
        started.close()


class Visit:
    """A page that was opened, with all it said and asked for."""

    def __init__(self, context: BrowserContext, path: Path) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page: Page = context.new_page()
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda e: self.complaints.append(str(e)))
        self.page.on("request", lambda r: self.requests.append(r.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready]")


Open = Callable[..., Visit]


@contextmanager
def visits(browser: Browser) -> Iterator[Open]:
    contexts: list[BrowserContext] = []

    def opened(path: Path, width: int = 1280, scheme: Any = "light") -> Visit:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, accept_downloads=True
        )
        contexts.append(context)
        return Visit(context, path)

    yield opened
    for context in contexts:
        context.close()


def drawn(page: Page, part: str) -> list[int]:
    """Drawn pixels of every chart in the part of the page that has this id."""
    return [c.evaluate(DRAWN) for c in page.query_selector_all(f"#{part} canvas")]


def background(page: Page) -> list[int]:
    colour: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return [int(v) for v in colour.removeprefix("rgb(").removesuffix(")").split(",")]

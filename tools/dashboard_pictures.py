"""Take the pictures of docs/dashboard.md from a real dashboard.

    .venv/bin/python tools/dashboard_pictures.py http://127.0.0.1:8787/#token=... docs/images compare=/compare?... live=/live/RUN

Start `brokerlab serve` over a directory with runs first and give the address it printed. Pages that need a run are named
after it as NAME=PATH; the others are always taken. Needs a Chromium on PATH.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

PAGES = {"runs": "/", "start": "/start", "studies": "/studies", "brokers": "/brokers", "monitor": "/monitor"}
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
WIDTH, HEIGHT, MOST_HEIGHT = 1100, 760, 1500
SETTLED_MS = 3_000  # charts and lists that come after the page itself


def main(address: str, folder: Path, more: dict[str, str]) -> None:
    url, _, token = address.partition("/#token=")
    found = next((path for path in map(shutil.which, CHROMIUM) if path), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        for name, path in {**PAGES, **more}.items():
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            page.goto(f"{url}{path}#token={token}")
            page.wait_for_selector("html[data-ready]")
            page.wait_for_timeout(SETTLED_MS)
            height = min(MOST_HEIGHT, int(page.evaluate("document.documentElement.scrollHeight")))
            page.set_viewport_size({"width": WIDTH, "height": max(HEIGHT, height)})
            page.screenshot(path=folder / f"dashboard-{name}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), dict(pair.split("=", 1) for pair in sys.argv[3:]))

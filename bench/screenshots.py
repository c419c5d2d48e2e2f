"""The pictures of the page in the documentation: `python -m bench.screenshots` (needs Playwright and Chromium)."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Error, sync_playwright

OUT = Path(__file__).parents[1] / "docs" / "images"
PORT = 8791
URL = f"http://127.0.0.1:{PORT}"
TEACHER = "What was the nationality of Bernhard Heiden's teacher?"
EARLIER = "Who was born earlier, Johannes Brahms or Pyotr Ilyich Tchaikovsky?"
_PLACE = """label => { const canvas = document.querySelector(".canvas"), box = canvas.getBoundingClientRect();
const at = canvas.graph.nodes().filter(node => node.data("name") === label)[0].renderedPosition();
return [box.x + at.x, box.y + at.y]; }"""


def show(page: Any, columns: int = 1, **query: str) -> None:
    """Open the page at a question and wait until the pictures are drawn."""
    page.goto(f"{URL}/?{urlencode(query)}")
    page.locator(".column[aria-busy=false]").nth(columns - 1).wait_for()
    page.locator(".canvas canvas").nth(3 * columns - 1).wait_for()
    page.wait_for_timeout(1_500)


def take(browser: Any) -> None:
    """Take all pictures."""
    page = browser.new_page(viewport={"width": 1180, "height": 1700})
    show(page, q=TEACHER)
    for box in page.locator("input[type=checkbox]").all():
        box.check()
    page.wait_for_timeout(1_500)
    page.mouse.click(*page.evaluate(_PLACE, "Paul Hindemith"))
    page.get_by_role("complementary", name="Node Paul Hindemith").wait_for()
    page.screenshot(path=OUT / "page-answer.png", full_page=True)
    page = browser.new_page(viewport={"width": 1280, "height": 1000}, color_scheme="dark")
    show(page, 2, **{"q": EARLIER, "with": "anchorrag"})
    page.screenshot(path=OUT / "page-compare.png", full_page=True)


def main() -> None:
    """Serve the bundled knowledge base and take the pictures."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    command = [sys.executable, "-m", "triplecheck.app.main", "serve", "--port", str(PORT)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as server, sync_playwright() as play:
        try:
            for _ in range(100):
                try:
                    urllib.request.urlopen(f"{URL}/healthz", timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.2)
            take(play.chromium.launch(executable_path=chromium, args=["--no-sandbox"]))
        except Error as error:
            sys.exit(f"the browser failed: {error}")
        finally:
            server.terminate()


if __name__ == "__main__":
    main()

"""Pages in a real browser: Debian's Chromium, headless, driven by Playwright. Skips where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tunecheck.report.exporters import Run
from tunecheck.report.html import html

_FLAGS = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run",
          "--disable-gpu", "--disable-quic", "--no-sandbox"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One Chromium with a profile of its own. It ends with its file's tests: Playwright's loop would be in the way of
    those that come after them in the same process and run a loop of their own."""
    playwright = pytest.importorskip("playwright.sync_api", reason="the Python package playwright is not installed")
    chromium = shutil.which("chromium")
    if chromium is None or chromium.startswith("/snap/"):       # as a snap it cannot read the tests' files
        pytest.skip("no Chromium here from Debian's packages; run: sudo apt-get install chromium")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=chromium, headless=True, args=_FLAGS)
        yield started
        started.close()


class Watched:
    """A page with everything that it asked for and complained about."""

    def __init__(self, page: Any, url: str) -> None:
        self.page, self.url = page, url
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto(url)

    def quiet(self) -> bool:
        """Nothing but the page itself (and the empty icon inside of it) was asked for; no error, no warning."""
        assert self.complaints == []
        assert [url for url in self.requests if not url.startswith("data:")] == [self.url]
        return True


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Watched]]:
    """Open the page of a run, or a page's text: ``show(run, color_scheme="dark", java_script_enabled=False, ...)``."""
    contexts = []

    def _show(run: Run | str, **options: Any) -> Watched:
        file = tmp_path / f"report{len(contexts)}.html"
        file.write_text(run if isinstance(run, str) else html(run), encoding="utf-8")
        contexts.append(browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options}))
        page = contexts[-1].new_page()
        page.set_default_timeout(20_000)
        return Watched(page, file.as_uri())

    yield _show
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def screenshots(repo: Path) -> Path:
    """Where CI picks up what the pages looked like."""
    folder = repo / "reports" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    return folder

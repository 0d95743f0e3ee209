"""How long does a customer wait for the fleet page? A real headless Chromium opens it from disk, a profile of its own
each time.

    .venv/bin/python -m lab.bench.fleet_page [--hosts 1000] [--rounds 5]

Times by the browser's own clock: to the load event, to the first frame after the grid's first row is there, and of one
filtering and one click through to a box's report, each to the frame after it. Exit code 1 when a median misses its goal
or the page is larger than its bound.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.unit.fleet.reports import fleet

from lab.bench.lines import Line, at_most, shown
from tunecheck_fleet.outputs.html import html

OPENS, REACTS, SIZE = 2000.0, 200.0, 2.0
#: Milliseconds from the navigation's start to the frame after the script; the grid is built before the load event.
_SHOWN = """() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => {
  const at = performance.getEntriesByType("navigation")[0];
  const rows = [...document.querySelectorAll("#grid tbody tr")].filter((row) => row.checkVisibility());
  done({ load: at.loadEventEnd, shown: performance.now(), rows: rows.length, height: rows[0].offsetHeight,
         nodes: document.querySelectorAll("*").length });
})))"""
_FRAME = "new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"
_FILTERED = f"""async () => {{
  const text = document.getElementById("text"), from = performance.now();
  text.value = "h100-b iommu";
  text.dispatchEvent(new Event("input", {{ bubbles: true }}));
  await {_FRAME};
  return performance.now() - from;
}}"""
_OPENED = f"""async () => {{
  const from = performance.now();
  [...document.querySelectorAll("#grid tbody tr")].find((row) => !row.hidden).querySelector("a").click();
  await new Promise((done) => addEventListener("hashchange", done, {{ once: true }}));
  await {_FRAME};
  return document.querySelector("#box h1").checkVisibility() ? performance.now() - from : NaN;
}}"""


def measure(count: int, rounds: int) -> list[Line]:
    """The judged lines: medians of the rounds; the slowest is in the note, with how busy the machine was."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("bench_fleet_page: no Chromium here; run: sudo apt-get install chromium")
    told = fleet(count)
    begun = time.perf_counter()
    page = html(told)
    took = 1000 * (time.perf_counter() - begun)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        file = Path(folder) / "fleet.html"
        file.write_text(page, encoding="utf-8")
        runs = [_round(driver, chromium, file) for _ in range(rounds)]
    assert all(run["rows"] == count for run in runs)
    note = f"{count} hosts, {runs[0]['nodes']} elements; load of the machine {os.getloadavg()[0]:.1f}"
    return [
        at_most("page", "size", len(page.encode()) / 1e6, "MB", SIZE, note=note),
        at_most("page", "to make it", took, "ms", None),
        _median("to the load event", runs, "load", OPENS),
        _median("to the grid's first row on screen", runs, "shown", OPENS),
        _median("to filter hosts and causes by two words", runs, "filter", REACTS),
        _median("to open a host's report", runs, "box", REACTS),
    ]


def _round(driver: Any, chromium: str, file: Path) -> dict[str, float]:
    browser = driver.chromium.launch(executable_path=chromium, headless=True, args=["--no-sandbox", "--disable-gpu"])
    try:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(file.as_uri())
        run: dict[str, float] = page.evaluate(_SHOWN)
        return {**run, "filter": page.evaluate(_FILTERED), "box": page.evaluate(_OPENED)}
    finally:
        browser.close()


def _median(what: str, runs: list[dict[str, float]], name: str, goal: float) -> Line:
    values = [run[name] for run in runs]
    return at_most("page", what, statistics.median(values), "ms", goal,
                   note=f"median of {len(runs)}; the slowest {max(values):.0f} ms")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    lines = measure(args.hosts, args.rounds)
    print("\n".join(shown(line) for line in lines))
    return int(any(line.good is False for line in lines))


if __name__ == "__main__":
    sys.exit(main())

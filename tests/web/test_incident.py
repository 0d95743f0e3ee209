"""The page of an incident in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.recovery.test_page import EVIL, page, record, rows
from tests.web.test_page import Show, _overflow

from tunecheck.recovery.model import Incident, Step, Why
from tunecheck.recovery.page.incident import Evidence, incident


@pytest.mark.parametrize(("name", "width", "scheme"), [("desktop", 1200, "light"), ("phone", 420, "light"),
                                                       ("dark", 1200, "dark")])
def test_it_fits_and_asks_for_nothing(show: Show, screenshots: Path, name: str, width: int, scheme: str) -> None:
    seen = show(page(evidence=Evidence({"frozen_seconds": 30.0}, tuple(rows(8 if name == "dark" else 2)))),
                viewport={"width": width, "height": 900}, color_scheme=scheme)
    assert seen.quiet() and not _overflow(seen.page)
    seen.page.screenshot(path=str(screenshots / f"incident-{name}.png"), full_page=True)
    names = seen.page.evaluate("[...document.querySelectorAll('.strips .curve > text, .strips .cross > text')].filter("
                               "e => { const b = e.getBBox(), v = e.ownerSVGElement.viewBox.baseVal;"
                               " return b.x < 0 || b.x + b.width > v.width || b.y < 0 }).length")
    assert names == 0, "words that the picture cuts off"


def test_foreign_words_run_nowhere(show: Show) -> None:
    from tests.unit.recovery.test_page import WHEN

    looks = [row | {"state": EVIL, "gpus": {EVIL: [1, 2, 3, 4]}} for row in rows()]
    found = Incident((record(Step.NOTICED, unit=EVIL), record(Step.STAYS_DOWN, 5, Why.NOT_STARTED, EVIL)))
    seen = show(incident(found, Evidence({"culprit": {"message": EVIL}}, tuple(looks), (), ((EVIL, 1),), EVIL), EVIL,
                         WHEN))
    assert seen.quiet() and seen.page.evaluate("window.hit === undefined")


def test_the_end_of_a_plot_is_seen_first_on_a_phone(show: Show) -> None:
    seen = show(page(), viewport={"width": 420, "height": 900})
    shown = seen.page.evaluate("[...document.querySelectorAll('.strips .plot')].every(e => { const t = [..."
                               "e.querySelectorAll('.cross text')].pop().getBoundingClientRect(), b = "
                               "e.getBoundingClientRect(); return t.right <= b.right && t.left >= b.left })")
    assert shown

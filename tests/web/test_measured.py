"""What trials measured, in a real browser."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.unit.checks.measurements import measured
from tests.unit.facts.trees import flat
from tests.unit.report.boxes import judged, spec, switches, trialled
from tests.web.test_page import _ACROSS, _WITHIN, Show, _lit, _overflow

from tunecheck.report.html import html

_EVIL = "</script><script>window.hit=1</script><img src=x onerror='window.hit=1'>\"'&\x1b[31m"
_HANG = {"trial": "allreduce", "phase": "soak", "ranks": 4, "aftermath": "wedged", "text": "GPU1 does not answer",
         "culprits": ["worker 1 (GPU1, pid 4711): stopped"], "victims": ["worker 0 (GPU0, pid 4710): beats"],
         "bundle": "/root/tunecheck-stall.tar.zst"}


@cache
def _eight() -> str:
    """The page of trialled(8), which most tests open: made once."""
    return html(trialled(8))


def _cell(page: Any, quantity: str, a: int, b: int) -> Any:
    return page.locator(f"#heat-{quantity} tbody tr:nth-child({a + 1}) > :nth-child({b + 2})")


def _shown(page: Any) -> list[str]:
    found: list[str] = page.eval_on_selector_all(".heat-of", "all => all.filter(one => one.checkVisibility()).map("
                                                             "one => one.id)")
    return found


def test_eight_gpus_one_matrix_at_a_time(show: Show, screenshots: Path) -> None:
    shown = show(_eight())
    page = shown.page
    assert _shown(page) == ["heat-one-way"]
    assert page.locator("#heat-one-way td.heat").count() == 56
    weak = _cell(page, "one-way", 3, 2)
    assert weak.inner_text().split() == ["22.1*", "77", "%"]
    assert weak.get_attribute("aria-label") == "GPU3 to GPU2: 22.1 GB/s, 77 %, the weakest"
    assert page.locator("#heat-one-way td.weakest").count() == 1
    page.screenshot(path=screenshots / "measured-light.png", full_page=True)
    page.get_by_text("Latency", exact=True).click()
    assert _shown(page) == ["heat-latency"]
    assert page.locator("#heat-latency td.weakest").all_inner_texts()[0].split() == ["1490*", "+5", "%"]
    page.get_by_text("Both ways", exact=True).click()
    assert _shown(page) == ["heat-both-ways"]
    assert _cell(page, "both-ways", 2, 3).inner_text() == _cell(page, "both-ways", 3, 2).inner_text()
    assert shown.quiet()


def test_a_cell_lights_its_path_and_tells_the_prediction(show: Show, screenshots: Path) -> None:
    shown = show(_eight())
    page = shown.page
    _cell(page, "one-way", 1, 0).hover()
    assert _lit(page) == _WITHIN
    told = page.locator("#heat-detail").inner_text()
    assert page.locator("#heat-detail h3").inner_text() == "GPU1 to GPU0"
    for words in ("56.5 GB/s", "57.6 GB/s (slowest link", "98 % of the prediction", "as one way is measured",
                  "5, spread 1 %", "read back and compared", "without peer access 22.0 GB/s", "PIX"):
        assert words in told
    _cell(page, "one-way", 6, 0).click()
    page.locator("h1").hover()
    assert _lit(page) == _ACROSS, "a click keeps the pair"
    page.get_by_text("Latency", exact=True).click()
    assert page.locator("td.kept").count() == 1
    page.locator("h1").hover()
    assert _lit(page) == _ACROSS, "also in another matrix"
    assert "1420 ns" in page.locator("#heat-detail").inner_text()
    page.screenshot(path=screenshots / "measured-path.png", full_page=True)
    page.locator("#matrix tbody tr:nth-child(1) > :nth-child(3)").hover()
    assert _lit(page) == _WITHIN and "1420 ns" not in page.locator("#heat-detail").inner_text()
    page.keyboard.press("Escape")
    assert _lit(page) == set()
    assert shown.quiet()


def test_the_same_from_the_keyboard(show: Show) -> None:
    page = show(_eight()).page
    assert page.locator("#measured-pairs td[tabindex='0']:visible").count() == 1, "one stop for the Tab key"
    page.locator("#show-one-way").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "GPU0 to GPU1: 56.5 GB/s, 98 %"
    assert _lit(page) == _WITHIN
    page.keyboard.press("ArrowDown")        # over the diagonal
    assert page.locator("#heat-detail h3").inner_text() == "GPU2 to GPU1"
    page.keyboard.press("PageUp")           # from the first to the last quantity
    assert _shown(page) == ["heat-latency"] and page.locator("#show-latency").is_checked()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("GPU2 to GPU1: 1150 ns")
    page.keyboard.press("Enter")
    page.keyboard.press("PageDown")
    assert page.locator("td[aria-selected='true']:visible").count() == 1
    assert "50.1 GB/s" in page.locator("#heat-detail").inner_text()
    page.keyboard.press("Shift+Tab")        # to the choice: its own arrow keys
    page.keyboard.press("ArrowRight")
    assert _shown(page) == ["heat-both-ways"]
    page.keyboard.press("Tab")
    assert page.locator("#heat-detail h3").inner_text() == "GPU2 to GPU1"


def test_all_reduces_are_a_table_and_a_plot(show: Show) -> None:
    shown = show(trialled(4, "allreduce"))
    page = shown.page
    assert page.locator("#measured-reduce .curve").count() == 2 * 3 + 1
    assert page.locator("#measured-reduce .band").count() == 2 * 2, "own and NCCL; staged has no tail"
    assert page.locator(".cross text").all_text_contents() == ["NCCL is faster from 256 KB"] * 2
    assert page.locator("tr.crossed th").all_inner_texts() == ["256 KB crossover"] * 2
    assert "60000\t60\t1000\tnone" in page.locator("#measured-reduce").inner_text()
    assert "8 KB, own kernel: 3.5 us, p99 4.5 us" in page.locator(".mark title").all_text_contents()
    inside = page.evaluate("""[...document.querySelectorAll('.plot svg')].every(svg => {
        const frame = svg.getBoundingClientRect();
        return [...svg.querySelectorAll('text, .mark, path')].every(one => { const at = one.getBoundingClientRect();
          return at.left >= frame.left && at.right <= frame.right && at.top >= frame.top && at.bottom <= frame.bottom;
        }); })""")
    assert inside, "no word or line leaves its picture"
    assert shown.quiet()


def test_a_hang_stands_at_the_top(show: Show, screenshots: Path) -> None:
    wrong = [{"trial": "integrity", "way": "kernel write", "a": 0, "b": 1, "size": 4096},
             {"trial": "allreduce", "way": "soak sum", "b": 3, "ranks": 4, "arm": "p2p"}]
    shown = show(trialled(4, hangs=[_HANG], wrong=wrong, failures={"allreduce 4 ranks p2p": "rank 3: no memory"}))
    page = shown.page
    told = page.locator(".hang").inner_text()
    for words in ("allreduce of 4 ranks hung in soak", "worker 1 (GPU1, pid 4711): stopped", "worker 0", "1.5 s",
                  "wedged GPU1 does not answer", "/root/tunecheck-stall.tar.zst"):
        assert words in told
    assert page.locator(".hang").bounding_box()["y"] < 300, "seen without scrolling"
    assert "wrong data" in _cell(page, "one-way", 0, 1).inner_text()
    assert "Not measured: allreduce 4 ranks p2p. rank 3: no memory" in page.locator(".failed").inner_text()
    page.screenshot(path=screenshots / "measured-hang.png", full_page=True)
    assert shown.quiet()


def test_everything_is_there_without_javascript(show: Show, screenshots: Path) -> None:
    shown = show(_eight(), java_script_enabled=False, color_scheme="dark")
    page = shown.page
    assert page.locator(".heat-of:visible").count() == 3
    assert not page.locator(".quantity").is_visible() and not page.locator("#heat-detail").is_visible()
    page.locator("#measured-pairs summary").first.click()
    rows = page.locator(".figures tbody tr:visible").all_inner_texts()
    assert len(rows) == 56 * 4 + 28 * 2
    assert "GPU3\u2192GPU2\tone way\t22.1 GB/s\t28.8 GB/s\t77 %\t5\t1 %\tyes" in rows
    page.screenshot(path=screenshots / "measured-no-javascript.png", full_page=True)
    assert shown.quiet()


def test_printed_all_quantities_are_there(show: Show, screenshots: Path) -> None:
    page = show(_eight(), color_scheme="dark").page
    _cell(page, "one-way", 0, 1).click()
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".heat-of:visible").count() == 3 and not page.locator(".quantity").is_visible()
    assert page.locator(".figures tbody tr:visible").count() == 280
    page.pdf(path=screenshots / "measured-print.pdf", prefer_css_page_size=True)


@pytest.mark.parametrize("width", [320, 390, 760, 1024])
@pytest.mark.parametrize("gpus", [2, 8])
def test_a_narrow_window_scrolls_down_only(show: Show, screenshots: Path, width: int, gpus: int) -> None:
    shown = show(trialled(gpus, hangs=[_HANG]), viewport={"width": width, "height": 800})
    assert _overflow(shown.page) == 0
    _cell(shown.page, "one-way", 0, 1).click()
    shown.page.locator("#measured-pairs summary").first.click()
    assert _overflow(shown.page) == 0
    shown.page.screenshot(path=screenshots / f"measured-{gpus}-{width}.png", full_page=True)
    assert shown.quiet()


def test_two_gpus_behind_a_hidden_tree(show: Show) -> None:
    """As two H200 in a virtual machine: the way is not known, the boards are lit all the same."""
    shown = show(judged(flat(), "p2p", spec(2), measured({}, 2))[1])
    _cell(shown.page, "one-way", 0, 1).hover()
    assert _lit(shown.page) == set() and shown.page.locator(".node.gpu.lit").count() == 2
    assert "not derivable" in shown.page.locator("#heat-detail").inner_text()
    assert shown.quiet()


def test_what_a_hostile_trial_says_is_inert(show: Show) -> None:
    hang = {**_HANG, "trial": _EVIL, "phase": _EVIL, "text": _EVIL, "aftermath": _EVIL, "culprits": [_EVIL] * 40,
            "victims": [_EVIL], "bundle": _EVIL * 9}
    found = measured({"hangs": [hang], "failures": {_EVIL: _EVIL}, "notes": {"nccl path": _EVIL, "bundle": _EVIL},
                      "wrong": [{"trial": "allreduce", "way": _EVIL, "b": 0, "ranks": 2, "arm": _EVIL}]}, 4)
    shown = show(judged(switches(4), "p2p", spec(4), found)[1])
    page = shown.page
    _cell(page, "one-way", 0, 1).click()
    assert page.evaluate("window.hit") is None
    assert page.locator("img").count() == 0 and page.locator("script").count() == 2
    assert _overflow(page) == 0
    assert shown.quiet()


def test_reading_verbs_show_nothing_of_it(show: Show) -> None:
    page = show(judged(switches(2), "preflight", spec(2))[1]).page
    assert page.locator("#measured-pairs, #measured-reduce, .hang").count() == 0

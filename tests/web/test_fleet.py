"""The fleet page in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.fleet.reports import HOSTILE, cause, example, fleet, hostile, report, row
from tests.web.conftest import Watched

from tunecheck_fleet.outputs.html import html

Show = Callable[..., Watched]


def _overflow(page: Any) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def _hosts(page: Any) -> list[str]:
    found: list[str] = page.locator("#grid tbody tr:visible th").all_text_contents()
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_offline_and_in_silence(show: Show, screenshots: Path, scheme: str) -> None:
    shown = show(html(example()), color_scheme=scheme)
    page = shown.page
    assert page.locator("#verdict").inner_text().split()[:3] == ["DRIFT", "4", "causes"]
    assert _hosts(page) == ["gpu001", "gpu002", "gpu003", "gpu005", "gpu007", "gpu008", "gpu004", "gpu006"]
    cells = page.locator("#grid tbody tr:first-child > *").all_inner_texts()
    assert cells[:7] == ["gpu001", "h100-a", "answered", "3", "", "ok", "fail"]
    assert page.locator("#causes > .cause").count() == 4 and page.locator("#rest .cause").count() == 4
    assert page.locator(".bar").count() == 40
    page.screenshot(path=screenshots / f"fleet-{scheme}.png", full_page=True)
    assert shown.quiet()


def test_a_lost_gpu_is_one_entry_and_every_fact_of_it_is_found(show: Show) -> None:
    facts = {"gpu.count": (8, 7), "gpu.name": ({"H200": 8}, {"H200": 7}), "pcie.gpu_width": ({"16": 8}, {"16": 7})}
    lost = [cause(authority="majority", fact=fact, hosts=("gpu001",), before=before, value=value)
            for fact, (before, value) in facts.items()]
    shown = show(html(report(hosts=(row(), row("gpu002")), causes=(*lost, cause()))))
    page = shown.page
    assert page.locator("#causes > .cause > summary .what b").all_inner_texts() == [
        "1 GPU fewer (7 of 8)", "kernel.cmdline.iommu"]
    assert page.locator("#verdict").inner_text().split()[:3] == ["DRIFT", "2", "causes"]
    page.fill("#text", "gpu_width")
    page.locator("#cause-0 > summary").click()
    inner = page.locator("#cause-0 details.list")
    assert inner.locator("> summary").inner_text() == "2 more facts of the same audit"
    inner.locator("> summary").click()
    assert inner.locator(".cause:visible .what b").all_inner_texts() == ["pcie.gpu_width"]
    page.goto(shown.url + "#cause-1")
    page.wait_for_selector("#cause-1[open]")
    assert page.locator("#cause-1 .says").is_visible()
    assert shown.quiet()


def test_a_host_opens_its_report_and_back(show: Show, screenshots: Path) -> None:
    shown = show(html(example()))
    page = shown.page
    page.locator("#grid tbody tr", has_text="gpu001").locator("td").nth(4).click()
    page.wait_for_selector("#box:not([hidden])")
    assert page.locator("#box h1").inner_text().split() == ["FAIL", "gpu001"]
    assert not page.locator("#fleet").is_visible() and page.evaluate("document.activeElement.tagName") == "H1"
    assert page.locator("#box .finding .id").all_inner_texts() == ["acs-redirect", "cmdline-token", "cpu-governor"]
    told = page.locator("#box .finding", has_text="cmdline-token").inner_text()
    assert "ansible-playbook site.yml --tags kernel_cmdline -l gpu001" in told and "needs a reboot" in told
    page.screenshot(path=screenshots / "fleet-box.png", full_page=True)
    page.locator("#box .drifts a", has_text="gpu.driver").click()
    page.wait_for_selector("#fleet:not([hidden])")
    assert page.locator("#cause-2").get_attribute("open") is not None
    page.go_back()
    page.wait_for_selector("#box:not([hidden])")        # by the browser's own way
    page.keyboard.press("Escape")
    page.wait_for_selector("#fleet:not([hidden])")
    shown.page.goto(shown.url + "#box=gpu004")
    page.wait_for_selector("#box h1")
    assert "nvidia-smi timed out" in page.locator("#box").inner_text()
    assert page.locator("#box .drifts code").all_inner_texts()[-1] == "gpu.power"
    assert shown.complaints == []


def test_a_host_has_a_heading_with_its_count_for_each_kind(show: Show) -> None:
    """With what an entry brought inside it, as everywhere else."""
    lost = [cause(authority="majority", fact=fact, hosts=("gpu001",), before=8, value=7)
            for fact in ("gpu.count", "pcie.gpus")]
    blind = [cause(fact=f"check-{number}", severity="low", outcome="unknown", before=None, text="cannot be read",
                   hosts=("gpu001", "gpu002")) for number in range(3)]
    stands = cause(fact="kernel-taint", outcome="warn", severity="medium", standing=True, hosts=("gpu001",))
    page = show(html(report(hosts=(row(), row("gpu002")), causes=(cause(), *lost, *blind, stands)))).page
    grid = {cells[0]: cells[3:5] for cells in (
        each.locator("> *").all_inner_texts() for each in page.locator("#grid tbody tr").all())}
    assert grid["gpu002"] == ["1", "3"]
    page.locator("#grid a", has_text="gpu001").click()
    page.wait_for_selector("#box h1")
    headings = page.locator("#box h2").all_inner_texts()
    assert headings[0] == f"Drift {grid['gpu001'][0]}" and headings[1:3] == ["Could not be judged 3", "Standing 1"]
    listed = [page.locator("#box section", has_text=word).last.locator("> ul > li").count()
              for word in ("Could not be judged", "Standing")]
    assert listed == [3, 1]


def test_a_silent_host_is_not_shown_as_good(show: Show) -> None:
    page = show(html(example())).page
    page.locator("#grid a", has_text="gpu007").click()
    page.wait_for_selector("#box h1")
    told = page.locator("#box").inner_text()
    assert page.locator("#box .badge").first.inner_text() == "UNREACHABLE" and "No route to host" in told
    assert "Nothing was judged: the host did not answer." in told and "#361" in told


def test_the_filter_takes_words_and_says_what_is_left(show: Show) -> None:
    shown = show(html(example()))
    page = shown.page
    page.fill("#text", "gpu001")
    assert _hosts(page) == ["gpu001"]
    assert page.locator(".cause:visible .what b").all_inner_texts() == ["kernel.cmdline.iommu", "gpu.driver",
                                                                        "kernel.release", "pci-words noacs"]
    assert page.locator("#shown").inner_text() == "1 of 8 hosts, 4 of 8 causes"
    page.fill("#text", "H100-B no route")
    assert _hosts(page) == ["gpu007"]
    page.fill("#text", "cpu-governor")
    assert _hosts(page) == ["gpu001"], "a check that fails there"
    page.fill("#text", "powersave")
    assert page.locator("#rest .cause:visible").count() == 1, "what is folded is found, too"
    page.fill("#text", "nothing says this")
    assert page.locator("#no-host").is_visible() and page.locator("#no-cause").is_visible()
    page.fill("#text", "")
    page.locator("#filter .choice").click()
    assert "gpu006" not in _hosts(page) and len(_hosts(page)) == 7
    assert shown.quiet()


def test_the_hosts_of_a_cause_are_links(show: Show) -> None:
    shown = show(html(example()))
    page = shown.page
    page.locator("#cause-0 summary").click()
    page.wait_for_selector("#cause-0 .names a")
    assert page.locator("#cause-0 .names a").all_inner_texts() == ["gpu001", "gpu002", "gpu003"]
    page.locator("#cause-0 .names a", has_text="gpu002").click()
    page.wait_for_selector("#box h1")
    assert page.locator("#box h1").inner_text().split() == ["FAIL", "gpu002"]
    assert shown.quiet()


def test_everything_from_the_keyboard(show: Show) -> None:
    shown = show(html(fleet(60, 10)))
    page = shown.page
    assert page.locator("#grid a[tabindex='0']").count() == 1, "one stop for the Tab key"
    page.locator("#grid a[tabindex='0']").focus()
    first = page.evaluate("document.activeElement.textContent")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.textContent") != first
    page.keyboard.press("End")
    page.keyboard.press("Home")
    assert page.evaluate("document.activeElement.textContent") == first
    page.keyboard.press("PageDown")
    page.keyboard.press("ArrowUp")
    chosen = page.evaluate("document.activeElement.textContent")
    page.keyboard.press("Enter")
    page.wait_for_selector("#box:not([hidden])")
    assert page.locator("#box h1 .host").inner_text() == chosen
    page.keyboard.press("Escape")
    page.wait_for_selector("#fleet:not([hidden])")
    assert page.evaluate("document.activeElement.textContent") == chosen, "back where one was"
    page.locator("#cause-0 summary").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#cause-0 .names a")
    assert shown.quiet()


def test_printed_everything_is_open(show: Show, screenshots: Path) -> None:
    shown = show(html(fleet(300, 10)), color_scheme="dark")
    page = shown.page
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0 and not page.locator("#filter").is_visible()
    frame = page.locator("#grid-frame")
    assert frame.evaluate("one => one.scrollHeight - one.clientHeight") == 0, "no row is behind a scroll bar"
    page.pdf(path=screenshots / "fleet.pdf", prefer_css_page_size=True)
    assert shown.quiet()


def test_the_order_can_be_chosen(show: Show) -> None:
    page = show(html(example())).page
    page.get_by_text("By name", exact=True).click()
    assert _hosts(page) == [f"gpu{number:03d}" for number in range(1, 9)]
    page.get_by_text("By group", exact=True).click()
    assert _hosts(page) == ["gpu001", "gpu002", "gpu003", "gpu004", "gpu005", "gpu007", "gpu008", "gpu006"]


def test_what_a_hostile_host_says_is_inert(show: Show) -> None:
    shown = show(html(hostile()))
    page = shown.page
    for each in page.locator("summary").all():
        each.evaluate("summary => summary.parentElement.open = true")
    page.fill("#text", HOSTILE)
    page.fill("#text", "")
    page.locator("#grid a").first.click()
    page.wait_for_selector("#box h1")
    assert "<img src=x onerror" in page.locator("#box h1").inner_text()
    assert page.locator("#box .finding").count() == 1
    page.keyboard.press("Escape")
    assert page.evaluate("window.hit") is None
    assert page.locator("img").count() == 0 and page.locator("script").count() == 2
    assert _overflow(page) == 0
    assert shown.quiet()
    other = show(html(example()))
    other.page.goto(other.url + "#box=%E0%A4%A&<img>")
    assert other.page.locator("#fleet").is_visible() and other.complaints == []


@pytest.mark.parametrize("width", [360, 760, 1024])
def test_a_narrow_window_scrolls_down_only(show: Show, screenshots: Path, width: int) -> None:
    shown = show(html(example()), viewport={"width": width, "height": 800})
    page = shown.page
    page.locator("#cause-0 summary").click()
    assert _overflow(page) == 0
    page.screenshot(path=screenshots / f"fleet-narrow-{width}.png", full_page=True)
    page.locator("#grid a").first.click()
    page.wait_for_selector("#box h1")
    assert _overflow(page) == 0
    page.screenshot(path=screenshots / f"fleet-box-narrow-{width}.png", full_page=True)
    hostile_one = show(html(hostile()), viewport={"width": width, "height": 800})
    assert _overflow(hostile_one.page) == 0
    assert shown.quiet()


def test_causes_gaps_and_timeline_need_no_javascript(show: Show) -> None:
    shown = show(html(example()), java_script_enabled=False)
    page = shown.page
    page.locator("#cause-0 summary").click()
    assert "gpu001..gpu003 (3)" in page.locator("#cause-0 .hosts").inner_text()
    assert page.locator("noscript").inner_text().startswith("The grid of hosts")
    assert not page.locator("#filter").is_visible() and not page.locator("#hosts").is_visible()
    assert page.locator("#incomplete").is_visible() and page.locator(".bar").count() == 40
    assert shown.quiet()


def test_a_thousand_hosts_are_all_there(show: Show, screenshots: Path) -> None:
    shown = show(html(fleet()))
    page = shown.page
    assert page.locator("#grid tbody tr").count() == 1000
    assert page.locator("#more .cause").count() == 55 and not page.locator("#more .cause").first.is_visible()
    page.fill("#text", "gpu0300")
    assert _hosts(page) == ["gpu0300"]
    page.screenshot(path=screenshots / "fleet-1000.png")
    assert _overflow(page) == 0 and shown.quiet()


def test_hosts_without_any_check_still_stand_in_rows(show: Show) -> None:
    shown = show(html(report(hosts=[row(f"gpu{number}", outcomes={}) for number in range(1, 31)])))
    heights = shown.page.locator("#grid tr").evaluate_all("all => all.map((row) => row.offsetHeight)")
    assert len(heights) == 31 and max(heights) < 40
    assert shown.quiet()


@pytest.mark.parametrize("told", [report(), report(hosts=(), previous=None)], ids=["quiet", "empty"])
def test_a_fleet_that_has_nothing_to_say(show: Show, told: Any) -> None:
    shown = show(html(told))
    assert shown.page.locator("#causes").inner_text().endswith("No drift on any host that answered.")
    assert shown.quiet()

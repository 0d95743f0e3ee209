"""The HTML report in a real browser."""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.unit.facts.trees import Machine, cascaded, direct, flat, two_bridges
from tests.unit.report.boxes import hostile, judged, spec, switches, wrong
from tests.web.conftest import Watched

from tunecheck.model.absence import Absence
from tunecheck.model.command import run as command
from tunecheck.model.finding import AS_ROOT, Finding, Place, Remedy
from tunecheck.report.check_pages import summary
from tunecheck.report.document import Run
from tunecheck.report.html import html

Show = Callable[..., Watched]

#: Worked out by hand from boxes.switches(): the lines between the two GPUs, named by their lower end.
_WITHIN = {"0000:03:00.0", "0000:02:00.0", "0000:04:00.0", "0000:02:01.0"}
_ACROSS = {"0000:03:00.0", "0000:02:00.0", "0000:01:00.0", "0000:00:01.1", "pci0000:00", "numa 0",
           "0000:63:00.0", "0000:62:00.0", "0000:61:00.0", "0000:60:01.1", "pci0000:60", "numa 1"}


@cache
def _wrong() -> str:
    """The page of wrong(), which most tests open: made once."""
    return html(wrong())


def _lit(page: Any) -> set[str]:
    found: list[str] = page.eval_on_selector_all(".edge.lit", "all => all.map(one => one.dataset.edge)")
    assert len(found) == len(set(found))
    return set(found)


def _cell(page: Any, a: int, b: int) -> Any:
    return page.locator(f"#matrix tbody tr:nth-child({a + 1}) > :nth-child({b + 2})")


def _overflow(page: Any) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def _cut(page: Any) -> list[str]:
    """What is wider than its frame, or reaches beyond the window."""
    found: list[str] = page.evaluate("""() => [...document.querySelectorAll("main *")].filter(one => {
        const box = one.getBoundingClientRect();
        return box.width && (box.right > innerWidth + 1 || box.left < -1
            || (one.matches(".scroll") && one.scrollWidth > one.clientWidth));
    }).map(one => `${one.tagName} ${one.id} ${one.className.baseVal ?? one.className}`)""")
    return found


def test_it_opens_offline_and_in_silence(show: Show, screenshots: Path) -> None:
    shown = show(_wrong())
    page = shown.page
    assert page.locator("h1").inner_text().split() == ["FAIL", "box1"]
    assert page.locator("#picture .node.gpu").count() == 8
    assert page.locator("#picture .edge.narrow text").all_text_contents() == ["x8/16 Gen5"]
    assert page.locator("#picture .edge.unknown text").all_text_contents() == ["x? Gen5"]
    assert page.locator("#picture .node.redirects").count() == 2
    page.screenshot(path=screenshots / "light.png", full_page=True)
    assert shown.quiet()


def test_pointing_at_a_pair_lights_its_path(show: Show, screenshots: Path) -> None:
    shown = show(_wrong())
    page = shown.page
    assert _lit(page) == set()
    _cell(page, 0, 1).hover()
    assert _lit(page) == _WITHIN
    assert page.locator("#detail h3").inner_text() == "GPU0 to GPU1"
    assert "0000:02:00.0" in page.locator("#detail").inner_text().partition("Redirected by")[2]
    _cell(page, 6, 0).hover()
    assert _lit(page) == _ACROSS
    page.screenshot(path=screenshots / "path.png", full_page=True)
    page.locator("h1").hover()
    assert _lit(page) == set()
    _cell(page, 0, 1).click()
    page.locator("h1").hover()
    assert _lit(page) == _WITHIN, "a click keeps the pair"
    page.keyboard.press("Escape")
    assert _lit(page) == set()
    assert shown.quiet()


def test_the_same_from_the_keyboard(show: Show) -> None:
    shown = show(_wrong())
    page = shown.page
    assert page.locator("#matrix td[tabindex='0']").count() == 1, "one stop for the Tab key"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")        # past the links to every problem
    for _ in range(3):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.tagName") == "TD":
            break
    assert _lit(page) == _WITHIN, "the first stop is GPU0-GPU1"
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "GPU0 to GPU1: PIX"
    page.keyboard.press("ArrowDown")        # over the diagonal, GPU1-GPU1
    assert page.locator("#detail h3").inner_text() == "GPU2 to GPU1"
    page.keyboard.press("ArrowLeft")
    for _ in range(4):
        page.keyboard.press("ArrowDown")
    assert page.locator("#detail h3").inner_text() == "GPU6 to GPU0"
    assert _lit(page) == _ACROSS
    page.keyboard.press("Enter")
    assert page.locator("td[aria-selected='true']").count() == 1
    page.keyboard.press("Home")
    page.keyboard.press("End")
    assert page.locator("#detail h3").inner_text() == "GPU6 to GPU7"
    page.keyboard.press("Tab")
    assert _lit(page) == _ACROSS, "the kept pair stays lit"
    page.keyboard.press("Escape")
    assert _lit(page) == set()
    assert shown.quiet()


def test_a_predicted_path_is_told(show: Show) -> None:
    page = show(_wrong()).page
    _cell(page, 5, 4).hover()
    told = page.locator("#detail").inner_text()
    assert "57.6 GB/s one way, " in told and " both ways, slowest link 0000:4" in told and "x16 Gen5, MPS 256" in told
    assert "hairpin" in told and "0000:42:01.0" in told.partition("Redirected by")[2]


def test_findings_are_filtered_by_outcome_and_text(show: Show) -> None:
    shown = show(_wrong())
    page = shown.page
    all_of_them = page.locator(".finding:visible").count()
    page.locator(".choice.pass").click()
    page.locator(".choice.skip").click()
    assert page.locator(".finding.pass:visible").count() == 0
    assert 0 < page.locator(".finding:visible").count() < all_of_them
    page.fill("#text", "redirects 62:01")
    assert page.locator(".finding:visible .id").all_inner_texts() == []
    page.fill("#text", "acs-redirect 42:01")
    assert page.locator(".finding:visible .id").all_inner_texts() == ["acs-redirect"]
    page.fill("#text", "nothing says this")
    assert page.locator("#nothing").is_visible()
    assert shown.quiet()


def _fixes() -> Run:
    """One finding for each kind of remedy, and what may carry one without having gone wrong."""
    by_hand = Remedy.of("write it, then run: ", command("modprobe -a", "nvidia uvm"), " and ",
                        command("nvidia-smi -pm 1"))
    run, play = wrong(), command("ansible-playbook site.yml -i inventory/box1 --tags modules -l box1", where="control")
    both = dataclasses.replace(Remedy.of(*by_hand.parts, "; or by the play: ", play, needs_reboot=True),
                               play_text=play.shown)
    seat = Remedy("reseat the board", place=Place.MACHINE)
    told = [("pass", "smt", both), ("skip", "swap", seat), ("unknown", "xid", AS_ROOT),
            ("unknown", "aer-events", AS_ROOT), ("warn", "link-width", seat), ("unknown", "memlock", None),
            ("fail", "module-parameter", both)]
    findings = [Finding(check, "any-code", "it", outcome, "effective", f"{check} is so", remedy=remedy,
                        absence=Absence.NO_PERMISSION if remedy is AS_ROOT else None)
                for outcome, check, remedy in told]
    return dataclasses.replace(run, findings=findings)


def test_a_command_can_be_copied(show: Show) -> None:
    """What is copied is one command, without the words around it and the notes beside it: a shell would run them."""
    shown = show(_fixes(), permissions=["clipboard-read", "clipboard-write"])
    page = shown.page
    buttons = page.locator("#findings .copy:visible")
    copied = []
    for index in range(buttons.count()):
        buttons.nth(index).click()
        page.locator("#findings .copy", has_text="Copied").first.wait_for()
        copied.append(page.evaluate("navigator.clipboard.readText()"))
    assert copied == ["sudo modprobe -a 'nvidia uvm'", "sudo nvidia-smi -pm 1",
                      "ansible-playbook site.yml -i inventory/box1 --tags modules -l box1", "sudo tunecheck preflight"]
    codes = page.locator("#findings .command code").evaluate_all("all => all.map(one => one.textContent)")
    assert codes == page.locator("#findings .copy").evaluate_all("all => all.map(one => one.dataset.copy)")
    # Only the operator knows the inventory's name: it is a word to fill in.
    every = show(_wrong()).page.locator(".command code").evaluate_all("all => all.map(one => one.textContent)")
    plays = [shlex.split(each) for each in every if each.startswith("ansible-playbook")]
    assert {len(play) for play in plays} == {8}, "ansible-playbook site.yml -i inventory/NAME --tags <tags> -l <host>"
    assert shown.quiet()


def test_a_command_with_a_word_to_fill_in_has_no_copy(show: Show) -> None:
    """Pasted as it is it would do something else, or nothing."""
    fix = Remedy.of("run for each old one: ", command("dkms remove nvidia/OLD --all"))
    page = show(dataclasses.replace(wrong(), findings=[
        Finding("dkms-build", "any-code", "it", "warn", "effective", "is old", remedy=fix)])).page
    assert page.locator("#findings .command").inner_text().split() == [
        "sudo", "dkms", "remove", "nvidia/OLD", "--all", "fill", "in", "OLD"]
    assert page.locator("#findings .copy:visible").count() == 0


def test_a_fix_is_by_hand_first_and_only_for_problems(show: Show) -> None:
    page = show(_fixes()).page
    fix = page.locator(".finding.fail .fix")
    assert [text.split("\n")[0] for text in fix.locator(".way").all_inner_texts()] == ["By hand", "By play"]
    boxes = [each.bounding_box() for each in fix.locator(".way").all()]
    assert boxes[0]["x"] < boxes[1]["x"] and boxes[0]["y"] == boxes[1]["y"], "beside each other"
    assert fix.locator(".tag").all_inner_texts() == ["on the control node"]
    assert fix.locator(".note").all_inner_texts() == ["needs a reboot"]
    assert page.locator(".finding.warn .note").all_inner_texts() == ["at the machine itself"]
    for outcome in ("pass", "skip"):
        assert page.locator(f".finding.{outcome}").count() == 1
        assert page.locator(f".finding.{outcome} .fix").count() == 0


def test_problems_stand_worst_first_and_are_links(show: Show, screenshots: Path) -> None:
    shown = show(_fixes())
    page = shown.page
    order = ["fail", "warn", "unknown", "pass", "skip"]
    assert page.locator(".outcome").evaluate_all("all => all.map(one => one.dataset.outcome)") == order
    assert page.locator(".choice input").evaluate_all("all => all.map(one => one.value)") == order
    assert page.locator(".ids").evaluate_all("all => all.map(one => one.classList[1])") == order[:3]
    assert page.locator(".ids a").all_inner_texts() == [
        "module-parameter", "link-width", "xid", "aer-events", "memlock"]
    said = (page.locator(".rootless").text_content() or "").strip()
    assert said.startswith("2 of these need root; on the box run: sudo tunecheck preflight")
    assert page.locator(".finding.unknown .id:visible").count() == 3
    assert page.locator(".finding.unknown .facts:visible").count() == 1, "what only root can read is said once"
    page.locator(".choice.unknown").click()
    page.get_by_role("link", name="xid", exact=True).click()
    assert page.locator("#unknown-xid .facts").is_visible(), "neither closed nor filtered away"
    page.locator("#unknown-xid").get_by_role("link").click()
    about = page.locator("#about-xid")
    assert about.is_visible() and "How to fix" in about.inner_text()
    assert page.evaluate("(at => at.top >= 0 && at.top < innerHeight)(document.getElementById('about-xid')"
                         ".getBoundingClientRect())")
    page.screenshot(path=screenshots / "about.png")
    assert shown.quiet()


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_every_link_leads_somewhere(show: Show, script: bool) -> None:
    shown = show(_wrong(), java_script_enabled=script)
    page = shown.page
    targets = [link.get_attribute("href") for link in page.locator("a").all()]
    assert len(targets) > 60 and all(target.startswith("#") for target in targets)
    for target in set(targets):
        assert page.locator(target).count() == 1, target
    page.goto(f"{shown.url}#about-acs-redirect")
    assert page.locator("#about-acs-redirect").is_visible()
    named = page.locator(".ids a").evaluate_all("all => all.map(one => one.textContent)")
    told = page.locator(".about").evaluate_all("all => all.map(one => one.querySelector('.id').textContent)")
    assert set(told) == set(named) and len(told) == len(set(told))
    for check, says in zip(told, page.locator(".about .says").all_inner_texts(), strict=True):
        assert says == summary(check)
    text = "\n".join(page.locator("#about :is(h3, p, li, .says)").all_text_contents())
    assert "`" not in text and not re.search(r"(?m)^\s*(#|\||\*\*)", text), "no mark-up is left"


def _background(page: Any) -> str:
    return str(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))


def test_dark_by_the_system_and_by_hand(show: Show, screenshots: Path) -> None:
    dark = show(_wrong(), color_scheme="dark")
    assert _background(dark.page) == "rgb(20, 23, 27)"
    _cell(dark.page, 0, 1).click()
    dark.page.screenshot(path=screenshots / "dark.png", full_page=True)
    dark.page.get_by_text("Light", exact=True).click()
    assert _background(dark.page) == "rgb(255, 255, 255)"
    light = show(_wrong(), java_script_enabled=False)
    light.page.get_by_text("Dark", exact=True).click()
    light.page.locator("h1").hover()
    assert light.page.locator("#theme-dark").is_checked(), "the switch needs no script"
    assert dark.quiet() and light.quiet()


def test_everything_is_there_without_javascript(show: Show, screenshots: Path) -> None:
    shown = show(_wrong(), java_script_enabled=False)
    page = shown.page
    assert page.locator("#picture .node.gpu").count() == 8
    assert page.locator("#matrix td").count() == 64
    assert not page.locator("#filter").is_visible()
    closed = page.locator(".finding.pass").first
    assert not closed.locator(".facts").first.is_visible()
    closed.locator("summary").click()
    assert closed.locator(".facts").first.is_visible()
    page.screenshot(path=screenshots / "no-javascript.png", full_page=True)
    assert shown.quiet()


def test_printed_everything_is_open(show: Show, screenshots: Path) -> None:
    shown = show(_wrong(), color_scheme="dark")
    page = shown.page
    page.fill("#text", "acs")
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert _background(page) == "rgb(255, 255, 255)"
    assert page.locator(".facts:visible").count() == page.locator(".facts").count() > 10
    assert page.locator(".pairs tbody tr:visible").count() == 28
    assert page.locator("#about .page:visible").count() == page.locator("#about .page").count() > 10
    for gone in ("button", "input", "form", ".jump", ".hint.js"):
        assert page.locator(f"{gone}:visible").count() == 0, gone
    folded = page.locator("details").evaluate_all("all => all.filter(one => !one.open).length")
    assert folded == 0
    assert page.locator(".fix .command code:visible").count() == page.locator(".fix .command code").count() > 10
    page.screenshot(path=screenshots / "print.png", full_page=True)
    page.pdf(path=screenshots / "print.pdf", prefer_css_page_size=True)
    assert shown.quiet()


@pytest.mark.parametrize("width", [320, 500, 900, 1000, 1200, 1600])
def test_the_tree_fits_every_window(show: Show, screenshots: Path, width: int) -> None:
    shown = show(_wrong(), viewport={"width": width, "height": 800})
    page = shown.page
    assert page.evaluate("(tree => tree.scrollWidth - tree.clientWidth)(document.getElementById('tree'))") == 0
    chosen = "#outline" if width <= 900 else "#picture"
    assert page.locator("#tree > svg:visible").evaluate_all("all => all.map(one => '#' + one.id)") == [chosen]
    frame = page.locator("#tree").bounding_box()
    for box in page.locator(f"{chosen} .node.gpu").all():
        at = box.bounding_box()
        assert at and frame and at["x"] >= frame["x"] and at["x"] + at["width"] <= frame["x"] + frame["width"]
    _cell(page, 0, 1).click()
    assert _lit(page) == _WITHIN
    page.set_viewport_size({"width": 1000 if width <= 900 else 500, "height": 800})
    page.locator("#tree > svg:not(.lighting)").first.wait_for(state="hidden")
    assert _lit(page) == _WITHIN, "what is lit stays lit in the other picture"
    page.screenshot(path=screenshots / f"tree-{width}.png", full_page=True)
    assert shown.quiet()


def test_what_findings_name_is_marked_in_the_tree(show: Show, screenshots: Path) -> None:
    page = show(_wrong()).page
    marked = page.locator("#picture .node.blamed.fail").evaluate_all("all => all.map(one => one.dataset.node)")
    assert {"0000:02:00.0", "0000:42:01.0"} <= set(marked)
    assert "acs-redirect" in (page.locator("#picture [data-node='0000:02:00.0'] title").text_content() or "")
    assert page.locator("#picture [data-node='0000:02:00.0'] .flag").text_content() == "FAIL"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_port_on_no_path_is_drawn_calmly(show: Show, screenshots: Path, scheme: str) -> None:
    machine = switches(2, redirecting=(0,)).port("0000:00:01.1", "pci0000:00/0000:00:01.1", 0x001D)
    shown = show(judged(machine, "topo")[1], color_scheme=scheme)
    page = shown.page
    stroke = "one => getComputedStyle(one.querySelector('rect')).stroke"
    root, down, plain = (page.locator(f"#picture [data-node='{bdf}']").evaluate(stroke)
                         for bdf in ("0000:00:01.1", "0000:02:00.0", "0000:01:00.0"))
    assert root == plain != down
    assert "lies on no path" in (page.locator("#picture [data-node='0000:00:01.1'] title").text_content() or "")
    assert "on no path" in page.locator(".legend").inner_text()
    assert "on no path" not in show(_wrong()).page.locator(".legend").inner_text()
    page.screenshot(path=screenshots / f"calm-{scheme}.png")
    assert shown.quiet()


def test_what_is_unknown_was_not_observed(show: Show) -> None:
    run = wrong()
    said = [("None", "x16"), ("0", "no new error"), ("?", "")]
    findings = [Finding("link-errors", "any-code", f"port {index}", "unknown", "effective",
                        f"cannot be read {'abc'[index]}",
                        observed, expected) for index, (observed, expected) in enumerate(said)]
    passed = Finding("smt", "ok", "", "pass", "effective", "ok", "None")
    page = show(dataclasses.replace(run, findings=[*findings, passed])).page
    told = page.locator(".finding.unknown .facts").all_inner_texts()
    assert [text.replace("\n", " ").startswith("Observed not observed") for text in told] == [True] * 3
    assert page.locator(".finding.pass .facts").text_content().count("Observed") == 0


@pytest.mark.parametrize("width", [320, 390, 760, 1024])
def test_a_narrow_window_scrolls_down_only(show: Show, screenshots: Path, width: int) -> None:
    shown = show(_wrong(), viewport={"width": width, "height": 800})
    assert _overflow(shown.page) == 0
    _cell(shown.page, 0, 1).click()
    assert _overflow(shown.page) == 0
    assert _cut(shown.page) == [], "eight GPUs need no scrolling sideways"
    shown.page.screenshot(path=screenshots / f"narrow-{width}.png", full_page=True)
    assert shown.quiet()


def test_as_many_gpus_as_are_taken_stay_usable(show: Show, screenshots: Path) -> None:
    shown = show(judged(switches(64), "topo", spec(64))[1])
    page = shown.page
    assert _overflow(page) == 0
    frames = {frame: page.locator(frame).bounding_box() for frame in ("#tree", "#matrix")}
    assert all(box and box["height"] <= 900 for box in frames.values()), "the page is not 64 rows high"
    _cell(page, 50, 51).click()
    assert _overflow(page) == 0
    assert len(_lit(page)) == 4
    assert page.locator(".node.gpu.lit").first.evaluate(
        "node => { const at = node.getBoundingClientRect(), frame = document.getElementById('tree')"
        ".getBoundingClientRect(); return at.top >= frame.top && at.bottom <= frame.bottom; }")
    assert page.locator("#matrix td:focus").get_attribute("aria-label") == "GPU50 to GPU51: PIX"
    page.screenshot(path=screenshots / "64-gpus.png")
    assert shown.quiet()


def test_what_a_hostile_host_says_is_inert(show: Show) -> None:
    shown = show(hostile())
    page = shown.page
    _cell(page, 0, 1).click()
    assert page.evaluate("window.hit") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    assert "unknown host" in page.locator("h1").inner_text(), "a name that is none is not shown at all"
    assert "<script>window.hit=1" in page.locator("body").inner_text(), "what else it says is text"
    assert _overflow(page) == 0
    assert shown.quiet()


def test_a_hidden_tree_lights_no_path_and_says_why(show: Show) -> None:
    """A virtual machine that shows its GPUs on the root bus: the tree that is drawn is not the real one."""
    shown = show(judged(flat(), "topo")[1])
    page = shown.page
    assert page.locator("#picture .edge.unknown").count() == 2
    _cell(page, 0, 1).hover()
    assert _lit(page) == set()
    told = page.locator("#detail").inner_text()
    assert "unknown" in told and "not derivable" in told and "Hops" not in told
    assert "not derivable" in (page.locator(".pairs tbody tr").text_content() or "")
    assert shown.quiet()


@pytest.mark.parametrize("machine", [cascaded(), direct(), two_bridges((0, 1)), two_bridges((-1, -1))],
                         ids=["cascaded", "direct", "two nodes", "nodes not said"])
def test_the_lit_path_crosses_the_ports_of_the_document(show: Show, machine: Machine) -> None:
    run = judged(machine, "topo")[1]
    page = show(run).page
    _cell(page, 0, 1).hover()
    (pair,) = run.document["pairs"]
    lit = {name for name in _lit(page) if ":" in name and "." in name}
    assert lit == ({*pair["bridges"], pair["a"], pair["b"]} if pair["relation"] else set())


@pytest.mark.parametrize("verb", ["host", "topo"])
def test_verbs_and_boxes_that_have_less_to_show(show: Show, verb: str) -> None:
    for machine in (switches(0), switches(1), switches(2)):
        shown = show(judged(machine, verb)[1])
        assert shown.page.locator("#findings").is_visible()
        assert shown.quiet()

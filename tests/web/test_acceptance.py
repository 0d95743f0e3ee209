"""The acceptance of a served model in a real browser."""

from __future__ import annotations

import dataclasses
import datetime
import json
import random
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from tests.web.test_page import Show, _overflow

from tunecheck.recipes.frozen import Engine, Expected, Model, Recipe
from tunecheck.serving.document import document, measured_of
from tunecheck.serving.gaps import gaps_of
from tunecheck.serving.measured import Measured, Run, Usage
from tunecheck.serving.page.acceptance import acceptance
from tunecheck.serving.verdict import Want, judge

_EVIL = "</script><script>window.hit=1</script><img src=x onerror='window.hit=1'>\"'&\x1b[31m\u202e{{7*7}}"
_TEXT = (Path(__file__).resolve().parents[1] / "engine/corpus.txt").read_text()[:3500]
_WHEN = datetime.datetime(2026, 11, 21, 12, 0, tzinfo=datetime.UTC)
_FACTS: dict[str, Any] = {
    "host": "box1", "boot_id": "b", "kernel": "6.8.0-60-generic", "cmdline": "ro quiet iommu=off " * 12,
    "driver": "590.48.01", "driver_why_not": None, "spec_digest": "sha256:" + "c" * 64,
    "acs": {"0000:42:08.0": "0x0000", "0000:42:09.0": None},
    "gpus": [{"bdf": f"0000:4{number}:00.0", "name": "NVIDIA RTX PRO 6000", "uuid": f"GPU-{number}", "vbios": "98.02",
              "power_limit_mw": 600000, "power_limit_default_mw": 600000} for number in (3, 4)],
    "gpus_why_not": None, "image_id": "sha256:" + "a" * 64, "image_digest": "sha256:" + "d" * 64,
    "model": "ours/tiny", "revision": "e" * 40, "args": ["--moe-backend", "b12x"], "env": {"NCCL_P2P_LEVEL": "SYS"}}


def _timed(seed: int, rate: float) -> Run:
    """A thousand tokens, one an arrival, with a tail."""
    dice = random.Random(seed)
    times = list(accumulate([0.05, *(dice.lognormvariate(0, 0.15) / rate if dice.random() > 0.02 else 4 / rate
                                     for _ in range(999))]))
    gaps = gaps_of(times)
    return Run("timed", 1000, Usage(80, 1000, 5), _TEXT, times[0], times[-1], 1000, 1, gaps.quantiles, "length",
               gap_p99_ms=gaps.p99, gap_bins=gaps.bins, pieces=1000)


def _seen(**changes: Any) -> Measured:
    canaries = [Run("canary", 32, Usage(50, 3, 5), said, 0.1, 0.2, 3, finish="stop", expect=said, group=group)
                for group in (0, 1) for said in ("42", "Paris", "chrysanthemum")]
    ladder = [Run("ladder", 16, Usage(size, 16, 5), "words", size / 8000, size / 8000 + 0.1, 16, finish="length",
                  target=size) for size in (4102, 16390, 57401, 131000)]
    many = [Run("concurrent", 256, Usage(80, 256, 5), _TEXT[:900], 0.1, 2.0, 256, finish="length", group=group)
            for group in (1, 4, 16) for _ in range(group)]
    runs = (*canaries[:3], *(_timed(seed, rate) for seed, rate in enumerate((212.0, 215.0, 214.0))), *ladder, *many,
            *canaries[3:])
    seen = Measured(runs, counted=sum(run.tokens for run in runs), no_counter="/metrics: HTTP 404", template=32,
                    limit=131072, engine="sglang", version="0.5.9", model="m", groups={1: 2.0, 4: 2.9, 16: 5.5})
    return dataclasses.replace(seen, **changes)


def _recipe(status: str = "golden", value: float = 198.0) -> Recipe:
    return Recipe("qwen35-122b-sglang-b12x-nextn-2x", Engine("sglang"), Model("ours/tiny"), status=status,
                  expected=Expected("decode_tok_s_c1", value, 10.0, 5.0, "usage_wallclock",
                                    {4096: 0.6, 16384: 2.3, 57344: 7.1}))


def _page(seen: Measured, recipe: Recipe | None = None, facts: dict[str, Any] | None = None, **more: Any) -> str:
    findings = judge(seen, Want.of(recipe))
    given = {"created": "x", "base": "http://127.0.0.1:30000", "host": "box1", "boot_id": "b", **more}
    return acceptance(document(seen, findings, recipe, provenance=facts, **given), seen, findings, _WHEN)


def _inside(page: Any) -> Any:
    return page.evaluate("""[...document.querySelectorAll('.plot svg')].flatMap(svg => {
        const { left, right, top, bottom } = svg.getBoundingClientRect();
        return [...svg.querySelectorAll('text, .mark, path, rect')].filter(one => {
          const at = one.getBoundingClientRect();
          return !(at.left >= left && at.right <= right && at.top >= top && at.bottom <= bottom);
        }).map(one => one.outerHTML); })""")


def test_an_accepted_model_with_every_plot(show: Show, screenshots: Path) -> None:
    shown = show(_page(_seen(), _recipe(), _FACTS))
    page = shown.page
    assert page.locator("h1").inner_text().split() == ["PASS", "m"]
    assert page.locator("#runs .bars rect").count() == 3
    assert page.locator("#runs .level text").all_text_contents()[0] == "golden 198"
    assert page.locator("#gaps .bars rect").count() > 10
    p50, p99 = page.locator("#gaps .cross text").all_text_contents()
    assert p50.startswith("p50 4.") and p99.startswith("p99 1")
    assert page.locator("#ladder .curve").count() == 2, "measured, and what the recipe allows"
    assert "4.01K, measured: 0.513 s" in page.locator("#ladder .mark title").all_text_contents()
    assert page.locator("#streams .curve").count() == 1
    assert page.locator("#canaries tbody tr").count() == 6
    told = page.locator("#served").inner_text()
    for words in ("590.48.01", "sha256:" + "a" * 64, "e" * 40, "iommu=off", "600 W", "ACSCtl not known"):
        assert words in told
    assert _inside(page) == []
    page.screenshot(path=screenshots / "accept-light.png", full_page=True)
    assert shown.quiet()


def test_a_refused_one_in_the_dark(show: Show, screenshots: Path) -> None:
    seen = _seen()
    wrong = [dataclasses.replace(run, text="It is 24.") if run.expect == "42" else run for run in seen.runs]
    shown = show(_page(dataclasses.replace(seen, runs=tuple(wrong)), _recipe(value=260.0)), color_scheme="dark")
    page = shown.page
    assert page.locator("h1 .badge").inner_text() == "FAIL" and "Refused" in page.locator(".verdict").inner_text()
    assert "canary" in page.locator(".ids.fail").inner_text() and "speed" in page.locator(".ids.fail").inner_text()
    assert "2 of 6 answers are wrong." in page.locator("#canaries").inner_text()
    assert "24." in page.locator("#canaries").inner_text()
    assert _inside(page) == []
    page.screenshot(path=screenshots / "accept-dark.png", full_page=True)
    page.fill("#text", "canary")
    assert page.locator(".finding:visible .id").all_inner_texts() == ["canary"]
    assert shown.quiet()


@pytest.mark.parametrize("width", [320, 360, 760])
def test_a_narrow_window_scrolls_down_only(show: Show, screenshots: Path, width: int) -> None:
    shown = show(_page(_seen(), _recipe("pinned"), _FACTS), viewport={"width": width, "height": 800})
    shown.page.locator(".requests summary").click()
    assert _overflow(shown.page) == 0
    shown.page.screenshot(path=screenshots / f"accept-{width}.png", full_page=True)
    assert shown.quiet()


def test_without_javascript_and_printed(show: Show, screenshots: Path) -> None:
    page = show(_page(_seen(), _recipe(), _FACTS), java_script_enabled=False).page
    assert page.locator("#runs .bars rect").count() == 3 and not page.locator("#filter").is_visible()
    page.pdf(path=screenshots / "accept-print.pdf", prefer_css_page_size=True)


def test_little_was_measured(show: Show) -> None:
    """The boot profile, and a server that broke off: what there is, without plots that one point does not make."""
    seen = _seen()
    runs = (*seen.of("canary"), dataclasses.replace(seen.of("timed")[0], gap_bins={}))
    boot = dataclasses.replace(seen, runs=runs, profile="boot", groups={})
    shown = show(_page(boot))
    assert shown.page.locator("#gaps, #ladder, #streams").count() == 0
    assert "measure there to have its facts here" in shown.page.locator("#served").inner_text()
    broken = Run("calibration", 8, error="the stream broke off: x", broken="stream")
    shown = show(_page(Measured((broken,), stopped="calibration: the stream broke off: x")))
    assert "It ended early. calibration" in shown.page.locator(".summary").inner_text()
    assert shown.page.locator("svg").count() == 0 and shown.quiet()


def test_what_a_hostile_server_says_is_inert(show: Show) -> None:
    seen = _seen()
    runs = tuple(dataclasses.replace(run, text=_EVIL * 60, finish=_EVIL, error=_EVIL, expect=run.expect and _EVIL)
                 for run in seen.runs)
    hostile = dataclasses.replace(seen, runs=runs, model=_EVIL, engine=_EVIL, version=_EVIL, stopped=_EVIL,
                                  no_counter=_EVIL, notes={"ttft": _EVIL, "canary": _EVIL, _EVIL: _EVIL})
    facts = {**_FACTS, "cmdline": _EVIL, "driver": None, "driver_why_not": _EVIL, "gpus": [{"bdf": _EVIL}],
             "args": [_EVIL], "env": {_EVIL: _EVIL}, "acs": {_EVIL: _EVIL}}
    shown = show(_page(hostile, _recipe(), facts, base=_EVIL), viewport={"width": 360, "height": 800})
    page = shown.page
    assert page.evaluate("window.hit") is None
    assert page.locator("img").count() == 0 and page.locator("script").count() == 2 and "49" not in page.title()
    assert _overflow(page) == 0 and shown.quiet()


def test_a_stored_document_of_anybody_makes_a_page(show: Show) -> None:
    seen = _seen()
    data = json.loads(json.dumps(document(seen, [], None, created="x", base="y", host=None, boot_id=None)))
    assert measured_of(data, "a.json") == seen
    for run in data["measured"]["runs"]:
        run.update(gap_bins={"9" * 30: 5, "-7": -3, "3": 1}, gaps_ms=[1e308, float("inf")], gap_p99_ms=float("nan"),
                   last_s=1e-300)
    data["measured"]["groups"] = {"0": 1.0, "-4": 1e-300, "7": 0.0}
    shown = show(_page(measured_of(data, "a.json"), source="a.json"))
    assert "Judged from a file" in shown.page.locator("#served").inner_text() and shown.quiet()

"""docs/fleet-outputs.md says what the outputs do."""

from __future__ import annotations

import re
from pathlib import Path

from tests.unit.fleet.reports import example, fleet

from tunecheck.util.host_names import fold
from tunecheck_fleet.outputs import KINDS, html
from tunecheck_fleet.outputs.html import html as page_of
from tunecheck_fleet.outputs.html.timeline import _MOST
from tunecheck_fleet.outputs.schema import SCHEMAS
from tunecheck_fleet.outputs.terminal import verdict_line
from tunecheck_fleet.outputs.text import kind
from tunecheck_fleet.outputs.webhook import _RETRIED, SECRET, Hook

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/fleet-outputs.md").read_text()


def test_every_output_and_schema_is_on_the_page() -> None:
    assert set(re.findall(r"^\| [A-Za-z]+ \| `--([a-z]+)` \|", PAGE, re.MULTILINE)) == {*KINDS, "webhook"}
    assert {f"schema/{name}" for name in SCHEMAS} == set(re.findall(r"\((schema/[^)]+)\)", PAGE))
    assert all((ROOT / "docs" / name).is_file() for name in re.findall(r"\]\(([^)]+)\)", PAGE))


def test_the_words_are_those_of_the_outputs() -> None:
    for word in {kind(cause) for cause in example().causes}:
        assert f"`{word}`" in PAGE, word
    assert f"`{verdict_line(example()).partition(':')[0]}`" in PAGE
    assert f"`{fold(f'gpu{number:03d}' for number in range(1, 39))}`" in PAGE


def test_the_bounds_are_those_of_the_page() -> None:
    assert f"{html._CAUSES} causes, {html._PROBLEMS} findings and {html._UNKNOWN} unknown facts per host" in PAGE
    assert f"{html._BUDGET // 1_000_000} million characters" in PAGE and f"last {_MOST} audits" in PAGE
    assert abs(len(page_of(fleet())) / 1e6 - 0.35) < 0.05, "about 0.35 MB"


def test_the_webhook_is_as_told() -> None:
    hook, codes = Hook(""), [str(code) for code in _RETRIED]
    assert f"has {hook.deadline:g} s" in PAGE and f"after {hook.waits[0]:g} and {hook.waits[1]:g} s" in PAGE
    assert f"{', '.join(codes[:-1])} and {codes[-1]}" in PAGE and f"`{SECRET}`" in PAGE

"""docs/watch.md: the lines that it shows are lines that the watch can print."""

from __future__ import annotations

import re
from pathlib import Path

from tunecheck.watch.model import State
from tunecheck.watch.tell import MEANING

PAGE = (Path(__file__).resolve().parents[3] / "docs/watch.md").read_text(encoding="utf-8")


def test_the_lines_it_shows_are_lines_of_the_watch() -> None:
    lines = re.findall(r"(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (\w+)(?: \(\d+ running\))?(?:: (.+))?$", PAGE)
    said = [re.compile(re.sub(r"\\{.*?\\}", r"[\\d.]+", re.escape(text))) for text in MEANING.values()]
    assert len(lines) > 2 and {state for state, _ in lines} <= {state.value for state in State}
    assert [text for _, text in lines if text and not any(each.fullmatch(text) for each in said)] == []


def test_what_waits_for_a_person_says_what_the_person_does() -> None:
    after = PAGE[PAGE.index("### Afterwards"):]
    assert "(#afterwards)" in PAGE and "tunecheck recover --list" in after
    assert "systemctl restart tunecheck-inference" in after

"""`explain FACT`: what it takes to put a value back, and which checks judge it."""

from __future__ import annotations

import re

import pytest

from tunecheck.facts.registry import ENTRIES, entry_of
from tunecheck.report.check_pages import page
from tunecheck.report.fact_pages import fact_page
from tunecheck.rules.index import BY_ID, CHECKS


@pytest.mark.parametrize("name", sorted(entry.name for entry in ENTRIES))
def test_every_fact_has_a_page_that_says_what_it_takes(name: str) -> None:
    said = fact_page(name)
    assert said.startswith(f"{name}: a fact, no check (") and "\nTo put it back takes " in said


@pytest.mark.parametrize("check", sorted(check.id for check in CHECKS if check.judges))
def test_a_fact_that_a_check_judges_names_the_check(check: str) -> None:
    for pattern in BY_ID[check].judges:
        name = re.sub(r"\{subject\}|\*", "x", pattern)
        assert entry_of(name) is not None, pattern
        line = next(line for line in fact_page(name).splitlines() if line.startswith("The check"))
        command = line.partition("tunecheck explain ")[2].split()
        assert check in command and all(page(each) for each in command)


def test_a_fact_that_no_check_judges_names_none() -> None:
    assert "The check" not in fact_page("platform.bios") and "firmware" in fact_page("platform.bios")
    assert fact_page("platform.bias") == ""

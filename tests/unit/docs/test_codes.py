"""docs/codes.md has every code that a document may hold, and no other."""

from __future__ import annotations

import re

from lab.generators.codes import PAGE, page
from tests.unit.checks.test_cases import CASES, findings_of

from tunecheck.model.absence import Absence
from tunecheck.report.check_pages import page as explained
from tunecheck.rules.codes import COMMON
from tunecheck.rules.index import CHECKS


def test_the_tables_are_those_of_the_checks() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == page(text), "run: python -m lab.generators.codes"
    for check in CHECKS:
        assert all(f"| `{code}` | {meaning} |" in text for code, meaning in check.codes.items())


def test_every_reason_of_an_absent_fact_is_there() -> None:
    table = PAGE.read_text(encoding="utf-8").split("| `absence` | Meaning |")[1]
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", table, re.MULTILINE))
    assert set(rows) == {each.value for each in Absence}
    assert all(len(text) > 10 for text in rows.values())


def test_explain_knows_every_code() -> None:
    codes = {code for check in CHECKS for code in check.codes}
    for code in {re.sub("N$", "79", code) for code in codes} - {check.id for check in CHECKS}:
        assert code.upper() in explained(code).upper() or "xid" in code, code
    assert "Codes" in explained("link-width") and COMMON["log-incomplete"] in explained("log-incomplete")


def test_a_checks_page_names_every_code_that_it_gives() -> None:
    """Its own with their meaning, those of several checks by name, with the way to their meaning."""
    given = {(finding.id, re.sub(r"^(s?xid)-\d+$", r"\1-N", finding.code))
             for path in CASES for finding in findings_of(path)}
    assert ("accelerator-count", "no-accelerator") in given and len(given) > 500
    for check, code in given:
        end = explained(check).partition("## Codes\n")[2]
        own, _, shared = end.partition("Codes of several checks")
        assert f"`{code}`" in (shared if code in COMMON else own), (check, code)
        assert code not in COMMON or COMMON[code] in explained(code)

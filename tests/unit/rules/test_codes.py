"""Every finding has a code that its check declares: CODES in the check's own file, or one of rules/codes.py."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from tests.unit.checks.test_cases import CASES, findings_of

from tunecheck.rules.check import Check
from tunecheck.rules.codes import COMMON
from tunecheck.rules.index import BY_ID, CHECKS

RULES = Path(__file__).parents[3] / "checks/tunecheck/rules"
TESTS = Path(__file__).parents[2]
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*(-N)?")


def same(code: str) -> str:
    """``xid-79`` as it is declared: ``xid-N``."""
    return re.sub(r"^(s?xid)-\d+$", r"\1-N", code)


@cache
def given() -> dict[str, dict[str, set[str]]]:
    """Every code that the case files make a check give, with its outcomes."""
    codes: dict[str, dict[str, set[str]]] = {check.id: {} for check in CHECKS}
    for path in CASES:
        for finding in findings_of(path):
            codes[finding.id].setdefault(same(finding.code), set()).add(finding.outcome)
    return codes


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_codes_are_declared(check: Check) -> None:
    own = dict(check.codes.items() - COMMON.items())
    for code, meaning in own.items():
        assert NAME.fullmatch(code), code
        assert meaning[0].isupper() and meaning.endswith("."), (code, meaning)
        assert code not in COMMON, f"{code} has one meaning, in rules/codes.py"
        # A report and a list of codes show it alone.
        assert not re.match(r"(?:The same|Likewise|Also|As above|It)\b", meaning), (code, meaning)
    assert set(given()[check.id]) <= set(check.codes)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_a_pass_has_a_code_of_its_own(check: Check) -> None:
    mixed = {code: outcomes for code, outcomes in given()[check.id].items() if "pass" in outcomes and len(outcomes) > 1}
    assert mixed == {}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_every_code_of_its_own_is_seen(check: Check) -> None:
    """By a case file, or by another test that names it."""
    left = set(check.codes) - set(COMMON) - set(given()[check.id])
    named = {code for code in left if any(f'"{code}"' in text for text in _texts())}
    assert left - named == set()


@cache
def _texts() -> tuple[str, ...]:
    return tuple(path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py"))


def test_common_codes_are_given() -> None:
    reached = {code for codes in given().values() for code in codes}
    assert set(COMMON) - reached == set()


def test_nothing_is_without_a_code() -> None:
    left = [path.name for path in RULES.rglob("*.py") if '"TODO"' in path.read_text(encoding="utf-8")]
    assert left == []
    assert set(BY_ID) == {check.id for check in CHECKS}

"""The page calls expected only what somebody asks for; of a change it says what was there before, and of a host that
differs from its like how many have the other value."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from tests.unit.fleet.reports import cause, report

from tunecheck_fleet.outputs.html import html

_VALUES: dict[str, Any] = {"value": "off", "before": "pt"}


@pytest.mark.parametrize(("given", "label", "said"), [
    ({"authority": "previous", "expected": "changed", **_VALUES}, "Value before", "pt"),
    ({"authority": "previous", "expected": "changed", "value": "off", "before": None}, "Value before", "(absent)"),
    ({"authority": "previous", "expected": "changed", "state": "resolved", **_VALUES}, "Value before", "pt"),
    ({"authority": "majority", "expected": "differs from 7 of 8 in g", **_VALUES}, "Comparison",
     "differs from 7 of 8 in g"),
    ({"authority": "majority", "expected": "again as 7 of 8 in g", "state": "resolved", **_VALUES}, "Comparison",
     "again as 7 of 8 in g"),
    ({"authority": "desired", "expected": "desired pt", **_VALUES}, "Expected", "desired pt"),
    ({"authority": "desired", "expected": "desired state", **_VALUES}, "", ""),
    ({"authority": "reference", "expected": "as on gpu002", **_VALUES}, "Expected", "as on gpu002"),
    ({"authority": "identity", "expected": "one host", **_VALUES}, "Expected", "one host alone"),
    ({"authority": "identity", "expected": "the machine of before", **_VALUES}, "Expected", "the machine of before")])
def test_what_it_is_held_against_stands_under_its_own_name(given: dict[str, Any], label: str, said: str) -> None:
    page = html(report(causes=(cause(**given, id="0000000a"),)))
    rows = {unescape(name): unescape(text) for name, text in re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page)}
    assert {name: rows[name] for name in ("Value before", "Comparison", "Expected") if name in rows} == (
        {label: said} if label else {})

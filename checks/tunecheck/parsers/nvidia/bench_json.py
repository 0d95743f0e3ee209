"""What ``nvbandwidth -j`` prints (0.5 to 0.9, json_output.cpp), as the text that nvbandwidth prints without it."""

from __future__ import annotations

import json
from typing import Any, List, Tuple

from ...util.at_first_use import regex

__all__ = ["START", "as_text"]

START = regex(r"^[ \t]{0,40}(?:\{\s{0,40})?\"nvbandwidth\" ?:\s{0,40}\{", 8)     # 8: re.MULTILINE
_DEVICE = regex(r"^(\d{1,3}: [^\n]{1,200}?\([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\))")
_NAME = regex(r"^\w{1,100}$")
_MOST = 8 << 20
_TESTS, _WIDE = 200, 128
#: A test that its machine cannot run, and one that passed.
_FINE = ("Passed", "Waived")


def as_text(text: str) -> "Tuple[str, List[str]]":
    """Return the tables as text, and a sentence for each test that failed. ValueError where the JSON is damaged."""
    found = START.search(text)
    if found is None:
        raise ValueError("no JSON of nvbandwidth")
    begin = found.end() - 1
    try:
        told = json.JSONDecoder().raw_decode(text[begin:begin + _MOST])[0]
    except RecursionError:
        raise ValueError("the JSON of nvbandwidth is nested too deeply") from None
    lines = ["nvbandwidth Version: %s" % str(told.get("version", ""))[:40]]
    for device in _list(told.get("GPU Device list"))[:_WIDE]:
        named = _DEVICE.match(str(device))
        lines += ["Device %s" % named.group(1)] if named else []
    failed = []
    for test in _list(told.get("testcases"))[:_TESTS]:
        if isinstance(test, dict) and _NAME.match(str(test.get("name", ""))):
            status, why = str(test.get("status", ""))[:60], str(test.get("error", ""))[:200]
            if status not in _FINE or why:
                failed.append(": ".join(each for each in (str(test["name"]), status, why) if each))
            lines += _table(test)
    if told.get("error"):
        failed.append(" ".join(str(told["error"])[:200].split()))
    return "\n".join(lines) + "\n", failed


def _table(test: "dict[str, Any]") -> List[str]:
    """Return the lines of one test. One in both directions has three tables below each other, of which the last is the
    sum; one of the host's has a row, or two, below each other, of the same."""
    rows = [[str(cell) for cell in _list(row)] for row in _list(test.get("bandwidth_matrix"))[:3 * _WIDE]]
    wide = len(rows[0]) if rows else 0
    if not 0 < wide <= _WIDE or any(len(row) != wide for row in rows):
        return []
    if len(rows) == 3 * wide:
        rows = rows[-wide:]
    head = ["Running %s." % test["name"], str(test.get("bandwidth_description", ""))[:200].replace("\n", " "),
            " ".join(["   ", *map(str, range(wide))])]
    return [*head, *(" ".join([str(number), *map(_figure, row)]) for number, row in enumerate(rows)), ""]


def _figure(cell: str) -> str:
    """Return a figure with as many places as the text has: the JSON has six digits, 1e+03 among them."""
    try:
        return "%.2f" % float(cell)
    except ValueError:
        return "N/A" if cell == "N/A" else "?"


def _list(value: object) -> "List[Any]":
    return value if isinstance(value, list) else []

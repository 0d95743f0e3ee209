"""Order of package versions: dpkg's (deb-version(7)) and rpm's (rpmvercmp). Pure, for any text."""

from __future__ import annotations

import functools
import re
from typing import Iterable, List, Tuple

__all__ = ["dpkg_compare", "highest", "ordered", "rpm_compare", "upstream"]

_LONGEST = 200


def dpkg_compare(left: str, right: str) -> int:
    """Return -1, 0 or 1, as ``dpkg --compare-versions`` orders ``[epoch:]upstream[-revision]``."""
    (left_epoch, left_up, left_rev), (right_epoch, right_up, right_rev) = _deb(left), _deb(right)
    return _sign(left_epoch - right_epoch) or _fragments(left_up, right_up) or _fragments(left_rev, right_rev)


def rpm_compare(left: str, right: str) -> int:
    """Return -1, 0 or 1, as rpm orders ``[epoch:]version[-release]``. Without an epoch it is 0, and a release that only
    one has counts for nothing."""
    (left_epoch, left_ver, left_rel), (right_epoch, right_ver, right_rel) = _deb(left), _deb(right)
    by_version = _sign(left_epoch - right_epoch) or _segments(left_ver, right_ver)
    return by_version or (_segments(left_rel, right_rel) if left_rel and right_rel else 0)


def upstream(version: str) -> str:
    """Return a version without epoch and revision: ``595.71.05`` for ``1:595.71.05-0ubuntu1``."""
    return _deb(version)[1]


def highest(versions: Iterable[str], manager: str) -> str:
    """Return the newest version by apt's or dnf's order, the first of equals. "" where there is none."""
    compare = dpkg_compare if manager == "apt" else rpm_compare
    found = ""
    for version in versions:
        if not found or compare(version, found) > 0:
            found = version
    return found


def ordered(versions: Iterable[str], manager: str) -> List[str]:
    """Return the versions from the oldest to the newest, by apt's or dnf's order."""
    return sorted(versions, key=functools.cmp_to_key(dpkg_compare if manager == "apt" else rpm_compare))


def _deb(version: str) -> Tuple[int, str, str]:
    version = version.strip()[:_LONGEST]
    epoch, mark, rest = version.partition(":")
    if not mark or not re.match(r"^[0-9]{1,9}$", epoch):
        epoch, rest = "0", version
    up, _, revision = rest.rpartition("-")
    return int(epoch), up or rest, revision if up else ""


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def _weight(char: str) -> int:
    """Return the rank of a character: '~' before the end, the end before letters, letters before the rest
    (lib/dpkg/version.c, order())."""
    if char == "~":
        return -1
    if char.isdigit() or not char:
        return 0
    return ord(char) if char.isascii() and char.isalpha() else ord(char) + 256


def _fragments(left: str, right: str) -> int:
    """Compare two versions by turns: what is no digit, by character; then digits, by value (lib/dpkg/version.c,
    verrevcmp())."""
    at, to = 0, 0
    while at < len(left) or to < len(right):
        while (at < len(left) and not _digit(left[at])) or (to < len(right) and not _digit(right[to])):
            a = _weight(left[at]) if at < len(left) else 0
            b = _weight(right[to]) if to < len(right) else 0
            if a != b:
                return _sign(a - b)
            at, to = at + 1, to + 1
        first, at = _number(left, at)
        second, to = _number(right, to)
        if first != second:
            return _sign(first - second)
    return 0


def _digit(char: str) -> bool:
    return "0" <= char <= "9"


def _number(text: str, at: int) -> Tuple[int, int]:
    end = at
    while end < len(text) and _digit(text[end]):
        end += 1
    return int(text[at:end] or "0"), end


def _segments(left: str, right: str) -> int:
    """Compare two versions as rpmio/rpmvercmp.c does, by runs of digits or letters; '~' is before the end, '^' after it
    but before more."""
    one, two = re.findall(r"[0-9]+|[A-Za-z]+|~|\^", left), re.findall(r"[0-9]+|[A-Za-z]+|~|\^", right)
    for at in range(min(len(one), len(two))):
        a, b = one[at], two[at]
        if a == b:
            continue
        for mark in ("~", "^"):
            if mark in (a, b):
                return -1 if (a == mark) else 1
        if a.isdigit() != b.isdigit():
            return 1 if a.isdigit() else -1
        if a.isdigit():
            if int(a) != int(b):
                return _sign(int(a) - int(b))
        else:
            return 1 if a > b else -1
    rest = one[len(two):] or two[len(one):]
    if not rest:
        return 0
    longer = 1 if len(one) > len(two) else -1
    return -longer if rest[0] == "~" else longer

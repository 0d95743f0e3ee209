"""Check families: the columns of the fleet's grid, in the order of a report. Each check declares its own."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from tunecheck.model.finding import OUTCOMES, Finding
from tunecheck.rules.check import Family
from tunecheck.rules.index import BY_ID

__all__ = ["FAMILIES", "family_of", "outcomes"]

#: Family -> what it is about.
FAMILIES = {name: about for name, about in (family.value for family in Family)}
_RANK = {outcome: rank for rank, outcome in enumerate(OUTCOMES)}


@cache      # a box has 180 findings
def family_of(check: str) -> str:
    """The family of a check's id; "errors" for one that this version does not know."""
    known = BY_ID.get(check)
    return (known.family if known else Family.ERRORS).value[0]


def outcomes(findings: Iterable[Finding]) -> dict[str, str]:
    """The worst outcome of each family that was judged, in the order of FAMILIES."""
    found: dict[str, str] = {}
    for finding in findings:
        family = family_of(finding.id)
        if family not in found or _RANK[finding.outcome] < _RANK[found[family]]:
            found[family] = finding.outcome
    return {family: found[family] for family in FAMILIES if family in found}

"""Which facts a check judges: there the desired state has the say, and neither majority nor previous audit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase, translate
from functools import lru_cache

from tunecheck.rules.index import CHECKS

__all__ = ["HAPPENING", "JUDGED", "about", "checks_of", "judged", "judges_one", "judging", "looked_at"]

#: Checks of what goes on, not of how a box is set up: more of it is news, so that a warning of theirs never stands.
HAPPENING = frozenset(check.id for check in CHECKS if check.tells_events)
#: Check -> the facts it judges, as shell patterns; {subject} is the name of what the finding was about.
JUDGED = {check.id: check.judges for check in CHECKS if check.judges}
#: Check -> further facts that may end what it found: those it compares with, and whose words may take a declared one
#: back.
_BESIDE = {check.id: (*check.compares, *check.against) for check in CHECKS if check.compares or check.against}
_OF_SUBJECT = {check.id: dict(check.judges_of) for check in CHECKS if check.judges_of}


def judged(check: str, subject: str, facts: Iterable[str]) -> Iterator[str]:
    """Those of the facts that the check's finding on this subject has judged."""
    own = _literal(_word(subject))
    exact, matches = _any_of(tuple(pattern.replace("{subject}", own) for pattern in _patterns(check, subject)))
    return (fact for fact in facts if fact in exact or (matches is not None and matches(fact)))


@lru_cache(maxsize=1024)
def _any_of(patterns: tuple[str, ...]) -> tuple[frozenset[str], Callable[[str], object] | None]:
    """The names that are meant as they stand, and what finds those of the others: a report asks for each problem with
    all names."""
    wild = [pattern for pattern in patterns if any(char in pattern for char in "*?[")]
    return frozenset(patterns).difference(wild), re.compile("|".join(map(translate, wild))).match if wild else None


def judges_one(check: str, subject: str) -> bool:
    """Whether the check's finding on this subject is about one fact alone, whichever facts a fleet has."""
    patterns = _patterns(check, subject)
    return len(patterns) == 1 and "*" not in patterns[0]


def _patterns(check: str, subject: str) -> tuple[str, ...]:
    own = _OF_SUBJECT.get(check, {}).get(subject)
    return JUDGED.get(check, ()) if own is None else (own,) if own else ()


def about(check: str, subject: str, fact: str) -> bool:
    """Whether the check's finding on this subject may be about the fact, or about one of the family ``fact`` ("pcie.").
    ``subject`` may stand for several ("GPU* *"): then it may be about a fact of any."""
    one = _literal(_word(subject)) if subject and "*" not in subject else "*"
    for pattern in _patterns(check, subject):
        named = pattern.replace("{subject}", one)
        # A family is below the name, or a pattern of a whole family ("pcie.*") holds a smaller one.
        if named.startswith(fact) or fnmatchcase(f"{fact}x", named) if fact.endswith(".") else fnmatchcase(fact, named):
            return True
    return False


def checks_of(fact: str) -> list[str]:
    """The checks that judge this fact together with others: a decision about what they say names the check. Of a check
    that judges no other either name will do."""
    return sorted(check for check in JUDGED if not judges_one(check, "") and about(check, "", fact))


def judging(check: str, facts: Iterable[str]) -> list[str]:
    """Those of the facts that the check may judge, on whichever subject."""
    patterns = [pattern.replace("{subject}", "*") for pattern in JUDGED.get(check, ())]
    return [fact for fact in facts if any(fnmatchcase(fact, pattern) for pattern in patterns)]


def looked_at(check: str, facts: Iterable[str]) -> list[str]:
    """Those of the facts that the check looks at without judging them: one that changes may end what it found."""
    return [fact for fact in facts if any(fnmatchcase(fact, pattern) for pattern in _BESIDE.get(check, ()))]


def _word(subject: str) -> str:
    """The fact's part of a subject such as "iommu=pt" or "nvidia NVreg_Foo" (module and parameter)."""
    return subject.split("=")[0].strip().replace(" ", ".")


def _literal(text: str) -> str:
    """What a box calls something is no pattern."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in text)

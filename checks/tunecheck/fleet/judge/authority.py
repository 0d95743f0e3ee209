"""Which facts a check judges: there the desired state has the say, and neither majority nor previous audit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from ..model import Problem

__all__ = ["JUDGED", "judged"]

#: Check -> the facts it judges, as shell patterns; {subject} is what the finding was about (a parameter's name).
JUDGED: dict[str, tuple[str, ...]] = {}


def judged(problem: Problem, facts: Iterable[str]) -> Iterator[str]:
    """Those of the facts that this problem has judged."""
    patterns = [pattern.replace("{subject}", _literal(_word(problem.subject)))
                for pattern in JUDGED.get(problem.check, ())]
    return (fact for fact in facts if any(fnmatchcase(fact, pattern) for pattern in patterns))


def _word(subject: str) -> str:
    """The name in a subject such as "iommu=pt" or "nvidia.NVreg_Foo=1"."""
    return subject.split("=")[0].strip()


def _literal(text: str) -> str:
    """What a box calls something is no pattern."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in text)

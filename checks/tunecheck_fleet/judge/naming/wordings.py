"""How hosts told a finding before, where they tell one finding in several ways: which of these is the older one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ...model import Problem, fault_of
from ..desired import same_of
from ..rows import name_of
from ..view_rows import Host, Resolved, Wording

if TYPE_CHECKING:
    from ...store import Store

__all__ = ["wordings"]


def wordings(store: Store, hosts: Iterable[Host], words: Mapping[tuple[str, str, str, str], Problem],
             resolved: Iterable[Resolved], audit_id: int) -> dict[tuple[str, str], tuple[Wording, ...]]:
    """(host, name) -> how the host told what has this name, of names that several things have."""
    told = [*((host.host, problem) for host in hosts for problem in host.problems),
            *((host, problem) for (host, *_), problem in words.items()),
            *((over.host, over.told) for over in resolved if over.told is not None)]
    # Most hosts share their problems.
    problems = {id(problem): problem for _, problem in told}
    names = {number: _name(problem) for number, problem in problems.items()}
    sames: dict[str, set[str]] = {}
    for number, problem in problems.items():
        sames.setdefault(names[number], set()).add(same_of(problem))
    several = {name for name, own in sames.items() if len(own) > 1}
    if not several:
        return {}
    wanted: dict[str, set[str]] = {}
    for name, problem in told:
        if names[id(problem)] in several:
            wanted.setdefault(name, set()).add(problem.check)
    found: dict[tuple[str, str], list[Wording]] = {}
    for host, problem, seen, until in store.told_spans(wanted, audit_id):
        if (own_name := _name(problem)) in several:
            found.setdefault((host, own_name), []).append(Wording(same_of(problem), seen, until))
    return {key: tuple(spans) for key, spans in found.items()}


def _name(problem: Problem) -> str:
    return name_of("desired", problem.check, problem.outcome, fault_of(problem.check, problem.code), same_of(problem))

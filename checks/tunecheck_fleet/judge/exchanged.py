"""Names that exchanged their machines, two or more of them: who looks for one box finds another.

Every machine has a home: the name that it had first, or had when somebody approved that last. Names are exchanged where
machines of each other's homes have them, so names that are put back are exchanged no more, whatever was in between. A
machine that was renamed, and whose old name nobody has or another machine has for good, is at home under the new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from tunecheck.model.finding import Remedy
from tunecheck.util.text import some

from ..fleet_report import Since
from ..lookup import KEY
from .rows import Row
from .view import View

__all__ = ["exchanged"]

_REMEDY = Remedy("give each name back to its machine: in DNS, DHCP or the inventory, of carried files by the name of "
                 "the file; where it is meant, approve it")
#: Names in a sentence.
_NAMED = 5


class _Ring(NamedTuple):
    """``had``: name -> the name that its machine had. ``since``: when the last of them came to be so."""

    had: Mapping[str, str]
    since: Since

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(sorted(self.had))


class _Machine:
    """``names``: every name it had up to some audit, and has there."""

    def __init__(self, names: list[str], since: Since | None, approved: int) -> None:
        self.names, self.since, self.home = names, since, approved

    @property
    def name(self) -> str:
        return self.names[-1]

    @property
    def moved(self) -> bool:
        return self.names[self.home] != self.name


def exchanged(view: View, groups: Mapping[str, str]) -> list[Row]:
    """One finding for each exchange, open until the names are put back or somebody approves it."""
    now = _rings(view, view.audit.id)
    prior = view.previous.id if view.previous is not None else 0
    then = _rings(view, prior) if prior else []
    rows = []
    for ring in now:
        known = all(view.had(name, ring.since) for name in ring.had)
        rows += _rows(ring, groups, "known" if known else "new")
    still = {ring.hosts for ring in now}
    for ring in then:
        if ring.hosts not in still:
            rows += _rows(ring, groups, "resolved", _ended(view, ring, prior))
    return rows


def _rows(ring: _Ring, groups: Mapping[str, str], state: Literal["new", "known", "resolved"],
          ended: Since | None = None) -> list[Row]:
    return [Row("identity", "medium", KEY, groups[name], name, expected="the machine of before", fix="none",
                since=ring.since, ended=ended, state=state, text=_text(ring, state == "resolved"),
                remedy="" if state == "resolved" else _REMEDY.text, same="\0".join(ring.hosts))
            for name in ring.hosts if name in groups]


def _text(ring: _Ring, over: bool) -> str:
    """True of each of them."""
    names = some(ring.hosts, _NAMED, ", ") if len(ring.had) > 2 else " and ".join(ring.hosts)
    if over:
        return f"{names} had exchanged their machines, and have not any more"
    if len(ring.had) == 2:
        return f"{names} have exchanged their machines"
    had = some([f"{name} has that of {ring.had[name]}" for name in ring.hosts], _NAMED, ", ")
    return f"{names} have exchanged their machines: {had}"


def _ended(view: View, ring: _Ring, prior: int) -> Since:
    steps = [step.since for each in view.renamed for step in each.steps
             if prior < step.since.seen and {each.host, step.before} & ring.had.keys()]
    return max(steps, key=_age, default=view.now_since)


def _age(since: Since) -> tuple[int, int]:
    return since.seen, since.after or 0


def _rings(view: View, upto: int) -> list[_Ring]:
    """As of that audit, or an earlier one."""
    machines = {each.name: each for each in _machines(view, upto)}
    _settle(machines)
    found: list[_Ring] = []
    done: set[str] = set()
    for name, machine in sorted(machines.items()):
        ring: dict[str, str] = {}
        at, each = name, machine
        while each.moved and at not in ring and at not in done:
            ring[at] = each.names[each.home]
            at = ring[at]
            each = machines[at]
        done.update(ring)
        if ring and at in ring:
            ring = _from(ring, at)
            sinces = [since for each in ring if (since := machines[each].since) is not None]
            found.append(_Ring(ring, max(sinces, key=_age)))
    return found


def _from(way: Mapping[str, str], first: str) -> dict[str, str]:
    """The part of the way that goes round."""
    names = list(way)
    return {name: way[name] for name in names[names.index(first):]}


def _machines(view: View, upto: int) -> Iterable[_Machine]:
    for each in view.renamed:
        names = [*(step.before for step in each.steps), each.host]
        count = sum(step.since.seen <= upto for step in each.steps)
        approved = sum(step.since.seen <= each.approved for step in each.steps[:count])
        yield _Machine(names[:count + 1], each.steps[count - 1].since if count else None, approved)


def _settle(machines: Mapping[str, _Machine]) -> None:
    """A machine of which nobody, or one that is at home, has the old name, has none to go back to: the next one that it
    had is its home."""
    found = True
    while found:
        found = False
        for machine in machines.values():
            if machine.moved:
                there = machines.get(machine.names[machine.home])
                if there is None or not there.moved:
                    machine.home += 1
                    found = True

"""The same history, kept the simplest way: every answer as it came. Slow, and plain enough to be believed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from tunecheck_fleet.model import Seen
from tunecheck_fleet.store import canonical

__all__ = ["Naive"]


@dataclass(frozen=True)
class Told:
    """One answer. ``catalogue``: the audit's."""

    audit: int
    catalogue: int
    seen: Seen

    @property
    def answered(self) -> bool:
        return self.seen.status in ("ok", "partial")

    def tells(self, fact: str) -> bool:
        """A value, or that it is absent."""
        return self.answered and (fact in self.seen.known or not any(
            fact == name or (name.endswith(".") and fact.startswith(name)) for name in self.seen.unknown))

    def value(self, fact: str) -> str:
        return canonical(self.seen.known.get(fact))


class Naive:
    """Hosts are their names here: who is who is another test's."""

    def __init__(self) -> None:
        self.told: dict[str, list[Told]] = {}

    def put(self, audit: int, catalogue: int, seen: Seen) -> None:
        self.told.setdefault(seen.host, []).append(Told(audit, catalogue, seen))

    def facts(self, host: str) -> list[str]:
        return sorted({name for told in self.told.get(host, ()) if told.answered for name in told.seen.known})

    def steps(self, host: str, fact: str, upto: int = 10**9) -> list[tuple[int, int | None, str | None, str, bool]]:
        """(audit, last audit that told it before, value before, value, no change but a baseline), oldest first."""
        found: list[tuple[int, int | None, str | None, str, bool]] = []
        before: Told | None = None
        for told in self.told.get(host, ()):
            if told.audit > upto or not told.tells(fact):
                continue
            value = told.value(fact)
            old = before.value(fact) if before is not None else None
            held = found[-1][3] if found else None
            if before is None:
                if value != "null":
                    found.append((told.audit, None, None, value, True))
            elif old != value:
                missing = held is None or value == "null"
                found.append((told.audit, before.audit, held, value, before.catalogue != told.catalogue
                              or (missing and before.seen.tunecheck != told.seen.tunecheck)))
            before = told
        return found

    def at(self, host: str, audit: int) -> dict[str, str]:
        last = {fact: steps[-1][3] for fact in self.facts(host) if (steps := self.steps(host, fact, audit))}
        return {fact: value for fact, value in last.items() if value != "null"}

    def changes(self, after: int, upto: int) -> set[tuple[Any, ...]]:
        return {(host, fact, before or "null", value, audit, last)
                for host in self.told for fact in self.facts(host)
                for audit, last, before, value, baseline in self.steps(host, fact)
                if not baseline and after < audit <= upto}

    def diff(self, a: int, b: int) -> set[tuple[str, str, str, str]]:
        found = set()
        for host in self.told:
            for fact in self.facts(host):
                steps = [step for step in self.steps(host, fact) if a < step[0] <= b]
                if steps and not any(step[4] for step in steps) and (steps[0][2] or "null") != steps[-1][3]:
                    found.add((host, fact, steps[0][2] or "null", steps[-1][3]))
        return found

    def answers(self, audit: int) -> dict[str, Seen]:
        return {host: told.seen for host, tolds in self.told.items() for told in tolds if told.audit == audit}

    def census(self, audit: int) -> Counter[tuple[str, str, str, str]]:
        """(group, hardware, fact, value) of every host that tells it in that audit; facts that the cohort knows."""
        now = {host: told for host, tolds in self.told.items() for told in tolds if told.audit == audit
               and told.answered}
        had = {(told.seen.group, told.seen.hardware, fact) for host, told in now.items()
               for fact in self.facts(host) if self.steps(host, fact, audit) and told.tells(fact)}
        return Counter((group, hardware, fact, told.value(fact)) for group, hardware, fact in had
                       for told in now.values() if (told.seen.group, told.seen.hardware) == (group, hardware)
                       and told.tells(fact))

    def last_ok(self, host: str, audit: int) -> int | None:
        return max((told.audit for told in self.told.get(host, ()) if told.answered and told.audit <= audit),
                   default=None)

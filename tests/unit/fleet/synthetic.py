"""A made-up fleet with planted drift: what every host says in each audit, and, kept apart, what is planted.

104 facts of seven kinds: the same everywhere, by group, sets, derived from the hardware, of two vendors, identity, and
volatile; five volatile ones are wrongly registered as config. Some drift cannot be found by comparing hosts: in facts
of two vendors, and in a group of three.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tunecheck.facts.registry.definition import Entry, Kind
from tunecheck.model.absence import Absence
from tunecheck.model.fact import absent
from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.model import Seen
from tunecheck_fleet.store import Store

__all__ = ["LEFT_IN", "SIZES", "SMALL", "Fleet", "Score", "audited", "fleet", "scored"]

SIZES = (400, 300, 150, 90, 40, 12, 5, 3)
SMALL = (40, 30, 20, 15, 10, 8, 5, 3)

_UNIFORM, _GROUPED, _SETS, _DERIVED, _VENDORS, _IDENTITY, _VOLATILE = 24, 24, 10, 10, 8, 8, 15
#: Wrongly config: two gauges, a counter, a time, a random id.
LEFT_IN = ("left.free_mib", "left.fan", "left.replays", "left.stamp", "left.random")


def _entry(name: str, kind: Kind) -> Entry:
    return Entry(name, kind, "medium", "reload", name, lambda stored: absent("", Absence.NOT_PRESENT))


@dataclass
class Fleet:
    """``planted``: (host, fact) that drifted and still are; ``hidden``: those of them that no comparison finds."""

    names: list[tuple[str, str, str]]
    facts: dict[str, str]
    entries: dict[str, Entry]
    values: dict[str, dict[str, Any]]
    audits: int
    steps: dict[int, list[tuple[str, str, Any]]] = field(default_factory=dict)
    planted: set[tuple[str, str]] = field(default_factory=set)
    hidden: set[tuple[str, str]] = field(default_factory=set)
    seed: int = 7

    def asked(self) -> list[tuple[str, str]]:
        return [(host, group) for host, group, _ in self.names]

    def audit(self, number: int) -> Iterator[Seen]:
        """What comes in audit ``number`` (from 1 on), in turn: call it once each."""
        rng = random.Random(self.seed * 1000 + number)
        for host, fact, value in self.steps.get(number, ()):
            if value is _GONE:
                self.values[host].pop(fact, None)
            else:
                self.values[host][fact] = value
        for at, (host, group, hardware) in enumerate(self.names):
            if number not in (1, self.audits) and rng.random() < 0.005:
                yield Seen(host, group, "unreachable", "no route to host")
                continue
            known = {**self.values[host], "left.free_mib": rng.randrange(10_000),
                     "left.fan": f"{rng.randrange(40, 90)}",
                     "left.replays": number * 100 + at % 7 + rng.randrange(50),
                     "left.stamp": f"2026-11-{number:02d}T05:{rng.randrange(60):02d}:{rng.randrange(60):02d}Z",
                     "left.random": f"{rng.getrandbits(128):032x}"}
            yield Seen(host, group, "ok", key=f"key-{host}", hardware=hardware, tunecheck="0.1.0", spec=None,
                       boot_id="boot", known=known, volatile={f"gauge.{index}": rng.randrange(1000)
                                                              for index in range(_VOLATILE)}, document=b"{}")


_GONE = object()


def fleet(sizes: Sequence[int] = SIZES, drifts: int = 275, audits: int = 6, seed: int = 7) -> Fleet:
    rng = random.Random(seed)
    names = [(f"g{group}-{number:04d}", f"group{group}", f"board{group} x8")
             for group, size in enumerate(sizes) for number in range(size)]
    facts = _facts()
    entries = {name: _entry(name, "identity" if kind == "identity" else "gauge" if kind == "volatile" else "config")
               for name, kind in facts.items()}
    made = Fleet(names, facts, entries, {}, audits, seed=seed)
    for host, group, _ in names:
        made.values[host] = {name: _value(rng, kind, name, group) for name, kind in facts.items()
                             if kind not in ("volatile", "left in")}
    _plant(made, rng, drifts, sizes)
    _legitimate(made, rng)
    return made


def _facts() -> dict[str, str]:
    kinds = (("uniform", _UNIFORM), ("grouped", _GROUPED), ("sets", _SETS), ("derived", _DERIVED),
             ("vendors", _VENDORS), ("identity", _IDENTITY), ("volatile", _VOLATILE))
    named = {f"{'gauge' if kind == 'volatile' else kind}.{index}": kind for kind, count in kinds
             for index in range(count)}
    return {**named, **dict.fromkeys(LEFT_IN, "left in")}


def _value(rng: random.Random, kind: str, name: str, group: str) -> Any:
    if kind == "identity":
        return f"{rng.getrandbits(64):016x}"
    if kind == "vendors":
        return "vendor A" if rng.random() < 0.6 else "vendor B"
    if kind == "sets":
        return sorted(f"{name}-{part}" for part in range(4))
    return {"uniform": "on", "grouped": f"{group}-1", "derived": len(group) * 1000 + ord(group[-1])}[kind]


def _plant(made: Fleet, rng: random.Random, drifts: int, sizes: Sequence[int]) -> None:
    tiny = {f"group{group}" for group, size in enumerate(sizes) if size < 5}
    small = [host for host, group, _ in made.names if group in tiny]
    large = [host for host, group, _ in made.names if group not in tiny]
    compared = [name for name, kind in made.facts.items() if kind in ("uniform", "grouped", "sets", "derived")]
    vendors = [name for name, kind in made.facts.items() if kind == "vendors"]
    hidden = drifts * 20 // 275
    # One thing that happened to many boxes at once: a token gone on nearly a tenth of the largest group.
    many = rng.sample([host for host, group, _ in made.names if group == "group0"], max(3, sizes[0] * 9 // 100))
    plan = [(host, "grouped.0", None) for host in many]
    plan += [(rng.choice(small), rng.choice(compared), "hidden") for _ in range(hidden * 3 // 10)]
    while len(plan) < drifts:
        if sum(how == "hidden" for *_, how in plan) < hidden:
            entry = (rng.choice(large), rng.choice(vendors), "hidden")
        else:
            entry = (rng.choice(large), rng.choice([fact for fact in compared if fact != "grouped.0"]), None)
        if all(entry[:2] != other[:2] for other in plan):
            plan.append(entry)
    for host, fact, how in plan:
        made.planted.add((host, fact))
        if how:
            made.hidden.add((host, fact))
        value: Any = f"drifted {rng.randrange(3)}"
        if fact == "grouped.0" or rng.random() < 0.1:
            value = _GONE
        when = made.audits - 1 if fact == "grouped.0" else rng.randrange(1, made.audits + 1)
        made.steps.setdefault(when, []).append((host, fact, value))


def _legitimate(made: Fleet, rng: random.Random) -> None:
    """What changes and is no drift: a whole group moves; half of one does; a drift is put right."""
    for host, group, _ in made.names:
        if group == "group1" and (host, "grouped.1") not in made.planted:
            made.steps.setdefault(3, []).append((host, "grouped.1", "group1-2"))
        if group == "group2" and (host, "grouped.2") not in made.planted and rng.random() < 0.45:
            made.steps.setdefault(made.audits, []).append((host, "grouped.2", "group2-2"))
    repaired = next(host for host, group, _ in made.names if group == "group3" and (host, "uniform.3") not in
                    made.planted)
    made.steps.setdefault(2, []).append((repaired, "uniform.3", "off"))
    made.steps.setdefault(made.audits, []).append((repaired, "uniform.3", "on"))


def audited(store: Store, made: Fleet) -> None:
    """Every audit of the fleet, into the store."""
    for number in range(1, made.audits + 1):
        head = store.begin("synthetic", made.asked())
        for seen in made.audit(number):
            store.put(head.id, seen)
        store.finish(head.id)


@dataclass(frozen=True)
class Score:
    """``false``: called outliers that are none; ``missed``: planted and not called one; both (host, fact)."""

    found: set[tuple[str, str]]
    false: set[tuple[str, str]]
    missed: set[tuple[str, str]]
    precision: float
    recall: float


def scored(report: FleetReport, made: Fleet) -> Score:
    """The report's outliers beside what is planted, which the judges never saw."""
    found = {(host, cause.fact) for cause in report.causes
             if cause.authority == "majority" and cause.state != "resolved" for host in cause.hosts}
    right = found & made.planted
    return Score(found, found - made.planted, made.planted - found, len(right) / max(1, len(found)),
                 len(right) / max(1, len(made.planted)))

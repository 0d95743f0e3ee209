"""Views made by hand, for the judges."""

from __future__ import annotations

from typing import Any

from tunecheck_fleet.fleet_report import Since
from tunecheck_fleet.judge.view import View, canon
from tunecheck_fleet.judge.view_rows import Host, Move, Outlier, Tally
from tunecheck_fleet.model import AuditHead

__all__ = ["head", "move", "since", "view"]

DAY = 86400.0


def head(number: int, **more: Any) -> AuditHead:
    fields: dict[str, Any] = dict(id=number, started=number * DAY, scope="all", asked=10, tunecheck="0.1.0",
                                  catalogue=1, finished=number * DAY + 60)
    return AuditHead(**{**fields, **more})


def since(seen: int, after: int | None = None) -> Since:
    return Since(seen, seen * DAY, after, after * DAY if after is not None else None)


def move(host: str, fact: str, before: Any, value: Any, seen: int = 5, group: str = "g", ours: bool = False) -> Move:
    return Move(host, group, fact, before, value, since(seen, seen - 1), ours)


def view(values: dict[str, dict[str, Any]], *, moves: tuple[Move, ...] = (), group: str = "g", number: int = 5,
         **more: Any) -> View:
    """Audit ``number`` of one group, with the tallies and the outliers of ``values`` (host -> fact -> value)."""
    hosts = more.pop("hosts", None) or tuple(Host(name, group, "hw", last_ok=number, last_ok_at=number * DAY)
                                            for name in sorted(values))
    counts: dict[tuple[str, str], list[str]] = {}
    plain: dict[str, Any] = {}
    for name, facts in sorted(values.items()):
        for fact, value in facts.items():
            counts.setdefault((fact, canon(value)), []).append(name)
            plain[canon(value)] = value
    moved = {(each.host, each.fact): each.since for each in moves}
    outliers = []
    for fact in {fact for fact, _ in counts}:
        texts = {text: names for (name, text), names in counts.items() if name == fact}
        top = min(texts, key=lambda text: (-len(texts[text]), text))
        outliers += [Outlier(name, group, "hw", fact, plain[text], moved.get((name, fact), since(1)))
                for text, names in texts.items() if text != top for name in names]
    fields: dict[str, Any] = dict(
        audit=head(number), previous=head(number - 1) if number > 1 else None, now=number * DAY + 120, hosts=hosts,
        moves=moves, outliers=tuple(outliers), known=frozenset(values),
        tallies=tuple(Tally(group, "hw", fact, plain[text], len(names)) for (fact, text), names in counts.items()))
    return View(**{**fields, **more})

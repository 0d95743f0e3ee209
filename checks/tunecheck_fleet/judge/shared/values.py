"""Values that only one host can have, and several do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...fleet_report import Since
from ..view import canon
from ..view_rows import Host, Kept

__all__ = ["each_of", "kept_of"]


def each_of(value: Any) -> tuple[Any, ...]:
    """Of a list of serial numbers every one, for a board can be told of by two boxes."""
    return () if value is None else tuple(dict.fromkeys(value)) if isinstance(value, list) and all(
        isinstance(part, str) for part in value) else (value,)


def kept_of(hosts: Iterable[Host], held: Mapping[str, Mapping[str, tuple[Any, Since]]],
            twice: Mapping[tuple[str, str], Any]) -> tuple[Kept, ...]:
    """Who has which of the values ``twice``: (fact, canonical JSON) -> the value."""
    holders: dict[tuple[str, str], dict[str, Since]] = {}
    last: dict[str, int] = {}       # of silent hosts
    for host in hosts:
        if not host.answered and host.last_ok is not None:
            last[host.host] = host.last_ok
        for fact, (value, since) in held.get(host.host, {}).items() if host.last_ok is not None else ():
            for each in each_of(value):
                if (fact, canon(each)) in twice:
                    holders.setdefault((fact, canon(each)), {})[host.host] = since
    return tuple(Kept(fact, twice[fact, text], tuple(sorted(names)), names)
                 for (fact, text), each in sorted(holders.items()) if len(names := _at_once(each, last)) > 1)


def _at_once(holders: dict[str, Since], last: Mapping[str, int]) -> dict[str, Since]:
    """Those of the holders of which two were seen: a box that tells the serial of a silent one, and tells it since that
    was heard last, may be that box under another name. ``last``: silent host -> the audit that heard it last."""
    if len(holders.keys() - last.keys()) > 1:
        return holders
    endless = max((since.seen for since in holders.values()), default=0)
    return {name: since for name, since in holders.items() if any(
        other != name and since.seen <= last.get(other, endless) and its.seen <= last.get(name, endless)
        for other, its in holders.items())}

"""Who the boxes are: two that say they are one (a cloned image), and one name that is another machine now."""

from __future__ import annotations

from collections import defaultdict

from .rows import Row
from .view import Kept, View, canon

__all__ = ["identity", "replaced"]

KEY = "host.key"


def replaced(view: View) -> frozenset[str]:
    """Names behind which another machine stands now."""
    return frozenset(event.host for event in view.events if event.kind == "replaced")


def identity(view: View) -> list[Row]:
    keys: dict[str, set[str]] = defaultdict(set)
    for host in view.hosts:
        if host.key:
            keys[host.key].add(host.host)
    fresh = set()
    for event in view.events:
        if event.kind == "duplicate":
            if view.previous is None or event.audit > view.previous.id:
                fresh.add(event.host)
            key = next((host.key for host in view.hosts if host.host == event.other and host.key), event.other)
            keys[key] |= {event.host, event.other}
    groups = {host.host: host.group for host in view.hosts}
    rows = [Row("identity", "medium", KEY, groups.get(name, ""), name, expected="the machine of before", fix="none",
                value=None, text="replaced: another machine has this name now; its values are compared from here on",
                same="replaced") for name in sorted(replaced(view))]
    shared = [Kept(KEY, key, tuple(sorted(names))) for key, names in sorted(keys.items()) if len(names) > 1]
    told = {kept.hosts for kept in shared}
    # Cloned images share more than one thing: the same hosts are one finding, the key's.
    shared += [kept for kept in view.shared if kept.hosts not in told]
    for kept in shared:
        for name in kept.hosts:
            known = not fresh & set(kept.hosts) and view.previous is not None
            rows.append(Row(
                "identity", "high", kept.fact, groups.get(kept.hosts[0], ""), name,
                expected="one host", fix="hands-on", value=kept.value, state="known" if known else "new",
                text=f"{len(kept.hosts)} hosts say they are one machine: {_names(kept.hosts)}",
                same=canon(kept.value)))
    return rows


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")

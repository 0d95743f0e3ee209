"""Against one host that is known to be good."""

from __future__ import annotations

from collections.abc import Collection

from .rows import Row
from .view import View, canon

__all__ = ["reference"]


def reference(view: View, not_of: Collection[tuple[str, str]], not_facts: Collection[str]) -> list[Row]:
    """Config facts in which hosts of the same hardware differ from the named host. ``not_of``: (host, fact) that the
    desired state has judged; ``not_facts``: facts that never rest."""
    name = view.reference
    if name is None:
        return []
    good = view.values[name]
    hardware = {host.host: host.cohort for host in view.hosts}
    rows = []
    for host in view.hosts:
        if host.host == name or host.host not in view.values or host.cohort != hardware.get(name):
            continue
        values = view.values[host.host]
        for fact in sorted(good.keys() | values.keys()):
            meta, here, there = view.of(fact), values.get(fact), good.get(fact)
            if meta.kind != "config" or fact in not_facts or (host.host, fact) in not_of or canon(here) == canon(there):
                continue
            rows.append(Row("reference", meta.severity, fact, host.group, host.host, expected=f"as on {name}",
                            fix=meta.fix, value=here, before=there, whose="reference", state="known",
                            text=f"differs from {name}", same=canon(here)))
    return rows

"""Who the boxes are: two that say they are one (a cloned image), and one name that is another machine now."""

from __future__ import annotations

from collections import defaultdict

from ...rules.command import run
from ...rules.finding import Remedy
from ..names import KEY
from ..verdict import Since
from .rows import RANK, Row, widest
from .view import Kept, View, canon

__all__ = ["identity", "replaced"]

_REMEDY = Remedy.of("on the clone, as root: ", run("rm /etc/machine-id"), "; then: ", run("systemd-machine-id-setup"))


def replaced(view: View) -> frozenset[str]:
    """Names behind which another machine stands now."""
    return frozenset(event.host for event in view.events if event.kind == "replaced")


def identity(view: View) -> list[Row]:
    """Clones are hosts that told one key in one audit. They stay clones while one of them is silent, or out of this
    audit (--limit); not any more once it is out of the fleet, or has a key of its own."""
    answered = {host.host for host in view.hosts if host.answered}
    keys: dict[str, set[str]] = defaultdict(set)
    for host in view.hosts:
        if host.key and host.host in answered:
            keys[host.key].add(host.host)
    fresh, old = set(), set()
    began: dict[str, list[Since]] = defaultdict(list)
    for claim in view.claims:
        if claim.since is not None and claim.asked and answered & {claim.host, claim.other}:
            keys[claim.key] |= {claim.host, claim.other}
        if claim.since is not None and view.previous is not None and claim.since.seen <= view.previous.id:
            old |= {claim.host, claim.other}
        fresh.add(claim.host)
        if claim.since is not None:
            began[claim.key].append(claim.since)
    fresh -= old
    groups = {host.host: host.group for host in view.hosts}
    rows = [Row("identity", "medium", KEY, groups.get(event.host, ""), event.host, expected="the machine of before",
                fix="none", value=event.key, before=event.before, since=event.since,
                text="replaced: another machine has this name now; its values are compared from here on",
                same="replaced")
            for event in {event.host: event for event in view.events if event.kind == "replaced"}.values()]
    shared = [Kept(KEY, key, tuple(sorted(names))) for key, names in sorted(keys.items()) if len(names) > 1]
    # Cloned images share more than one thing: the same hosts are one finding, by the first that gives them away.
    also: dict[tuple[str, ...], list[str]] = {kept.hosts: [] for kept in shared}
    for kept in sorted(view.shared, key=lambda kept: (RANK[view.of(kept.fact).severity], kept.fact, canon(kept.value))):
        if kept.hosts in also:
            also[kept.hosts].append(kept.fact)
        else:
            also[kept.hosts] = []
            shared.append(kept)
    for kept in shared:
        more = sorted({*also[kept.hosts]} - {kept.fact})
        alike = f"; they share {', '.join(more[:3])} too" if more else ""
        severity = "high" if kept.fact == KEY else view.of(kept.fact).severity
        # One of them may be no host of this audit (--limit).
        group = next((groups[name] for name in kept.hosts if name in groups), "")
        for name in kept.hosts:
            known = not fresh & set(kept.hosts) and view.previous is not None
            rows.append(Row(
                "identity", severity, kept.fact, group, name,
                expected="one host", fix="hands-on", value=kept.value, before=kept.value,
                since=_since(view, began[kept.value]) if kept.fact == KEY else None,
                remedy=_REMEDY.text if kept.fact == KEY else "",
                commands=_REMEDY.commands if kept.fact == KEY else (),
                state="known" if known else "new",
                text=f"{len(kept.hosts)} hosts have what only one can have: {_names(kept.hosts)}{alike}",
                same=canon(kept.value)))
    return rows


def _since(view: View, began: list[Since]) -> Since:
    """While an audit is not finished yet, nobody has put down that both told it there."""
    return widest(began) or Since(view.audit.id, view.audit.started)


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")

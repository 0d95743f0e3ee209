"""Who the boxes are: two that say they are one (a cloned image), and one name that is another machine now."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from tunecheck.model.command import run
from tunecheck.model.finding import Remedy
from tunecheck.util.text import some

from ..fleet_report import Since
from ..lookup import KEY
from ..model import AuditHead
from ..own_command import own_command
from ..scope import files_of, of_carried
from .exchanged import exchanged
from .rows import RANK, Row, widest
from .view import View, canon
from .view_rows import Kept

__all__ = ["ask_no_more", "identity", "replaced"]

_REMEDY = Remedy.of("on the clone, as root: ", run("rm /etc/machine-id"), "; then: ", run("systemd-machine-id-setup"))


#: A copied image takes none of them along: they are in the boards.
_BOARDS = frozenset({"gpu.serials", "gpu.uuids"})
_TWO_NAMES = Remedy("take all but one of these names out of the inventory; of carried files, take the file of the "
                    "other name away and say once that it is gone: --gone NAME")


def ask_no_more(audit: AuditHead, hosts: Sequence[str]) -> tuple[str, str]:
    """How hosts whose machines answer under other names are asked no more, in a few words, and the command that does
    it ("": there is none)."""
    if of_carried(audit.scope):
        gone = " ".join(f"--gone {shlex.quote(host)}" for host in hosts)
        return gone, f"{own_command('audit --from {folder}', folder=files_of(audit.scope))} {gone}"
    if audit.trigger == "push":
        command = "; ".join(f"tunecheck ingest revoke {shlex.quote(host)}" for host in hosts)
        return command, command
    return f"take {'it' if len(hosts) == 1 else 'them'} out of the inventory", ""


def replaced(view: View) -> frozenset[str]:
    """Names behind which another machine stands since the previous audit."""
    return frozenset(event.host for event in view.events if event.kind == "replaced")


def identity(view: View) -> list[Row]:
    """Clones are hosts that told one key in one audit. They stay clones while one of them is silent, or out of this
    audit (--limit); not any more once it is out of the fleet, or has a key of its own."""
    groups = {host.host: host.group for host in view.hosts}
    rows = [*_replaced(view, groups), *exchanged(view, groups)]
    found = _findings(view, _shared_keys(view), view.shared)
    for kept, also in found:
        one_box = kept.fact == KEY and not _BOARDS.isdisjoint(also)
        remedy = _TWO_NAMES if one_box else _REMEDY
        more = sorted({*also} - {kept.fact})
        alike = f"; they share {', '.join(more[:3])} too" if more else ""
        # One of them may be no host of this audit (--limit).
        group = next((groups[name] for name in kept.hosts if name in groups), "")
        for name in kept.hosts:
            since = kept.since.get(name)
            rows.append(Row(
                "identity", _severity(view, kept.fact), kept.fact, groups.get(name, group), name,
                expected="one host", fix="hands-on", value=kept.value, before=kept.value, since=since,
                remedy=remedy.text if kept.fact == KEY else "",
                commands=remedy.commands if kept.fact == KEY else (), state=_state(view, name, since),
                text=f"one box under {len(kept.hosts)} names: {_names(kept.hosts)}{alike}" if one_box else
                f"{len(kept.hosts)} hosts have what only one can have: {_names(kept.hosts)}{alike}",
                same=canon(kept.value)))
    return [*rows, *_shared_no_more(view, groups, [kept for kept, _ in found])]


def _findings(view: View, keys: Iterable[Kept], values: Iterable[Kept]) -> list[tuple[Kept, list[str]]]:
    """What is shared, each with what the same hosts share besides. Cloned images share more than one thing: the same
    hosts are one finding, by the first that gives them away."""
    shared = list(keys)
    also: dict[tuple[str, ...], list[str]] = {kept.hosts: [] for kept in shared}
    for kept in sorted(values, key=lambda kept: (RANK[view.of(kept.fact).severity], kept.fact, canon(kept.value))):
        if kept.hosts in also:
            also[kept.hosts].append(kept.fact)
        else:
            also[kept.hosts] = []
            shared.append(replace(kept, since=_together(kept.since)))
    return [(kept, also[kept.hosts]) for kept in shared]


def _severity(view: View, fact: str) -> Literal["low", "medium", "high"]:
    return "high" if fact == KEY else view.of(fact).severity


def _shared_no_more(view: View, groups: Mapping[str, str], now: Iterable[Kept]) -> list[Row]:
    """What was shared at the audit before and is not any more, under the name that it had; of what others share still,
    the hosts that do not."""
    still = {(kept.fact, canon(kept.value)): kept.hosts for kept in now}
    called = {event.other for event in view.events if event.kind == "renamed"}
    rows = []
    for kept, _ in _findings(view, (each for each in view.shared_then if each.fact == KEY),
                             (each for each in view.shared_then if each.fact != KEY)):
        have = still.get((kept.fact, canon(kept.value)), ())
        away = _away(view, kept)
        # What cannot be told now, or was not asked yet, has ended nothing. Nor does a report speak of hosts none of
        # which is asked any more.
        over = [name for name in kept.hosts if name in away - called and name not in have] if have else \
            kept.hosts if len({*kept.hosts} - away) < 2 and not groups.keys().isdisjoint(kept.hosts) else ()
        group = next((groups[name] for name in kept.hosts if name in groups), "")
        why = _why_no_more(view, kept)
        rows += [Row("identity", _severity(view, kept.fact), kept.fact, groups.get(name, group), name,
                     expected="one host", fix="hands-on", value=kept.value, before=kept.value,
                     since=kept.since.get(name), ended=_ended(view, kept), state="resolved", text=why,
                     same=canon(kept.value)) for name in over]
    return rows


def _away(view: View, kept: Kept) -> set[str]:
    """Those of the hosts of which it is known that they do not have it any more, or that they are no host of this fleet
    any more."""
    found = {event.other for event in view.events if event.kind == "renamed"} | replaced(view) | view.gone
    if kept.fact == KEY:
        found |= {host.host for host in view.hosts if host.answered and host.key not in (None, kept.value)}
    else:
        found |= {move.host for move in view.moves if move.fact == kept.fact}
    return found & {*kept.hosts}


def _why_no_more(view: View, kept: Kept) -> str:
    was = f"{_names(kept.hosts)} had what only one can have"
    called = {event.other: event.host for event in view.events if event.kind == "renamed"}
    renamed = [f"{name} is called {called[name]} now" for name in kept.hosts if name in called]
    left = tuple(name for name in kept.hosts if name in view.gone and name not in called)
    gone = f"{_names(left)} {'is' if len(left) == 1 else 'are'} not asked for any more" if left else ""
    return "; ".join(filter(None, (was, gone, *renamed))) if left or renamed else f"{was}, and share it no more"


def _ended(view: View, kept: Kept) -> Since:
    steps = [move.since for move in view.moves if move.fact == kept.fact and move.host in kept.hosts]
    return max(steps, key=lambda since: (since.seen, since.after or 0), default=view.now_since)


def _state(view: View, host: str, since: Since | None) -> Literal["new", "known"]:
    """Nothing is known on the night on which it appears."""
    return "known" if view.had(host, since) else "new"


def _replaced(view: View, groups: Mapping[str, str]) -> list[Row]:
    """Told on its night. From then on the name is that machine's, whose values all begin there: nothing of it could be
    put back, and history keeps it."""
    latest = {event.host: event for event in sorted(view.events, key=lambda event: event.audit)
              if event.kind == "replaced"}
    return [Row("identity", "medium", KEY, groups.get(event.host, ""), event.host, expected="the machine of before",
                fix="none", value=event.key, before=event.before, since=event.since,
                state=_state(view, event.host, event.since),
                text="replaced: another machine has this name now; its values are compared from here on",
                same="replaced")
            for event in latest.values() if view.decision("approve", event.host, KEY, event.since) is None]


def _shared_keys(view: View) -> list[Kept]:
    """Keys that several hosts tell, with since when each does."""
    answered = {host.host for host in view.hosts if host.answered}
    keys: dict[str, dict[str, Since | None]] = defaultdict(dict)
    for host in view.hosts:
        if host.key and host.host in answered:
            keys[host.key].setdefault(host.host, None)
    for claim in view.claims:
        if claim.since is None:
            continue
        if claim.asked and answered & {claim.host, claim.other}:
            for name in (claim.host, claim.other):
                keys[claim.key].setdefault(name, None)
        for name in (claim.host, claim.other):
            if name in keys[claim.key]:
                keys[claim.key][name] = widest((keys[claim.key][name], claim.since))
    # While an audit is not finished yet, nobody has put down that both told it there.
    now = Since(view.audit.id, view.audit.started)
    return [Kept(KEY, key, tuple(sorted(names)), {name: since or now for name, since in names.items()})
            for key, names in sorted(keys.items()) if len(names) > 1]


def _together(own: Mapping[str, Since]) -> dict[str, Since]:
    """Since when each of them shares it: the first has had it alone until the second came."""
    ages = sorted(own.values(), key=lambda since: since.seen)
    return {name: max((since, ages[1]), key=lambda since: since.seen) for name, since in own.items()} if len(
        ages) > 1 else dict(own)


def _names(names: tuple[str, ...]) -> str:
    return some(names, 5)

"""Rows of one thing as one cause: what it is called, in whose words, on which hosts and since when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

from tunecheck.util.host_names import fold

from ..fixes import Step, fixes_of, said
from ..fleet_report import Before, Cause, LastHeard, Since, Wave, group_text
from ..own_command import own_command
from .found.problems import NOT_NOW
from .naming.names import named
from .rows import OVER, RANK, VALUES, Row, age, later, plain, widest
from .view import canon
from .view_rows import Wording

__all__ = ["causes"]

#: Characters of the names of hosts.
_OWN = 60
_NONE: Mapping[tuple[str, str], Sequence[Wording]] = MappingProxyType({})
_HARDEST = ("hands-on", "firmware", "reboot", "reload", "none")
#: Groups whose majorities are told one by one.
_GROUPS = 3


def causes(rows: Iterable[Row], about: str | None = None,
           wordings: Mapping[tuple[str, str], Sequence[Wording]] = _NONE) -> tuple[Cause, ...]:
    """Rows with one destination as one cause; worst first, then by hosts, then the oldest. ``about``: those of this
    host alone, with its own words, since and decisions; what they are called depends on all rows. ``wordings``: as in
    View."""
    piles = _piled(rows)
    names = named(piles, wordings)
    if about is not None:
        # Whose identity it shares, it says of all of them.
        own = {key: [row for row in pile if row.host == about] for key, pile in piles.items()}
        piles = {key: piles[key] if pile[0].authority == "identity" else pile for key, pile in own.items() if pile}
    found = [_cause(sorted(pile, key=lambda row: (row.host, row.subject)), names[key]) for key, pile in piles.items()]
    return tuple(sorted(found, key=_rank))


def _piled(rows: Iterable[Row]) -> dict[tuple[str, ...], list[Row]]:
    piles: dict[tuple[str, ...], list[Row]] = {}
    dark: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        (dark if row.named else piles).setdefault(row.identity, []).append(row)
    for key, those in dark.items():
        telling = {row.host for row in piles.get(key, ())}
        for row in those:
            piles.setdefault(row.alone if row.host in telling else key, []).append(row)
    return piles


def _cause(pile: list[Row], name: str) -> Cause:
    told = [row for row in pile if not row.was]
    dark, told = ([row for row in pile if row.was], told) if told else ([], pile)
    first = told[0]
    hosts = tuple(sorted({row.host for row in pile}))
    groups = {row.host: row.group for row in pile}
    # Ties go to the value that sorts first, so that two runs over one store say the same.
    # A check, or a replaced box, is one cause whatever it was that moved: of several values none is that of all.
    moved = (first.authority not in ("desired", "identity")
             or len({(canon(row.before), canon(row.value)) for row in pile}) == 1)
    befores = _befores(pile) if moved else ()
    texts = Counter(row.text for row in told)
    text = min(texts, key=lambda text: (-texts[text], not text, text))
    if first.state == "resolved" and first.outcome and len(texts) > 1:      # each is so of its own hosts alone
        text = OVER
    else:
        text += _not_of_all(text, told, {row.host for row in told})
    unread = {row.host for row in pile if row.unread}
    if unread == set(hosts):
        text += f"{'; ' if text else ''}{_last_known(first.unread)}"
    waves = _waves(pile)
    states = {wave.state for wave in waves}
    own = sum(each.whose == "own" for each in befores)
    if own > 1 and first.authority in VALUES:
        text += f"{'; ' if text else ''}{own} different values before"
    # A change that some hosts have to take back is told as that.
    back = next((row for row in pile if row.fix != "none"), first) if first.authority in VALUES else first
    fixes = fixes_of((row.host, Step(row.remedy, row.commands)) for row in pile)
    # Of what a check finds, hosts may have fixes of their own: it takes what the hardest of these does.
    fix = min((row.fix for row in told), key=_HARDEST.index) if first.outcome else back.fix
    remedy, commands = said(fixes, fix == "reboot")
    return Cause(
        authority=first.authority, severity=min((row.severity for row in pile), key=RANK.__getitem__), fact=first.fact,
        group=group_text(groups.values()), group_of=groups if len({*groups.values()}) > 1 else {},
        hosts=hosts, value=first.value if moved else None,
        before=befores[0].value if befores else None, befores=befores if _any_value(befores, first) else (),
        expected=_expected(pile, back), fix=fix, since=waves[0].since, waves=waves,
        state="grown" if len(states) > 1 else waves[0].state,
        subject=first.subject if len({row.subject for row in told}) == 1 else plain(first.subject), text=text,
        remedy=remedy, commands=commands, intended=first.intended, rollout=any(row.rollout for row in pile),
        flapping=tuple(sorted({row.host for row in pile if row.flapping})), waived=first.waived,
        outcome=first.outcome, was=first.was,
        # Of a fault that the hosts tell with several causes, none is that of all.
        code=first.code if len({row.code for row in told}) == 1 else first.fault,
        absence=first.absence, source=first.source, standing=first.standing, id=name, approved=first.approved,
        acknowledged=max((row.acknowledged for row in pile if row.acknowledged is not None),
                         key=lambda decision: decision.id, default=None),
        covered=tuple(sorted(set(hosts) - {row.host for row in pile if row.acknowledged is None})),
        asked=tuple(sorted({row.host for row in pile if row.asked})), asked_by=_asked_by(pile),
        untold=tuple(sorted({row.host for row in dark} | (unread if unread < set(hosts) else set()))),
        fixes=fixes if len(fixes) > 1 or len(fixes[0].steps) > 1 else (),
        ended=_ended(pile), began=first.began if len({row.began for row in pile}) == 1 else "",
        last_heard=tuple(LastHeard(*heard, tuple(sorted({row.host for row in pile if row.heard == heard})))
                         for heard in sorted({row.heard for row in pile if row.heard is not None})))


def _befores(pile: Iterable[Row]) -> tuple[Before, ...]:
    """What stands beside the value on each host, that of most hosts first. Of what a host has twice, the first."""
    own: dict[str, Row] = {}
    for row in pile:
        own.setdefault(row.host, row)
    found: dict[tuple[str, str], list[Row]] = {}
    for row in own.values():
        found.setdefault((canon(row.before), row.whose), []).append(row)
    ranked = sorted(found.items(), key=lambda item: (-len(item[1]), item[0][1] != "own", item[0]))
    return tuple(Before(rows[0].before, rows[0].whose, tuple(row.host for row in rows)) for _, rows in ranked)


def _any_value(befores: Iterable[Before], row: Row) -> bool:
    return row.value is not None or any(each.value is not None for each in befores)


def _not_of_all(text: str, pile: Iterable[Row], hosts: Collection[str]) -> str:
    """Whose words these are, where they are not so on every host: the numbers of one are no claim about another."""
    own = sorted({row.host for row in pile if row.text == text})
    return "" if len(own) == len(hosts) or not text else (
        f" (so on {fold(own, _OWN)}; of the others: {own_command('drift --host HOST -v')})")


def _waves(pile: list[Row]) -> tuple[Wave, ...]:
    """Every host with its own since, the oldest first. A host on which it is found twice has it since the first; it is
    news there as long as one of them is."""
    own: dict[str, tuple[Since | None, Literal["new", "known", "resolved"]]] = {}
    for row in pile:
        since, state = own.get(row.host, (row.since, row.state))
        fresh = "new" in (state, row.state)
        own[row.host] = ((later if fresh else widest)((since, row.since)), "new" if fresh else state)
    piles: dict[tuple[Since | None, Literal["new", "known", "resolved"]], list[str]] = {}
    for host, about in own.items():
        piles.setdefault(about, []).append(host)
    return tuple(sorted((Wave(since, tuple(hosts), state) for (since, state), hosts in piles.items()),
                        key=lambda wave: (*age(wave.since), wave.state != "known", wave.hosts)))


def _asked_by(pile: Iterable[Row]) -> tuple[str, ...]:
    """The checks whose fix it is; none where the specification of one of its hosts asks for it."""
    found = [row.asked_by for row in pile if row.asked]
    return tuple(sorted({check for checks in found for check in checks})) if all(found) else ()


def _ended(pile: Iterable[Row]) -> dict[str, Since]:
    """Host -> when the last of it ended."""
    own: dict[str, list[Since | None]] = {}
    for row in pile:
        if row.ended is not None:
            own.setdefault(row.host, []).append(row.ended)
    return {host: last for host, each in own.items() if (last := later(each)) is not None}


def _last_known(why: str) -> str:
    """What is said of a value that is told as it was read last."""
    return why if why.startswith(NOT_NOW) else f"{NOT_NOW}{why}; it was so when it last could"


def _expected(pile: list[Row], back: Row) -> str:
    """The other half of the sentence. Most of the others of each group have a value of their own, and where some hosts
    are too few to differ from anybody, these have changed: each with its hosts."""
    said: dict[str, list[str]] = {}
    for row in pile if back.authority in VALUES else ():
        text = row.expected if row.authority == "majority" else next(
            each.expected for each in (back, row) if each.authority == "previous")
        said.setdefault(text, []).append(row.host)
    if len(said) < 2:
        return back.expected
    ranked = sorted(said, key=lambda text: (-len(said[text]), text))
    left = len(ranked) - _GROUPS
    parts = [f"{text} ({fold(sorted(said[text]), _OWN)})" for text in ranked[:_GROUPS]]
    return ", ".join(parts) + (f", and {left} more group{'s' * (left != 1)}" if left > 0 else "")


def _rank(cause: Cause) -> tuple[Any, ...]:
    return (cause.state == "resolved", cause.waived is not None, RANK[cause.severity], -len(cause.hosts),
            cause.since.seen if cause.since else 0, cause.authority, cause.fact, cause.group, cause.subject,
            cause.outcome, canon(cause.value), cause.text, cause.hosts)

"""What causes are called. A finding keeps its name when the numbers that its check observes change, so several causes
may have one: of two hosts that both have 7 of 8 GPUs one may lose another. Which cause keeps the name that they share
goes by what each host told before: a host on which nothing changed keeps it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ..rows import Row, age, digest, widest
from ..view_rows import Wording

__all__ = ["named"]

#: Where Row.identity says whether it is over, from its end.
_IS_OVER = -5
_Key = tuple[str, ...]
_Piles = Mapping[_Key, Sequence[Row]]
_Wordings = Mapping[tuple[str, str], Sequence[Wording]]


def named(piles: _Piles, wordings: _Wordings) -> dict[_Key, str]:
    """The name of each pile: its identity -> its name. ``wordings``: as in View."""
    found = {key: pile[0].name for key, pile in piles.items()}
    alike: dict[str, list[_Key]] = {}
    for key in piles:
        alike.setdefault(found[key], []).append(key)
    said: dict[str, dict[str, Sequence[Wording]]] = {}
    for (host, name), spans in wordings.items():
        said.setdefault(name, {})[host] = spans
    for name, keys in alike.items():
        if len(keys) == 1:
            continue
        at_end: dict[_Key, str | None] = {}
        told = {each.same for spans in said.get(name, {}).values() for each in spans}
        # What the history tells nothing of, or what stands for many wordings, goes by what the rows say.
        if told.issuperset(piles[key][0].told[-1] for key in keys):
            lives = _lives(said[name], [row for key in keys for row in piles[key]])
            at_end = {key: _keeps(lives, _end(piles[key])) for key in keys}
        for over in (False, True):
            those = [key for key in keys if (piles[key][0].state == "resolved") is over]
            kept = [key for key in those if not at_end or piles[key][0].told[-1] == at_end[key]]
            first = min(kept, key=lambda key: _rank(piles[key], key), default=None)
            # No two keys are alike; that it is over makes no other thing of it.
            found.update({key: digest(name, *key[:_IS_OVER], *key[_IS_OVER + 1:]) for key in those if key != first})
    return found


def _rank(pile: Sequence[Row], key: _Key) -> tuple[object, ...]:
    """What counts, then what is still told, then what was there first."""
    return not pile[0].counts, bool(pile[0].named), age(widest(row.since for row in pile)), key


def _end(pile: Sequence[Row]) -> int | None:
    """The audit in which the last of it was over; None: it is open."""
    return max((row.ended.seen for row in pile if row.ended is not None), default=None)


#: From which audit until which one (None: still) a host had it, and as what.
_Life = tuple[str, str, int, int | None]


def _lives(said: Mapping[str, Sequence[Wording]], rows: Iterable[Row]) -> list[_Life]:
    """What each host had, since it is found there. What it could not tell for a time it had all the same."""
    begun: dict[str, int] = {}
    is_open = set()
    for row in rows:
        since = row.since.seen if row.since is not None else 0
        begun[row.host] = min(since, begun.get(row.host, since))
        if row.state != "resolved":
            is_open.add(row.host)
    found: list[_Life] = []
    for host, spans in said.items():
        if host not in begun:
            continue
        own = sorted((each for each in spans if each.until is None or each.until > begun[host]),
                     key=lambda each: (each.seen, each.same))
        for each in own:
            until = each.until
            if until is not None and not any(other.seen <= until and (other.until is None or other.until > until)
                                             for other in own):
                until = min((other.seen for other in own if other.seen > until),
                            default=None if host in is_open else until)
            found.append((host, each.same, max(each.seen, begun[host]), until))
    return found


def _keeps(lives: Iterable[_Life], before: int | None) -> str | None:
    """Which of them has the name that they share, now, or before that audit; None: none of them. Who has it keeps it,
    and takes it along where no host stays that has the same. Who has another one keeps that, unless it is alone."""
    came: dict[int, list[tuple[str, str]]] = {}
    went: dict[int, list[tuple[str, str]]] = {}
    for host, same, seen, until in lives:
        came.setdefault(seen, []).append((host, same))
        if until is not None:
            went.setdefault(until, []).append((host, same))
    there: Counter[str] = Counter()
    keeper: str | None = None
    for audit in sorted({*came, *went}):
        if before is not None and audit >= before:
            break
        known = set(there)
        there.update(same for _, same in came.get(audit, ()))
        there.subtract(same for _, same in went.get(audit, ()))
        there = +there
        if keeper is None or keeper not in there:
            left = {host for host, same in went.get(audit, ()) if same == keeper}
            new = {same for same in there if same not in known}
            moved = {same for host, same in came.get(audit, ()) if host in left and same in new}
            keeper = min(moved or new, default=None)
        if len(there) == 1:
            keeper = next(iter(there))
    return keeper

"""Copies both ways, and which pairs may be measured at once because they share no link. GB/s."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .peers import GB, UNEVEN, Gpu, Peers, copies_of, samples_of
from .worker import Context

__all__ = ["both_ways", "groups"]

Pair = tuple[int, int]
_Copy = Callable[[Gpu, Gpu, Gpu], None]
#: Pairs that are slower together by more than this share something. Engine copies repeat within 0.2 %.
_SHARED = 0.01


def groups(context: Context, peers: Peers) -> list[list[Pair]]:
    """Return all pairs, as sets that are measured at once: every GPU is in one pair of a set. The most load that there
    is, copies both ways, has shown for each set that its pairs do not slow each other down; the pairs of other sets are
    alone. Hands over what it saw."""
    found: list[list[Pair]] = []
    for pairs in _rounds(len(peers.gpus)):
        if len(pairs) == 1:
            found.append(pairs)
            continue
        alone = [_at_once(peers, [pair], peers.by_engine, 2)[0] for pair in pairs]
        context.beat.step()
        together = _at_once(peers, pairs, peers.by_engine, 2)
        context.beat.step()
        least = min(rate / lone for rates, lones in zip(together, alone, strict=True)
                    for rate, lone in zip(rates, lones, strict=True))
        apart = least < 1 - _SHARED
        context.result(kind="at once", pairs=pairs, least=least, apart=apart)
        found += [[pair] for pair in pairs] if apart else [pairs]
    return found


def _rounds(count: int) -> list[list[Pair]]:
    """Return every pair once, in as few sets as there can be in which no GPU is twice (the circle method)."""
    places = [*range(count), *([-1] if count % 2 else [])]
    found = []
    for _ in range(len(places) - 1):
        both = zip(places[:len(places) // 2], reversed(places), strict=False)
        found.append(sorted((min(pair), max(pair)) for pair in both if -1 not in pair))
        places.insert(1, places.pop())
    return found


def both_ways(context: Context, peers: Peers, pairs: Sequence[Pair], quick: bool) -> None:
    """Measure each direction while the other one is loaded from before its start to after its end."""
    ways = (("engine write", peers.by_engine), ("kernel write", peers.by_kernel))
    copies = copies_of(quick)
    for way, copy in ways[:1] if quick else ways:
        samples: list[list[float]] = [[] for _ in pairs]
        for _ in range(samples_of(quick)):
            for pair, rates, taken in zip(pairs, _at_once(peers, pairs, copy, copies), samples, strict=True):
                if max(rates) > min(rates) * UNEVEN:
                    rates = [_under_load(peers, x, y, copy, copies) for x, y in (pair, pair[::-1])]
                taken.append(sum(rates))
        for (a, b), taken in zip(pairs, samples, strict=True):
            context.result(kind="both ways", a=a, b=b, way=way, samples=taken, copies=copies,
                           at_once=len(pairs))
        context.beat.step()


def _at_once(peers: Peers, pairs: Sequence[Pair], copy: _Copy, copies: int) -> list[list[float]]:
    """Return GB/s of both directions of each pair, all in one go: ``copies`` timed, one before them and more than as
    many behind. That is load enough for one that is slower by less than UNEVEN."""
    ways = [(peers.gpus[a], peers.gpus[b]) for a, b in pairs]
    ways = [each for x, y in ways for each in ((x, y), (y, x))]
    last = ways[-1][0]
    last.device.use()
    last.device.record(last.start)        # none begins before the others may
    for here, _ in ways[:-1]:
        here.device.use()
        here.device.wait_for(last.start)
    for number in range(2 * copies + 2):
        for here, there in ways:
            here.device.use()
            if number in (1, copies + 1):
                here.device.record(here.start if number == 1 else here.end)
            copy(here, there, here)
    for here, _ in ways:
        here.device.sync()
    rates = [peers.size * copies / peers.cuda.milliseconds(here.start, here.end) / GB for here, _ in ways]
    return [rates[at:at + 2] for at in range(0, len(rates), 2)]


def _under_load(peers: Peers, timed: int, other: int, copy: _Copy, copies: int) -> float:
    """Return GB/s of one direction, the other one loaded three times as long."""
    x, y = peers.gpus[timed], peers.gpus[other]
    y.device.use()
    y.device.record(y.start)
    for _ in range(copies * 3):
        copy(y, x, y)
    x.device.use()
    x.device.wait_for(y.start)
    copy(x, y, x)
    x.device.record(x.start)
    for _ in range(copies):
        copy(x, y, x)
    x.device.record(x.end)
    x.device.sync()
    y.device.sync()
    return peers.size * copies / peers.cuda.milliseconds(x.start, x.end) / GB

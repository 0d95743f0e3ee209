"""Which boxes of a group are alike enough to be compared: by what a box is, not by what it can lose."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

__all__ = ["MANY", "Peer", "peers"]

#: (group, hardware now, hardware when it was first heard of).
Peer = tuple[str, str, str]

#: So many boxes that came with another size (GPUs, memory), at that share of their like, are meant to be so and are a
#: class of their own; fewer have lost something, or are the odd ones out. One box alone never is a class beside others.
MANY = ((2, 0.2), (3, 0.05))


def peers(rows: Mapping[int, Peer]) -> dict[int, str]:
    """Box -> its class: the hardware that most boxes of the class have now.

    A box that came with 8 GPUs stays among those that did, however many it has left; also where it is first heard of
    with 7 and most others have 8."""
    from tunecheck.facts.registry.hardware import parts

    alike: dict[tuple[str, str], list[tuple[Peer, str, int]]] = defaultdict(list)
    for peer, count in Counter(rows.values()).items():      # thousands of boxes are of a few kinds
        group, now, first = peer
        core, then = parts(now), parts(first)
        origin = first if then.core == core.core and then.models is not None else now
        alike[group, core.core].append((peer, origin, count))
    found: dict[Peer, str] = {}
    for kinds in alike.values():
        origins: Counter[str] = Counter()
        members: dict[str, list[tuple[Peer, int]]] = defaultdict(list)
        for _, origin, count in kinds:
            origins[origin] += count
        home = _homes(origins)
        for peer, origin, count in kinds:
            members[home[origin]].append((peer, count))
        for peers_of in members.values():
            # Classes that are of one size now (an upgrade) become one by having one name.
            sizes: Counter[str] = Counter()
            for (_, now, _), count in peers_of:
                sizes[now] += count
            found.update(dict.fromkeys((peer for peer, _ in peers_of), _most(sizes)[0]))
    return {number: found[peer] for number, peer in rows.items()}


def _homes(counts: Counter[str]) -> dict[str, str]:
    """Hardware -> the hardware of the class that it belongs to."""
    from tunecheck.facts.registry.hardware import parts

    total = counts.total()
    ranked = _most(counts)
    own = [text for text in ranked if text == ranked[0] or any(
        counts[text] >= least and counts[text] >= share * total for least, share in MANY)]
    home = {}
    for text in ranked:
        models = parts(text).models
        like = [each for each in own if models is None or models <= (parts(each).models or frozenset())]
        home[text] = text if text in own or not like else like[0]
    return home


def _most(counts: Counter[str]) -> list[str]:
    return sorted(counts, key=lambda text: (-counts[text], text))

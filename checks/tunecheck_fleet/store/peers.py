"""Which boxes of a group are alike enough to be compared: by what a box is, not by what it can lose."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

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

    alike: dict[tuple[str, str], dict[int, tuple[str, str]]] = defaultdict(dict)
    for number, (group, now, first) in rows.items():
        core, then = parts(now), parts(first)
        origin = first if then.core == core.core and then.models is not None else now
        alike[group, core.core][number] = (now, origin)
    found: dict[int, str] = {}
    for boxes in alike.values():
        members: dict[str, list[int]] = defaultdict(list)
        home = _homes(origin for _, origin in boxes.values())
        for number, (_, origin) in boxes.items():
            members[home[origin]].append(number)
        for numbers in members.values():
            # Classes that are of one size now (an upgrade) become one by having one name.
            label = _most(Counter(boxes[number][0] for number in numbers))[0]
            found.update(dict.fromkeys(numbers, label))
    return found


def _homes(origins: Iterable[str]) -> dict[str, str]:
    """Hardware -> the hardware of the class that it belongs to."""
    from tunecheck.facts.registry.hardware import parts

    counts = Counter(origins)
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

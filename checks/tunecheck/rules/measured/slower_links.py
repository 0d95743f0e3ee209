"""Which lower generation of a link explains a figure that is too low: what a benchmark shows, and what the links show,
put together."""

from __future__ import annotations

from collections.abc import Sequence

from ...facts.peer_paths import PairPath
from ...model.finding import Remedy
from ...parsers.pci.pcie_rate import payload_rate
from ...util.at_first_use import dataclass
from ...util.text import some

__all__ = ["Slower", "look", "slower"]

_LOOK = Remedy("see link-speed and link-errors of that hop, under load; its width and its packet size of now are in "
               "what is expected")


@dataclass(frozen=True)
class Slower:
    """The generation that gives what was measured, and ``rate``, what it carries one way in GB/s. ``links`` run at it
    now (``top`` is what they can); none where no text shows that, as idle links are slower still."""

    gen: int
    rate: float
    top: int
    links: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return it as the end of a sentence; "" where no link is seen to run so."""
        many = len(self.links) > 1
        return f"; {some(list(self.links), 2)} run{'' if many else 's'} at Gen{self.gen} of Gen{self.top} now, which " \
            f"carries {self.rate:.1f}" if self.links else ""

    @property
    def fix(self) -> Remedy:
        if self.links:
            return Remedy(f"the figure is what Gen{self.gen} gives: look at why {some(list(self.links), 2)} "
                          f"{'do' if len(self.links) > 1 else 'does'} not train to Gen{self.top}: the slot's speed in "
                          "the BIOS, risers and cables, the firmware of switch and board; see link-speed and "
                          "link-errors")
        return Remedy(f"the figure is as much as Gen{self.gen} gives, {self.rate:.1f} GB/s one way: see at which speed "
                      "the links of the way run while a GPU works (link-speed), and link-errors")


def slower(slow: Sequence[tuple[PairPath, float, float]]) -> Slower | None:
    """Return the generation that explains all these figures: (way, GB/s one way, share of what is expected that is
    fine). None where none does, or where the links of a way run faster now."""
    found: list[Slower] = []
    for path, value, good in slow:
        each = _one(path, value, good)
        if each is None:
            return None
        found.append(each)
    if not found or len({(each.gen, each.rate) for each in found}) > 1:
        return None
    # Of a pair whose links no text shows at this speed nothing is said by the links of another.
    links = dict.fromkeys(name for each in found for name in each.links) if all(each.links for each in found) else {}
    return Slower(found[0].gen, found[0].rate, max(each.top for each in found), tuple(links))


def look(found: Slower | None) -> Remedy:
    """Return where to look for the cause of a slow link."""
    return found.fix if found else _LOOK


def _one(path: PairPath, value: float, good: float) -> Slower | None:
    link = path.slowest
    if link is None or not path.mps or not link.width:
        return None
    top = link.load_gen or 0
    for gen in range(top - 1, 1, -1):
        rate = payload_rate(gen, link.width, path.mps)
        if good * rate <= value <= rate:
            able = [each for each in path.links if each.width == link.width and (each.load_gen or 0) > gen]
            at_it = tuple(each.name for each in able if each.gen == gen)
            idle = any(not each.gen or each.gen < gen for each in able)
            return Slower(gen, rate, top, at_it) if at_it or idle else None
    return None

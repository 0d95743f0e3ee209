"""Facts about boards by PCI id: memory, BAR1, power range, link. Each value's source is in boards.toml."""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from ..util.at_first_use import dataclass

__all__ = ["Board", "board", "board_named", "linked_by"]

_FILE = Path(__file__).parent / "boards.toml"


@dataclass(frozen=True)
class Board:
    """One board. A field is None where no source says it. ``driver_name`` is what the driver's tools call it, where
    that name is of this board alone. ``bar1_mib`` with Resizable BAR; the powers in watts; ``p2p`` is "stock", "patched
    driver only" or "nvlink". What healthy boards were measured to reach: between two of them over ``nvlinks`` links, in
    GB/s (``p2p_both_ways_gb_s``: both directions in sum), copies within one (``own_copy_gb_s``), and the bus bandwidth
    of an all-reduce over 2 or 8 ranks."""

    name: str
    driver_name: str | None = None
    architecture: str | None = None
    memory_mib: int | None = None
    bar1_mib: int | None = None
    power_min_w: int | None = None
    power_max_w: int | None = None
    power_default_w: int | None = None
    link_gen: int | None = None
    link_width: int | None = None
    p2p: str | None = None
    nvlinks: int | None = None
    p2p_one_way_gb_s: int | None = None
    p2p_both_ways_gb_s: int | None = None
    own_copy_gb_s: int | None = None
    bus_2_gb_s: int | None = None
    bus_8_gb_s: int | None = None


@lru_cache(256)       # every pair of GPUs asks, and every box of an audit; ids are foreign input, so not all are kept
def board(ids: str) -> Board | None:
    """Return the board of a PCI id ("10de:2bb1"). None where this package knows nothing about it."""
    data = _data().get(ids)
    return Board(**{key: value for key, value in data.items() if key != "sources"}) if data else None


@lru_cache(256)
def board_named(name: str) -> Board | None:
    """Return the board that NVIDIA's driver calls so ("NVIDIA H200"). None where this package knows none, or more than
    one."""
    found = [ids for ids, data in _data().items() if str(data.get("driver_name")).lower() == name.strip().lower()]
    return board(found[0]) if len(found) == 1 else None


@cache
def _data() -> dict[str, dict[str, Any]]:
    # Read when first asked for: `tunecheck topo` with a driver that names its boards never does.
    import tomllib

    return tomllib.loads(_FILE.read_text(encoding="utf-8"))


def linked_by(links: int) -> Board | None:
    """Return the board whose pair over so many NVLinks was measured, the slowest of several. None where none was."""
    found = [each for ids in _data() if (each := board(ids)) and each.nvlinks == links and each.p2p_one_way_gb_s]
    return min(found, key=lambda each: each.p2p_one_way_gb_s or 0, default=None)

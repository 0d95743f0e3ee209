"""What was judged of a box for a recipe, in words: the box itself, and that it has what the recipe requires."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..util.text import some

if TYPE_CHECKING:
    from .box import Box
    from .frozen import Recipe
    from .rules.rule import Verdict

__all__ = ["fit", "shown"]


def shown(box: Box) -> str:
    """Return the box in one line: boards, memory, driver."""
    from .rules.rule import names

    boards = box.boards.value or ()
    sizes = sorted({"not known" if board.memory_mib is None else f"{board.memory_mib / 1024:.0f} GiB"
                    for board in boards})
    memory = f"; memory of each: {' or '.join(sizes)}" if sizes else ""
    driver = box.driver.value or f"not known ({box.driver.why()})"
    return f"{names(box)}{memory}; driver: {driver}"


def fit(recipe: Recipe, verdicts: Sequence[Verdict], box: Box) -> str:
    """Return what the recipe requires of a box, where the box that was judged has all of it; "" where it has not, or
    where that is not known."""
    if any(each.rule.asks_box and each.outcome in ("reject", "unknown") for each in verdicts):
        return ""
    wanted = recipe.requires
    boards = f"{wanted.gpus} GPU{'s' if wanted.gpus != 1 else ''}"
    if wanted.sm:
        boards += f" of compute capability {some(list(wanted.sm), 6, ', ')}"
    if wanted.vram_gib:
        boards += f" with {wanted.vram_gib} GiB each"
    parts = [boards]
    if wanted.gpus > 1 and wanted.topology != "any":
        parts.append(f"joined by {wanted.topology}")
    if wanted.gpus > 1 and wanted.p2p:
        parts += [_reach(box, wanted.gpus), "no port that redirects peer traffic"]
    if wanted.driver_min:
        parts.append(f"driver {wanted.driver_min} or later")
    waived = sorted({each.rule.id for each in verdicts if each.rule.asks_box and each.outcome == "overridden"})
    return "; ".join(parts) + (f"; not counting what is overridden: {', '.join(waived)}" if waived else "")


def _reach(box: Box, count: int) -> str:
    """Return what tells that the driver lets the boards reach each other's memory."""
    from ..rules.nvidia.peer_access import Access

    told = sum(access is Access.ALLOWED for access in box.peers.values()) >= count * (count - 1) // 2
    return "peer access, as the driver says" if told else (
        "a model on which NVIDIA's driver allows peer access (what it says on this box is not given: nvidia-smi topo "
        "-p2p r and w)")

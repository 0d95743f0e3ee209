"""What each pair's way can carry, as far as the driver lets the two boards reach each other: a prediction of peer
traffic never stands beside a refusal of it."""

from __future__ import annotations

from dataclasses import replace

from ...facts.peer_paths import PairPath, paths
from ..context import Case
from ..nvidia.peer_access import Access, peers

__all__ = ["ways"]

_IF_PATCHED = "only with a driver that is patched for it: NVIDIA's own refuses peer access on this GPU model"
_IF_ALLOWED = "if the driver allows peer access, which depends on the GPU model: it is not told"


def ways(case: Case) -> tuple[PairPath, ...]:
    """Return the way of each of topology.pairs, in their order. Where the driver refuses a pair there is no figure, and
    where that is open the figure has its condition."""
    known = peers(case)
    return tuple(_allowed(path, known.of(path.pair.a, path.pair.b), known.refusal([(path.pair.a, path.pair.b)]))
                 for path in paths(case.snapshot))


def _allowed(path: PairPath, access: Access, refusal: str) -> PairPath:
    if path.latency_class == "nvlink" or path.one_way is None:
        return path
    if access is Access.REFUSED:
        return replace(path, one_way=None, two_way=None, unseen="",
                       reason=f"{refusal}: copies go through host memory")
    if access is Access.PATCHED_ONLY:
        return replace(path, only=_IF_PATCHED)
    return replace(path, only=_IF_ALLOWED) if access is Access.MODEL_UNKNOWN else path

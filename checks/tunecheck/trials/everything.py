"""Both trials, one after the other: `tunecheck preflight --full`, and in short before every start of a service."""

from __future__ import annotations

from collections.abc import Sequence

from ..host import Host
from .allreduce import allreduce, together
from .measured import Measured
from .p2p import Flows, p2p
from .supervisor import Supervisor

__all__ = ["QUICK_SOAK_SECONDS", "everything"]

QUICK_SOAK_SECONDS = 2.0


def everything(host: Host, ordinals: Sequence[int], collapse: Flows = (), *, soak_seconds: float = 60.0,
               nccl_path: str | None = None, supervisor: Supervisor | None = None, quick: bool = False) -> Measured:
    """Copies first: what waits for another GPU may wedge it, and is not tried where data is lost or a copy hung.
    ``quick``: every pair and all ranks, in seconds."""
    pairs = p2p(host, ordinals, collapse, supervisor=supervisor, quick=quick)
    if pairs.hangs or pairs.failures or pairs.wrong or pairs.notes.get("no_access"):
        return pairs
    return together([pairs, allreduce(host, ordinals, soak_seconds=soak_seconds, nccl_path=nccl_path,
                                      supervisor=supervisor, quick=quick, copied=quick)])

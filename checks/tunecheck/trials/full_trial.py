"""All trials, one after the other: `tunecheck preflight --full`, and in short before every start of a service."""

from __future__ import annotations

from collections.abc import Sequence

from ..host import Host
from ..model.measurement import Measured
from .allreduce import allreduce, together
from .one_gpu import alone
from .p2p import Flows, p2p
from .supervisor import Supervisor

__all__ = ["QUICK_SOAK_SECONDS", "everything"]

QUICK_SOAK_SECONDS = 2.0


def everything(host: Host, ordinals: Sequence[int], collapse: Flows = (), *, soak_seconds: float = 60.0,
               nccl_path: str | None = None, supervisor: Supervisor | None = None, quick: bool = False) -> Measured:
    """Measure each GPU alone, then the copies between them, then what waits for another GPU and may wedge it: nothing
    is tried where data is lost or a copy hung. ``quick``: every GPU, every pair and all ranks, in seconds."""
    found = [alone(host, ordinals, supervisor=supervisor, quick=quick)]
    if len(ordinals) > 1 and _sound(found[-1]):
        found.append(p2p(host, ordinals, collapse, supervisor=supervisor, quick=quick))
        if _sound(found[-1]) and not found[-1].notes.get("no_access"):
            found.append(allreduce(host, ordinals, soak_seconds=soak_seconds, nccl_path=nccl_path,
                                   supervisor=supervisor, quick=quick, copied=quick))
    return together(found)


def _sound(found: Measured) -> bool:
    return not (found.hangs or found.failures or found.wrong)

"""What to do where somebody looks for peer access that the driver does not give: one voice for the texts of NCCL, of
engines and of benchmarks."""

from __future__ import annotations

from ...model.finding import Remedy
from .peer_access import FIND_OUT, OWN_REFUSES, Access, Peers

__all__ = ["without_peers"]

_NO_SETTING = "no variable of NCCL and no option of an engine gives these boards peer access"
_PLAN = "plan with copies through host memory, or with boards that support it"


def without_peers(known: Peers) -> Remedy:
    """Return what to do where the driver refuses all pairs, or NVIDIA's own driver would (peer_access.NO_PEERS)."""
    if known.whole is Access.PATCHED_ONLY:
        return Remedy.of(f"{_NO_SETTING}: {OWN_REFUSES}; {_PLAN}; ", *FIND_OUT.parts)
    if known.final(known.pairs):
        return Remedy(f"{_NO_SETTING}: {known.refusal(known.pairs)}, by their model (p2p-capability); {_PLAN}")
    return Remedy(f"first what p2p-capability says: {_NO_SETTING} as long as {known.refusal(known.pairs)}")

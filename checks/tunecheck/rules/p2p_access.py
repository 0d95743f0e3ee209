"""p2p-access: the driver lets every GPU reach every other one's memory."""

from __future__ import annotations

from collections.abc import Iterator

from .finding import Case, Finding, Remedy
from .pair_figures import measured

_ID = "p2p-access"
_FIX = Remedy("see p2p-capability for the driver's reason, and iommu-mode")


def judge(case: Case) -> Iterator[Finding]:
    found = measured(case)
    refused = [f"GPU{a}->GPU{b}" for a, b in found.notes.get("no_access") or ()]
    if refused:
        yield Finding(_ID, "pairs", "fail", "behaviour", f"the driver refuses peer access: {', '.join(refused[:6])}"
                      + (f" and {len(refused) - 6} more" if len(refused) > 6 else ""), "", "access both ways", (), _FIX)
    elif found.find("one way"):
        yield Finding(_ID, "pairs", "pass", "behaviour", "every GPU reaches every other one's memory")
    else:
        yield Finding(_ID, "pairs", "skip" if len(case.snapshot.topology.devices) < 2 else "unknown", "behaviour",
                      "no pair was measured")

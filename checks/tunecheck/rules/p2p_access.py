"""p2p-access: the driver lets every GPU reach every other one's memory."""

from __future__ import annotations

from collections.abc import Iterator

from ..spec.boards import board
from .finding import Case, Finding, Remedy
from .pair_figures import measured, unmeasured

_ID = "p2p-access"
_FIX = Remedy("see p2p-capability for the driver's reason, and iommu-mode")
_MIXED = Remedy("build tensor parallel groups of equal boards")


def judge(case: Case) -> Iterator[Finding]:
    refused = [(int(a), int(b)) for a, b in measured(case).notes.get("no_access") or ()]
    devices = case.snapshot.topology.devices
    if not refused or len(devices) < 2:
        yield unmeasured(case, _ID) or Finding(_ID, "pairs", "pass", "behaviour", "every GPU reaches every other one's "
                                               "memory")
        return
    named = ", ".join(f"GPU{a}->GPU{b}" for a, b in refused[:6])
    more = f" and {len(refused) - 6} more" if len(refused) > 6 else ""
    ids = [{devices[number].ids for number in pair if number < len(devices)} for pair in refused]
    mixed = all(len(pair) > 1 for pair in ids)
    known = [board(one) for one in set.union(*ids)]
    stock = not any(each and each.p2p == "patched driver only" for each in known)
    why = ": boards of different kinds" if mixed else "" if stock else ": NVIDIA's driver has none for this board"
    yield Finding(_ID, "pairs", "fail" if stock and not mixed else "warn", "behaviour",
                  f"the driver refuses peer access: {named}{more}{why}", named, "access both ways",
                  (), _MIXED if mixed else _FIX)

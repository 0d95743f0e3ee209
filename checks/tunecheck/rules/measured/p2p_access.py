"""p2p-access: the driver lets every GPU reach every other one's memory."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ...util.text import some
from ..check import P2P, Check, Family, Heading
from ..context import Case
from ..nvidia.peer_access import declared, peers
from ..pcie.p2p_letters import DECLARE, UNDECLARED, explained, outcome_of
from .pair_figures import measured, unmeasured

CHECK = Check(
    "p2p-access", "the driver lets every GPU reach every other one's memory",
    Heading.P2P, 40, Family.MEASURED, P2P,
)
_ID = CHECK.id
CODES = {
    "patch-not-declared": "The driver allows peer access that NVIDIA's own driver refuses; no patch is declared.",
    "mixed-boards": "The driver refuses peer access between boards of different kinds.",
    "patch-without-effect": "A driver that is patched for peer access is declared, and it refuses the access.",
    "refused-by-model": "NVIDIA's own driver refuses peer access on this GPU model.",
    "refused": "The driver refuses peer access between GPUs.",
}
_FIX = Remedy("see p2p-capability for the driver's reason, and iommu-mode")
_MIXED = Remedy("build tensor parallel groups of equal boards")
_ALL = "every GPU reaches every other one's memory"


def judge(case: Case) -> Iterator[Finding]:
    refused = [(int(a), int(b)) for a, b in measured(case).notes.get("no_access") or ()]
    devices = case.snapshot.topology.devices
    patchable = peers(case).some_by_model
    word = "GNS" if refused and len(devices) > 1 else "OK"
    outcome, (why, fix) = outcome_of(case, word, patchable), explained(case, word, patchable)
    if word == "OK":
        text, remedy = (f"{UNDECLARED}, and {_ALL}", DECLARE) if outcome == "warn" else (_ALL, None)
        yield unmeasured(case, _ID) or Finding(
            _ID, "ok" if outcome == "pass" else "patch-not-declared", "pairs", outcome, "behaviour", text,
            remedy=remedy)
        return
    code = "patch-without-effect" if declared(case) else "refused-by-model"
    named = some([f"GPU{a}->GPU{b}" for a, b in refused], 6)
    if all(len({devices[number].ids for number in pair if number < len(devices)}) > 1 for pair in refused):
        code, outcome, why, fix = "mixed-boards", "warn", "boards of different kinds", _MIXED
    elif not patchable:
        code, outcome, why, fix = "refused", "fail", "p2p-capability has the driver's reason", _FIX
    yield Finding(_ID, code, "pairs", outcome, "behaviour", f"the driver refuses peer access: {named}: {why}", named,
                  "access both ways", (), fix)

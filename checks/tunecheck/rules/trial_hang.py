"""trial-hang: every trial got to its end. A hang is what the first all-reduce of a server would have been."""

from __future__ import annotations

from collections.abc import Iterator

from .finding import Case, Finding, Remedy
from .pair_figures import measured

_ID = "trial-hang"
_FIX = {
    "recovered": Remedy("see acs-redirect and iommu-mode: redirected or translated peer writes hang; then run it again"),
    "ghost latch": Remedy("see acs-redirect and iommu-mode; the GPUs are usable"),
    "wedged": Remedy("reset the GPUs (nvidia-smi --gpu-reset) or reboot, before anything else uses them", (), True),
}


def judge(case: Case) -> Iterator[Finding]:
    found = measured(case)
    for hang in found.hangs:
        who = "; ".join([*(f"culprit {each}" for each in hang.culprits), *(f"victim {each}" for each in hang.victims)])
        arm = " with NCCL_P2P_DISABLE=1: not P2P alone" if hang.arm == "staged" else ""
        kept = f"; evidence: {hang.bundle}" if hang.bundle else ""
        yield Finding(_ID, hang.trial, "fail", "behaviour", f"{hang.trial} hung in {hang.phase}{arm}, no progress for "
                      f"{hang.after:.1f} s ({who or 'nobody stands out'}); afterwards {hang.aftermath.verdict}: "
                      f"{hang.aftermath.text}{kept}", hang.aftermath.verdict, "progress all the time",
                      remedy=_FIX[hang.aftermath.verdict])
    if not found.hangs:
        ran = found.figures or found.failures
        yield Finding(_ID, "trials", "pass" if ran else "skip", "behaviour",
                      "no trial hung" if ran else "no trial ran")

"""trial-hang: every trial got to its end. A hang is what the first all-reduce of a server would have been."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ..check import TRIALS, Check, Family, Heading
from ..context import Case
from .pair_figures import measured
from .reduce_figures import attributed

CHECK = Check(
    "trial-hang", "every trial got to its end", Heading.P2P, 10, Family.MEASURED, TRIALS,
)
_ID = CHECK.id
_CAUSE = Remedy("the GPUs are usable; see acs-redirect and iommu-mode: redirected or translated peer writes hang")
_AGAIN = Remedy("the GPUs are usable: find out what stopped it, and run it again")
_RESET = Remedy.typed("reset the GPUs (`sudo nvidia-smi --gpu-reset`) or reboot, before anything else uses "
                      "them", (), True)


def judge(case: Case) -> Iterator[Finding]:
    found = measured(case)
    for hang in found.hangs:
        who = "; ".join([*(f"culprit {each}" for each in hang.culprits), *(f"victim {each}" for each in hang.victims)])
        among = f" of {hang.ranks} ranks" if hang.ranks and hang.trial == "allreduce" else ""
        arm = " with NCCL_P2P_DISABLE=1" if hang.arm == "staged" else ""
        # One that did not even run (stopped, killed) is the reason; ranks that run and wait may wait because of P2P.
        why = f"; {attributed(found, hang.ranks)}" if hang.trial == "allreduce" and hang.ran else ""
        fix = _RESET if hang.aftermath.verdict == "wedged" else _CAUSE if hang.ran and "not P2P" not in why else _AGAIN
        lost = f"; evidence {found.notes['bundle']}" if found.notes.get("bundle") else ""
        kept = "".join(f"; {each}" for each in hang.remarks) + (f"; evidence: {hang.bundle}" if hang.bundle else lost)
        yield Finding(_ID, f"{hang.trial}{among}", "fail", "behaviour", f"{hang.trial}{among} hung in {hang.phase}"
                      f"{arm}, no progress for {hang.after:.1f} s ({who or 'nobody stands out'}){why}; afterwards "
                      f"{hang.aftermath.verdict}: {hang.aftermath.text}{kept}", hang.aftermath.verdict,
                      "progress all the time", (), fix)
    if not found.hangs:
        failed = found.unfinished
        yield Finding(_ID, "trials", "unknown" if failed else "pass" if found.figures else "skip", "behaviour",
                      failed or ("no trial hung" if found.figures else "no trial ran"))

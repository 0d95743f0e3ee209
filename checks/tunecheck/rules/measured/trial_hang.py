"""trial-hang: every trial got to its end. A hang is what the first all-reduce of a server would have been."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ..check import TRIALS, Check, Family, Heading
from ..codes import NOT_MEASURED, OK
from ..context import Case
from .pair_figures import measured
from .reduce_figures import Blame, attributed

CHECK = Check(
    "trial-hang", "every trial got to its end", Heading.P2P, 10, Family.MEASURED, TRIALS,
)
_ID = CHECK.id
CODES = {
    "hung": "The trial hung, and it is not known whether P2P is to blame.",
    "hung-by-p2p": "The all-reduce hung, and without P2P it did not.",
    "hung-without-p2p": "The all-reduce hung without P2P too.",
    "process-stopped": "A process of the trial did not run, so the others waited for it.",
    "wedged": "The trial hung, and its GPUs cannot be used any more.",
    "not-finished": "No trial hung, and one did not get to its end.",
}
_HUNG = {Blame.P2P: "hung-by-p2p", Blame.NOT_P2P: "hung-without-p2p", Blame.STAGED_ONLY: "hung-without-p2p"}
_CAUSE = Remedy("the GPUs are usable; see acs-redirect and iommu-mode: redirected or translated peer writes hang")
_AGAIN = Remedy("the GPUs are usable: find out what stopped it, and run it again")
_RESET = Remedy.typed("reset the GPUs (`sudo nvidia-smi --gpu-reset`) or reboot, before anything else uses "
                      "them", (), True)


def judge(case: Case) -> Iterator[Finding]:
    trial = measured(case)
    for hang in trial.hangs:
        who = "; ".join([*(f"culprit {each}" for each in hang.culprits), *(f"victim {each}" for each in hang.victims)])
        among = f" of {hang.ranks} ranks" if hang.ranks and hang.trial == "allreduce" else ""
        arm = " with NCCL_P2P_DISABLE=1" if hang.arm == "staged" else ""
        # One that did not even run (stopped, killed) is the reason; ranks that run and wait may wait because of P2P.
        blame = attributed(trial, hang.ranks) if hang.trial == "allreduce" and hang.ran else None
        why, wedged = f"; {blame.value}" if blame else "", hang.aftermath.verdict == "wedged"
        code, fix = ("wedged", _RESET) if wedged else ("process-stopped", _AGAIN) if not hang.ran else \
            (_HUNG.get(blame, "hung") if blame else "hung", _AGAIN if blame and blame.spares_p2p else _CAUSE)
        lost = f"; evidence {trial.notes['bundle']}" if trial.notes.get("bundle") else ""
        kept = "".join(f"; {each}" for each in hang.remarks) + (f"; evidence: {hang.bundle}" if hang.bundle else lost)
        yield Finding(_ID, code, f"{hang.trial}{among}", "fail", "behaviour",
                      f"{hang.trial}{among} hung in {hang.phase}"
                      f"{arm}, no progress for {hang.after:.1f} s; {who or 'nobody stands out'}{why}; afterwards "
                      f"{hang.aftermath.verdict}: {hang.aftermath.text}{kept}", hang.aftermath.verdict,
                      "progress all the time", (), fix)
    if not trial.hangs:
        failed = trial.unfinished
        code = "not-finished" if failed else OK if trial.figures else NOT_MEASURED
        yield Finding(_ID, code, "trials", "unknown" if failed else "pass" if trial.figures else "skip", "behaviour",
                      failed or ("no trial hung" if trial.figures else "no trial ran"))

"""allreduce-soak: mixed all-reduces went on for minutes without a stop and without a wrong sum."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ..check import ALLREDUCE, Check, Family, Heading
from ..codes import NOT_MEASURED, TRIAL_FAILED
from ..context import Case
from .pair_figures import measured
from .reduce_figures import unmeasured

CHECK = Check(
    "allreduce-soak", "minutes of mixed all-reduces without stop or wrong sum",
    Heading.ALLREDUCE, 40, Family.MEASURED, ALLREDUCE,
)
_ID = CHECK.id
CODES = {
    "wrong-sum": "An all-reduce of the soak gave a wrong sum.",
}
_FIX = Remedy("see allreduce-integrity for who is to blame, and gpu-ecc, xid and aer-events for what happened then")


def judge(case: Case) -> Iterator[Finding]:
    trial, nothing = measured(case), unmeasured(case, _ID)
    if nothing:
        yield nothing
        return
    wrong = [each for each in trial.wrong if str(each["way"]).startswith("soak")]
    soaks = trial.find("soak", "steps")
    early = any(hang.trial == "allreduce" for hang in trial.hangs) or any(
        key.startswith("allreduce") for key in trial.failures)
    for each in soaks:
        text = f"{each.ranks} ranks: {each.value:.0f} steps in {each.more.get('seconds', 0):g} s"
        bad = bool(wrong) or not each.verified
        yield Finding(_ID, "wrong-sum" if bad else "ok", f"{each.ranks} ranks", "fail" if bad else "pass", "behaviour",
                      text + (
            ", with wrong sums" if bad else ", every sum that was looked at right to the bit"), text,
            "no wrong sum", (each.method,), _FIX if bad else None)
    if not soaks and early:
        yield Finding(_ID, TRIAL_FAILED, "soak", "unknown", "behaviour",
                      "no soak to the end: the trial hung or failed (trial-hang, "
                      "allreduce-integrity)")
    elif not soaks:
        missing = "nccl missing" in trial.notes
        yield Finding(_ID, NOT_MEASURED, "soak", "skip", "behaviour",
                      "no soak ran: NCCL is missing (allreduce-nccl)" if missing else
                      "no soak ran; --soak 60s runs one")

"""allreduce-integrity: every sum is right to the bit, in every group of ranks; else, whether P2P is to blame."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ..check import ALLREDUCE, Check, Family, Heading
from ..codes import MEASURED_IN_PART, TRIAL_FAILED, TRIAL_HUNG
from ..context import Case
from .pair_figures import measured
from .reduce_figures import Blame, attributed, of_size, ranks_of, sized, unmeasured

CHECK = Check(
    "allreduce-integrity", "every sum is right, in every group of ranks",
    Heading.ALLREDUCE, 10, Family.MEASURED, ALLREDUCE,
)
_ID = CHECK.id
CODES = {
    "wrong-sum": "An all-reduce gave a wrong sum.",
}
_P2P = Remedy("set NCCL_P2P_DISABLE=1 until the cause is mended; see p2p-integrity, iommu-mode and acs-redirect")
_ELSE = Remedy("see gpu-ecc, xid and allreduce-nccl: memory, a GPU or NCCL itself is at fault")


def judge(case: Case) -> Iterator[Finding]:
    trial, nothing = measured(case), unmeasured(case, _ID)
    if nothing:
        yield nothing
    for ranks in [] if nothing else ranks_of(trial):
        wrong = [each for each in trial.wrong if each["trial"] == "allreduce" and each.get("ranks") == ranks]
        words = [f"{each['way']}{of_size(each)} on rank {each['b']} ({each['arm']})" for each in wrong]
        good = [each for each in trial.find("allreduce") if each.ranks == ranks and each.verified]
        failed = next((text for key, text in trial.failures.items()
                       if key.startswith(f"allreduce {ranks} ranks")), None)
        hung = any(hang.ranks == ranks for hang in trial.hangs)
        ended = failed or ("it hung (trial-hang)" if hung else None)
        if wrong:
            blame = attributed(trial, ranks) if any(each["arm"] == "p2p" for each in wrong) else Blame.STAGED_ONLY
            yield Finding(_ID, "wrong-sum", f"{ranks} ranks", "fail", "behaviour",
                          f"{ranks} ranks, wrong: {', '.join(words[:4])}; "
                          f"{blame.value}", "wrong sums", "every sum as it has to be", (),
                          _ELSE if blame.spares_p2p else _P2P)
        elif ended or not good:
            code = TRIAL_FAILED if failed else TRIAL_HUNG if hung else MEASURED_IN_PART
            ended = f"{ranks} ranks, not to the end: {ended or 'no sum was checked'}"
            yield Finding(_ID, code, f"{ranks} ranks", "unknown", "behaviour", ended)
        else:
            most = sized(max(each.size or 0 for each in good))
            yield Finding(_ID, "ok", f"{ranks} ranks", "pass", "behaviour",
                          f"{ranks} ranks: every sum right to the bit, up "
                          f"to {most} ({', '.join(dict.fromkeys(each.what for each in good))})")

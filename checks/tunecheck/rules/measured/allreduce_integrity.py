"""allreduce-integrity: every sum is right to the bit, in every group of ranks; else, whether P2P is to blame."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ..check import ALLREDUCE, Check, Family, Heading
from ..context import Case
from .pair_figures import measured
from .reduce_figures import attributed, of_size, ranks_of, sized, unmeasured

CHECK = Check(
    "allreduce-integrity", "every sum is right, in every group of ranks",
    Heading.ALLREDUCE, 10, Family.MEASURED, ALLREDUCE,
)
_ID = CHECK.id
_P2P = Remedy("set NCCL_P2P_DISABLE=1 until it is mended; see p2p-integrity, iommu-mode and acs-redirect")
_ELSE = Remedy("see gpu-ecc, xid and allreduce-nccl: memory, a GPU or NCCL itself is at fault")


def judge(case: Case) -> Iterator[Finding]:
    found, nothing = measured(case), unmeasured(case, _ID)
    if nothing:
        yield nothing
    for ranks in [] if nothing else ranks_of(found):
        wrong = [each for each in found.wrong if each["trial"] == "allreduce" and each.get("ranks") == ranks]
        words = [f"{each['way']}{of_size(each)} on rank {each['b']} ({each['arm']})" for each in wrong]
        good = [each for each in found.find("allreduce") if each.ranks == ranks and each.verified]
        ended = next((text for key, text in found.failures.items() if key.startswith(f"allreduce {ranks} ranks")),
                     "it hung (trial-hang)" if any(hang.ranks == ranks for hang in found.hangs) else None)
        if wrong:
            why = attributed(found, ranks) if any(each["arm"] == "p2p" for each in wrong) else \
                "only with NCCL_P2P_DISABLE=1: not P2P"
            yield Finding(_ID, f"{ranks} ranks", "fail", "behaviour", f"{ranks} ranks, wrong: {', '.join(words[:4])}; "
                          f"{why}", "wrong sums", "every sum as it has to be", (), _ELSE if "not P2P" in why else _P2P)
        elif ended or not good:
            ended = f"{ranks} ranks, not to the end: {ended or 'no sum was checked'}"
            yield Finding(_ID, f"{ranks} ranks", "unknown", "behaviour", ended)
        else:
            most = sized(max(each.size or 0 for each in good))
            yield Finding(_ID, f"{ranks} ranks", "pass", "behaviour", f"{ranks} ranks: every sum right to the bit, up "
                          f"to {most} ({', '.join(dict.fromkeys(each.what for each in good))})")

"""p2p-integrity: what one GPU writes into another one's memory arrives there, every word of it."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ..check import P2P, Check, Family, Heading
from ..codes import CONTROL_WRONG, OK, WRONG_DATA
from ..context import Case
from .pair_figures import measured, one_way, unmeasured

CHECK = Check(
    "p2p-integrity", "what a GPU writes to another one arrives, every word",
    Heading.P2P, 50, Family.MEASURED, P2P,
)
_ID = CHECK.id
CODES = {
    "not-checked": "The data of some pairs was not checked.",
}
_FIX = Remedy("set NCCL_P2P_DISABLE=1 until the cause is mended; see iommu-mode and acs-redirect: translated or "
              "redirected peer writes can be dropped")
_HOST = Remedy("copies through the host are wrong: memory, GPU or driver; see gpu-ecc, xid and the host's memory")


def judge(case: Case) -> Iterator[Finding]:
    trial = measured(case)
    control = [f"GPU{wrong['a']}->GPU{wrong['b']}" for wrong in trial.wrong if wrong["trial"] == "control"]
    pairs = [wrong for wrong in trial.wrong if wrong["trial"] in ("integrity", "ping-pong")]
    if control:
        yield Finding(_ID, CONTROL_WRONG, "control", "unknown", "behaviour",
                      "the control arm fails: without peer access data arrives "
                      f"wrong too ({', '.join(control[:4])}), so nothing can be said about P2P", remedy=_HOST)
        return
    for wrong in pairs:
        name = f"GPU{wrong['a']}->GPU{wrong['b']}"
        where = f" of {wrong['size']} bytes: {wrong['words']} wrong words, one at offset {wrong['offset']:#x}" \
            if "words" in wrong else ""
        yield Finding(_ID, WRONG_DATA, name, "fail", "behaviour", f"{name}: {wrong['way']}{where}", "wrong data",
                      "every word as sent", remedy=_FIX)
    if not pairs:
        checked = all(each.verified for each, _ in one_way(case))
        size = f"{(trial.notes.get('size') or 0) >> 20} MiB"
        yield unmeasured(case, _ID) or Finding(
            _ID, OK if checked else "not-checked", "pairs", "pass" if checked else "unknown", "behaviour",
            "every word arrived, 4 bytes to "
            f"{size}, by copy engine and SMs, every pair both ways" if checked else "not every pair's data was checked")

"""p2p-integrity: what one GPU writes into another one's memory arrives there, every word of it."""

from __future__ import annotations

from collections.abc import Iterator

from .finding import Case, Finding, Remedy
from .pair_figures import measured, unmeasured

_ID = "p2p-integrity"
_FIX = Remedy("set NCCL_P2P_DISABLE=1 until it is mended; see iommu-mode and acs-redirect: translated or redirected peer "
              "writes can be dropped")
_HOST = Remedy("copies through the host are wrong: memory, GPU or driver; see gpu-ecc, xid and the host's memory")


def judge(case: Case) -> Iterator[Finding]:
    found = measured(case)
    control = [wrong for wrong in found.wrong if wrong["trial"] == "control"]
    pairs = [wrong for wrong in found.wrong if wrong["trial"] in ("integrity", "ping-pong")]
    if control:
        named = ", ".join(f"GPU{wrong['a']}->GPU{wrong['b']}" for wrong in control)
        yield Finding(_ID, "control", "unknown", "behaviour", f"the control arm fails: without peer access data arrives "
                      f"wrong too ({named}): nothing can be said about P2P", remedy=_HOST)
    for wrong in [] if control else pairs:
        where = f" of {wrong['size']} bytes: {wrong['words']} wrong words, one at offset {wrong['offset']:#x}" \
            if "words" in wrong else ""
        yield Finding(_ID, f"GPU{wrong['a']}->GPU{wrong['b']}", "fail", "behaviour",
                      f"GPU{wrong['a']}->GPU{wrong['b']}: {wrong['way']}{where}", "wrong data", "every word as sent",
                      remedy=_FIX)
    if not found.wrong:
        good = [each for each in found.find("one way") if each.verified]
        yield unmeasured(case, _ID) or Finding(
            _ID, "pairs", "pass" if good else "unknown", "behaviour",
            f"every word arrived, 4 bytes to {(found.notes.get('size') or 0) >> 20} MiB, by copy engine and SMs, every "
            "pair both ways" if good else "no pair was checked")

"""p2p-flows: several transfers at once do not collapse."""

from __future__ import annotations

from collections.abc import Iterator

from .finding import Case, Finding, Remedy
from .pair_figures import measured, middle, one_way, unmeasured

_ID = "p2p-flows"
#: Sum over all flows, against one flow alone. Published collapse: 36.8 -> 2.7 GB/s.
_COLLAPSE = 0.35
_FIX = Remedy("known of Broadcom PEX890xx under two root ports: update the switch firmware, or keep tensor parallel groups "
              "below one switch")


def judge(case: Case) -> Iterator[Finding]:
    found = unmeasured(case, _ID)
    flows = measured(case).find("flows")
    if found or not flows:
        yield found or Finding(_ID, "flows", "skip", "behaviour", "two GPUs: their both-ways figure says it (p2p-duplex)")
        return
    alone = middle([each for each, _ in one_way(case)])
    for each in flows:
        bad = each.value < _COLLAPSE * alone
        yield Finding(_ID, each.what, "fail" if bad else "pass", "behaviour",
                      f"{each.what}: {each.value:.1f} GB/s over {each.more.get('flows', 0):.0f} flows"
                      + (f", less than one alone ({alone:.1f}): posted writes collapse" if bad else ""),
                      f"{each.value:.1f} GB/s", f"more than {alone:.1f} GB/s", (each.method,), _FIX if bad else None)

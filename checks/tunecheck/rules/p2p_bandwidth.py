"""p2p-bandwidth: each pair moves what its way through the tree can carry."""

from __future__ import annotations

from collections.abc import Iterator

from .finding import Case, Finding, Remedy
from .pair_figures import label, one_way, unmeasured

_ID = "p2p-bandwidth"
#: Of the predicted payload rate. Measured on Gen5 PIX: 53 to 57 of 57.6 (0.92 to 0.99); below 45 something is wrong.
_GOOD, _BAD = 0.9, 0.78


def judge(case: Case) -> Iterator[Finding]:
    found = unmeasured(case, _ID)
    if found:
        yield found
        return
    for each, path in one_way(case):
        subject, value = label(each), f"{each.value:.1f} GB/s one way"
        wanted = path.one_way if path else None
        if wanted is None:
            why = (path.reason if path else None) or "the tree says nothing about this pair"
            yield Finding(_ID, subject, "pass", "behaviour", f"{subject}: {value}; nothing to compare with: {why}", value)
            continue
        share = each.value / wanted
        upper = path is not None and path.latency_class in ("root-complex", "cross-socket")
        outcome = "pass" if share >= _GOOD else "warn" if share >= _BAD or upper else "fail"
        slow = path.slowest if path else None
        guilty = f"; the slowest link of the way is {slow.name} (Gen{slow.gen} x{slow.width})" if slow else ""
        yield Finding(_ID, subject, outcome, "behaviour", f"{subject}: {value}, {share:.0%} of the predicted {wanted}"
                      f"{guilty if outcome != 'pass' else ''}", value, f"about {wanted} GB/s", (each.method,),
                      Remedy("see link-speed, link-width, link-payload and link-errors of that hop, under load"))

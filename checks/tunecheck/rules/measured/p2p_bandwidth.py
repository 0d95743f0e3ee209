"""p2p-bandwidth: each pair moves what its way through the tree, or its NVLink, can carry."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding
from ..check import P2P, Check, Family, Heading
from ..codes import NO_COMPARISON, OK
from ..context import Case
from .pair_expected import blame, expected, remedy
from .pair_figures import class_of, listed, one_way, several, unmeasured
from .short_of import share_below
from .slower_links import look, slower

CHECK = Check(
    "p2p-bandwidth", "each pair moves what its way can carry",
    Heading.P2P, 60, Family.MEASURED, P2P,
)
_ID = CHECK.id
CODES = {
    "slow": "A pair moves less than its way can carry.",
}
_BAD = 0.78     # of what is expected: 45 of 57.6 GB/s; no healthy pair was published that low


def judge(case: Case) -> Iterator[Finding]:
    unjudged = unmeasured(case, _ID)
    if unjudged:
        yield unjudged
    rows = [(each, path, expected(case, path)) for each, path in ([] if unjudged else one_way(case))]
    for name, wanted in dict.fromkeys((class_of(path), wanted) for _, path, wanted in rows):
        same = [(each, path) for each, path, other in rows if (class_of(path), other) == (name, wanted)]
        limit = wanted.one_way or 0.0
        good = [each for each, _ in same if each.value >= wanted.good * limit]
        comparison = f"{wanted.why} {limit:.1f}" if limit else f"nothing to compare with: {wanted.why}"
        if good:
            yield Finding(_ID, OK if limit else NO_COMPARISON, name, "pass", "behaviour",
                          f"{name}: {several(good, 'GB/s one way')}; {comparison}")
        slow = [(each, path) for each, path in same if each not in good]
        ways = [path for _, path in slow if path]
        if slow:
            worst = min(each.value for each, _ in slow) / limit
            link = None if wanted.upper else slower([(path, each.value, wanted.good) for each, path in slow if path])
            hop = (link.text if link else "") or blame(ways, [
                path for each, path in same if each in good and path and path not in ways])
            yield Finding(_ID, "slow", name, "warn" if worst >= _BAD or wanted.upper else "fail", "behaviour",
                          f"{name}: at worst {share_below(worst, wanted.good)} of what is {comparison} GB/s one way: "
                          f"{listed([each for each, _ in slow])}{hop}", share_below(worst, wanted.good),
                          f"{wanted.good:.0%} or more", (slow[0][0].method,),
                          remedy(ways[0]) if ways and ways[0].latency_class == "nvlink" else look(link))

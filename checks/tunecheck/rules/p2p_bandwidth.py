"""p2p-bandwidth: each pair moves what its way through the tree, or its NVLink, can carry."""

from __future__ import annotations

from collections.abc import Iterator

from .finding import Case, Finding, Remedy
from .pair_expected import blame, expected
from .pair_figures import class_of, label, one_way, several, unmeasured

_ID = "p2p-bandwidth"
_BAD = 0.78     # of what is expected: 45 of 57.6 GB/s; no healthy pair was published that low
_FIX = Remedy("see link-speed, link-width, link-payload and link-errors of that hop, under load")


def judge(case: Case) -> Iterator[Finding]:
    found = unmeasured(case, _ID)
    if found:
        yield found
        return
    rows = [(each, path, expected(case, path)) for each, path in one_way(case)]
    slow = [row for row in rows if row[2].one_way and row[0].value < row[2].good * row[2].one_way]
    kinds = {(class_of(path), wanted) for _, path, wanted in rows}
    for name, wanted in sorted(kinds, key=lambda kind: kind[0]):
        fine = [row[0] for row in rows if (class_of(row[1]), row[2]) == (name, wanted) and row not in slow]
        limit = f"{wanted.why} {wanted.one_way:.1f}" if wanted.one_way else f"nothing to compare with: {wanted.why}"
        if fine:
            yield Finding(_ID, name, "pass", "behaviour", f"{name}: {several(fine, 'GB/s')} one way; {limit}")
    ways = [path for _, path, _ in slow if path]
    guilty = blame(ways, [path for _, path, wanted in rows if path and wanted.one_way and path not in ways])
    for each, _, wanted in slow:
        share = each.value / (wanted.one_way or 1)
        yield Finding(_ID, label(each), "warn" if share >= _BAD or wanted.upper else "fail", "behaviour",
                      f"{label(each)}: {each.value:.1f} GB/s one way, {share:.0%} of {wanted.one_way:.1f} "
                      f"({wanted.why}){guilty}", f"{each.value:.1f} GB/s", f"{wanted.good:.0%} or more", (each.method,),
                      _FIX)

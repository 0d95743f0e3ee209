"""p2p-symmetry: a pair is as fast one way as the other, and pairs of one class are alike."""

from __future__ import annotations

from collections.abc import Iterator

from ..trials.measured import Measurement
from .finding import Case, Finding, Remedy
from .pair_figures import label, middle, one_way, unmeasured

_ID = "p2p-symmetry"
_APART = 0.05
_FIX = Remedy("compare link-width, link-speed, link-payload and link-errors of the two ways")


def judge(case: Case) -> Iterator[Finding]:
    found = unmeasured(case, _ID)
    if found:
        yield found
        return
    classes: dict[str, list[Measurement]] = {}
    for each, path in one_way(case):
        names = case.snapshot.topology.names
        boards = "/".join(sorted({names[number] for number in (each.a or 0, each.b or 0)}))
        relation = (path.latency_class or path.pair.relation.value if path else None) or "unknown"
        classes.setdefault(f"{relation} {boards}", []).append(each)
    for name, figures in classes.items():
        usual = middle(figures)
        apart = [each for each in figures if abs(each.value - usual) > _APART * usual]
        shown = ", ".join(f"{label(each)} {each.value:.1f}" for each in apart[:6])
        yield Finding(_ID, name.partition(" ")[0], "warn" if apart else "pass", "behaviour",
                      f"{name}: {shown} GB/s beside a median of {usual:.1f}" if apart else
                      f"{name}: {len(figures)} directions within 5 % of {usual:.1f} GB/s", shown, "within 5 %",
                      remedy=_FIX)

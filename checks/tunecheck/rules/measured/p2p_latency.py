"""p2p-latency: a load from a peer's memory takes as long as its way explains."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ...model.measurement import Measurement
from ..check import P2P, Check, Family, Heading
from ..codes import NOT_MEASURED
from ..context import Case
from .pair_figures import by_pair, class_of, several, unmeasured

CHECK = Check(
    "p2p-latency", "a load from a peer takes as long as its way explains",
    Heading.P2P, 100, Family.MEASURED, P2P,
)
_ID = CHECK.id
CODES = {
    "slow": "A load from a peer takes longer than its way explains.",
}
#: Nanoseconds of a dependent load above which the class does not explain it. Published: PIX 710 to 720, across chips up
#: to 730, through the CPU 1140 to 1450; NVLink measured 819 to 850; through host memory 14000 and more.
_MOST = {"switch": 1000, "cascade": 1300, "nvlink": 1100, "root-complex": 2000, "cross-socket": 2500}
_ANY = 5000
_FIX = Remedy("see acs-redirect (a hairpin adds 200 to 500 ns), link-speed and link-errors")


def judge(case: Case) -> Iterator[Finding]:
    unjudged = unmeasured(case, _ID)
    by_class: dict[str, list[Measurement]] = {}
    for each, path in by_pair(case, "latency", "pointer chase"):
        by_class.setdefault(class_of(path), []).append(each)
    if unjudged or not by_class:
        yield unjudged or Finding(_ID, NOT_MEASURED, "pairs", "unknown", "behaviour", "no latency was measured")
        return
    for name, figures in by_class.items():
        most, worst = _MOST.get(name, _ANY), max(each.value for each in figures)
        slow = worst > most
        shown = [each for each in figures if each.value > most or not slow]
        digits = next((more for more in range(3) if round(worst, more) > most), 0) if slow else 0
        text = several(shown, "ns per dependent load", digits, most=True)
        yield Finding(_ID, "slow" if slow else "ok", name, "warn" if slow else "pass", "behaviour", f"{name}: {text}",
                      f"{worst:.{digits}f} ns", f"at most {most} ns", (figures[0].method,), _FIX if slow else None)

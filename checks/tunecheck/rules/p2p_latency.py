"""p2p-latency: a load from a peer's memory takes as long as its way explains."""

from __future__ import annotations

from collections.abc import Iterator

from .finding import Case, Finding, Remedy
from .pair_figures import label, measured, path_of, unmeasured

_ID = "p2p-latency"
#: Nanoseconds of a dependent load, above which the class does not explain it. Published: PIX 710 to 720, cross-chip 730,
#: through the CPU 840 to 1450; NVLink measured 826 to 850.
_MOST = {"switch": 1000, "cascade": 1300, "nvlink": 1100, "root-complex": 2000, "cross-socket": 2500}


def judge(case: Case) -> Iterator[Finding]:
    found = unmeasured(case, _ID)
    if found:
        yield found
        return
    by_class: dict[str, list[tuple[float, str]]] = {}
    for each in measured(case).find("latency", "pointer chase"):
        path = path_of(case, each)
        by_class.setdefault((path.latency_class if path else None) or "unknown", []).append((each.value, label(each)))
    for name, values in by_class.items():
        worst, pair = max(values)
        most = _MOST.get(name)
        slow = most is not None and worst > most
        yield Finding(_ID, name, "warn" if slow else "pass", "behaviour", f"{name}: {min(values)[0]:.0f} to {worst:.0f} ns "
                      f"per dependent load, slowest {pair}", f"{worst:.0f} ns", f"at most {most} ns" if most else "",
                      (), Remedy("see acs-redirect (a hairpin adds 200 to 500 ns) and link-speed") if slow else None)

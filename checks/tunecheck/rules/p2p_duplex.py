"""p2p-duplex: both directions at once carry nearly twice of one. Once is the signature of the ACS hairpin."""

from __future__ import annotations

from collections.abc import Iterator

from .finding import Case, Finding
from .pair_figures import ENGINE, figure, label, measured, path_of, unmeasured

_ID = "p2p-duplex"
#: Published for Gen5 PIX: 1.9 with ACS redirect off, 0.98 with it on.
_GOOD, _HAIRPIN = 1.7, 1.25


def judge(case: Case) -> Iterator[Finding]:
    found = unmeasured(case, _ID)
    if found:
        yield found
        return
    for both in measured(case).find("both ways", ENGINE):
        single = figure(case, "one way", ENGINE, both.a or 0, both.b or 0)
        path = path_of(case, both)
        if single is None or not single.value:
            continue
        ratio, subject = both.value / single.value, label(both).replace("->", "-")
        through = path is not None and path.latency_class in ("root-complex", "cross-socket")
        outcome = "pass" if ratio >= _GOOD else "warn" if through and path and not path.redirectors else "fail"
        hairpin = ": both directions share one link, as through the root complex with ACS redirect (hairpin)"
        guilty = f" at {', '.join(path.redirectors)}" if path and path.redirectors else ""
        yield Finding(_ID, subject, outcome, "behaviour", f"{subject}: {both.value:.1f} GB/s both ways, {ratio:.2f} x one "
                      f"way{hairpin + guilty if ratio < _HAIRPIN else ''}", f"{ratio:.2f}", f"at least {_GOOD}",
                      (both.method,), case.play("acs", True, "see acs-redirect"))

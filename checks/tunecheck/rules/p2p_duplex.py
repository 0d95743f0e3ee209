"""p2p-duplex: both directions at once carry nearly twice of one. Once is the signature of the ACS hairpin."""

from __future__ import annotations

from collections.abc import Iterator

from .finding import Case, Finding, Remedy
from .pair_figures import DIRECT, ENGINE, by_pair, class_of, figure, label, several, unmeasured

_ID = "p2p-duplex"
_GOOD, _HAIRPIN = 1.7, 1.25     # published for Gen5 PIX: 1.9 with ACS redirect off, 0.98 with it on; NVLink: 1.98
_LINKS = Remedy("see link-errors and link-width of both ways, under load")


def judge(case: Case) -> Iterator[Finding]:
    rows = by_pair(case, "both ways", ENGINE)
    found = unmeasured(case, _ID)
    if found or not rows:
        yield found or Finding(_ID, "pairs", "unknown", "behaviour", "both ways at once were not measured")
        return
    ratios = [(both, path, both.value / (figure(case, "one way", ENGINE, both) or both.value)) for both, path in rows]
    good = [both for both, _, ratio in ratios if ratio >= _GOOD]
    if good:
        least = min(ratio for _, _, ratio in ratios if ratio >= _GOOD)
        yield Finding(_ID, "pairs", "pass", "behaviour", f"{several(good, 'GB/s', both=True)} both ways, at least "
                      f"{least:.2f} x one way")
    for both, path, ratio in [row for row in ratios if row[2] < _GOOD]:
        sharp = class_of(path) in DIRECT or (path is not None and path.pair.relation.value in ("PIX", "PXB"))
        hairpin = ratio < _HAIRPIN and class_of(path) != "nvlink"
        cause = ": both directions share one link, the hairpin of ACS redirect" if hairpin else ""
        cause += f" at {', '.join(path.redirectors)}" if hairpin and path and path.redirectors else ""
        yield Finding(_ID, label(both, True), "fail" if sharp else "warn", "behaviour",
                      f"{label(both, True)}: {both.value:.1f} GB/s both ways, {ratio:.2f} x one way{cause}",
                      f"{ratio:.2f}", f"{_GOOD} x or more", (both.method,),
                      case.play("acs", True, "see acs-redirect") if hairpin else _LINKS)

"""p2p-duplex: both directions at once carry nearly twice of one. Once is the signature of the ACS hairpin."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding
from ..check import P2P, Check, Family, Heading
from ..codes import NOT_MEASURED
from ..context import Case
from ..remedies.acs_remedies import boot_fix
from .pair_expected import remedy
from .pair_figures import DIRECT, ENGINE, by_pair, class_of, figure, listed, several, unmeasured
from .short_of import figure_below

CHECK = Check(
    "p2p-duplex", "both directions at once carry nearly twice of one",
    Heading.P2P, 80, Family.MEASURED, P2P,
)
_ID = CHECK.id
CODES = {
    "hairpin": "Both directions share one link, as they do where ACS redirects the traffic.",
    "shared": "Both directions at once carry much less than twice of one.",
}
_GOOD, _HAIRPIN = 1.7, 1.25     # published for Gen5 PIX: 1.9 with ACS redirect off, 0.98 with it on; NVLink: 1.98


def judge(case: Case) -> Iterator[Finding]:
    unjudged, both = unmeasured(case, _ID), by_pair(case, "both ways", ENGINE)
    if unjudged or not both:
        yield unjudged or Finding(_ID, NOT_MEASURED, "pairs", "unknown", "behaviour",
                                  "both ways at once were not measured")
        return
    rows = [(each, path, each.value / (figure(case, "one way", ENGINE, each) or each.value)) for each, path in both]
    good = [(each, ratio) for each, _, ratio in rows if ratio >= _GOOD]
    if good:
        text = several([each for each, _ in good], "GB/s both ways", both=True)
        yield Finding(_ID, "ok", "pairs", "pass", "behaviour",
                      f"{text}, at least {min(ratio for _, ratio in good):.2f} x one way")
    for name in dict.fromkeys(class_of(path) for _, path, ratio in rows if ratio < _GOOD):
        low = [row for row in rows if row[2] < _GOOD and class_of(row[1]) == name]
        ways, worst = [path for _, path, _ in low if path], min(ratio for _, _, ratio in low)
        near = name in DIRECT or any(path.pair.relation.value in ("PIX", "PXB") for path in ways)
        hairpin = worst < _HAIRPIN and name != "nvlink"
        ports = sorted({bdf for path in ways for bdf in path.redirectors})
        cause = "; both directions share one link, the hairpin of ACS redirect" if hairpin else ""
        cause += f" at {', '.join(ports)}" if hairpin and ports else ""
        shown = figure_below(worst, _GOOD)
        yield Finding(_ID, "hairpin" if hairpin else "shared", name, "fail" if near else "warn", "behaviour",
                      f"{listed([each for each, _, _ in low], True)} GB/s both ways, at worst {shown} x one way"
                      f"{cause}", shown, f"{_GOOD} x or more", (low[0][0].method,),
                      boot_fix(case) if hairpin else remedy(ways[0] if ways else None))

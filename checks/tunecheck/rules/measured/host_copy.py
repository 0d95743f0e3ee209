"""host-copy: each GPU and the host exchange data unharmed, as fast as the GPU's links carry it."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Place, Remedy
from ..check import ALONE, Check, Family, Heading
from ..codes import NO_COMPARISON, OK
from ..context import Case
from .alone_figures import BAD, GOOD, carries, name, named, rows, unmeasured, wrong
from .short_of import share_below

CHECK = Check(
    "host-copy", "each GPU and the host exchange data, as fast as its links carry",
    Heading.P2P, 20, Family.MEASURED, ALONE,
)
_ID, _TRIAL = CHECK.id, "host copy"
CODES = {
    "slow": "A GPU and the host exchange data slower than the links between them carry.",
}
_SLOW = Remedy("see link-width, link-speed, link-errors, numa-nodes; are memory channels of the GPU's node empty?")
_WRONG = Remedy("take the GPU out of use; see gpu-ecc, xid, link-errors, iommu-mode and the host's memory (EDAC)",
                place=Place.MACHINE)


def judge(case: Case) -> Iterator[Finding]:
    yield from wrong(case, _ID, _TRIAL, _WRONG)
    for number, figures in rows(case, _TRIAL).items():
        who, (limit, link), least = name(case, number), carries(case, number), min(each.value for each in figures)
        text = f"{who}: {named(figures)}"
        if not all(each.verified for each in figures):
            continue
        if limit is None or least >= GOOD * limit:
            comparison = f"predicted {limit:.1f}" if limit else f"nothing to compare with: {link}"
            yield Finding(_ID, OK if limit else NO_COMPARISON, who, "pass", "behaviour",
                          f"{text}, every word arrived; {comparison}")
        else:
            share = share_below(least / limit, GOOD)
            yield Finding(_ID, "slow", who, "warn" if least >= BAD * limit else "fail", "behaviour",
                          f"{text}, at worst "
                          f"{share} of the {limit:.1f} that {link} carries", share,
                          f"{GOOD:.0%} or more", (figures[0].method,), _SLOW)
    yield from unmeasured(case, _ID, _TRIAL)

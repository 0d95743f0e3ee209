"""own-memory: each GPU's memory holds what is written to it, and copies at the speed that is known of the board."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Place, Remedy
from ...spec.boards import board
from ..check import ALONE, Check, Family, Heading
from ..codes import NO_COMPARISON, OK
from ..context import Case
from .alone_figures import BAD, GOOD, name, named, rows, unmeasured, wrong
from .short_of import share_below

CHECK = Check(
    "own-memory", "each GPU's memory holds what is written, at the board's speed",
    Heading.P2P, 30, Family.MEASURED, ALONE,
)
_ID, _TRIAL = CHECK.id, "own memory"
CODES = {
    "slow": "The GPU's memory is slower than what is known of the board.",
}
_WRONG = Remedy("take the GPU out of use: its memory is broken; see gpu-ecc and xid, then replace the board",
                place=Place.MACHINE)
_SLOW = Remedy("see gpu-throttle, gpu-clocks, gpu-power-limit and gpu-ecc (row remapping) while it runs")


def judge(case: Case) -> Iterator[Finding]:
    yield from wrong(case, _ID, _TRIAL, _WRONG)
    devices = case.snapshot.topology.devices
    for number, figures in rows(case, _TRIAL).items():
        who, least = name(case, number), min(each.value for each in figures)
        known = board(devices[number].ids) if number < len(devices) else None
        limit = float(known.own_copy_gb_s) if known and known.own_copy_gb_s else None
        text = f"{who}: {named(figures)}"
        if not all(each.verified for each in figures):
            continue
        if limit is None or least >= GOOD * limit:
            comparison = f"measured on {known.name} {limit:.0f}" if limit and known else \
                "no figure of such a board is known"
            checked = max(each.size or 0 for each in figures) >> 20
            yield Finding(_ID, OK if limit else NO_COMPARISON, who, "pass", "behaviour",
                          f"{text}, {checked} MiB written and read back; {comparison}")
        else:
            share = share_below(least / limit, GOOD)
            yield Finding(_ID, "slow", who, "warn" if least >= BAD * limit else "fail", "behaviour", f"{text}, "
                          f"{share} of {limit:.0f}", share, f"{GOOD:.0%} or more",
                          (figures[0].method,), _SLOW)
    yield from unmeasured(case, _ID, _TRIAL)

"""link-errors: no PCIe error at any hop of an accelerator, by the kernel's AER counters and NVML's replay counter."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Place, Remedy, some
from ..check import Check, Family, Heading, Needs
from ..context import Case
from .error_counts import errors, latched, uncounted

CHECK = Check(
    "link-errors", "no PCIe error at any hop, as differences with --since",
    Heading.LINKS, 50, Family.ERRORS, needs=(Needs.TREE,), happening=True,
)
_ID = CHECK.id
_FIX = Remedy("reseat board, riser and cable, or lower the slot's speed by one generation in the BIOS to prove it",
              place=Place.MACHINE)
_AGAIN = "counts since boot: for how fast they grow give an earlier recording of this boot with --since"


def judge(case: Case) -> Iterator[Finding]:
    found = errors(case)
    hard, soft, held, code = some(found.hard), some(found.soft), "", ""
    if not case.snapshot.topology.devices:
        outcome, text = "skip", "no accelerator found"
    elif found.hard:
        outcome, text = "fail" if found.since else "warn", f"uncorrectable errors: {hard}" + f"; {soft}" * bool(soft)
    elif found.soft and found.since:
        outcome, text = "warn", f"corrected errors since the earlier recording: {soft}"
    elif found.reason and (state := latched(case)) is not None:
        outcome, text, held = state
    elif found.reason:
        outcome, text = "unknown", f"not all error counters can be read: {found.reason}"
    elif found.missing:
        outcome, text = "skip", "the kernel keeps no error counters (AER is not built, or the firmware owns it)"
    elif found.soft:
        outcome, text = "skip", f"corrected errors: {soft}; {_AGAIN}"
    elif (why := uncounted(case)) is not None:
        outcome, text, code = why
    else:
        outcome, text = "pass", f"no PCIe error in {found.read} counters" + " since then" * found.since
    fix = _FIX if outcome in ("fail", "warn") and (hard or soft or found.reason) else None
    whole = ", ".join((*found.hard, *found.soft)) or held
    yield Finding(_ID, "error counters", outcome, "behaviour", found.note + text, whole or "0", "no new error",
                  ("aer_dev_*", "NVML replay_counter"), fix, code)

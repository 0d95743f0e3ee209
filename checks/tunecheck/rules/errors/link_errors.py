"""link-errors: no PCIe error at any hop of an accelerator, by the kernel's AER counters and NVML's replay counter."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Place, Remedy
from ...util.text import some
from ..check import Check, Family, Heading, Needs
from ..codes import NO_ACCELERATOR, UNREAD
from ..context import Case
from .error_counts import errors, latched, replayed, uncounted

CHECK = Check(
    "link-errors", "no PCIe error at any hop, as differences with --since",
    Heading.LINKS, 50, Family.ERRORS, needs=(Needs.TREE,), could_not_look=("not-counted",),
)
CODES = {
    "uncorrectable-growing": "Uncorrectable errors came since the earlier recording.",
    "uncorrectable-since-boot": "A counter of uncorrectable errors is not 0; when they came is not known.",
    "corrected-growing": "Corrected errors came since the earlier recording.",
    "corrected-since-boot": "A counter of corrected errors is not 0; how fast it grows is not known.",
    "replayed": "NVML or nvidia-smi shows a link that replays packets as no sound one does.",
    "errors-latched": "There are no counters, and a hop has latched an error.",
    "nothing-latched": "There are no counters, and no hop has latched an error.",
    "no-counters": "The kernel keeps no error counters.",
    "not-counted": "The counters are 0, and the kernel does not handle PCIe errors.",
}
_ID = CHECK.id
_FIX = Remedy("reseat board, riser and cable, or lower the slot's speed by one generation in the BIOS to prove it",
              place=Place.MACHINE)
_AGAIN = "counts since boot: for how fast they grow give an earlier recording of this boot with --since"


def judge(case: Case) -> Iterator[Finding]:
    counts = errors(case)
    hard, soft, held = some(counts.hard, 6, ", "), some(counts.soft, 6, ", "), ""
    lacks = None
    again, unread = replayed(case) if not counts.since else ((), "")
    if not case.snapshot.topology.devices and not again:
        code, outcome, text = NO_ACCELERATOR, "skip", "no accelerator found"
    elif counts.hard:
        code, outcome = ("uncorrectable-growing", "fail") if counts.since else ("uncorrectable-since-boot", "warn")
        text = f"uncorrectable errors: {hard}" + f"; {soft}" * bool(soft)
    elif counts.soft and counts.since:
        code, outcome = "corrected-growing", "warn"
        text = f"corrected errors since the earlier recording: {soft}"
    elif again:
        code, outcome, held = "replayed", "warn", some(again, 6, ", ")
        text = f"the link of a GPU replays packets: {held} (since the driver was loaded)"
    elif unread:
        code, outcome = UNREAD, "unknown"
        text = f"not told how often links replayed packets, or did so over and over (rollovers): {unread}"
    elif counts.reason and (state := latched(case)) is not None:
        code, outcome, text, held, lacks = state
    elif counts.reason:
        code, outcome, text = UNREAD, "unknown", f"not all error counters can be read: {counts.reason}"
    elif counts.missing:
        code, outcome = "no-counters", "skip"
        text = "the kernel keeps no error counters (AER is not built, or the firmware owns it)"
    elif counts.soft:
        code, outcome, text = "corrected-since-boot", "skip", f"corrected errors: {soft}; {_AGAIN}"
    elif (no_proof := uncounted(case)) is not None:
        code, outcome, text = no_proof
    else:
        code, outcome = "ok", "pass"
        text = f"no PCIe error in {counts.read} counters" + " since then" * counts.since
    fix = _FIX if outcome in ("fail", "warn") and (hard or soft or again or counts.reason) else None
    observed = ", ".join(each for each in (*counts.hard, *counts.soft, held) if each)
    yield Finding(_ID, code, "error counters", outcome, "behaviour", counts.note + text, observed or "0",
                  "no new error", (*((lacks.source,) if lacks else ()), "aer_dev_*", "NVML replay_counter"), fix,
                  absence=lacks.absence if lacks else None)

"""clocksource: the kernel reads the time from the CPU's own counter. Every other source costs each reader far more."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ..check import Check, Family, Heading
from ..codes import UNREAD
from ..context import Case

CHECK = Check(
    "clocksource", "the kernel reads the time from the CPU's own counter",
    Heading.KERNEL, 130, Family.CPU, judges=("kernel.clocksource",),
)
CODES = {
    "slow-source": "The kernel reads the time from another source than the CPU's own counter.",
    "slow-source-without-gpu": "The kernel reads the time from another source, and there is no NVIDIA GPU.",
}
_ID = CHECK.id
_GOOD = ("tsc", "arch_sys_counter")
_FIX = Remedy.typed("see why in the kernel log (`sudo journalctl -k -b -g 'tsc|clocksource'`): mostly the firmware, or "
                    "a virtual machine without an invariant TSC")


def judge(case: Case) -> Iterator[Finding]:
    clock = case.host.kernel.clocksource
    topology = case.snapshot.topology
    # Where not all boards are known, an NVIDIA GPU may be among them.
    nvidia = (any(device.ids.startswith("10de:") for device in topology.devices) or topology.accelerators.value is None
              or bool(topology.doubt))
    if clock.value is None:
        code, outcome, text = UNREAD, "unknown", f"the clock source cannot be read: {clock.why()}"
    elif clock.value in _GOOD:
        code, outcome, text = "ok", "pass", f"the clock source is {clock.value}"
    elif nvidia:
        code, outcome = "slow-source", "warn"
        text = f"the clock source is {clock.value}; every time stamp of the launch path is slower"
    else:
        code, outcome = "slow-source-without-gpu", "skip"
        text = f"the clock source is {clock.value}; without NVIDIA GPUs that is no matter"
    yield Finding(_ID, code, "clock source", outcome, "effective", text, clock.value or "?", "tsc", (clock.source,),
                  _FIX if outcome == "warn" else None,
                  absence=clock.absence if outcome == "unknown" else None)

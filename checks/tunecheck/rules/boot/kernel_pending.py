"""kernel-pending: the next boot starts the kernel that is running now, the one everything else here was judged on."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.fact import Absence
from ...model.finding import AS_ROOT, Finding, Remedy
from ..check import DRIVER, Check, Family, Heading
from ..context import Case

CHECK = Check(
    "kernel-pending", "the next boot starts the running kernel",
    Heading.KERNEL, 120, Family.BOOT, DRIVER, judges=("kernel.next",),
)
_ID = CHECK.id


def judge(case: Case) -> Iterator[Finding]:
    running, default = case.host.kernel.release, case.host.boot.release
    if running.value is None or default.value is None:
        unread = running if running.value is None else default
        no_loader = unread.absence is Absence.NO_BOOT_LOADER
        root = AS_ROOT if unread.absence is Absence.NO_PERMISSION else None
        yield Finding(_ID, "kernel", "skip" if no_loader else "unknown", "generated", "which kernel the next boot "
                      f"starts cannot be told: {unread.why()}", "?", running.value or "", (unread.source,), root,
                      absence=unread.absence)
        return
    outcome = "pass" if default.value == running.value else "warn" if default.value else "skip"
    text = {"pass": f"the next boot starts the running kernel {running.value}",
            "warn": f"the next boot starts another kernel ({default.value}) than the one judged here ({running.value})",
            "skip": "the default boot entry's file name tells no kernel version"}[outcome]
    remedy = Remedy("reboot and check again, or hold the kernel package", (), True) if outcome == "warn" else None
    yield Finding(_ID, "kernel", outcome, "generated", text, default.value, running.value, (default.source,), remedy)

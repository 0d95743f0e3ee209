"""kernel-pending: the next boot starts the kernel that runs now, on which every other check judged."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.fact import Absence, in_the_way
from ...model.finding import AS_ROOT, Finding, Remedy
from ..check import DRIVER, Check, Family, Heading
from ..codes import UNREAD
from ..context import Case

CHECK = Check(
    "kernel-pending", "the next boot starts the running kernel",
    Heading.KERNEL, 120, Family.BOOT, DRIVER, judges=("kernel.next",), compares=("kernel.running",),
    could_not_look=("no-version",),
)
CODES = {
    "no-boot-loader": "The machine has no boot loader of its own, so no next boot can be compared.",
    "other-kernel": "The next boot starts another kernel than the running one.",
    "no-version": "The file name of the default boot entry names no kernel version.",
}
_ID = CHECK.id


def judge(case: Case) -> Iterator[Finding]:
    running, default = case.host.kernel.release, case.host.boot.release
    if (unread := in_the_way(running, default)) is not None:
        no_loader = unread.absence is Absence.NO_BOOT_LOADER
        code, outcome = ("no-boot-loader", "skip") if no_loader else (UNREAD, "unknown")
        root = AS_ROOT if unread.absence is Absence.NO_PERMISSION else None
        yield Finding(_ID, code, "kernel", outcome, "generated", "which kernel the next boot "
                      f"starts cannot be told: {unread.why()}", "?", running.value or "", (unread.source,), root,
                      absence=unread.absence)
        return
    assert running.value is not None and default.value is not None
    remedy = None
    if default.value == running.value:
        code, outcome, text = "ok", "pass", f"the next boot starts the running kernel {running.value}"
    elif default.value:
        code, outcome = "other-kernel", "warn"
        text = f"the next boot starts another kernel ({default.value}) than the one judged here ({running.value})"
        remedy = Remedy("reboot and check again, or hold the kernel package", (), True)
    else:
        code, outcome, text = "no-version", "skip", "the default boot entry's file name tells no kernel version"
    yield Finding(_ID, code, "kernel", outcome, "generated", text, default.value, running.value, (default.source,),
                  remedy)

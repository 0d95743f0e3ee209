"""kernel-taint: the kernel has not marked itself as damaged. NVIDIA's modules set P, O and E: these are expected."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ..check import Check, Family, Heading
from ..codes import UNREAD
from ..context import Case

CHECK = Check(
    "kernel-taint", "the kernel has not marked itself as damaged",
    Heading.KERNEL, 110, Family.ERRORS, judges=("kernel.taint",),
)
CODES = {
    "damaged": "The kernel is tainted by a machine check, a bad page, an oops or a BUG.",
    "tainted": "The kernel is tainted by a warning, a locked-up CPU, a forced module or hardware out of specification.",
}
_ID = CHECK.id

#: Bits and letters of Documentation/admin-guide/tainted-kernels.rst; every other bit only says what is loaded.
_FAIL = {4: "M: a machine check was reported", 5: "B: a page was in a bad state", 7: "D: the kernel died (oops or BUG)"}
_WARN = {1: "F: a module was loaded by force", 2: "S: the hardware is out of specification",
         3: "R: a module was unloaded by force", 9: "W: the kernel warned", 14: "L: a CPU was locked up"}
_FIX = Remedy("read what the kernel log says about it, then reboot", (), True)


def judge(case: Case) -> Iterator[Finding]:
    taint = case.host.kernel.taint
    if taint.value is None:
        yield Finding(_ID, UNREAD, "kernel", "unknown", "effective", f"the taints cannot be read: {taint.why()}", "?",
                      evidence=(taint.source,), absence=taint.absence)
        return
    failed, warned = ([text for bit, text in table.items() if taint.value >> bit & 1] for table in (_FAIL, _WARN))
    code, outcome = ("damaged", "fail") if failed else ("tainted", "warn") if warned else ("ok", "pass")
    text = f"the kernel is tainted ({'; '.join(failed + warned)})" if failed or warned else (
        f"no taint of damage (mask {taint.value})")
    yield Finding(_ID, code, "kernel", outcome, "effective", text, str(taint.value), "none of M, B, D, F, S, R, W, L",
                  (taint.source,), None if outcome == "pass" else _FIX)

"""driver-stuck: no task sleeps uninterruptibly in the driver, where only a reboot ends it."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import AS_ROOT, Finding, Remedy
from ..check import DRIVER, Check, Family, Heading
from ..context import Case
from . import from_driver

CHECK = Check(
    "driver-stuck", "no task hangs in the driver", Heading.DRIVER, 190, Family.DRIVER, DRIVER, happening=True,
)
_ID = CHECK.id
_REBOOT = Remedy("reboot the host; do not start nvidia-smi again, it would hang too", (), True)


def judge(case: Case) -> Iterator[Finding]:
    if early := list(from_driver.nothing(case, _ID)):
        yield from early
        return
    found = case.host.processes
    if found.value is None:
        yield from_driver.unread(_ID, "processes", "the list of tasks", found)
        return
    for stuck in found.value.stuck:
        name = f"{stuck.task.name} (pid {stuck.task.pid})"
        where = f" at {stuck.where}" if stuck.where else ""
        kill = "; SIGKILL pending" if stuck.kill_pending else ""
        text = (f"{name} hangs in the NVIDIA driver{where}{kill}" if stuck.in_driver else
                f"{name} hangs in the kernel{where}{kill}; whether in the NVIDIA driver only root can see")
        yield Finding(_ID, name, "fail" if stuck.in_driver else "unknown", "behaviour", text, "state D", "no such task",
                      (f"/proc/{stuck.task.pid}/task/{stuck.task.thread}/stack",),
                      _REBOOT if stuck.in_driver else AS_ROOT)
    if not found.value.stuck:
        whole = found.value.complete
        yield Finding(_ID, "processes", "pass" if whole else "unknown", "behaviour", "no task hangs in the driver" if
                      whole else "no task of those seen hangs in the driver; not every one could be seen", "", "",
                      (found.source,), None if whole else AS_ROOT)

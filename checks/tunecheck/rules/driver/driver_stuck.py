"""driver-stuck: no task sleeps uninterruptibly in the driver, where only a reboot ends it."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import AS_ROOT, Finding
from ..check import DRIVER, Check, Family, Heading
from ..codes import OK
from ..context import Case
from ..nvidia import from_driver
from ..wedged import REBOOT

CHECK = Check(
    "driver-stuck", "no task hangs in the driver", Heading.DRIVER, 190, Family.DRIVER, DRIVER, happening=True,
)
_ID = CHECK.id
CODES = {
    "hangs-in-driver": "A task hangs in the NVIDIA driver.",
    "hangs": "A task hangs in the kernel; only root can see whether it is in the NVIDIA driver.",
    "tasks-in-part": "Not every task could be seen.",
}


def judge(case: Case) -> Iterator[Finding]:
    if early := list(from_driver.nothing(case, _ID)):
        yield from early
        return
    processes = case.host.processes
    if processes.value is None:
        yield from_driver.unread(_ID, "processes", "the list of tasks", processes)
        return
    for stuck in processes.value.stuck:
        name = f"{stuck.task.name} (pid {stuck.task.pid})"
        where = f" at {stuck.where}" if stuck.where else ""
        kill = "; SIGKILL pending" if stuck.kill_pending else ""
        text = (f"{name} hangs in the NVIDIA driver{where}{kill}" if stuck.in_driver else
                f"only root can see whether {name} hangs in the NVIDIA driver: it hangs in the kernel{where}{kill}")
        yield Finding(_ID, "hangs-in-driver" if stuck.in_driver else "hangs", name,
                      "fail" if stuck.in_driver else "unknown", "behaviour", text, "state D", "no such task",
                      (f"/proc/{stuck.task.pid}/task/{stuck.task.thread}/stack",),
                      REBOOT if stuck.in_driver else AS_ROOT)
    if not processes.value.stuck:
        whole = processes.value.complete
        yield Finding(_ID, OK if whole else "tasks-in-part", "processes", "pass" if whole else "unknown", "behaviour",
                      "no task hangs in the driver" if
                      whole else "not every task could be seen; of those seen none hangs in the driver", "", "",
                      (processes.source,), None if whole else AS_ROOT)

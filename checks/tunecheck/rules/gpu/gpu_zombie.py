"""gpu-zombie: no dead process still holds a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...facts.runtime.service_env import pids
from ...model.fact import Fact, in_the_way
from ...model.finding import Finding, Remedy
from ..check import Check, Family, Heading, Needs
from ..context import Case
from ..nvidia import from_driver

CHECK = Check(
    "gpu-zombie", "no dead process still holds a GPU", Heading.DRIVER, 200, Family.GPU, needs=(Needs.GPUS,),
    happening=True,
)
CODES = {
    "held-by-zombie": "A dead process still holds a GPU.",
}
_ID = CHECK.id
_LOOK = Remedy("end the parent process; where a thread of the dead one hangs in the driver (driver-stuck), reboot", (),
               True)


def judge(case: Case) -> Iterator[Finding]:
    if no_driver := list(from_driver.nothing(case, _ID)):
        yield from no_driver
        return
    nvml, processes = case.snapshot.nvml, case.host.processes
    needed: list[Fact[Any]] = [nvml, processes]
    needed += [gpu.fact("processes") for gpu in (nvml.value.gpus if nvml.value else ())]
    if (unread := in_the_way(*needed)) is not None:
        yield from_driver.unread(_ID, "processes", "which processes hold a GPU", unread)
        return
    assert nvml.value is not None and processes.value is not None
    holders = {pid: gpu.bdf for gpu in nvml.value.gpus for pid in pids(gpu)}
    dead = [pid for pid in processes.value.zombies if pid in holders]
    for pid in dead:
        yield Finding(_ID, "held-by-zombie", f"pid {pid}", "fail", "behaviour", f"pid {pid} is dead and still holds "
                      f"GPU {holders[pid]}", "state Z", "no such process", (processes.source, nvml.source), _LOOK)
    if not dead:
        yield Finding(_ID, "ok", "processes", "pass", "behaviour", "no dead process holds a GPU",
                      evidence=(processes.source,))

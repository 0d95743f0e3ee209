"""gpu-zombie: no dead process still holds a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...facts.runtime.service_env import pids
from ...model.fact import Fact
from ...model.finding import Finding, Remedy
from ..check import Check, Family, Heading, Needs
from ..context import Case
from ..driver import from_driver

CHECK = Check(
    "gpu-zombie", "no dead process still holds a GPU", Heading.DRIVER, 200, Family.GPU, needs=(Needs.GPUS,),
    happening=True,
)
_ID = CHECK.id
_LOOK = Remedy("end its parent process; where a thread of it hangs in the driver (driver-stuck), reboot", (), True)


def judge(case: Case) -> Iterator[Finding]:
    if early := list(from_driver.nothing(case, _ID)):
        yield from early
        return
    told, found = case.snapshot.nvml, case.host.processes
    needed: list[Fact[Any]] = [told, found]
    needed += [gpu.fact("processes") for gpu in (told.value.gpus if told.value else ())]
    for fact in needed:
        if fact.reason is not None:
            yield from_driver.unread(_ID, "processes", "which processes hold a GPU", fact)
            return
    assert told.value is not None and found.value is not None
    holders = {pid: gpu.bdf for gpu in told.value.gpus for pid in pids(gpu)}
    dead = [pid for pid in found.value.zombies if pid in holders]
    for pid in dead:
        yield Finding(_ID, f"pid {pid}", "fail", "behaviour", f"pid {pid} is dead and still holds GPU {holders[pid]}",
                      "state Z", "no such process", (found.source, told.source), _LOOK)
    if not dead:
        yield Finding(_ID, "processes", "pass", "behaviour", "no dead process holds a GPU", evidence=(found.source,))

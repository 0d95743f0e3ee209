"""fabric-manager: with NVSwitch it runs in the driver's version, without it does not run at all."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.nvidia.services import FABRIC_MANAGER
from ...model.command import run
from ...model.fact import Absence
from ...model.finding import Finding, Remedy
from ..check import DRIVER, Check, Family, Heading
from ..context import Case
from . import from_driver

CHECK = Check(
    "fabric-manager", "Fabric Manager runs where it is needed, and only there",
    Heading.DRIVER, 150, Family.DRIVER, DRIVER,
)
_ID = CHECK.id
_STOP = Remedy.of("run: ", run("systemctl disable --now nvidia-fabricmanager"))
_START = Remedy.of("install nvidia-fabricmanager in the driver's exact version; run: ",
                   run("systemctl enable --now nvidia-fabricmanager"))


def judge(case: Case) -> Iterator[Finding]:
    if early := list(from_driver.nothing(case, _ID)):
        yield from early
        return
    told, active, states = case.snapshot.nvml, case.host.services[FABRIC_MANAGER].active, from_driver.fabric(case)
    links = any(gpu.number("nvlinks_active").value for gpu in (told.value.gpus if told.value else ()))
    untold = from_driver.fabric_untold(case)
    if told.value and untold and not links and not active.value:
        yield Finding(_ID, "service", "unknown", "effective", f"whether {untold} hangs on an NVSwitch, which needs it, "
                      "is not told: no fabric state; add the whole of: nvidia-smi -q", evidence=(told.source,))
        return
    if told.value and not states and not links and active.absence in (Absence.NOT_IN_IMPORT, Absence.ONLY_ON_HOST):
        yield Finding(_ID, "service", "skip", "effective", "no GPU here hangs on an NVSwitch: none needs it")
        return
    if told.value is None or (active.value is None and set(states.values()) != {"completed"}):
        yield from_driver.unread(_ID, "service", "whether it is needed or runs", active if told.known else told)
        return
    version, evidence = from_driver.loaded(case).value, (active.source, told.source)
    for package in case.host.packages.driver if states else ():
        if "fabricmanager" in package.name and version and package.driver != version:
            yield Finding(_ID, package.name, "fail", "effective", f"{package.name} is {package.driver}, the driver "
                          f"{version}", str(package.driver), version, (case.host.packages.installed.source,), _START)
    missing = bool(set(states.values()) - {"completed"}) and not active.value
    idle = not states and not links and bool(active.value)
    text = {True: "Fabric Manager runs", False: "Fabric Manager does not run here", None: "the fabric is up"}
    more = ("but no GPU here hangs on an NVSwitch" if idle else "and not all GPUs have joined the fabric" if missing
            else "and every GPU has joined the fabric" if states else "and no GPU needs another")
    yield Finding(_ID, "service", "warn" if idle else "fail" if missing else "pass", "effective",
                  f"{text[active.value]}, {more}", "active" if active.value else "inactive",
                  "inactive" if idle else "active", evidence, _STOP if idle else _START if missing else None)

"""fabric-manager: with NVSwitch it runs in the driver's version, without it does not run at all."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.nvidia.services import FABRIC_MANAGER
from ...model.command import run
from ...model.fact import Absence
from ...model.finding import Finding, Remedy
from ..check import DRIVER, Check, Family, Heading
from ..codes import OK
from ..context import Case
from ..nvidia import from_driver

CHECK = Check(
    "fabric-manager", "Fabric Manager runs where it is needed, and only there",
    Heading.DRIVER, 150, Family.DRIVER, DRIVER,
)
_ID = CHECK.id
CODES = {
    "not-needed": "No GPU hangs on an NVSwitch, so nothing needs it.",
    "need-unknown": "Whether a GPU hangs on an NVSwitch is not in the report.",
    "other-version": "A package of Fabric Manager is of another version than the driver.",
    "runs-for-nothing": "Fabric Manager runs, and no GPU hangs on an NVSwitch.",
    "not-running": "Fabric Manager does not run, and not all GPUs have joined the fabric.",
}
_STOP = Remedy.of("run: ", run("systemctl disable --now nvidia-fabricmanager"))
_START = Remedy.of("install nvidia-fabricmanager in the driver's exact version; run: ",
                   run("systemctl enable --now nvidia-fabricmanager"))


def judge(case: Case) -> Iterator[Finding]:
    if early := list(from_driver.nothing(case, _ID)):
        yield from early
        return
    nvml, active, states = case.snapshot.nvml, case.host.services[FABRIC_MANAGER].active, from_driver.fabric(case)
    links = any(gpu.number("nvlinks_active").value for gpu in (nvml.value.gpus if nvml.value else ()))
    unread = from_driver.fabric_unread(case)
    if nvml.value and unread and not links and not active.value:
        yield Finding(_ID, "need-unknown", "service", "unknown", "effective",
                      f"not told whether a GPU hangs on an NVSwitch, which needs it ({unread}): "
                      f"{from_driver.fabric_missing(case)}", evidence=(nvml.source,))
        return
    if nvml.value and not states and not links and active.absence in (Absence.NOT_IN_IMPORT, Absence.ONLY_ON_HOST):
        yield Finding(_ID, "not-needed", "service", "skip", "effective",
                      "no GPU here hangs on an NVSwitch: none needs it")
        return
    joined = set(states.values()) == {"completed"} and not from_driver.fabric_unsaid(case)
    if nvml.value is None or (active.value is None and not joined):
        yield from_driver.unread(_ID, "service", "whether it is needed or runs", active if nvml.known else nvml)
        return
    version, evidence = from_driver.loaded(case).value, (active.source, nvml.source)
    for package in case.host.packages.driver if states else ():
        if "fabricmanager" in package.name and version and package.driver != version:
            yield Finding(_ID, "other-version", package.name, "fail", "effective",
                          f"{package.name} is {package.driver}, the driver "
                          f"{version}", str(package.driver), version, (case.host.packages.installed.source,), _START)
    missing = bool(set(states.values()) - {"completed"}) and not active.value
    idle = not states and not links and bool(active.value)
    text = {True: "Fabric Manager runs", False: "Fabric Manager does not run here", None: "the fabric is up"}
    more = ("and not all GPUs have joined the fabric" if missing else
            "and every GPU has joined the fabric" if states else "and no GPU needs another")
    shown = "Fabric Manager runs for nothing: no GPU here hangs on an NVSwitch" if idle else \
        f"{text[active.value]}, {more}"
    code, outcome = ("runs-for-nothing", "warn") if idle else ("not-running", "fail") if missing else (OK, "pass")
    yield Finding(_ID, code, "service", outcome, "effective",
                  shown, "active" if active.value else "inactive",
                  "inactive" if idle else "active", evidence, _STOP if idle else _START if missing else None)

"""dgx-os: on NVIDIA's DGX OS its own packages bring the driver and its settings, and no role replaces them."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Place, Remedy
from ..check import DRIVER, Check, Family, Heading
from ..codes import UNREAD
from ..context import Case

CHECK = Check(
    "dgx-os", "on DGX OS its own packages stay", Heading.DRIVER, 180, Family.DRIVER, DRIVER,
)
_ID = CHECK.id
CODES = {
    "no-dgx-os": "This is not DGX OS, or nothing depends on it.",
    "driver-from-elsewhere": "On DGX OS the specification takes the driver from somewhere else.",
}
_LEAVE = Remedy("set box_spec.driver.source: leave; DGX OS is upgraded by its own packages (DGX OS 7 user guide)",
                place=Place.INVENTORY)


def judge(case: Case) -> Iterator[Finding]:
    version, source = case.host.hgx.dgx_os, case.spec.driver.source
    if version.missing or (version.value is None and source == "leave"):
        why = "this is not DGX OS" if version.missing else "nothing tells of DGX OS, and no role installs a driver"
        yield Finding(_ID, "no-dgx-os", "system", "skip", "effective", why)
    elif version.value is None:
        yield Finding(_ID, UNREAD, "system", "unknown", "effective",
                      f"whether this is DGX OS is unknown: {version.why()}",
                      absence=version.absence)
    elif source != "leave":
        yield Finding(_ID, "driver-from-elsewhere", "system", "fail", "declared",
                      f"this is DGX OS {version.value}, and driver.source is "
                      f"{source}: its driver, fabric manager and NVSwitch packages belong together", source, "leave",
                      (version.source,), _LEAVE)
    else:
        yield Finding(_ID, "ok", "system", "pass", "effective",
                      f"this is DGX OS {version.value}: its packages are left "
                      "alone")

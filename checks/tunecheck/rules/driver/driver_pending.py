"""driver-pending: the next boot finds a driver module and firmware of the installed libraries' version."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.fact import Absence, in_the_way
from ...model.finding import Finding, Remedy
from ..check import DRIVER, Check, Family, Heading
from ..context import Case
from ..nvidia import from_driver

CHECK = Check(
    "driver-pending", "the next boot finds a module and firmware of that version",
    Heading.DRIVER, 30, Family.DRIVER, DRIVER,
)
_ID = CHECK.id
CODES = {
    "modules-elsewhere": "The kernel modules are kept elsewhere: a container, or a kernel from outside.",
    "no-module": "The next boot's kernel has no driver module, or one of another version than the libraries.",
    "no-firmware": "There is no GSP firmware of the driver's version.",
}


def judge(case: Case) -> Iterator[Finding]:
    parts, loaded = case.host.driver_parts, from_driver.loaded(case)
    # Installed and not loaded yet: what the next boot finds is all the same.
    if parts.library.value is None and (early := list(from_driver.nothing(case, _ID))):
        yield from early
        return
    want = parts.library.value or loaded.value
    if not parts.modules or want is None:
        # What the disk holds no text shows, whatever the kernel's release is.
        unread = in_the_way(case.host.kernel.release if want else loaded, parts.firmware)
        yield from_driver.unread(_ID, "nvidia", "which driver the next boot loads", unread or parts.firmware)
        return
    release, file = list(parts.modules.items())[-1]
    build = from_driver.build(release, "", "install the module package for that kernel")
    if file.absence is Absence.ELSEWHERE:
        yield Finding(_ID, "modules-elsewhere", release, "skip", "generated",
                      f"{file.reason}: a container, or a kernel from outside")
    elif file.value is None and not file.missing:
        yield from_driver.unread(_ID, release, f"the module for kernel {release}", file)
    elif file.value is None or file.value.version != want:
        what = f"is {file.value.version}, the libraries are {want}" if file.value else "does not exist"
        yield Finding(_ID, "no-module", release, "fail", "generated",
                      f"the driver module for kernel {release}, which the next boot "
                      f"starts, {what}", file.value.version if file.value else "none", want, (file.source,), build)
    else:
        yield Finding(_ID, "ok", release, "pass", "generated", f"kernel {release} has the driver module {want}", want,
                      want,
                      (file.source,))
    if parts.firmware.value and want not in parts.firmware.value:
        yield Finding(_ID, "no-firmware", "firmware", "fail", "generated",
                      f"no GSP firmware {want} in {parts.firmware.source}",
                      " ".join(parts.firmware.value), want, (parts.firmware.source,),
                      Remedy("install the firmware package of the driver's version"))

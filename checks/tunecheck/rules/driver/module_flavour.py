"""module-flavour: the open kernel modules are loaded, which Blackwell cannot do without."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ..check import DRIVER, Check, Family, Heading
from ..codes import OK
from ..context import Case
from ..nvidia import from_driver
from .board_age import no_open_modules

CHECK = Check(
    "module-flavour", "the open kernel modules are loaded", Heading.DRIVER, 110, Family.DRIVER, DRIVER,
    judges=("driver.flavour",),
)
_ID = CHECK.id
CODES = {
    "board-too-old": "The board or the driver is too old for the open kernel modules.",
    "blackwell-unsupported": "The loaded kernel modules are not the open ones, which Blackwell needs.",
    "not-open": "The loaded kernel modules are not the open ones.",
}
_SWAP = Remedy("install the open modules of the same version (nvidia-open, nvidia-dkms-<branch>-open, "
               "nvidia-kernel-open-dkms), then reboot", (), True)
#: First two digits of Blackwell's device ids: GB100, GB202, GB203, GB206/207, GB205, GB110 (pci.ids).
_BLACKWELL = ("10de:29", "10de:2b", "10de:2c", "10de:2d", "10de:2f", "10de:31")


def judge(case: Case) -> Iterator[Finding]:
    if early := list(from_driver.nothing(case, _ID)):
        yield from early
        return
    flavour = case.host.driver.flavour
    if flavour.value is None:
        yield from_driver.unread(_ID, "nvidia", "whether the modules are the open ones", flavour)
        return
    if flavour.value != "open" and (why := no_open_modules(case)):
        yield Finding(_ID, "board-too-old", "nvidia", "skip", "effective",
                      f"the {flavour.value} kernel modules are loaded, and {why}",
                      flavour.value, "", (flavour.source,))
        return
    needs = [device.bdf for device in case.snapshot.topology.devices if device.ids.startswith(_BLACKWELL)]
    good = flavour.value == "open"
    why = f", and {', '.join(needs)} are Blackwell, which they do not support" if needs and not good else ""
    code, outcome = (OK, "pass") if good else ("blackwell-unsupported", "fail") if needs else ("not-open", "warn")
    yield Finding(_ID, code, "nvidia", outcome, "effective",
                  f"the {flavour.value} kernel modules are loaded{why}", flavour.value, "open", (flavour.source,),
                  None if good else _SWAP)

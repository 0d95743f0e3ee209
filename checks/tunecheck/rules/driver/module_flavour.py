"""module-flavour: the open kernel modules are loaded, which Blackwell cannot do without; and they drive every board."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ..check import DRIVER, Check, Family, Heading
from ..codes import OK
from ..context import Case
from ..errors import from_log
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
    "open-required": "The driver's log says that a board needs the open kernel modules.",
    "open-refused": "The driver's log says that the open kernel modules do not drive a board.",
}
_SWAP = Remedy("install the open modules of the same version (nvidia-open, nvidia-dkms-<branch>-open, "
               "nvidia-kernel-open-dkms), then reboot", (), True)
_CLOSED = Remedy("install the proprietary modules of a driver that knows the board (up to 580 for Maxwell, Pascal and "
                 "Volta; for a vGPU those of NVIDIA's vGPU software), then reboot", (), True)
#: First two digits of Blackwell's device ids: GB100, GB202, GB203, GB206/207, GB205, GB110 (pci.ids).
_BLACKWELL = ("10de:29", "10de:2b", "10de:2c", "10de:2d", "10de:2f", "10de:31")


def judge(case: Case) -> Iterator[Finding]:
    if told := list(_told_by_the_driver(case)):
        yield from told
        return
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
    why = f", which do not support Blackwell boards: {', '.join(needs)}" if needs and not good else ""
    code, outcome = (OK, "pass") if good else ("blackwell-unsupported", "fail") if needs else ("not-open", "warn")
    yield Finding(_ID, code, "nvidia", outcome, "effective",
                  f"the {flavour.value} kernel modules are loaded{why}", flavour.value, "open", (flavour.source,),
                  None if good else _SWAP)


def _told_by_the_driver(case: Case) -> Iterator[Finding]:
    """Yield what the driver itself says of boards that the loaded modules do not drive."""
    for each in from_log.not_driven(case, by_flavour=True):
        subject = from_log.name(case, each.gpu) or "a GPU"
        needed = each.kind == from_log.OPEN_REQUIRED
        text = "needs the open kernel modules, and the proprietary ones are loaded" if needed else \
            "is not driven by the open kernel modules, which are loaded"
        yield Finding(_ID, "open-required" if needed else "open-refused", subject, "fail", "effective",
                      f"{subject} {text}: the driver says so{from_log.at(each.when)}", each.text,
                      "open" if needed else "proprietary", (f"{case.host.kernel.log.source}: {each.text}",),
                      _SWAP if needed else _CLOSED)

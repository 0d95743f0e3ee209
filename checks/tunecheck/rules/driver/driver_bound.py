"""driver-bound: every GPU of NVIDIA's has the driver that the specification expects; without a specification, any."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.pci.devices import Device
from ...model.finding import Finding
from ..check import DRIVER, Check, Family, Heading, Needs
from ..codes import NO_GPU, OK, UNREAD
from ..context import Case
from ..nvidia import wanted_driver

CHECK = Check(
    "driver-bound", "every GPU of NVIDIA's has a driver", Heading.DRIVER, 90, Family.DRIVER, DRIVER,
    needs=(Needs.TREE,), judges=("pcie.driver",),
)
_ID = CHECK.id
CODES = {
    "no-driver-bound": "A GPU of NVIDIA's has no kernel driver.",
    "other-driver": "A GPU has another kernel driver than the specification wants.",
    "not-nvidias": "No specification is given, and some GPUs have another kernel driver than the others, which have "
                   "NVIDIA's.",
    "nvml-and-lspci-differ": "No driver is shown for a GPU that NVML lists, so one of the two is wrong.",
}


def judge(case: Case) -> Iterator[Finding]:
    gpus, wanted = wanted_driver.gpus(case), wanted_driver.by_the_spec(case)
    bare = [gpu for gpu in gpus if gpu.driver.missing and not wanted_driver.in_nvml(case, gpu)]
    unread = [gpu for gpu in gpus if not (gpu.driver.known or gpu.driver.missing)]
    others: dict[str, list[Device]] = {}
    for gpu in gpus:
        if wanted and gpu.driver.value not in (None, wanted):
            others.setdefault(str(gpu.driver.value), []).append(gpu)
    if bare:
        # A text that names none may have lost the line: then nouveau-loaded cannot tell either.
        text = (f"lspci shows no \"Kernel driver in use\" for {_names(bare)}: none has it, or the line was lost"
                if any(gpu.driver.silent for gpu in bare) else f"no driver has {_names(bare)}")
        yield Finding(_ID, "no-driver-bound", _names(bare), "fail" if wanted else "warn", "effective", text,
                      "no driver", str(wanted or "nvidia"), ("/sys/bus/pci/devices",), wanted_driver.install(case))
    for driver, held in others.items():
        yield Finding(_ID, "other-driver", _names(held), "fail", "effective", f"the driver {driver} has {_names(held)}"
                      + (", which keeps it for a guest" if driver == "vfio-pci" else ""), driver, str(wanted),
                      tuple(gpu.driver.source for gpu in held[:8]), wanted_driver.release(held, driver, str(wanted)))
    lost = _lost_to_others(gpus) if not wanted else []
    for driver in dict.fromkeys(str(gpu.driver.value) for gpu in lost):
        held = [gpu for gpu in lost if gpu.driver.value == driver]
        yield Finding(_ID, "not-nvidias", _names(held), "warn", "effective", f"the driver {driver} has {_names(held)}, "
                      f"and nvidia has the other {len(gpus) - len(lost)} of {len(gpus)}; "
                      f"{'a guest' if driver == wanted_driver.VFIO else 'another program'} can use "
                      f"{'it' if len(held) == 1 else 'them'}, and what runs on this host cannot", driver, "nvidia",
                      tuple(gpu.driver.source for gpu in held[:8]), wanted_driver.release(held, driver, "nvidia"))
    torn = [gpu for gpu in gpus if gpu.driver.missing and wanted_driver.in_nvml(case, gpu)]
    if torn and not bare:
        yield Finding(_ID, "nvml-and-lspci-differ", _names(torn), "unknown", "effective",
                      f"NVML has {len(torn)} GPU{'s' * (len(torn) > 1)} that lspci shows no driver of: {_names(torn)}: "
                      "one of the two is of another time, or a line is missing; add: lspci -nnk")
    if unread:
        yield Finding(_ID, UNREAD, unread[0].bdf, "unknown", "effective",
                      f"the driver of {unread[0].bdf} is not known: {unread[0].driver.why()}",
                      evidence=(unread[0].driver.source,), absence=unread[0].driver.absence)
    if not (bare or others or torn or unread or lost):
        names = ", ".join(sorted({str(gpu.driver.value) for gpu in gpus}))
        yield Finding(_ID, OK if gpus else NO_GPU, "GPUs", "pass" if gpus else "skip", "effective",
                      f"every GPU has a driver: {names}" if gpus else "there is no GPU of NVIDIA's")


def _lost_to_others(gpus: list[Device]) -> list[Device]:
    """Return the GPUs that have another driver than NVIDIA's where others have that one: a box that hands all of its
    GPUs to guests has none."""
    others = [gpu for gpu in gpus if gpu.driver.value not in (None, wanted_driver.NVIDIA)]
    return others if any(gpu.driver.value == wanted_driver.NVIDIA for gpu in gpus) else []


def _names(gpus: list[Device]) -> str:
    return ", ".join(gpu.bdf for gpu in gpus)

"""accelerator-count: as many accelerators as declared, each of them answers, and the driver has them and no other."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Place, Remedy
from ..check import EVERY, Check, Family, Heading
from ..context import Case
from ..driver import wanted_driver
from ..pcie.table_told import gpus_told

CHECK = Check(
    "accelerator-count", "as many accelerators as declared, each answering",
    Heading.ACCELERATORS, 20, Family.GPU, EVERY, in_trial=True,
    judges=("pcie.accelerators", "pcie.answers", "gpu.count"),
)
_ID = CHECK.id
_LOOK = Remedy.typed("compare `lspci -nn` with box_spec.accelerators (pci_ids, count); a missing board is a matter of "
                     "power, seating or BIOS", place=Place.MACHINE)

_LOOK_WITHOUT = Remedy.typed("see `lspci -nn -d 10de:`; a missing board is a matter of power, seating or BIOS",
                       place=Place.MACHINE)
_GONE = Remedy("where all of it is of the same boot, they left the bus: look for Xid 79 in the kernel log, then "
               "power-cycle the host", (), True, Place.MACHINE)


def judge(case: Case) -> Iterator[Finding]:
    topology = case.snapshot.topology
    found, told = topology.accelerators, _told(case)
    if found.value is None:
        more = f"; NVML (nvidia-smi) names {len(told)} GPUs: {', '.join(told)}" if told else ""
        counted = gpus_told(case)
        more += f"; {counted}" if counted else ""
        yield Finding(_ID, "accelerators", "unknown", "effective", f"the PCI devices cannot be listed: {found.why()}"
                      f"{more}", evidence=(found.source,), absence=found.absence)
        return
    ids = ", ".join(case.spec.accelerators.pci_ids) or "NVIDIA display or 3D controllers"
    wanted = case.spec.accelerators.count
    count = len(found.value)
    expected = f"{wanted} of {ids}" if wanted is not None else f"at least one of {ids}"
    good = count == wanted if wanted is not None else count > 0
    names = ", ".join(device.bdf for device in found.value) or "none"
    text = f"{count} accelerator{'' if count == 1 else 's'} found ({names})"
    maybe = topology.unidentified
    # However many of those are accelerators: too many stay too many, too few too few.
    open_question = maybe and (not count if wanted is None else count <= wanted <= count + len(maybe))
    missing = [bdf for bdf in told if topology.listed is not None and bdf not in topology.listed]
    if topology.doubt:
        yield Finding(_ID, "accelerators", "unknown", "effective", f"{topology.doubt}; {text}", str(count), expected,
                      (f"{found.source}: {names}",))
    elif not open_question and (not missing or not good):
        yield Finding(_ID, "accelerators", "pass" if good else "fail", "effective", text, str(count), expected,
                      (f"{found.source}: {names}",), None if good else _LOOK if case.frozen else _LOOK_WITHOUT)
    if maybe:
        names = ", ".join(each.bdf for each in maybe)
        yield Finding(_ID, names, "unknown", "effective", f"whether {names} is an accelerator is not known: "
                      f"{maybe[0].why}; {text}", str(count), expected, tuple(each.why for each in maybe[:8]))
    if missing and not topology.doubt:
        yield Finding(_ID, ", ".join(missing), "fail", "effective", f"the driver has {len(told)} GPUs, of which the "
                      f"PCI tree lacks {len(missing)}: {', '.join(missing)}; {text}", str(count),
                      "every GPU of the driver in the PCI tree", (found.source, "NVML"), _GONE)
    yield from _without_the_driver(case)
    for index, device in enumerate(found.value):
        if device.answers.value is False:
            yield Finding(_ID, device.bdf, "fail", "effective",
                          f"GPU{index} {device.bdf} is listed but does not answer (its configuration space reads ff): "
                          "it fell off the bus", "ffffffff", "an answering device", (device.answers.source,),
                          Remedy("look for Xid 79 or AER lines in the kernel log; power-cycle the host", (), True,
                                 Place.MACHINE))


def _without_the_driver(case: Case) -> Iterator[Finding]:
    """GPUs of the PCI tree that the driver has not, where the specification wants NVIDIA's. A boot on trial need not
    have a driver yet: the play may install it afterwards."""
    gpus, said = wanted_driver.gpus(case), case.snapshot.nvml
    if case.trial or not gpus or not wanted_driver.needs_nvidia(case):
        return
    # A board without an address ("gpu 1": lost) may be any of them.
    whole = said.value is not None and not any(key == "gpus" or key.startswith("gpu ") for key in said.value.errors)
    lacking, unsure = [], []
    for gpu in gpus:
        if said.value is not None and said.value.gpu(gpu.bdf) is not None:
            continue
        if whole or gpu.driver.missing or gpu.driver.value not in (None, wanted_driver.NVIDIA):
            lacking.append(gpu.bdf)
        elif gpu.driver.value is None:
            unsure.append(gpu)
    if lacking:
        yield Finding(_ID, ", ".join(lacking), "fail", "effective", f"the driver has {len(gpus) - len(lacking)} of the "
                      f"{len(gpus)} GPUs in the PCI tree, not {', '.join(lacking)}", str(len(gpus) - len(lacking)),
                      str(len(gpus)), ("/sys/bus/pci/devices", said.source), wanted_driver.install(case))
    if unsure:
        yield Finding(_ID, ", ".join(gpu.bdf for gpu in unsure), "unknown", "effective", "whether the driver has "
                      f"{', '.join(gpu.bdf for gpu in unsure)} is not known: {unsure[0].driver.why()}", "?", "",
                      (unsure[0].driver.source,), absence=unsure[0].driver.absence)


def _told(case: Case) -> list[str]:
    """Every GPU that NVML or the driver names, in address order."""
    said = case.snapshot.nvml.value
    return sorted({*case.snapshot.topology.unlisted, *(gpu.bdf for gpu in (said.gpus if said else ()))})

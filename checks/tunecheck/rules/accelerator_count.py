"""accelerator-count: as many accelerators as declared, each of them answers, and the driver has no other GPU."""

from __future__ import annotations

from collections.abc import Iterator

from .finding import Case, Finding, Remedy

_ID = "accelerator-count"
_LOOK = Remedy("compare `lspci -nn` with box_spec.accelerators (pci_ids, count); a missing board is a matter of power, "
               "seating or BIOS", physical=True)

_LOOK_WITHOUT = Remedy("see `lspci -nn -d 10de:`; a missing board is a matter of power, seating or BIOS",
                       physical=True)
_GONE = Remedy("where all of it is of the same boot, they left the bus: look for Xid 79 in the kernel log, then "
               "power-cycle the host", (), True, True)


def judge(case: Case) -> Iterator[Finding]:
    topology = case.snapshot.topology
    found, told = topology.accelerators, _told(case)
    if found.value is None:
        more = f"; NVML (nvidia-smi -q) names {len(told)} GPUs: {', '.join(told)}" if told else ""
        yield Finding(_ID, "accelerators", "unknown", "effective", f"the PCI devices cannot be listed: {found.why()}"
                      f"{more}", evidence=(found.source,))
        return
    ids = ", ".join(case.spec.accelerators.pci_ids) or "NVIDIA display or 3D controllers"
    wanted = case.spec.accelerators.count
    count = len(found.value)
    expected = f"{wanted} of {ids}" if wanted is not None else f"at least one of {ids}"
    good = count == wanted if wanted is not None else count > 0
    names = ", ".join(device.bdf for device in found.value) or "none"
    text = f"{count} accelerator{'' if count == 1 else 's'} found ({names})"
    missing = [bdf for bdf in told if topology.listed is not None and bdf not in topology.listed]
    if topology.doubt:
        yield Finding(_ID, "accelerators", "unknown", "effective", f"{topology.doubt}; {text}", str(count), expected,
                      (f"{found.source}: {names}",))
    elif not missing or not good:
        yield Finding(_ID, "accelerators", "pass" if good else "fail", "effective", text, str(count), expected,
                      (f"{found.source}: {names}",), None if good else _LOOK if case.frozen else _LOOK_WITHOUT)
    if missing and not topology.doubt:
        yield Finding(_ID, ", ".join(missing), "fail", "effective", f"the driver has {len(told)} GPUs, of which the "
                      f"PCI tree lacks {len(missing)}: {', '.join(missing)}; {text}", str(count),
                      "every GPU of the driver in the PCI tree", (found.source, "NVML"), _GONE)
    for index, device in enumerate(found.value):
        if device.answers.value is False:
            yield Finding(_ID, device.bdf, "fail", "effective",
                          f"GPU{index} {device.bdf} is listed but does not answer (its configuration space reads ff): "
                          "it fell off the bus", "ffffffff", "an answering device", (device.answers.source,),
                          Remedy("look for Xid 79 or AER lines in the kernel log; power-cycle the host", (), True,
                                 True))


def _told(case: Case) -> list[str]:
    """Every GPU that NVML or the driver names, in address order."""
    said = case.snapshot.nvml.value
    return sorted({*case.snapshot.topology.unlisted, *(gpu.bdf for gpu in (said.gpus if said else ()))})

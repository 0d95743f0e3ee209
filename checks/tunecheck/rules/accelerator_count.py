"""accelerator-count: as many accelerators as declared, and each of them answers."""

from __future__ import annotations

from collections.abc import Iterator

from .finding import Case, Finding, Remedy

_ID = "accelerator-count"
_LOOK = Remedy("compare `lspci -nn` with box_spec.accelerators (pci_ids, count); a missing board is a matter of power, "
               "seating or BIOS", (), False)

_LOOK_WITHOUT = Remedy("see `lspci -nn -d 10de:`; a missing board is a matter of power, seating or BIOS")


def judge(case: Case) -> Iterator[Finding]:
    found = case.snapshot.topology.accelerators
    if found.value is None:
        yield Finding(_ID, "accelerators", "unknown", "effective", f"the PCI devices cannot be listed: {found.why()}",
                      evidence=(found.source,))
        return
    ids = ", ".join(case.spec.accelerators.pci_ids) or "NVIDIA display or 3D controllers"
    wanted = case.spec.accelerators.count
    count = len(found.value)
    expected = f"{wanted} of {ids}" if wanted is not None else f"at least one of {ids}"
    good = count == wanted if wanted is not None else count > 0
    names = ", ".join(device.bdf for device in found.value) or "none"
    yield Finding(_ID, "accelerators", "pass" if good else "fail", "effective",
                  f"{count} accelerator{'' if count == 1 else 's'} found ({names})", str(count), expected,
                  (f"{found.source}: {names}",), None if good else _LOOK if case.frozen else _LOOK_WITHOUT)
    for index, device in enumerate(found.value):
        if device.answers.value is False:
            yield Finding(_ID, device.bdf, "fail", "effective",
                          f"GPU{index} {device.bdf} is listed but does not answer (its configuration space reads ff): "
                          "it fell off the bus", "ffffffff", "an answering device", (device.answers.source,),
                          Remedy("look for Xid 79 or AER lines in the kernel log; power-cycle the host", (), True))

"""aer-events: no PCIe error since boot. An uncorrectable one on an accelerator's path fails, any other is a warning."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Place, Remedy
from ..check import Check, Family, Heading
from ..context import Case
from . import from_log

CHECK = Check(
    "aer-events", "no PCIe error since boot", Heading.KERNEL, 50, Family.ERRORS, happening=True,
)
_ID = CHECK.id
_LOOK = Remedy.typed("check seating, riser and slot of that link, and its width and speed (`tunecheck topo`)",
               place=Place.MACHINE)


def judge(case: Case) -> Iterator[Finding]:
    found = from_log.events(case)
    if found is None:
        yield from_log.unread(case, _ID)
        return
    paths = {bdf for device in case.snapshot.topology.devices for bdf in device.path}
    for error in found.pcie:
        ours = error.bdf in paths
        hard = error.severity in ("fatal", "contained") or error.unrecovered
        where = from_log.name(case, error.bdf) + (", on an accelerator's path" if ours else "")
        names = f" ({', '.join(error.names)})" if error.names else ""
        many = ("s", ", last") if error.count > 1 else ("", "")
        text = (f"{where}: {error.count} {error.severity} PCIe error{many[0]}{names}{many[1]}{from_log.at(error.last)}"
                + ("; the kernel could not recover it" if error.unrecovered else ""))
        yield Finding(_ID, error.bdf, "fail" if ours and hard else "warn", "behaviour", text,
                      str(error.count), "no PCIe error since boot", (case.host.kernel.log.source,), _LOOK)
    if not found.pcie and from_log.whole(case) and from_log.aer_owners(case) != {"kernel"}:
        yield Finding(_ID, "kernel log", "skip", "behaviour", "the kernel log holds no PCIe error, which says little "
                      "here: the kernel does not handle them (aer-ownership)", evidence=(case.host.kernel.log.source,))
    elif not found.pcie:
        yield from_log.nothing(case, _ID, "PCIe error (AER, DPC)")

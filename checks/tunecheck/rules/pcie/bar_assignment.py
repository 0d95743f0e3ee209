"""bar-assignment: the memory of every PCI device found a place in the address space."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ...model.finding import Finding, Place, Remedy
from ...parsers.kernel.param_conflicts import split
from ..check import Check, Family, Heading
from ..context import Case
from ..errors import from_log
from ..remedies import boot_remedies

if TYPE_CHECKING:
    from ...parsers.pci.pci_space import Unassigned

CHECK = Check(
    "bar-assignment", "the memory of every PCI device found an address",
    Heading.RUNTIME, 100, Family.PCIE, judges=("pcie.unassigned",),
)
_ID = CHECK.id
CODES = {
    "no-address": "The memory of a device did not fit into the address space, so it has no address.",
}
_BIOS = "switch on Above 4G Decoding in the BIOS (and update it)"
_REALLOC = "pci=realloc"


def judge(case: Case) -> Iterator[Finding]:
    log = from_log.events(case)
    shown = list(_shown(case, {bar.bdf for bar in log.unassigned} if log else set()))
    yield from shown
    if log is None:
        if not shown:
            yield from_log.unread(case, _ID)
        return
    source, boards = (case.host.kernel.log.source,), {device.bdf for device in case.snapshot.topology.devices}
    refused = from_log.no_address(case)
    for bdf in dict.fromkeys(bar.bdf for bar in log.unassigned):
        bars = ", ".join(_named(bar) for bar in log.unassigned if bar.bdf == bdf)
        yield Finding(_ID, "no-address", bdf, "fail" if bdf in boards or bdf[:-2] in refused else "warn", "effective",
                      f"{from_log.name(case, bdf)}: {bars} "
                      "did not fit into the address space", bars, "an address for every BAR", source, _fix(case))
    if "" in refused:
        yield Finding(_ID, "no-address", "a GPU", "fail", "effective", "the NVIDIA driver refuses a GPU: a part of its "
                      "memory has no valid address", "?", "an address for every BAR", source, _fix(case))
    elif log.unassigned or shown:
        return
    elif not from_log.is_complete(case):
        yield Finding(_ID, from_log.incomplete_code(case), "kernel log", "unknown", "effective",
                      f"not known for the whole boot: no BAR without an address {from_log.limits_of_log(case)}",
                      evidence=source)
    else:
        yield Finding(_ID, "ok", "kernel log", "pass", "effective", "every BAR found a place", evidence=source)


def _shown(case: Case, logged: set[str]) -> Iterator[Finding]:
    """Yield what lspci shows of accelerators, for which the log has nothing (``logged``): a region to which it gives no
    address. Other devices stay without one on healthy machines, and only the log tells whether anything asked for it.
    """
    for device in case.snapshot.topology.devices:
        numbers = case.snapshot.posted.bare.get(device.bdf, ())
        if numbers and device.bdf not in logged:
            bars = ", ".join("a memory region" if number < 0 else f"BAR {number}" for number in numbers)
            yield Finding(_ID, "no-address", device.bdf, "fail", "effective",
                          f"{from_log.name(case, device.bdf)}: lspci shows no address of {bars}", bars,
                          "an address for every BAR", ("lspci",), _fix(case))


def _named(bar: Unassigned) -> str:
    size = f" ({bar.size >> 20} MiB)" if bar.size >> 20 else f" ({bar.size} bytes)"
    return f"BAR {bar.bar}" + (size if bar.size else "")


def _fix(case: Case) -> Remedy:
    words = [word for token in case.host.kernel.cmdline.value or () for word in split(token)]
    if _REALLOC in words or "pci=realloc=on" in words:
        return Remedy(f"pci=realloc runs already and did not help: {_BIOS}", (), True, Place.FIRMWARE)
    by_hand = Remedy.of(f"{_BIOS}; or ", *boot_remedies.add(case, [_REALLOC]).parts)
    return replace(case.play("cmdline", True, f'add "{_REALLOC}" to box_spec.kernel.cmdline', by_hand),
                   place=Place.FIRMWARE)
